// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/barrier.cuh.
#pragma once
#include "barriers.h"
#include "device/language.cuh"
#include "warp.h"

DEVICE void warp_sync(void) {
    emu::warp_sync();
}
DEVICE void cta_sync(void) {
    emu::named_barrier(0, emu::current->cta->thread_count, true);
}
DEVICE void bar_sync(uint32_t id, uint32_t threads) {
    emu::named_barrier(id, threads, true);
}
DEVICE void bar_arrive(uint32_t id, uint32_t threads) {
    emu::named_barrier(id, threads, false);
}
DEVICE uint32_t cluster_rank(void) {
    return emu::current->cta->rank;
}
DEVICE void cluster_arrive(void) {
    emu::cluster_arrive();
}
DEVICE void cluster_wait(void) {
    emu::cluster_wait();
}

DEVICE void cluster_sync(void) {
    cluster_arrive();
    cluster_wait();
}

DEVICE void dependency_wait(void) {
    emu::dependency_wait();
}
DEVICE void dependents_launch(void) {
    emu::dependents_launch();
}
