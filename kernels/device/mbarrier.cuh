/* SPDX-License-Identifier: MIT
 *
 * mbarriers: 8 bytes of shared memory that count arrivals of threads and bytes of asynchronous
 * copies. A phase ends when both are complete; waiting names the parity of the phase waited for,
 * and on a fresh barrier the phase of parity 1 counts as already over. */
#pragma once
#include "device/language.cuh"

DEVICE void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

/* Makes the 8 bytes ordinary memory again. */
DEVICE void mbarrier_invalidate(uint32_t barrier) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

DEVICE void mbarrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives at the barrier that CTA `rank` of the cluster keeps at the same address. Plain arrive,
 * not .release.cluster: that form costs a memory barrier per arrival, measured at 1.4 to 1.7 times
 * the run time of a multicast GEMM. */
DEVICE void mbarrier_arrive_peer(uint32_t barrier, uint32_t rank) {
    asm volatile("{.reg .b32 peer;\n"
                 "mapa.shared::cluster.u32 peer, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [peer];}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

/* The same, and what this thread (or a thread ordered before it) wrote is visible to a peer that then
 * waits with mbarrier_wait_cluster. Once a tile, not once a block. */
DEVICE void mbarrier_arrive_peer_release(uint32_t barrier, uint32_t rank) {
    asm volatile("{.reg .b32 peer;\n"
                 "mapa.shared::cluster.u32 peer, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer];}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

/* Announces that many bytes of copies to come, and arrives. */
DEVICE void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* Announces bytes without arriving. */
DEVICE void mbarrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile(
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
        : "memory");
}

/* One look: 1 if the phase of this parity is over, else 0. The hardware may hold the thread for a
 * bounded time. Not a bool: the conversion would wait for the answer at once, where the caller has
 * other work to do. */
DEVICE uint32_t mbarrier_test(uint32_t barrier, uint32_t parity) {
    uint32_t done;
    asm volatile("{.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done;
}

/* Waits for the phase of this parity. A signal that never comes ends in a trap, not a hang: a try
 * lasts at least a fraction of a microsecond, so 2^24 of them are seconds. */
DEVICE void mbarrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{.reg .pred p, q; .reg .u32 tries;\n"
                 "mov.u32 tries, 0;\n"
                 "WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra DONE;\n"
                 "add.u32 tries, tries, 1;\n"
                 "setp.gt.u32 q, tries, 16777216;\n"
                 "@q trap;\n"
                 "bra WAIT;\n"
                 "DONE:}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* The same, and what peers of the cluster wrote before they arrived is visible afterwards. */
DEVICE void mbarrier_wait_cluster(uint32_t barrier, uint32_t parity) {
    asm volatile("{.reg .pred p, q; .reg .u32 tries;\n"
                 "mov.u32 tries, 0;\n"
                 "WAIT:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra DONE;\n"
                 "add.u32 tries, tries, 1;\n"
                 "setp.gt.u32 q, tries, 16777216;\n"
                 "@q trap;\n"
                 "bra WAIT;\n"
                 "DONE:}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}
