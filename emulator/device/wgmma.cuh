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

DEVICE void wgmma_fence(EMU_SITE) {
    emu::warp_together("wgmma_fence", site);
    emu::wgmma_fence();
}
DEVICE void wgmma_commit(EMU_SITE) {
    emu::warp_together("wgmma_commit", site);
    emu::wgmma_commit();
}
template <int N> DEVICE void wgmma_wait(EMU_SITE) {
    emu::warp_together("wgmma_wait", site);
    emu::wgmma_wait(N);
}

#include "device/wgmma_shapes.cuh"
