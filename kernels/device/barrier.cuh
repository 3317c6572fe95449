/* SPDX-License-Identifier: MIT
 *
 * Rendezvous of threads: warp, CTA, named barriers, cluster; and the hand-over between dependent
 * grids. Barrier 0 belongs to cta_sync. */
#pragma once
#include "device/language.cuh"

DEVICE void warp_sync(void) {
    __syncwarp();
}
DEVICE void cta_sync(void) {
    __syncthreads();
}

/* threads: how many take part, a multiple of 32; bar_arrive counts without waiting */
DEVICE void bar_sync(uint32_t id, uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

DEVICE void bar_arrive(uint32_t id, uint32_t threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

DEVICE uint32_t cluster_rank(void) {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

DEVICE void cluster_arrive(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

DEVICE void cluster_wait(void) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

DEVICE void cluster_sync(void) {
    cluster_arrive();
    cluster_wait();
}

/* Waits until the grids this one depends on are complete and their writes visible. Before it,
 * nothing they touch may be read or written. GPUs before sm_90 start a grid only then anyway. */
DEVICE void dependency_wait(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets the dependent grid start once every CTA of this one has said so or ended. */
DEVICE void dependents_launch(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
