/* SPDX-License-Identifier: MIT
 *
 * Copies of 4, 8 or 16 bytes from global into shared memory that each thread starts for itself
 * (cp.async), for data that TMA cannot fetch: rows that begin off a 16-byte boundary, gathered
 * elements. They belong to the ordinary proxy: before TMA or wgmma reads the bytes, the thread that
 * waited for them executes fence_proxy_async. A thread sees only its own copies when its wait is
 * over; others need a barrier after it. */
#pragma once
#include "device/language.cuh"

/* The first `valid` of BYTES bytes come from source, zeros fill the rest; with valid 0 nothing is
 * read. Both addresses are multiples of BYTES. 16-byte copies bypass L1. */
template <int BYTES>
DEVICE void copy_async(uint32_t destination, const void *source, uint32_t valid) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "what cp.async can move");
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination),
                     "l"(source), "r"(valid)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination),
                     "l"(source), "n"(BYTES), "r"(valid)
                     : "memory");
}

/* Closes a group of this thread's copies. */
DEVICE void copy_async_commit(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* At most the N youngest of this thread's groups are still running. */
template <int N> DEVICE void copy_async_wait(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Arrives at the barrier once all copies that this thread has started so far are done; this arrival
 * is one of those that mbarrier_init counts. */
DEVICE void copy_async_arrive(uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
