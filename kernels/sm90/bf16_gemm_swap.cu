/* SPDX-License-Identifier: MIT
 *
 * BF16 GEMM for Hopper with the operands exchanged, for few rows of a: rows of b (weights) are the 64
 * rows of wgmma, rows of a (tokens) its columns, of which there may be 16. d[m, n] = c[m, n] + a x b,
 * sums in FP32. Parameters and macros: args/bf16_gemm_swap.h.
 *
 * Reading b is all that takes time, so everything is made for many loads in flight on every SM: a CTA
 * does one part of k of one tile and ends, it is small enough for two on an SM, and the thread that
 * loads begins before anything else has happened. The parts of a tile are one cluster. At the end each
 * CTA leaves its sums in its shared memory; CTA r of the cluster adds some rows over all CTAs, in their
 * order, and stores them: no workspace, no atomics, the same bits every time.
 *
 * Warps. Warpgroups 0 .. MATH_GROUPS-1 multiply and store, 64 rows of b each. In the last one, one
 * thread sets up the barriers and issues all loads.
 *
 * Shared memory, from a 1024-byte aligned base:
 *
 *   B       STAGES x [BLOCK_N x 64] bf16, swizzled         full[s]: A and B of stage s are there
 *   A       STAGES x [BLOCK_M x 64] bf16, swizzled         empty[s]: every math warp is done
 *   full, empty: STAGES mbarriers each
 *
 * and when all products are done, in the place of B and A:
 *   SUMS    [BLOCK_M x (BLOCK_N + 4)] f32: one row a token; the gap spreads rows over the banks */
#include "args/bf16_gemm_swap.h"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#ifndef WGMMA_SHAPES
#    define WGMMA_SHAPES WGMMA_SHAPE(BLOCK_M)
#endif
#include "device/wgmma.cuh"
#define MATH_GROUPS (BLOCK_N / 64)
#define SHARE DG_SHARE_NONE
#define MATH_ROWS BLOCK_N
#include "sm90/cta.cuh"

#define A_BYTES (BLOCK_M * 128)
#define B_BYTES (BLOCK_N * 128)
#define AT_A (STAGES * B_BYTES)
#define AT_FULL (AT_A + STAGES * A_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define SHARED_BYTES (AT_EMPTY + STAGES * 8)
#define SUM_PITCH ((BLOCK_N + 4) * 4)
#define MAX_SPLITS DG_SM90_BF16_GEMM_SWAP_SPLITS

#include "sm90/ring.cuh"

static_assert(WARP_ROWS == 1 && MATH_GROUPS <= 2, "a warpgroup has 64 rows of b");
static_assert(BLOCK_M % 16 == 0 && BLOCK_M <= 128, "columns of wgmma; registers");
static_assert(BLOCK_M * SUM_PITCH <= AT_FULL, "sums take the place of the ring");
static_assert(SHARED_BYTES == DG_SM90_BF16_GEMM_SWAP_SHARED_BYTES(BLOCK_M, BLOCK_N, STAGES),
    "the host counts the same bytes");
static_assert(SHARED_BYTES <= 227 * 1024, "does not fit shared memory");

typedef dg_sm90_bf16_gemm_swap_args_t args_t;

/* What this CTA does. */
typedef struct part {
    int row, column;        /* first of d */
    int rows, columns;      /* how many of the tile there are, at least 1 */
    int first_block, count; /* of k */
} part_t;

DEVICE int smaller(int a, int b) {
    return a < b ? a : b;
}

DEVICE part_t find_part(const args_t *args) {
    const int splits = args->splits, rank = splits == 1 ? 0 : (int)cluster_rank();
    const int tile = (int)block_index() / splits, n = tile / args->tiles_m;
    const int row = (tile - n * args->tiles_m) * BLOCK_M, column = n * BLOCK_N;
    const int first = args->k_blocks * rank / splits;
    return {row, column, smaller(args->m - row, BLOCK_M), smaller(args->n - column, BLOCK_N), first,
        args->k_blocks * (rank + 1) / splits - first};
}

/* One thread: fills stages with blocks begin .. end - 1 of the part. */
DEVICE void load_blocks(const args_t *args, const part_t *part, int begin, int end, place_t *p) {
    const uint32_t base = shared_base();
    UNROLL_BY(1)
    for (int i = begin; i < end; i++) {
        const uint32_t full = full_barrier(*p);
        const int k = (part->first_block + i) * 64;
        wait_empty(*p);
        mbarrier_arrive_expect(full, A_BYTES + B_BYTES);
        tma_load_2d(base + p->stage * B_BYTES, &args->b, full, k, part->column);
        tma_load_2d(base + AT_A + p->stage * A_BYTES, &args->a, full, k, part->row);
        *p = next_place(*p);
    }
}

/* The products of 64 rows of b. sums: [BLOCK_M / 2] */
DEVICE void multiply(float *sums, int count) {
    const uint32_t base = shared_base(), group = warp_index() / 4;
    const uint64_t b = make_descriptor(base + group * 8192, 16, 1024, DESCRIPTOR_SWIZZLE_128);
    const uint64_t a = make_descriptor(base + AT_A, 16, 1024, DESCRIPTOR_SWIZZLE_128);
    place_t p = {0, 0}, last = p;
    UNROLL
    for (int i = 0; i < BLOCK_M / 2; i++) sums[i] = 0.f;
    UNROLL_BY(1)
    for (int k = 0; k < count; k++) {
        wait_full(p);
        pin_f32_array(sums, BLOCK_M / 2);
        wgmma_fence();
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            WGMMA(bf16, BLOCK_M, sums, b + p.stage * (B_BYTES / 16) + i * 2,
                a + p.stage * (A_BYTES / 16) + i * 2, 1);
        wgmma_commit();
        pin_f32_array(sums, BLOCK_M / 2);
        if (k > 0) {
            wgmma_wait<1>();
            release(last);
        }
        last = p;
        p = next_place(p);
    }
    pin_f32_array(sums, BLOCK_M / 2);
    wgmma_wait<0>();
    pin_f32_array(sums, BLOCK_M / 2);
}

/* Writes a warp's sums, 16 rows of b by BLOCK_M tokens, into SUMS. row: first of b, in the tile */
DEVICE void put_sums(const float *sums, uint32_t row) {
    const uint32_t lane = lane_index();
    const uint32_t at = shared_base() + lane % 4 * 2 * SUM_PITCH + (row + lane / 4) * 4;
    UNROLL
    for (uint32_t i = 0; i < BLOCK_M / 8; i++) {
        const float *s = sums + i * 4;
        const uint32_t token = at + i * 8 * SUM_PITCH;
        st_shared_f32(token, s[0]);
        st_shared_f32(token + SUM_PITCH, s[1]);
        st_shared_f32(token + 32, s[2]);
        st_shared_f32(token + SUM_PITCH + 32, s[3]);
    }
}

/* Four neighbouring sums of the CTAs of the cluster, added in their order; all are asked for before
 * one is used. sums: [4]; at: offset of the first in shared memory */
DEVICE void add_parts(float *sums, uint32_t at, int splits) {
    uint32_t words[MAX_SPLITS][4];
    if (splits == 1) {
        ld_shared_x4(words[0], shared_base() + at);
    } else {
        UNROLL
        for (uint32_t rank = 0; rank < MAX_SPLITS; rank++)
            if ((int)rank < splits) ld_peer_x4(words[rank], peer_address(shared_base() + at, rank));
    }
    UNROLL
    for (int i = 0; i < 4; i++) sums[i] = f32_from_bits(words[0][i]);
    UNROLL
    for (int rank = 1; rank < MAX_SPLITS; rank++) {
        UNROLL
        for (int i = 0; i < 4; i++)
            if (rank < splits) sums[i] += f32_from_bits(words[rank][i]);
    }
}

/* d = c + sums for four elements of a row. wide: all four are there, and aligned */
DEVICE void store_four(
    const dg_output_args_t *out, const float *sums, int64_t row, int64_t column, int columns) {
    const bool f32 = out->f32 != 0;
    const int size = f32 ? 4 : 2;
    uint8_t *d = (uint8_t *)out->d + (row * out->d_pitch + column) * size;
    const uint8_t *c = (const uint8_t *)out->c;
    float s[4];
    if (c) c += (row * out->c_pitch + column) * size;
    UNROLL
    for (int i = 0; i < 4; i++) {
        s[i] = sums[i];
        if (c && i < columns)
            s[i] += f32 ? ld_global_f32((const float *)c + i)
                        : f32_from_bits((uint32_t)ld_global_u16(c + i * 2) << 16);
    }
    uint32_t words[4] = {
        bits_from_f32(s[0]), bits_from_f32(s[1]), bits_from_f32(s[2]), bits_from_f32(s[3])};
    if (!f32) {
        words[0] = pack_bf16(s[0], s[1]);
        words[1] = pack_bf16(s[2], s[3]);
    }
    if (out->wide && columns >= 4) {
        if (f32)
            st_global_x4(d, words);
        else
            st_global_x2(d, words);
        return;
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        if (i >= columns) continue;
        if (f32)
            st_global_u32(d + i * 4, words[i]);
        else
            st_global_u16(d + i * 2, (uint16_t)(words[i / 2] >> i % 2 * 16));
    }
}

/* This CTA's share of the tile's rows. */
DEVICE void store_share(const args_t *args, const part_t *part) {
    const int splits = args->splits, rank = splits == 1 ? 0 : (int)cluster_rank();
    const int share = (part->rows + splits - 1) / splits;
    const int first = rank * share, count = smaller(part->rows - first, share);
    for (int i = (int)thread_index(); i < count * (BLOCK_N / 4); i += MATH_GROUPS * 128) {
        const int row = first + i / (BLOCK_N / 4), column = i % (BLOCK_N / 4) * 4;
        float sums[4];
        if (column >= part->columns) continue;
        add_parts(sums, (uint32_t)(row * SUM_PITCH + column * 4), splits);
        store_four(
            &args->out, sums, part->row + row, part->column + column, part->columns - column);
    }
}

KERNEL(THREADS) dg_sm90_bf16_gemm_swap(KERNEL_PARAMETER dg_sm90_bf16_gemm_swap_args_t args) {
    const uint32_t warp = warp_index();
    const part_t part = find_part(&args);
    const int first_loads = smaller(part.count, STAGES);
    const bool loads = warp == MATH_WARPS && lane_index() == 0;
    place_t p = {0, 0};
    if (loads) {
        tensormap_prefetch(&args.b);
        tensormap_prefetch(&args.a);
        init_ring(1);
        fence_mbarrier_init();
        dependency_wait();
        load_blocks(&args, &part, 0, first_loads, &p);
    }
    cta_sync();
    if (loads) load_blocks(&args, &part, first_loads, part.count, &p);

    if (warp < MATH_WARPS) {
        float sums[BLOCK_M / 2];
        multiply(sums, part.count);
        bar_sync(1, MATH_GROUPS * 128); /* nobody reads the ring any more */
        put_sums(sums, warp * 16);
        bar_sync(1, MATH_GROUPS * 128);
    }
    if (args.splits > 1) cluster_sync();
    if (warp < MATH_WARPS) {
        dependency_wait(); /* c, d */
        store_share(&args, &part);
    }
    /* Nobody leaves while another CTA may still read its sums. */
    if (args.splits > 1) cluster_sync();
}
