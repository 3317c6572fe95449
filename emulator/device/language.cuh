// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/language.cuh: enough of the CUDA language for a C++ compiler,
// and who the running fiber is. A kernel compiled with emulator/ before kernels/ in its include
// path gets this file; nothing in the kernel says which world it is in.
#pragma once
#include "args/types.h"
#include "machine.h"

#define DEVICE [[maybe_unused]] static inline

#define KERNEL(threads) [[maybe_unused]] static void
#define KERNEL_PER_SM(threads, per_sm) KERNEL(threads)
#define KERNEL_PARAMETER const
#define UNROLL
#define UNROLL_BY(n)

DEVICE uint32_t shared_base(void) {
    return emu::SHARED_BASE;
}

DEVICE uint32_t thread_index(void) {
    return emu::current->linear;
}
DEVICE uint32_t block_index(void) {
    return emu::current->cta->index;
}
DEVICE uint32_t block_count(void) {
    return emu::current->cta->cluster->launch->shape->grid;
}
DEVICE uint32_t lane_index(void) {
    return emu::current->lane;
}
DEVICE uint32_t warp_index(EMU_SITE) {
    emu::warp_together("warp_index", site);
    return emu::current->warp;
}

DEVICE void trap(void) {
    emu::fail("TRAP", "the kernel stopped itself");
}
DEVICE void pin_f32(float &) {}
DEVICE void pin_f32_array(float *, int) {}
DEVICE void pin_u32(uint32_t &) {}
DEVICE void pin_u32_array(uint32_t *, int) {}
DEVICE uint64_t clock_cycles(void) {
    return emu::statistics.switches;
}
