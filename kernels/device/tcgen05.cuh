/* SPDX-License-Identifier: MIT
 *
 * Blackwell's tensor cores (sm_100): tensor memory, products that one thread starts, and what
 * orders them. Tensor memory is 128 lanes of 512 columns of 32 bits; an address is lane << 16 |
 * column. No thread loads or stores it but through this file. Compiled only, never run on hardware.
 *
 * CTA_GROUP is 1, or 2 for a pair of CTAs (ranks 2i, 2i + 1) that multiply together; a kernel uses one
 * of them throughout. Functions marked "warp" are executed by all 32 lanes.
 *
 * Order. Products and copies of scales that one thread starts run in that order, one after the
 * other. All else is up to the program: tcgen05_commit signals an mbarrier when they are done;
 * tcgen05_wait_load and _store end a warp's own accesses; between a barrier and accesses on its
 * other side stand tcgen05_fence_before (in front of the arrival) and tcgen05_fence_after (behind
 * the wait). A commit is its own fence_before. Operands in shared memory are read by the
 * asynchronous proxy. */
#pragma once
#include "device/language.cuh"
#include "device/tcgen05_descriptor.cuh"

#define TCGEN05_BY_GROUP(before, after, ...)                                                       \
    do {                                                                                           \
        if (CTA_GROUP == 1)                                                                        \
            asm volatile(before ".cta_group::1" after __VA_ARGS__);                                \
        else                                                                                       \
            asm volatile(before ".cta_group::2" after __VA_ARGS__);                                \
    } while (0)

/* Warp. Takes columns of tensor memory, a power of two from 32 to 512, and writes their address to
 * shared memory. Waits while others hold them. Of a pair, a warp in each CTA does this. */
template <int CTA_GROUP> DEVICE void tcgen05_allocate(uint32_t destination, uint32_t columns) {
    TCGEN05_BY_GROUP(
        "tcgen05.alloc", ".sync.aligned.shared::cta.b32 [%0], %1;", ::"r"(destination), "r"(columns)
        : "memory");
}

/* Warp. Promises that this CTA takes no more columns. */
template <int CTA_GROUP> DEVICE void tcgen05_relinquish(void) {
    TCGEN05_BY_GROUP("tcgen05.relinquish_alloc_permit", ".sync.aligned;", ::: "memory");
}

/* Warp. Gives back what tcgen05_allocate took, all of it, before the CTA ends. */
template <int CTA_GROUP> DEVICE void tcgen05_deallocate(uint32_t address, uint32_t columns) {
    TCGEN05_BY_GROUP("tcgen05.dealloc", ".sync.aligned.b32 %0, %1;", ::"r"(address), "r"(columns)
                     : "memory");
}

#define TCGEN05_MMA(kind)                                                                          \
    if (CTA_GROUP == 1)                                                                            \
        asm volatile("{.reg .pred p;\n"                                                            \
                     "setp.ne.b32 p, %4, 0;\n"                                                     \
                     "tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p;}" ::"r"(d),     \
                     "l"(a), "l"(b), "r"(instruction), "r"((uint32_t)accumulate)                   \
                     : "memory");                                                                  \
    else                                                                                           \
        asm volatile("{.reg .pred p;\n"                                                            \
                     "setp.ne.b32 p, %4, 0;\n"                                                     \
                     "tcgen05.mma.cta_group::2.kind::" kind " [%0], %1, %2, %3, p;}" ::"r"(d),     \
                     "l"(a), "l"(b), "r"(instruction), "r"((uint32_t)accumulate)                   \
                     : "memory")

/* One thread; of a pair, in the even CTA. d (+)= a x b over 32 bytes of k. d: address of [128, n]
 * f32 in tensor memory, row i in lane i. a: [128, k]; b: [n, k], of a pair half of n in each CTA;
 * descriptors are the same in both. */
template <int CTA_GROUP>
DEVICE void tcgen05_mma_f16(
    uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {
    TCGEN05_MMA("f16");
}

template <int CTA_GROUP>
DEVICE void tcgen05_mma_f8f6f4(
    uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {
    TCGEN05_MMA("f8f6f4");
}
#undef TCGEN05_MMA

#define TCGEN05_MMA_SCALED(group)                                                                  \
    asm volatile("{.reg .pred p;\n"                                                                \
                 "setp.ne.b32 p, %6, 0;\n"                                                         \
                 "tcgen05.mma." group ".kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], " \
                 "p;}" ::"r"(d),                                                                   \
                 "l"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b),                     \
                 "r"((uint32_t)accumulate)                                                         \
                 : "memory")

/* The same with the products of row i and column j scaled by 2^(sa - 127) * 2^(sb - 127). scale_a,
 * scale_b: columns of tensor memory that tcgen05_copy_scales filled: row r of 128 (of n) has its
 * word in lane r % 32 of column r / 32; the instruction says which byte of it. Of a pair, each CTA
 * holds the scales of its rows of a, and of all n. */
template <int CTA_GROUP>
DEVICE void tcgen05_mma_mxf8f6f4(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
    uint32_t scale_a, uint32_t scale_b, bool accumulate) {
    if (CTA_GROUP == 1)
        TCGEN05_MMA_SCALED("cta_group::1");
    else
        TCGEN05_MMA_SCALED("cta_group::2");
}
#undef TCGEN05_MMA_SCALED

/* The thread that issues products. Shared memory [32] x 16 bytes -> 4 columns from `address` on:
 * the words of row l go to lane l and to lanes l + 32, 64, 96. source: descriptor without swizzle,
 * stride 128. Of a pair, in both CTAs. */
template <int CTA_GROUP> DEVICE void tcgen05_copy_scales(uint32_t address, uint64_t source) {
    TCGEN05_BY_GROUP("tcgen05.cp", ".32x128b.warpx4 [%0], %1;", ::"r"(address), "l"(source)
                     : "memory");
}

/* The same thread. One arrival at the barrier when all that it started before is done. */
template <int CTA_GROUP> DEVICE void tcgen05_commit(uint32_t barrier) {
    TCGEN05_BY_GROUP(
        "tcgen05.commit", ".mbarrier::arrive::one.shared::cluster.b64 [%0];", ::"r"(barrier)
        : "memory");
}

/* The same at the barrier in every CTA of the cluster whose bit is set. */
template <int CTA_GROUP> DEVICE void tcgen05_commit_multicast(uint32_t barrier, uint16_t ranks) {
    TCGEN05_BY_GROUP("tcgen05.commit",
                     ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;",
                     ::"r"(barrier), "h"(ranks)
                     : "memory");
}
#undef TCGEN05_BY_GROUP

/* Warp. values: [8] or [32], columns address .. + 7 (+ 31) of lane 32 * (warp % 4) + lane; the
 * address names the first lane. A warp reaches only its quarter. Not there before
 * tcgen05_wait_load. */
DEVICE void tcgen05_load_x8(uint32_t *values, uint32_t address) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3]),
                 "=r"(values[4]), "=r"(values[5]), "=r"(values[6]), "=r"(values[7])
                 : "r"(address)
                 : "memory");
}

#define VALUES_8(with, i)                                                                          \
    with(values[i]), with(values[i + 1]), with(values[i + 2]), with(values[i + 3]),                \
        with(values[i + 4]), with(values[i + 5]), with(values[i + 6]), with(values[i + 7])
#define VALUES_32(with) VALUES_8(with, 0), VALUES_8(with, 8), VALUES_8(with, 16), VALUES_8(with, 24)

DEVICE void tcgen05_load_x32(uint32_t *values, uint32_t address) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
                 "%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
                 "%26, %27, %28, %29, %30, %31}, [%32];"
                 : VALUES_32("=r")
                 : "r"(address)
                 : "memory");
}

DEVICE void tcgen05_store_x8(uint32_t address, const uint32_t *values) {
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(
            address),
        VALUES_8("r", 0)
        : "memory");
}

DEVICE void tcgen05_store_x32(uint32_t address, const uint32_t *values) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, "
                 "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
                 "%25, %26, %27, %28, %29, %30, %31, %32};" ::"r"(address),
                 VALUES_32("r")
                 : "memory");
}
#undef VALUES_32
#undef VALUES_8

/* Warp. All its loads (stores) are done. */
DEVICE void tcgen05_wait_load(void) {
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
DEVICE void tcgen05_wait_store(void) {
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

/* In front of an arrival, and behind a wait, that order accesses to tensor memory. */
DEVICE void tcgen05_fence_before(void) {
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
DEVICE void tcgen05_fence_after(void) {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/* TMA load into this CTA of a pair, reported to the barrier that the even CTA keeps at that
 * address. */
DEVICE void tma_load_2d_pair(
    uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, int x, int y) {
    asm volatile("{.reg .b32 rank, even;\n"
                 "mov.u32 rank, %%cluster_ctarank;\n"
                 "and.b32 rank, rank, -2;\n"
                 "mapa.shared::cluster.u32 even, %2, rank;\n"
                 "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%3, %4}], [even];}" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(x), "r"(y)
                 : "memory");
}
