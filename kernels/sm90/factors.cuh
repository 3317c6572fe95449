/* SPDX-License-Identifier: MIT
 *
 * The warp that brings the factors of fp8_gemm_vector and publishes its tiles. Included by the kernel
 * behind its layout of shared memory and its ranges of k.
 *
 * One thread copies a row of a tile's factors in one piece (cp.async.bulk) where factors of
 * neighbouring rows adjoin, on addresses of 16 bytes, in fours. Otherwise the warp's lanes load every
 * 32nd, one block ahead. That takes longer than the products of a block: a warp alone needs about 100
 * clocks for each load of 32 factors with its addresses, beside math warps that keep the SM busy.
 *
 * This warp must do nothing else: when it also fetched the tile's c into L2, a share with each block,
 * a dense weight gradient took 6 to 15 % longer on an H200. */
#pragma once
#include "device/bulk.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "sm90/ring.cuh"
#include "sm90/tiles.cuh"

/* Factors of a tile's blocks of k of one group. */
typedef struct factors {
    const float *a, *b; /* of the next block: the tile's first, or this lane's */
    int rows, columns;  /* that there are from these on */
} factors_t;

/* Whether every row of factors of every tile can be copied in one piece. */
DEVICE bool is_bulk(const dg_sm90_vector_scale_t *scale, int count) {
    return scale->data && scale->mn_stride == 1 && count % 4 == 0 && scale->k_stride % 4 == 0 &&
           (uint64_t)scale->data % 16 == 0;
}

DEVICE factors_t find_factors(
    const args_t *args, const tile_t *tile, const k_range_t *range, int lane) {
    const dg_sm90_vector_scale_t *a = &args->scale_a, *b = &args->scale_b;
    return {a->data + (tile->row + lane) * a->mn_stride + range->scale_a * a->k_stride,
        b->data + (tile->column + lane) * b->mn_stride + range->scale_b * b->k_stride,
        tile->rows - lane, tile->columns - lane};
}

DEVICE void next_factors(const args_t *args, factors_t *f) {
    f->a += args->scale_a.k_stride;
    f->b += args->scale_b.k_stride;
}

/* By one thread. */
DEVICE void copy_factors(const args_t *args, factors_t *f, place_t p) {
    const int rows = f->rows < BLOCK_M ? f->rows : BLOCK_M;
    const int columns = f->columns < BLOCK_N ? f->columns : BLOCK_N;
    const uint32_t bytes_a = rows > 0 ? (uint32_t)rows * 4 : 0;
    const uint32_t bytes_b = columns > 0 ? (uint32_t)columns * 4 : 0;
    wait_empty(p);
    mbarrier_arrive_expect(full_barrier(p), bytes_a + bytes_b);
    if (bytes_a) bulk_load(scale_a_at(p), f->a, bytes_a, full_barrier(p));
    if (bytes_b) bulk_load(scale_b_at(p), f->b, bytes_b, full_barrier(p));
    next_factors(args, f);
}

/* Every 32nd factor of one block; 1 where there are none. values: [count / 32]; left: factors that
 * there are from `from` on */
DEVICE void fetch_factors(
    float *values, int count, const dg_sm90_vector_scale_t *scale, const float *from, int left) {
    UNROLL
    for (int i = 0; i < count / 32; i++) {
        values[i] = 1.f;
        if (scale->data && i * 32 < left) values[i] = ld_constant_f32(from);
        from += 32 * scale->mn_stride;
    }
}

/* By the warp; those of the next block are on their way while this one's stage is waited for. */
DEVICE void load_factors(const args_t *args, factors_t *f, place_t p) {
    const uint32_t lane = lane_index();
    float a[BLOCK_M / 32], b[BLOCK_N / 32];
    fetch_factors(a, BLOCK_M, &args->scale_a, f->a, f->rows);
    fetch_factors(b, BLOCK_N, &args->scale_b, f->b, f->columns);
    next_factors(args, f);
    wait_empty(p);
    UNROLL
    for (uint32_t i = 0; i < BLOCK_M / 32; i++)
        st_shared_f32(scale_a_at(p) + (i * 32 + lane) * 4, a[i]);
    UNROLL
    for (uint32_t i = 0; i < BLOCK_N / 32; i++)
        st_shared_f32(scale_b_at(p) + (i * 32 + lane) * 4, b[i]);
    warp_sync();
    if (lane == 0) mbarrier_arrive(full_barrier(p));
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

/* The warp: all tiles. */
DEVICE void load_scales(const args_t *args) {
    const bool bulk =
        is_bulk(&args->scale_a, args->tiles.m) && is_bulk(&args->scale_b, args->tiles.n);
    const int lane = (int)lane_index();
    walk_t walk = begin_walk(&args->tiles);
    tile_place_t published = {0, 0};
    place_t p = {0, 0};
    tile_t tile;
    if (bulk) clear_factors();
    while (next_tile(&args->tiles, &walk, &tile)) {
        if (lane == 0) publish_tile(&published, &tile);
        for (int group = tile.group; group < group_end(args, &tile); group++) {
            const k_range_t range = find_k_range(args, group);
            factors_t f = find_factors(args, &tile, &range, bulk ? 0 : lane);
            for (int left = range.count; left > 0; left -= 128) {
                if (!bulk)
                    load_factors(args, &f, p);
                else if (lane == 0)
                    copy_factors(args, &f, p);
                p = next_place(p);
            }
        }
    }
    if (lane == 0) publish_end(&published);
}
