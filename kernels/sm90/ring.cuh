/* SPDX-License-Identifier: MIT
 *
 * The ring of stages between the warps that load and the warps that multiply. Included by the
 * Hopper GEMMs, which define STAGES, AT_FULL and AT_EMPTY (offsets of STAGES mbarriers each in
 * shared memory).
 *
 *   full[s]   counts one arrival of each producer and the bytes of its copies: stage s may be read
 *   empty[s]  counts every warp that reads it, of every CTA that the stage was loaded for, since a multicast
 *             load writes into all of them: stage s may be overwritten
 *
 * All roles walk the same places: init_ring by one thread, then for each k block of each tile
 *   producer  wait_empty(p), fill, arrive at full_barrier(p)
 *   consumer  wait_full(p), multiply, release(p) */
#pragma once
#include "device/fence.cuh"
#include "device/mbarrier.cuh"
#include "sm90/cta.cuh"

/* A place in the ring: stage, and parity of the number of times round. */
typedef struct place {
    uint32_t stage, parity;
} place_t;

DEVICE place_t next_place(place_t p) {
    const bool wraps = p.stage + 1 == STAGES;
    return {wraps ? 0 : p.stage + 1, wraps ? p.parity ^ 1 : p.parity};
}

/* `count` places on. */
DEVICE place_t place_after(place_t p, int count) {
    const uint32_t stage = p.stage + (uint32_t)count;
    return {stage % STAGES, p.parity ^ (stage / STAGES & 1)};
}

DEVICE uint32_t full_barrier(place_t p) {
    return shared_base() + AT_FULL + p.stage * 8;
}
DEVICE uint32_t empty_barrier(place_t p) {
    return shared_base() + AT_EMPTY + p.stage * 8;
}

/* producers: arrivals that make a stage full. The caller fences (fence_mbarrier_init). */
DEVICE void init_ring(uint32_t producers) {
    for (uint32_t s = 0; s < STAGES; s++) {
        mbarrier_init(full_barrier({s, 0}), producers);
        mbarrier_init(empty_barrier({s, 0}), RING_WARPS * RING_CTAS);
    }
}

DEVICE void wait_full(place_t p) {
    mbarrier_wait(full_barrier(p), p.parity);
}
DEVICE void wait_empty(place_t p) {
    mbarrier_wait(empty_barrier(p), p.parity ^ 1);
}
/* One look at whether the stage is full; the answer may be used later. */
DEVICE uint32_t test_full(place_t p) {
    return mbarrier_test(full_barrier(p), p.parity);
}

/* Hands a stage back to every CTA that writes into it. The warp's lanes are done with whatever else
 * they read of it; warp_sync makes that formal. */
DEVICE void release(place_t p) {
    warp_sync();
    if (RING_CTAS == 1) {
        if (lane_index() == 0) mbarrier_arrive(empty_barrier(p));
    } else if (lane_index() < RING_CTAS) {
        mbarrier_arrive_peer(empty_barrier(p), lane_index());
    }
}
