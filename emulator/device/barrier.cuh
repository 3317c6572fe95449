// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/barrier.cuh.
#pragma once
#include "barriers.h"
#include "device/language.cuh"
#include "warp.h"

DEVICE void warp_sync(EMU_SITE) {
    emu::warp_together("warp_sync", site);
    emu::warp_sync();
}
DEVICE void cta_sync(EMU_SITE) {
    emu::warp_together("cta_sync", site);
    emu::named_barrier(0, emu::current->cta->thread_count, true);
}
DEVICE void bar_sync(uint32_t id, uint32_t threads, EMU_SITE) {
    emu::warp_together("bar_sync", site);
    emu::named_barrier(id, threads, true);
}
DEVICE void bar_arrive(uint32_t id, uint32_t threads, EMU_SITE) {
    emu::warp_together("bar_arrive", site);
    emu::named_barrier(id, threads, false);
}
DEVICE uint32_t cluster_rank(void) {
    return emu::current->cta->rank;
}
DEVICE void cluster_arrive(EMU_SITE) {
    emu::warp_together("cluster_arrive", site);
    emu::cluster_arrive();
}
DEVICE void cluster_wait(EMU_SITE) {
    emu::warp_together("cluster_wait", site);
    emu::cluster_wait();
}

DEVICE void cluster_sync(EMU_SITE) {
    cluster_arrive(site);
    cluster_wait(site);
}

DEVICE void dependency_wait(void) {
    emu::dependency_wait();
}
DEVICE void dependents_launch(void) {
    emu::dependents_launch();
}
