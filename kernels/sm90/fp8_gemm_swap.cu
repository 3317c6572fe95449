/* SPDX-License-Identifier: MIT
 *
 * FP8 GEMM for Hopper with the operands exchanged, for few rows of a: rows of b (weights) are the 64
 * rows of wgmma, rows of a (tokens) its columns, of which there may be 16. So a tile of few tokens
 * wastes nothing, and every weight is read once. d[m, n] = c[m, n] + sum over blocks of 128 k of
 * scale_a[m] * scale_b[n / 128] * (a x b); one product, or rows in groups. Parameters and macros:
 * args/swap.h.
 *
 * Where tiles are few, SPLITS CTAs of a cluster take a part of k each. At the end of a tile every CTA
 * has its sums in its shared memory; CTA r of the cluster adds rows r * BLOCK_M / SPLITS and on over
 * all CTAs, in their order, and stores them: no workspace, no atomics, the same bits every time.
 *
 * Warps. Warpgroups 0 .. MATH_GROUPS-1 multiply, promote and store. In the last one, warp 0 walks the
 * tiles, publishes them and issues all TMA loads; warp 1 copies the scales of a and b, block after
 * block, as far ahead as the ring is long.
 *
 * Shared memory, from a 1024-byte aligned base:
 *
 *   B       STAGES x [BLOCK_N x 128] e4m3, swizzled        full[s]: A, B and scales are there
 *   A       STAGES x [BLOCK_M x 128] e4m3, swizzled        empty[s]: every math warp is done
 *   SUMS    [BLOCK_M x (BLOCK_N + 4)] f32: one row a token; the gap spreads rows over the banks
 *   SCALES  STAGES x [BLOCK_M + 4] f32: those of a, then that of b for each math warpgroup
 *   TILES   of sm90/tiles.cuh
 *   full, empty: STAGES mbarriers each
 *   summed  every math warp of the cluster has written its part of SUMS
 *   stored  every math warp of the cluster has read all it needs of SUMS */
#include "args/swap.h"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/copy_async.cuh"
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
#define SHARE DG_SHARE_NONE
#define MATH_ROWS BLOCK_N
#include "sm90/cta.cuh"

#define A_BYTES (BLOCK_M * 128)
#define B_BYTES (BLOCK_N * 128)
#define SUM_PITCH ((BLOCK_N + 4) * 4)
#define SUMS_BYTES (BLOCK_M * SUM_PITCH)
#define SCALE_BYTES (BLOCK_M * 4 + 16)
#define AT_A (STAGES * B_BYTES)
#define AT_SUMS (RING_SUMS ? 0 : AT_A + STAGES * A_BYTES)
#define AT_SCALES (AT_A + STAGES * A_BYTES + (RING_SUMS ? 0 : SUMS_BYTES))
#define AT_TILES (AT_SCALES + STAGES * SCALE_BYTES)
#define AT_FULL (AT_TILES + TILE_RING_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define AT_SUMMED (AT_EMPTY + STAGES * 8)
#define AT_STORED (AT_SUMMED + 8)
#define SHARED_BYTES (AT_STORED + 8)

#include "sm90/ring.cuh"
#include "sm90/tiles.cuh"

static_assert(WARP_ROWS == 1, "a warpgroup has 64 rows of b");
static_assert(BLOCK_M % 16 == 0 && BLOCK_M <= 128, "columns of wgmma; registers");
static_assert(MATH_GROUPS <= 4, "a slot has room for four scales of b");
static_assert(
    SHARED_BYTES == DG_SM90_FP8_GEMM_SWAP_SHARED_BYTES(BLOCK_M, BLOCK_N, STAGES, RING_SUMS),
    "the host counts the same bytes");
static_assert((SHARED_BYTES + 1024) * PER_SM <= 228 * 1024, "does not fit shared memory");
static_assert(!RING_SUMS || SUMS_BYTES <= STAGES * (A_BYTES + B_BYTES), "sums fit the ring");

#define SLICE ((BLOCK_M + SPLITS - 1) / SPLITS) /* rows that a CTA stores */

typedef dg_sm90_fp8_gemm_swap_args_t args_t;

DEVICE uint32_t scales_at(place_t p) {
    return shared_base() + AT_SCALES + p.stage * SCALE_BYTES;
}

/* By all threads, at the start: factors that nobody will copy are 1. */
DEVICE void fill_scales(const args_t *args) {
    const uint32_t words = SCALE_BYTES / 4;
    for (uint32_t i = thread_index(); i < STAGES * words; i += THREADS)
        if (i % words < BLOCK_M ? !args->scale_a : !args->scale_b)
            st_shared_f32(shared_base() + AT_SCALES + i * 4, 1.f);
}

DEVICE uint32_t stored_barrier(void) {
    return shared_base() + AT_STORED;
}

/* One thread: finds and publishes tiles, and fills stage after stage with A and B. */
DEVICE void load_tiles(const args_t *args) {
    const uint32_t base = shared_base();
    uint32_t parity = 1;
    place_t p = {0, 0};
    tile_place_t tile_place = {0, 0};
    tile_t tile;
    for (walk_t walk = begin_walk(&args->tiles); next_tile(&args->tiles, &walk, &tile);) {
        publish_tile(&tile_place, &tile);
        if (RING_SUMS) { /* those of the tile before */
            mbarrier_wait_cluster(stored_barrier(), parity);
            fence_proxy_async();
            parity ^= 1;
        }
        UNROLL_BY(1)
        for (int i = 0; i < tile.k_blocks; i++) {
            const uint32_t full = full_barrier(p), a = base + AT_A + p.stage * A_BYTES;
            const int k = (tile.first_block + i) * 128;
            wait_empty(p);
            mbarrier_arrive_expect(full, A_BYTES + B_BYTES);
            tma_load_3d(base + p.stage * B_BYTES, &args->b, full, k, tile.column, tile.group);
            tma_load_3d(a, &args->a, full, k, tile.row, tile.slab);
            p = next_place(p);
        }
    }
    publish_end(&tile_place);
}

/* One warp: copies the scale of each row of a, and for each math warpgroup that of its rows of b. */
DEVICE void load_scales(const args_t *args) {
    const int lane = (int)lane_index(), last_of_b = (args->tiles.n - 1) / 128;
    place_t p = {0, 0};
    for (tile_place_t at = {0, 0}; wait_tile(at) >= 0; at = next_tile_place(at)) {
        const tile_t tile = take_tile(at);
        const int rows = tile.rows - lane; /* mine are below */
        const int of_b = (tile.column + lane * 64) / 128;
        const float *row_scales = args->scale_a + tile.slab * args->scale_a_slab_stride +
                                  (tile.row + lane) * args->scale_a_m_stride +
                                  tile.first_block * args->scale_a_k_stride;
        const float *column_scale = args->scale_b + tile.group * args->scale_b_group_stride +
                                    (of_b < last_of_b ? of_b : last_of_b) * args->scale_b_n_stride +
                                    tile.first_block * args->scale_b_k_stride;
        UNROLL_BY(1)
        for (int k = 0; k < tile.k_blocks; k++) {
            const uint32_t to = scales_at(p);
            const float *from = row_scales;
            wait_empty(p);
            UNROLL
            for (int i = 0; i < BLOCK_M; i += 32) {
                if (args->scale_a && i + lane < BLOCK_M)
                    copy_async<4>(to + (uint32_t)(i + lane) * 4, i < rows ? from : args->scale_a,
                        i < rows ? 4 : 0);
                from += 32 * args->scale_a_m_stride;
            }
            if (args->scale_b && lane < MATH_GROUPS)
                copy_async<4>(to + (uint32_t)(BLOCK_M + lane) * 4, column_scale, 4);
            copy_async_arrive(full_barrier(p));
            row_scales += args->scale_a_k_stride;
            column_scale += args->scale_b_k_stride;
            p = next_place(p);
        }
    }
}

/* Starts the products of 64 rows of b and one k block into `products`: [BLOCK_M / 2]. */
DEVICE void start_products(float *products, uint32_t b, uint32_t a) {
    pin_f32_array(products, BLOCK_M / 2);
    wgmma_fence();
    UNROLL
    for (uint32_t i = 0; i < 4; i++)
        WGMMA(e4m3, BLOCK_M, products, descriptor_from_low_k128(b + i * 2),
            descriptor_from_low_k128(a + i * 2), i > 0);
    wgmma_commit();
    pin_f32_array(products, BLOCK_M / 2);
}

DEVICE void finish_products(float *products) {
    pin_f32_array(products, BLOCK_M / 2);
    wgmma_wait<0>();
    pin_f32_array(products, BLOCK_M / 2);
}

/* Arrives at a barrier of every CTA of the cluster; by a whole warp, whose accesses to shared memory
 * come before. */
DEVICE void arrive_everywhere(uint32_t barrier) {
    warp_sync();
    if (lane_index() < SPLITS) mbarrier_arrive_peer_release(barrier, lane_index());
}

/* The same for a warp that only has read, and has what it read. */
DEVICE void hand_sums_back(uint32_t stored) {
    warp_sync();
    if (lane_index() < SPLITS) mbarrier_arrive_peer(stored, lane_index());
}

/* SUMS of CTA `rank` of the cluster: four neighbouring columns of a row. values: [4] */
DEVICE void read_sums(float *values, uint32_t rank, int row, int column) {
    const uint32_t at = shared_base() + AT_SUMS + (uint32_t)row * SUM_PITCH + (uint32_t)column * 4;
    uint32_t words[4];
    if (SPLITS == 1)
        ld_shared_x4(words, at);
    else
        ld_peer_x4(words, peer_address(at, rank));
    UNROLL
    for (int i = 0; i < 4; i++) values[i] = f32_from_bits(words[i]);
}

/* Stores four columns of a row, as many as there are. at: index of the first element in d; c_at: in c
 */
DEVICE void store_four(
    const args_t *args, float *sums, int64_t at, int64_t c_at, int columns, bool adds) {
    const bool f32 = args->out_f32 != 0;
    const uint8_t *c = (const uint8_t *)args->out.c + c_at * (f32 ? 4 : 2);
    uint8_t *d = (uint8_t *)args->out.d + at * (f32 ? 4 : 2);
    if (adds) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            if (i >= columns) break;
            sums[i] += f32 ? ld_global_f32((const float *)c + i)
                           : f32_from_bits((uint32_t)ld_global_u16(c + i * 2) << 16);
        }
    }
    uint32_t words[4];
    UNROLL
    for (int i = 0; i < 4; i++) words[i] = bits_from_f32(sums[i]);
    if (!f32) {
        words[0] = pack_bf16(sums[0], sums[1]);
        words[1] = pack_bf16(sums[2], sums[3]);
    }
    if (f32 && columns >= 4 && args->out.alignment >= 16)
        st_global_x4(d, words);
    else if (!f32 && columns >= 4 && args->out.alignment >= 8)
        st_global_x2(d, words);
    else {
        UNROLL
        for (int i = 0; i < 4; i++) {
            if (i >= columns) break;
            if (f32)
                st_global_u32(d + i * 4, words[i]);
            else
                st_global_u16(d + i * 2, (uint16_t)(words[i / 2] >> i % 2 * 16));
        }
    }
}

/* This CTA's rows of the tile: adds the sums of all CTAs of the cluster, in their order. */
DEVICE void store_slice(const args_t *args, const tile_t *tile) {
    const dg_sm90_output_t *out = &args->out;
    const int first = SPLITS == 1 ? 0 : (int)cluster_rank() * SLICE;
    const bool adds = out->c && tile->group >= 0;
    for (int i = (int)thread_index(); i < SLICE * (BLOCK_N / 4); i += MATH_GROUPS * 128) {
        const int row = first + i / (BLOCK_N / 4), column = i % (BLOCK_N / 4) * 4;
        const int columns = tile->columns - column;
        float sums[4];
        if (row >= tile->rows || row >= BLOCK_M || columns <= 0) continue;
        read_sums(sums, 0, row, column);
        UNROLL
        for (uint32_t rank = 1; rank < SPLITS; rank++) {
            float more[4];
            read_sums(more, rank, row, column);
            UNROLL
            for (int j = 0; j < 4; j++) sums[j] += more[j];
        }
        const int64_t d_at = tile->slab * out->slab_stride + (tile->row + row) * out->pitch;
        const int64_t c_at = tile->slab * out->c_slab_stride + (tile->row + row) * out->c_pitch;
        store_four(
            args, sums, d_at + tile->column + column, c_at + tile->column + column, columns, adds);
    }
}

/* Writes a warp's sums, 16 rows of b by BLOCK_M tokens, into SUMS. row: first of b, in the tile */
DEVICE void put_sums(const float *sums, uint32_t row) {
    uint32_t lane = lane_index();
    pin_u32(lane);
    const uint32_t at = shared_base() + AT_SUMS + (lane % 4 * 2) * SUM_PITCH + (row + lane / 4) * 4;
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

/* One math warpgroup: for every tile, all k blocks of its 64 rows of b, then its share of d. */
DEVICE void multiply(const args_t *args) {
    const uint32_t base = shared_base(), warp = warp_index();
    const uint32_t summed = base + AT_SUMMED, stored = stored_barrier();
    const uint32_t b_first = descriptor_low_k128(base + warp / 4 * 64 * 128);
    const uint32_t a_first = descriptor_low_k128(base + AT_A);
    uint32_t a = a_first, b = b_first, parity = 0;
    uint32_t scales_from = scales_at({0, 0}) + lane_index() % 4 * 8;
    place_t p = {0, 0};
    tile_place_t tile_place = {0, 0};
    float products[BLOCK_M / 2];

    for (int k_blocks; (k_blocks = wait_tile(tile_place)) >= 0;) {
        float sums[BLOCK_M / 2];
        UNROLL
        for (int i = 0; i < BLOCK_M / 2; i++) sums[i] = 0.f;
        if (k_blocks > 0) wait_full(p);
        UNROLL_BY(1)
        for (int k = 0; k < k_blocks; k++) {
            const place_t next = next_place(p);
            float scales[BLOCK_M / 4];
            uint32_t ready = 1;
            start_products(products, b, a);
            const float column_scale = ld_shared_f32(scales_at(p) + (BLOCK_M + warp / 4) * 4);
            UNROLL
            for (uint32_t i = 0; i < BLOCK_M / 8; i++)
                ld_shared_f32x2(scales + i * 2, scales_from + i * 32);
            UNROLL
            for (uint32_t i = 0; i < BLOCK_M / 4; i++) scales[i] *= column_scale;
            pin_f32_array(scales, BLOCK_M / 4);
            finish_products(products);
            release(p);
            if (k < k_blocks - 1) ready = test_full(next);
            UNROLL
            for (int i = 0; i < BLOCK_M / 8; i++) {
                const float left = scales[i * 2], right = scales[i * 2 + 1];
                sums[i * 4] += left * products[i * 4];
                sums[i * 4 + 1] += right * products[i * 4 + 1];
                sums[i * 4 + 2] += left * products[i * 4 + 2];
                sums[i * 4 + 3] += right * products[i * 4 + 3];
            }
            pin_f32_array(sums, BLOCK_M / 2);
            if (!ready) wait_full(next);
            a = a_first + next.stage * (A_BYTES / 16);
            b = b_first + next.stage * (B_BYTES / 16);
            scales_from = scales_at(next) + lane_index() % 4 * 8;
            p = next;
        }
        const tile_t tile = take_tile(tile_place);
        tile_place = next_tile_place(tile_place);
        if (RING_SUMS) bar_sync(1, MATH_GROUPS * 128); /* all products are done */
        mbarrier_wait_cluster(stored, parity ^ 1);
        put_sums(sums, warp * 16);
        arrive_everywhere(summed);
        mbarrier_wait_cluster(summed, parity);
        store_slice(args, &tile);
        hand_sums_back(stored);
        parity ^= 1;
    }
    /* Nobody leaves while another CTA may still read its sums or signal its barriers. The last signal
     * is this one; on a fresh barrier there is nothing to wait for. */
    mbarrier_wait_cluster(stored, parity ^ 1);
}

KERNEL_PER_SM(THREADS, PER_SM)
dg_sm90_fp8_gemm_swap(KERNEL_PARAMETER dg_sm90_fp8_gemm_swap_args_t args) {
    const uint32_t warp = warp_index();
    if (thread_index() == THREADS - 1) {
        tensormap_prefetch(&args.b);
        tensormap_prefetch(&args.a);
    }
    if (thread_index() == 0) {
        init_ring(1 + 32);
        init_tile_ring(MATH_WARPS + 1);
        mbarrier_init(shared_base() + AT_SUMMED, MATH_WARPS * SPLITS);
        mbarrier_init(stored_barrier(), MATH_WARPS * SPLITS);
        fence_mbarrier_init();
    }
    if (!args.scale_a || !args.scale_b) fill_scales(&args);
    cta_sync();
    if (SPLITS > 1) cluster_arrive(); /* what peers signal waits for that; loads do not */
    dependency_wait();

    if (warp >= MATH_WARPS) {
        if (MOVES_REGISTERS) setmaxnreg_dec<LOAD_REGISTERS>();
        if (warp == MATH_WARPS && lane_index() == 0) load_tiles(&args);
        if (warp == MATH_WARPS + 1) load_scales(&args);
        warp_sync();
        if (SPLITS > 1) cluster_wait();
    } else {
        if (MOVES_REGISTERS) setmaxnreg_inc<MATH_REGISTERS>();
        if (SPLITS > 1) cluster_wait();
        multiply(&args);
    }
}
