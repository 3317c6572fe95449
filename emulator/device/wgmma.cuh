// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/wgmma.cuh.
#pragma once
#include "device/language.cuh"
#include "wgmma.h"

#define WGMMA_SHAPE(n) (1u << ((n) / 8 - 1))
#ifndef WGMMA_SHAPES
#    define WGMMA_SHAPES 0xffffffffu
#endif

#define WGMMA_PASTE(kind, n) wgmma_##kind##_n##n
#define WGMMA(kind, n, ...) WGMMA_PASTE(kind, n)(__VA_ARGS__)

DEVICE void wgmma_fence(void) {
    emu::wgmma_fence();
}
DEVICE void wgmma_commit(void) {
    emu::wgmma_commit();
}
template <int N> DEVICE void wgmma_wait(void) {
    emu::wgmma_wait(N);
}

#include "device/wgmma_shapes.cuh"
