/* SPDX-License-Identifier: MIT
 *
 * The warp that brings the factors of fp8_gemm_vector and publishes its tiles. Included by the kernel
 * behind its layout of shared memory and its ranges of k.
 *
 * Whatever form factors have in memory (DG_FACTORS_*, one for each row or for 128 rows), a stage's slot
 * gets one F32 for each row of the tile, so that math warps know one form. One thread copies a tile's row
 * of factors in one piece (cp.async.bulk) where those of neighbouring rows adjoin, on addresses of 16
 * bytes, in fours. Otherwise the warp's lanes load every 32nd, one block ahead, words of exponents for
 * four blocks. A warp alone needs about 100 clocks for each load of 32 factors with its addresses,
 * beside math warps that keep the SM busy: with one F32 for each row that is longer than the products of
 * a block take.
 *
 * This warp must do nothing else: when it also fetched the tile's c into L2, a share with each block,
 * a dense weight gradient took 6 to 15 % longer on an H200. */
#pragma once
#include "any/ue8m0.cuh"
#include "device/bulk.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "sm90/ring.cuh"
#include "sm90/tiles.cuh"

typedef dg_sm90_vector_scale_t scale_t;
#define K_GROUPED (SCHEDULE == DG_SCHEDULE_K_GROUPED)

/* Factors of one operand for a tile and the k of one group. */
typedef struct factors {
    const scale_t *scale;
    const uint8_t *begin; /* of row 0 of the group's first row of factors */
    int row, rows;        /* the tile's first row (of b: column), and how many it has */
    bool copied;          /* in one piece */
} factors_t;

/* Whether a tile's rows of factors can be copied in one piece, if its first row is a multiple of 4.
 * count: rows of the operand */
DEVICE bool adjoin(const scale_t *scale, int count) {
    return scale->data && scale->form == DG_FACTORS_F32 && scale->mn_shift == 0 &&
           scale->mn_stride == 4 && count % 4 == 0 &&
           ((uint64_t)scale->data | (uint64_t)scale->k_stride | (uint64_t)scale->matrix_stride) %
                   16 ==
               0;
}

/* first: row of factors that the group begins with; matrix: slab or group */
DEVICE factors_t find_factors(
    const scale_t *scale, int row, int rows, int first, int matrix, int count) {
    const int64_t at = first * scale->k_stride + matrix * scale->matrix_stride;
    return {scale, (const uint8_t *)scale->data + at, row, rows,
        (SCHEDULE != DG_SCHEDULE_M_GROUPED || row % 4 == 0) && adjoin(scale, count)};
}

/* The row of factors, or of words, of block `block` of the group. */
DEVICE const uint8_t *factor_row(const factors_t *f, int block) {
    const int k = f->scale->form == DG_FACTORS_E8M0X4 ? block / 4 : block;
    return f->begin + k * f->scale->k_stride;
}

/* Bytes of a copy; factors of rows behind the tile's are there too, up to a multiple of 4. most: rows of
 * a tile */
DEVICE uint32_t copy_bytes(const factors_t *f, int most) {
    const int rows = f->rows < most ? (f->rows + 3) / 4 * 4 : most;
    return f->copied && rows > 0 ? (uint32_t)rows * 4 : 0;
}

/* By one thread: arrives for the warp, and copies what can be copied. */
DEVICE void copy_factors(const factors_t *a, const factors_t *b, int block, place_t p) {
    const uint32_t bytes_a = copy_bytes(a, BLOCK_M), bytes_b = copy_bytes(b, BLOCK_N);
    mbarrier_arrive_expect(full_barrier(p), bytes_a + bytes_b);
    if (bytes_a)
        bulk_load(
            scale_a_at(p), factor_row(a, block) + (int64_t)a->row * 4, bytes_a, full_barrier(p));
    if (bytes_b)
        bulk_load(
            scale_b_at(p), factor_row(b, block) + (int64_t)b->row * 4, bytes_b, full_barrier(p));
}

/* Every 32nd factor of a block, or word of four, of this lane, as it is stored; 1 where there is none.
 * values: [most / 32] */
DEVICE void fetch_factors(uint32_t *values, const factors_t *f, int block, int most) {
    const scale_t *scale = f->scale;
    if (scale->form == DG_FACTORS_E8M0X4 && block % 4 != 0) return; /* it has these words */
    uint32_t lane = lane_index();
    pin_u32(lane); /* addresses are made for each block: there are no registers to keep them */
    const uint8_t *row = factor_row(f, block);
    UNROLL
    for (int i = 0; i < most / 32; i++) {
        const int mn = i * 32 + (int)lane;
        const uint8_t *from =
            row + ((f->row + mn) >> (K_GROUPED ? 0 : scale->mn_shift)) * scale->mn_stride;
        if (mn >= f->rows || scale->data == 0)
            values[i] = scale->form == DG_FACTORS_F32 ? 0x3F800000u : 0x7F7F7F7Fu;
        else if (scale->form == DG_FACTORS_E8M0)
            values[i] = ld_global_u8(from);
        else
            values[i] = ld_global_u32(from);
    }
}

/* to: the stage's slot of factors */
DEVICE void store_factors(
    uint32_t to, const uint32_t *values, const factors_t *f, int block, int most) {
    const uint32_t shift = f->scale->form == DG_FACTORS_E8M0X4 ? (uint32_t)block % 4 * 8 : 0;
    UNROLL
    for (int i = 0; i < most / 32; i++) {
        const uint32_t value = f->scale->form == DG_FACTORS_F32
                                   ? values[i]
                                   : bits_from_f32(decode_e8m0(values[i] >> shift & 255));
        st_shared_u32(to + ((uint32_t)i * 32 + lane_index()) * 4, value);
    }
}

/* By the warp, for all blocks of a group: those of the next block are on their way while this one's
 * stage is waited for. The fence: another tile's may be copied into the same slots. */
DEVICE place_t load_factors(const factors_t *a, const factors_t *b, int blocks, place_t p) {
    uint32_t values_a[BLOCK_M / 32], values_b[BLOCK_N / 32];
    UNROLL_BY(1)
    for (int block = 0; block < blocks; block++) {
        if (K_GROUPED || !a->copied) fetch_factors(values_a, a, block, BLOCK_M);
        if (K_GROUPED || !b->copied) fetch_factors(values_b, b, block, BLOCK_N);
        wait_empty(p);
        if (K_GROUPED || !a->copied) store_factors(scale_a_at(p), values_a, a, block, BLOCK_M);
        if (K_GROUPED || !b->copied) store_factors(scale_b_at(p), values_b, b, block, BLOCK_N);
        if (!K_GROUPED) fence_proxy_async();
        warp_sync();
        if (lane_index() == 0) {
            if (K_GROUPED)
                mbarrier_arrive(full_barrier(p));
            else
                copy_factors(a, b, block, p);
        }
        p = next_place(p);
    }
    return p;
}

/* The same where all are copied: by one thread. */
DEVICE place_t copy_all_factors(const factors_t *a, const factors_t *b, int blocks, place_t p) {
    UNROLL_BY(1)
    for (int block = 0; block < blocks; block++) {
        if (lane_index() == 0) {
            wait_empty(p);
            copy_factors(a, b, block, p);
        }
        p = next_place(p);
    }
    return p;
}

/* Factors of rows and columns that a tile has not are read too, though their sums are never stored: once
 * they are zeros, and later those of another tile. */
DEVICE void clear_factors(void) {
    const uint32_t zeros[4] = {0, 0, 0, 0};
    UNROLL_BY(1)
    for (uint32_t at = lane_index() * 16; at < 2 * STAGES * SCALE_BYTES; at += 32 * 16)
        st_shared_x4(shared_base() + AT_SCALES + at, zeros);
    fence_proxy_async();
    warp_sync();
}

/* All tiles. alone: every factor is copied, by one thread */
DEVICE void walk_tiles(const args_t *args, bool alone) {
    const int m = args->tiles.m, n = args->tiles.n;
    walk_t walk = begin_walk(&args->tiles);
    tile_place_t published = {0, 0};
    place_t p = {0, 0};
    tile_t tile;
    while (next_tile(&args->tiles, &walk, &tile)) {
        if (lane_index() == 0) publish_tile(&published, &tile);
        for (int group = tile.group; group < group_end(args, &tile); group++) {
            const k_range_t range = find_k_range(args, &tile, group);
            const factors_t a =
                find_factors(&args->scale_a, tile.row, tile.rows, range.scale_a, tile.slab, m);
            const factors_t b =
                find_factors(&args->scale_b, tile.column, tile.columns, range.scale_b, group, n);
            const int blocks = (range.count + 127) / 128;
            p = alone ? copy_all_factors(&a, &b, blocks, p) : load_factors(&a, &b, blocks, p);
        }
    }
    if (lane_index() == 0) publish_end(&published);
}

/* The warp. */
DEVICE void load_scales(const args_t *args) {
    const bool a = adjoin(&args->scale_a, args->tiles.m), b = adjoin(&args->scale_b, args->tiles.n);
    if (a || b) clear_factors();
    if (SCHEDULE != DG_SCHEDULE_M_GROUPED && a && b)
        walk_tiles(args, true);
    else
        walk_tiles(args, false);
}
