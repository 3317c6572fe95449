/* SPDX-License-Identifier: MIT
 *
 * Fences. Ordinary accesses and the asynchronous engines (TMA, wgmma) see memory through different
 * proxies: what a thread stores is not theirs until a proxy fence, executed after the store and
 * before the barrier that passes the data on. */
#pragma once
#include "device/global.cuh"

/* After mbarrier_init, before any peer or TMA uses the barrier. */
DEVICE void fence_mbarrier_init(void) {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Shared memory written by this thread (or ordered before it) becomes visible to TMA and wgmma. */
DEVICE void fence_proxy_async(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The same for global memory, for TMA loads of what ordinary stores wrote. */
DEVICE void fence_proxy_async_global(void) {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

/* Turns relaxed flag accesses around it into release and acquire. */
DEVICE void fence_acq_rel(memory_scope scope) {
    if (scope == SCOPE_CTA)
        asm volatile("fence.acq_rel.cta;" ::: "memory");
    else if (scope == SCOPE_GPU)
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
    else
        asm volatile("fence.acq_rel.sys;" ::: "memory");
}
