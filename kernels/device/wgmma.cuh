/* SPDX-License-Identifier: MIT
 *
 * wgmma: products of a warpgroup, operands in shared memory (descriptors of device/descriptor.cuh)
 * or A in registers. A batch is fence, products, commit, wait; from the first product to the wait,
 * neither the accumulators nor A registers may be touched. The products themselves, one function
 * for each shape, are generated (tools/gen_wgmma.py) into device/wgmma_shapes.cuh.
 *
 * Name it for a tile width that is a macro: WGMMA(e4m3, BLOCK_N, d, a, b, accumulate).
 * To spare NVRTC the shapes it does not need: #define WGMMA_SHAPES WGMMA_SHAPE(BLOCK_N) first. */
#pragma once
#include "device/language.cuh"

#define WGMMA_SHAPE(n) (1u << ((n) / 8 - 1))
#ifndef WGMMA_SHAPES
#    define WGMMA_SHAPES 0xffffffffu
#endif

#define WGMMA_PASTE(kind, n) wgmma_##kind##_n##n
#define WGMMA(kind, n, ...) WGMMA_PASTE(kind, n)(__VA_ARGS__)

DEVICE void wgmma_fence(void) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
DEVICE void wgmma_commit(void) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* At most N committed batches are still running. */
template <int N> DEVICE void wgmma_wait(void) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

#include "device/wgmma_shapes.cuh"
