// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/fence.cuh. The emulator has one asynchronous proxy for shared
// and global memory, so it does not notice the wrong one of two proxy fences.
#pragma once
#include "device/global.cuh"
#include "fence.h"

DEVICE void fence_mbarrier_init(void) {
    emu::fence_proxy();
}
DEVICE void fence_proxy_async(void) {
    emu::fence_proxy();
}
DEVICE void fence_proxy_async_global(void) {
    emu::fence_proxy();
}

DEVICE void fence_acq_rel(memory_scope scope) {
    emu::memory_fence(static_cast<emu::MemoryScope>(scope));
}
