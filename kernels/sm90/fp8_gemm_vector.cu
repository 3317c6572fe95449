/* SPDX-License-Identifier: MIT
 *
 * FP8 GEMM for Hopper with a factor for every row, every column and 128 k: d = c + sum over blocks
 * of scale_a[m] * scale_b[n] * (a x b), FP32 or BF16 out; dense, for groups of rows along m, or for
 * groups of tokens along k: the weight gradient of a mixture of experts. Factors that cover 128 rows, and
 * those that are exponents, become one for each row on their way (sm90/factors.cuh). Parameters and
 * specialisation macros: args/fp8_gemm_vector.h. Persistent, warp specialised, optionally in clusters of two.
 *
 * Operands may be contiguous in k or in m and n (token by token, as training has them); the latter
 * are turned on their way (sm90/mn_major.cuh): a by the math warps, from shared memory into
 * registers, b by two warps that put the tile back where it was.
 *
 * A group's tokens end anywhere, and a block of 128 that crosses the end brings tokens of the next
 * group, which may be NaN. The same two warps overwrite them with zeros, in a and b, before the
 * block is handed on: one tensor map serves all groups, and no map is ever edited.
 *
 * Warps. Warpgroups 0 .. MATH_GROUPS-1 multiply, promote and store, each warp for itself. In the
 * last warpgroup warp 0 issues all TMA loads, warp 1 brings the factors and publishes tiles, warps 2
 * and 3 prepare stages if there is anything to prepare (PREPARE).
 *
 * Shared memory, from a 1024-byte aligned base:
 *
 *   A        STAGES      x BLOCK_M x 128 e4m3          loaded[s]: TMA has brought A and B
 *   B        STAGES      x BLOCK_N x 128 e4m3          full[s]:   both are prepared, factors are there
 *   CHUNKS   output on its way (sm90/add_store.cuh)        empty[s]:  every math warp is done with it
 *   SCALES   2 * STAGES  x [BLOCK_M + BLOCK_N] f32
 *   TILES    tiles to come (sm90/tiles.cuh)
 *   full, empty, loaded: STAGES mbarriers each
 *
 * Scale slots are twice as many as stages, slot = stage + STAGES * parity: a stage is handed back as
 * soon as its products are done, and its factors stay readable while they are promoted. */
#include "args/fp8_gemm_vector.h"
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
#    define WGMMA_SHAPES WGMMA_SHAPE(BLOCK_N)
#endif
#include "device/wgmma.cuh"

/* The warps that bring factors and prepare have more to remember than other kernels' loaders, most of
 * all those that turn b beside a gathered a; the math warps can spare it. */
#define TURNS_B_ALONE (!A_MN && B_MN)
#define MANY_LOADS (TURNS_B_ALONE || SCHEDULE == DG_SCHEDULE_M_GROUPED)
#define LOAD_REGISTERS (MATH_GROUPS == 3 ? 56 : MANY_LOADS ? 72 : 56)
#define MATH_REGISTERS (MATH_GROUPS == 3 ? 152 : MANY_LOADS ? 216 : 224)
#include "sm90/cta.cuh"

#define PREPARE (B_MN || SCHEDULE == DG_SCHEDULE_K_GROUPED)
#define PREPARERS 2
#define ROW_PAIRS A_MN

#define A_BYTES (BLOCK_M * 128)
#define B_BYTES (BLOCK_N * 128)
#define SCALE_BYTES ((BLOCK_M + BLOCK_N) * 4)
#define AT_B (STAGES * A_BYTES)
#define AT_CHUNKS (AT_B + STAGES * B_BYTES)
#define AT_SCALES (AT_CHUNKS + MATH_WARPS * STORE_CHUNK_BYTES)
#define AT_TILES (AT_SCALES + 2 * STAGES * SCALE_BYTES)
#define AT_FULL (AT_TILES + TILE_RING_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define AT_LOADED (AT_EMPTY + STAGES * 8)
#define SHARED_BYTES (AT_LOADED + STAGES * 8)

#include "sm90/add_store.cuh"
#include "sm90/clear_tail.cuh"
#include "sm90/gather.cuh"
#include "sm90/mn_major.cuh"
#include "sm90/ring.cuh"
#include "sm90/tiles.cuh"

static_assert(!A_MN || BLOCK_M % 128 == 0, "tiles of 128 m");
static_assert(!A_MN || SCHEDULE != DG_SCHEDULE_M_GROUPED, "tiles of 128 m begin at any row");
static_assert(!B_MN || BLOCK_N == 128, "a tile that is turned in place is square");
static_assert(!A_MN || SHARE != DG_SHARE_A || BLOCK_M == 256, "each CTA loads whole tiles of a");
static_assert(
    SHARED_BYTES == DG_SM90_FP8_GEMM_VECTOR_SHARED_BYTES(BLOCK_M, BLOCK_N, STAGES, MATH_GROUPS),
    "the host counts the same bytes");
static_assert(SHARED_BYTES <= 227 * 1024, "does not fit shared memory");

typedef dg_sm90_fp8_gemm_vector_args_t args_t;

DEVICE uint32_t loaded_barrier(place_t p) {
    return shared_base() + AT_LOADED + p.stage * 8;
}
DEVICE uint32_t a_at(place_t p) {
    return shared_base() + p.stage * A_BYTES;
}
DEVICE uint32_t b_at(place_t p) {
    return shared_base() + AT_B + p.stage * B_BYTES;
}
DEVICE uint32_t scale_a_at(place_t p) {
    return shared_base() + AT_SCALES + (p.stage + p.parity * STAGES) * SCALE_BYTES;
}
DEVICE uint32_t scale_b_at(place_t p) {
    return scale_a_at(p) + BLOCK_M * 4;
}

/* What a group has of k and of factors. Where groups do not lie along k it is all k, whose end the maps
 * know; none for rows of no group. */
typedef struct k_range {
    int begin, count;        /* tokens */
    int scale_a, scale_b;    /* first rows of factors */
    bool gather_a, gather_b; /* TMA cannot fetch this operand */
} k_range_t;

/* Whether a group of an operand lies where TMA cannot fetch it. mn: rows of a FLAT group */
DEVICE bool is_gathered(
    bool mn_fastest, bool flat, const dg_k_segment_t *s, const int64_t *flat_begin, int64_t mn) {
    if (mn_fastest) return false;
    if (!flat) return ld_global_u64(&s->token_begin) % 16 != 0;
    return (ld_global_u64(&s->token_count) | ld_global_u64(flat_begin) * (uint64_t)mn) % 16 != 0;
}

DEVICE k_range_t find_k_range(const args_t *args, const tile_t *tile, int group) {
    if (SCHEDULE != DG_SCHEDULE_K_GROUPED) return {0, tile->k_blocks * 128, 0, 0, false, false};
    const dg_k_segment_t *s = args->tiles.segments + group;
    return {(int)ld_global_u64(&s->token_begin), (int)ld_global_u64(&s->token_count),
        (int)ld_global_u64(&s->scale_begin_a), (int)ld_global_u64(&s->scale_begin_b),
        is_gathered(A_MN, args->flat_a != 0, s, &s->flat_begin_a, args->tiles.m),
        is_gathered(B_MN, args->flat_b != 0, s, &s->flat_begin_b, args->tiles.n)};
}

/* Behind the last group of a tile. */
DEVICE int group_end(const args_t *args, const tile_t *tile) {
    return SCHEDULE == DG_SCHEDULE_K_GROUPED && args->tiles.sum ? args->tiles.group_count
                                                                : tile->group + 1;
}

#include "sm90/factors.cuh"

/* Whether a block of which the group has `left` tokens is changed in shared memory: turned, gathered,
 * or cut where another group's tokens may follow. The map of a FLAT group ends where the group does. */
DEVICE bool is_prepared(const args_t *args, const k_range_t *range, int left) {
    if (B_MN || !PREPARE) return PREPARE;
    if (range->gather_a || range->gather_b) return true;
    return left < 128 && !(args->flat_a && args->flat_b);
}

/* ---- loads ------------------------------------------------------------------------------------ */

/* matrix: M-grouped, of the map's third axis */
DEVICE void load(uint32_t to, const dg_tensor_map_t *map, uint32_t barrier, int x, int y,
    int matrix, bool shared) {
    if (SCHEDULE == DG_SCHEDULE_M_GROUPED && shared)
        tma_load_3d_multicast(to, map, barrier, x, y, matrix, 3);
    else if (SCHEDULE == DG_SCHEDULE_M_GROUPED)
        tma_load_3d(to, map, barrier, x, y, matrix);
    else if (shared)
        tma_load_2d_multicast(to, map, barrier, x, y, 3);
    else
        tma_load_2d(to, map, barrier, x, y);
}

/* Block k .. k + 127 of the tile's rows of a. A shared operand is loaded in halves, one by each CTA,
 * each half into both. */
DEVICE void load_a(
    const dg_tensor_map_t *map, const tile_t *tile, place_t p, int k, uint32_t barrier) {
    const bool shared = SHARE == DG_SHARE_A;
    const int half = shared ? (int)cluster_rank() : 0;
    if (A_MN) {
        for (int i = half; i < BLOCK_M / 128; i += shared ? 2 : 1)
            load(a_at(p) + (uint32_t)i * MN_TILE_BYTES, map, barrier, tile->row + i * 128, k,
                tile->slab, shared);
    } else {
        load(a_at(p) + (uint32_t)half * (A_BYTES / 2), map, barrier, k,
            tile->row + half * (BLOCK_M / 2), tile->slab, shared);
    }
}

DEVICE void load_b(
    const dg_tensor_map_t *map, const tile_t *tile, place_t p, int k, uint32_t barrier) {
    const bool shared = SHARE == DG_SHARE_B;
    const int half = shared ? (int)cluster_rank() : 0;
    const uint32_t to = b_at(p) + (uint32_t)half * (B_BYTES / 2);
    if (B_MN)
        load(to, map, barrier, tile->column, k + half * 64, tile->group, shared);
    else
        load(to, map, barrier, k, tile->column + half * (BLOCK_N / 2), tile->group, shared);
}

/* One thread: fills stage after stage with A and B. */
DEVICE void load_tiles(const args_t *args) {
    walk_t walk = begin_walk(&args->tiles);
    place_t p = {0, 0};
    tile_t tile;
    while (next_tile(&args->tiles, &walk, &tile)) {
        for (int group = tile.group; group < group_end(args, &tile); group++) {
            const k_range_t range = find_k_range(args, &tile, group);
            const dg_tensor_map_t *a = args->flat_a ? args->flat_a + group : &args->a;
            const dg_tensor_map_t *b = args->flat_b ? args->flat_b + group : &args->b;
            const int k_a = args->flat_a ? 0 : range.begin, k_b = args->flat_b ? 0 : range.begin;
            const uint32_t bytes = (range.gather_a ? 0 : A_BYTES) + (range.gather_b ? 0 : B_BYTES);
            if (args->flat_a && range.count > 0) tensormap_acquire(a);
            if (args->flat_b && range.count > 0) tensormap_acquire(b);
            for (int k = 0; k < range.count; k += 128) {
                const bool prepared = is_prepared(args, &range, range.count - k);
                const uint32_t barrier = prepared ? loaded_barrier(p) : full_barrier(p);
                wait_empty(p);
                mbarrier_arrive_expect(barrier, bytes);
                if (PREPARE && !prepared) mbarrier_arrive(barrier); /* for the second preparer */
                if (!range.gather_a) load_a(a, &tile, p, k_a + k, barrier);
                if (!range.gather_b) load_b(b, &tile, p, k_b + k, barrier);
                p = next_place(p);
            }
        }
    }
}

/* ---- preparation ------------------------------------------------------------------------------ */

/* The operands of a block that TMA did not bring. k: the block's first, of the group */
DEVICE void gather_operands(
    const args_t *args, const tile_t *tile, const k_range_t *range, int group, int k, place_t p) {
    const dg_k_segment_t *s = args->tiles.segments + group;
    if (!A_MN && range->gather_a) {
        const int64_t pitch = args->flat_a ? range->count : args->pitch_a;
        const int64_t begin =
            args->flat_a ? (int64_t)ld_global_u64(&s->flat_begin_a) * args->tiles.m : range->begin;
        gather_block(a_at(p), BLOCK_M, args->data_a + begin + tile->row * pitch + k, pitch,
            tile->rows, range->count - k);
    }
    if (!B_MN && range->gather_b) {
        const int64_t pitch = args->flat_b ? range->count : args->pitch_b;
        const int64_t begin =
            args->flat_b ? (int64_t)ld_global_u64(&s->flat_begin_b) * args->tiles.n : range->begin;
        gather_block(b_at(p), BLOCK_N, args->data_b + begin + tile->column * pitch + k, pitch,
            tile->columns, range->count - k);
    }
}

/* Two warps: make of a stage that TMA brought for them what the tensor core can multiply. */
DEVICE void prepare_stage(
    const args_t *args, const tile_t *tile, const k_range_t *range, int group, int k, place_t p) {
    const int left = range->count - k;
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED && (range->gather_a || range->gather_b))
        gather_operands(args, tile, range, group, k, p);
    if (SCHEDULE == DG_SCHEDULE_K_GROUPED && left < 128) {
        if (!range->gather_a) clear_tail(a_at(p), BLOCK_M, A_MN, (uint32_t)left);
        if (!range->gather_b) clear_tail(b_at(p), BLOCK_N, B_MN, (uint32_t)left);
        bar_sync(1, PREPARERS * 32);
    }
    if (B_MN) transpose_mn_tile(b_at(p), warp_index() & 1);
    fence_proxy_async();
    warp_sync();
    if (lane_index() == 0) mbarrier_arrive(full_barrier(p));
}

DEVICE void prepare_stages(const args_t *args) {
    walk_t walk = begin_walk(&args->tiles);
    uint32_t parities = 0; /* a bit a stage: of its next preparation */
    place_t p = {0, 0};
    tile_t tile;
    while (next_tile(&args->tiles, &walk, &tile)) {
        for (int group = tile.group; group < group_end(args, &tile); group++) {
            const k_range_t range = find_k_range(args, &tile, group);
            for (int k = 0; k < range.count; k += 128) {
                if (is_prepared(args, &range, range.count - k)) {
                    mbarrier_wait(loaded_barrier(p), parities >> p.stage & 1);
                    parities ^= 1u << p.stage;
                    prepare_stage(args, &tile, &range, group, k, p);
                }
                p = next_place(p);
            }
        }
    }
}

/* ---- products --------------------------------------------------------------------------------- */

/* A of a 64-row sub-tile and one k block: fragments in registers, or a descriptor. */
typedef struct a_block {
    uint32_t fragment[A_MN ? 4 : 1][4];
    uint32_t descriptor;
} a_block_t;

/* sub: the sub-tile, of the warpgroup's WARP_ROWS */
DEVICE void load_a_block(a_block_t *a, place_t p, uint32_t sub, uint32_t first_row, uint32_t lane) {
    const uint32_t row =
        first_row + sub * 64; /* of this warp's 16, or in k-fastest tiles of the 64 */
    if (A_MN) {
        const uint32_t at =
            a_at(p) + row / 128 * MN_TILE_BYTES + mn_fragment_at(lane, row % 128 / 16);
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            load_mn_fragment(a->fragment[i], lane, at + i * MN_SLAB_BYTES);
    } else {
        a->descriptor = descriptor_low_k128(a_at(p)) + row * (128 / 16);
    }
}

/* Starts the products of one sub-tile and one k block into `products`: [BLOCK_N / 2]. b: lower half
 * of its descriptor */
DEVICE void start_products(float *products, a_block_t *a, uint32_t b) {
    pin_f32_array(products, BLOCK_N / 2);
    wgmma_fence();
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
#if A_MN
        WGMMA(
            e4m3_rs, BLOCK_N, products, a->fragment[i], descriptor_from_low_k128(b + i * 2), i > 0);
#else
        WGMMA(e4m3, BLOCK_N, products, descriptor_from_low_k128(a->descriptor + i * 2),
            descriptor_from_low_k128(b + i * 2), i > 0);
#endif
    }
    wgmma_commit();
    pin_f32_array(products, BLOCK_N / 2);
}

DEVICE void finish_products(float *products, a_block_t *a) {
    pin_f32_array(products, BLOCK_N / 2);
    wgmma_wait<0>();
    pin_f32_array(products, BLOCK_N / 2);
    if (A_MN) {
        UNROLL
        for (uint32_t i = 0; i < 4; i++) pin_u32_array(a->fragment[A_MN ? i : 0], 4);
    }
}

/* Factors of 16 columns for this thread: of its 2 of the first eight, and of the second. columns:
 * address of this lane's of the first 16 */
DEVICE void load_columns(float *values, uint32_t columns, int sixteen) {
    ld_shared_f32x2(values, columns + (uint32_t)sixteen * 64);
    ld_shared_f32x2(values + 2, columns + (uint32_t)sixteen * 64 + 32);
}

/* sums += factors * products for 16 columns. sums, products: [8]; upper, lower: factors of this
 * thread's two rows; columns: [4] */
DEVICE void promote_columns(
    float *sums, const float *products, float upper, float lower, const float *columns) {
    UNROLL
    for (int i = 0; i < 8; i++) {
        const float row = i % 4 < 2 ? upper : lower;
        sums[i] += row * columns[i / 4 * 2 + i % 2] * products[i];
    }
}

/* The same for columns 16 * first .. 16 * last - 1. early: [EARLY][4] factors that are there already */
#define EARLY (A_MN ? 0 : 2)
DEVICE void promote(float *sums, const float *products, float upper, float lower,
    const float (*early)[4], uint32_t columns, int first, int last) {
    UNROLL
    for (int i = first; i < last; i++) {
        float column[4];
        if (i >= EARLY) load_columns(column, columns, i);
        promote_columns(
            sums + i * 8, products + i * 8, upper, lower, i < EARLY ? early[i] : column);
    }
    pin_f32_array(sums + first * 8, (last - first) * 8);
}

/* All k blocks of a tile. Between "my products are done" and "my next products are issued"
 * stand the promotion and the next fragments of A, whose loads hide in the middle of it. */
DEVICE void multiply_tile(float (*sums)[BLOCK_N / 2], int k_blocks, place_t *place) {
    uint32_t lane = lane_index();
    pin_u32(lane); /* addresses made from it are made for each tile: stores need the registers */
    const uint32_t warp = warp_index();
    const uint32_t group_row = warp / 4 * 64 * WARP_ROWS, warp_row = group_row + warp % 4 * 16;
    const uint32_t a_row = A_MN ? warp_row : group_row;
    const uint32_t my_row = (warp_row + chunk_row(lane / 4, 0)) * 4, my_column = lane % 4 * 8;
    const uint32_t b_first = descriptor_low_k128(shared_base() + AT_B);
    const int middle = A_MN ? BLOCK_N / 32 : BLOCK_N / 16;
    float products[BLOCK_N / 2];
    place_t p = *place;
    a_block_t a;
    wait_full(p);
    load_a_block(&a, p, 0, a_row, lane);
    UNROLL_BY(UNROLL_K)
    for (int k = 0; k < k_blocks; k++) {
        const place_t next = next_place(p);
        UNROLL
        for (uint32_t j = 0; j < WARP_ROWS; j++) {
            uint32_t ready = 1;
            float early[EARLY + 1][4];
            start_products(products, &a, b_first + p.stage * (B_BYTES / 16));
            const float upper = ld_shared_f32(scale_a_at(p) + my_row + j * 256);
            const float lower = ld_shared_f32(scale_a_at(p) + my_row + j * 256 + HALF_ROWS * 4);
            const uint32_t columns = scale_b_at(p) + my_column;
            UNROLL
            for (int i = 0; i < EARLY; i++) load_columns(early[i], columns, i);
            finish_products(products, &a);
            if (j == WARP_ROWS - 1) {
                release(p);
                if (k < k_blocks - 1) ready = test_full(next);
            }
            promote(sums[j], products, upper, lower, early, columns, 0, middle);
            if (!ready) wait_full(next);
            if (j + 1 < WARP_ROWS)
                load_a_block(&a, p, j + 1, a_row, lane);
            else if (k < k_blocks - 1)
                load_a_block(&a, next, 0, a_row, lane);
            promote(sums[j], products, upper, lower, early, columns, middle, BLOCK_N / 16);
        }
        p = next;
    }
    *place = p;
}

/* One math warpgroup: tile after tile. */
DEVICE void multiply(const args_t *args) {
    const uint32_t warp = warp_index();
    const uint32_t warp_row = warp / 4 * 64 * WARP_ROWS + warp % 4 * 16;
    place_t p = {0, 0};
    float sums[WARP_ROWS][BLOCK_N / 2];

    /* Counted, since a place would occupy one more register than there is. */
    for (uint32_t count = 0;; count++) {
        const tile_place_t taken = {count % TILE_SLOTS, count / TILE_SLOTS & 1};
        const int k_blocks = wait_tile(taken);
        if (k_blocks < 0) break;
        UNROLL
        for (int i = 0; i < WARP_ROWS * BLOCK_N / 2; i++)
            sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] = 0.f;
        if (k_blocks > 0) multiply_tile(sums, k_blocks, &p);
        const tile_t tile = take_tile(taken);
        UNROLL
        for (uint32_t j = 0; j < WARP_ROWS; j++)
            store_sums(&args->out, &tile, sums[j], (int)(warp_row + j * 64));
    }
}

KERNEL(THREADS) dg_sm90_fp8_gemm_vector(KERNEL_PARAMETER dg_sm90_fp8_gemm_vector_args_t args) {
    const uint32_t warp = warp_index();
    if (thread_index() == 0) {
        init_ring(1 + (PREPARE ? PREPARERS : 1));
        for (uint32_t s = 0; s < STAGES; s++) mbarrier_init(loaded_barrier({s, 0}), 1);
        init_tile_ring(MATH_WARPS);
        fence_mbarrier_init();
        tensormap_prefetch(&args.a);
        tensormap_prefetch(&args.b);
    }
    cluster_sync();
    dependency_wait();

    if (warp >= MATH_WARPS) {
        if (MATH_GROUPS > 1) setmaxnreg_dec<LOAD_REGISTERS>();
        if (warp == MATH_WARPS && lane_index() == 0) load_tiles(&args);
        if (warp == MATH_WARPS + 1) load_scales(&args);
        if (PREPARE && warp >= MATH_WARPS + 2) prepare_stages(&args);
    } else {
        if (MATH_GROUPS > 1) setmaxnreg_inc<MATH_REGISTERS>();
        multiply(&args);
    }
    /* Nobody leaves while the other CTA may still signal its barriers or write its memory. */
    cluster_sync();
}
