// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/mbarrier.cuh.
#pragma once
#include "device/language.cuh"
#include "mbarrier.h"
#include "shared_memory.h"

DEVICE void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
    emu::mbarrier_init(barrier, arrivals);
}

DEVICE void mbarrier_invalidate(uint32_t barrier) {
    emu::mbarrier_invalidate(barrier);
}
DEVICE void mbarrier_arrive(uint32_t barrier) {
    emu::mbarrier_arrive(barrier, 1, 0);
}

DEVICE void mbarrier_arrive_peer(uint32_t barrier, uint32_t rank) {
    emu::mbarrier_arrive(emu::peer_address(barrier, rank), 1, 0);
}
DEVICE void mbarrier_arrive_peer_release(uint32_t barrier, uint32_t rank) {
    emu::mbarrier_arrive(emu::peer_address(barrier, rank), 1, 0);
}

DEVICE void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
    emu::mbarrier_arrive(barrier, 1, bytes);
}

DEVICE void mbarrier_expect(uint32_t barrier, uint32_t bytes) {
    emu::mbarrier_arrive(barrier, 0, bytes);
}

DEVICE uint32_t mbarrier_test(uint32_t barrier, uint32_t parity) {
    return emu::mbarrier_test(barrier, parity);
}

DEVICE void mbarrier_wait(uint32_t barrier, uint32_t parity) {
    emu::mbarrier_wait(barrier, parity);
}

DEVICE void mbarrier_wait_cluster(uint32_t barrier, uint32_t parity) {
    emu::mbarrier_wait(barrier, parity);
}
