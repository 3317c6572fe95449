/* SPDX-License-Identifier: MIT
 *
 * The warp that brings the factors of fp8_gemm_vector, publishes its tiles and fetches c. Included by
 * the kernel behind its layout of shared memory and its ranges of k.
 *
 * One thread copies a row of a tile's factors in one piece (cp.async.bulk) where factors of
 * neighbouring rows adjoin, on addresses of 16 bytes, in fours. Otherwise the warp's lanes load every
 * 32nd, one block ahead. That takes longer than the products of a block: a warp alone needs about 100
 * clocks for each load of 32 factors with its addresses, beside math warps that keep the SM busy.
 *
 * The c that a tile will add is brought into L2 while it is multiplied, a share with each block of k:
 * all at once, the prefetches would hold up the factors behind them. */
#pragma once
#include "device/bulk.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "sm90/ring.cuh"
#include "sm90/tiles.cuh"

/* Lines of 128 bytes that a row of a tile of c has. */
#define C_LINES ((BLOCK_N * OUT_BYTES + 127) / 128)

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

/* Brings a block's share of the c that the tile at `place` will add into L2: the lines from `first`
 * on. Reads the tile again where it is published: this warp has no registers to keep it. */
DEVICE void prefetch_c(const dg_sm90_output_t *out, tile_place_t place, int first, int share) {
    const tile_t tile = read_tile(place);
    const uint8_t *c = (const uint8_t *)out->c + tile.slab * out->c_slab_stride * OUT_BYTES;
    if (out->c_list) c = (const uint8_t *)ld_global_u64(out->c_list + tile.slab);
    c += (tile.row * out->c_pitch + tile.column) * OUT_BYTES;
    UNROLL_BY(1)
    for (int i = first + (int)lane_index(); i < first + share; i += 32) {
        const int row = i / C_LINES, byte = i % C_LINES * 128;
        if (row < BLOCK_M && row < tile.rows && byte < tile.columns * OUT_BYTES)
            prefetch_global(c + row * out->c_pitch * OUT_BYTES + byte);
    }
}

/* Lines of c to fetch in each block of k of a tile, a multiple of 32. */
DEVICE int share_c(const args_t *args, int k_blocks) {
    if (!args->out.c && !args->out.c_list) return 0;
    return BLOCK_M * C_LINES / (k_blocks + 1) / 32 * 32 + 32;
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
    walk_t walk = begin_walk(&args->tiles);
    tile_place_t place = {0, 0};
    place_t p = {0, 0};
    tile_t tile;
    if (bulk) clear_factors();
    while (next_tile(&args->tiles, &walk, &tile)) {
        const int share = share_c(args, tile.k_blocks), lane = (int)lane_index();
        tile_place_t next = place;
        int fetched = 0;
        if (lane == 0) publish_tile(&next, &tile);
        warp_sync(); /* every lane reads it again */
        for (int group = tile.group; group < group_end(args, &tile); group++) {
            const k_range_t range = find_k_range(args, group);
            factors_t f = find_factors(args, &tile, &range, bulk ? 0 : lane);
            for (int left = range.count; left > 0; left -= 128) {
                if (!bulk)
                    load_factors(args, &f, p);
                else if (lane == 0)
                    copy_factors(args, &f, p);
                if (share && fetched < BLOCK_M * C_LINES)
                    prefetch_c(&args->out, place, fetched, share);
                fetched += share;
                p = next_place(p);
            }
        }
        place = next_tile_place(place);
    }
    if (lane_index() == 0) publish_end(&place);
}
