/* SPDX-License-Identifier: MIT
 *
 * Bulk copies without a tensor map (contiguous bytes, multiples of 16), and the bulk groups in
 * which a thread collects its stores. A group is read-complete when shared memory may be reused,
 * complete when global memory holds the data. */
#pragma once
#include "device/language.cuh"

/* global -> shared, reported to an mbarrier of this CTA */
DEVICE void bulk_load(uint32_t destination, const void *source, uint32_t bytes, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(destination),
                 "l"(source), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* shared -> global, in a bulk group */
DEVICE void bulk_store(void *destination, uint32_t source, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
                 "r"(source), "r"(bytes)
                 : "memory");
}

/* shared -> global, adding float by float, in a bulk group */
DEVICE void bulk_reduce_add_f32(float *destination, uint32_t source, uint32_t bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                     destination),
                 "r"(source), "r"(bytes)
                 : "memory");
}

/* shared -> shared of a peer; destination and barrier are addresses given by peer_address */
DEVICE void bulk_copy_peer(
    uint32_t mapped_destination, uint32_t source, uint32_t bytes, uint32_t mapped_barrier) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], "
                 "[%1], %2, [%3];" ::"r"(mapped_destination),
                 "r"(source), "r"(bytes), "r"(mapped_barrier)
                 : "memory");
}

DEVICE void bulk_commit(void) {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* At most N of this thread's groups still read shared memory. */
template <int N> DEVICE void bulk_wait_read(void) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/* At most N of this thread's groups are not yet in global memory. */
template <int N> DEVICE void bulk_wait(void) {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
