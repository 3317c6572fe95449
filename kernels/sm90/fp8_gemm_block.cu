/* SPDX-License-Identifier: MIT
 *
 * FP8 GEMM for Hopper: d[m, n] = c[m, n] + sum over blocks of 128 k of scale_a[m] * scale_b[n / 128]
 * * (a x b), BF16 or FP32 out; one product, or rows in groups with a matrix of b each; persistent,
 * warp specialised, optionally in clusters of two. Parameters and specialisation macros:
 * args/gemm.h. m, n, k are whatever the tensor maps describe: loads outside give zero.
 *
 * Warps. Warpgroups 0 .. MATH_GROUPS-1 multiply, promote and store, each warp for itself. In the
 * last warpgroup, warp 0 issues all TMA loads and warp 1 brings the scales of b and publishes the
 * tiles. Warps 2 and 3 bring the scales of a where TMA cannot; else warp 2 fetches c into L2.
 *
 * Shared memory, from a 1024-byte aligned base:
 *
 *   A        STAGES      x [BLOCK_M x 128] e4m3, swizzled        full[s]: A, B and both scales of
 *   B        STAGES      x [BLOCK_N x 128] e4m3, swizzled                 stage s are there
 *   CHUNKS   of sm90/store.cuh                                   empty[s]: every warp of every CTA
 *   SCALE_A  STAGES      x [SCALE_ROWS_A] f32                             that reads it is done
 *   SCALE_B  STAGES      x [8] f32: scales of column groups
 *   TILES    of sm90/tiles.cuh
 *   full, empty: STAGES mbarriers each
 *
 * What costs time is not the promotion itself but whatever else stands between "my products are
 * done" and "my next products are issued". Therefore scales are read and multiplied, and the next
 * descriptors prepared, while the products run; after them the stage is handed back, the next full
 * barrier is looked at once, and only then are the products promoted. */
#include "args/gemm.h"
#include "device/barrier.cuh"
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
#include "sm90/cta.cuh"

/* Columns that surely share one scale of b, how many such groups a tile has, and how many rows of
 * scale_b it can touch. */
#define GROUP_N (BLOCK_N % 128 == 0 ? 128 : BLOCK_N % 64 == 0 ? 64 : BLOCK_N % 32 == 0 ? 32 : 16)
#define GROUPS (BLOCK_N / GROUP_N)
/* Rows from a warpgroup's first 64 to its second 64: in a low tile both warpgroups have work. */
#define SUB_TILES_APART (MATH_GROUPS * 64)
#define SCALE_ROWS ((128 - GROUP_N + BLOCK_N - 1) / 128 + 1)

#define A_BYTES (BLOCK_M * 128)
#define B_BYTES (BLOCK_N * 128)
#define SCALE_ROWS_A DG_SM90_FP8_GEMM_BLOCK_SCALE_ROWS(BLOCK_M, SCHEDULE)
#define SCALE_BOX_A DG_SM90_FP8_GEMM_BLOCK_SCALE_BOX(BLOCK_M, SCHEDULE)
#define SCALE_A_BYTES (SCALE_ROWS_A * 4)
#define SCALE_B_BYTES 32
#define AT_B (STAGES * A_BYTES)
#define AT_CHUNKS (AT_B + STAGES * B_BYTES)
#define AT_SCALE_A (AT_CHUNKS + CHUNKS_BYTES)
#define AT_SCALE_B (AT_SCALE_A + STAGES * SCALE_A_BYTES)
#define AT_TILES (AT_SCALE_B + STAGES * SCALE_B_BYTES)
#define AT_FULL (AT_TILES + TILE_RING_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define SHARED_BYTES (AT_EMPTY + STAGES * 8)

#include "sm90/ring.cuh"
#include "sm90/store.cuh"
#include "sm90/tiles.cuh"

static_assert(GROUPS <= 8, "a scale slot has room for eight column groups");
static_assert(SHARED_BYTES == DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(BLOCK_M, BLOCK_N, STAGES,
                                  MATH_GROUPS, STORE_N, STORE_BUFFERS, OUT_F32, SCHEDULE),
    "the host counts the same bytes");
static_assert(SHARED_BYTES <= 227 * 1024, "does not fit shared memory");

typedef dg_sm90_fp8_gemm_block_args_t args_t;

DEVICE uint32_t scale_a_at(place_t p) {
    return shared_base() + AT_SCALE_A + p.stage * SCALE_A_BYTES;
}
DEVICE uint32_t scale_b_at(place_t p) {
    return shared_base() + AT_SCALE_B + p.stage * SCALE_B_BYTES;
}

/* Loads a box of 128 k x `rows` rows of an operand. A shared operand is loaded in halves, one by
 * each CTA, each half into both. matrix: group or slab */
DEVICE void load_operand(uint32_t to, const dg_tensor_map_t *map, uint32_t full, bool shared,
    int rows, int k, int row, int matrix) {
    const int rank = (int)cluster_rank(), half = rows / 2;
    const uint32_t to_half = to + (uint32_t)(rank * half) * 128;
    if (SCHEDULE == DG_SCHEDULE_DENSE) {
        if (shared)
            tma_load_2d_multicast(to_half, map, full, k, row + rank * half, 3);
        else
            tma_load_2d(to, map, full, k, row);
    } else {
        if (shared)
            tma_load_3d_multicast(to_half, map, full, k, row + rank * half, matrix, 3);
        else
            tma_load_3d(to, map, full, k, row, matrix);
    }
}

/* Loads the scales of a tile's rows and one block of k; groups of rows: from a multiple of 4 on. */
DEVICE void load_tile_scales(
    uint32_t to, const dg_tensor_map_t *map, uint32_t full, const tile_t *tile, int k) {
    if (SCHEDULE == DG_SCHEDULE_DENSE) {
        tma_load_2d(to, map, full, tile->row, k);
    } else {
        const int first = tile->row / 4 * 4;
        tma_load_3d(to, map, full, first, k, tile->slab);
        if (SCALE_BOX_A < SCALE_ROWS_A)
            tma_load_3d(to + SCALE_BOX_A * 4, map, full, first + SCALE_BOX_A, k, tile->slab);
    }
}

/* One thread: fills stage after stage with A, B and the scales of A. */
DEVICE void load_tiles(const args_t *args) {
    const uint32_t base = shared_base();
    const bool scales = args->scale_a_by_tma != 0;
    place_t p = {0, 0};
    tile_t tile;
    for (walk_t walk = begin_walk(&args->tiles); next_tile(&args->tiles, &walk, &tile);) {
        UNROLL_BY(1)
        for (int k = 0; k < tile.k_blocks; k++) {
            const uint32_t full = full_barrier(p);
            const uint32_t a = base + p.stage * A_BYTES, b = base + AT_B + p.stage * B_BYTES;
            wait_empty(p);
            mbarrier_arrive_expect(full, A_BYTES + B_BYTES + (scales ? SCALE_A_BYTES : 0));
            load_operand(
                a, &args->a, full, SHARE == DG_SHARE_A, BLOCK_M, k * 128, tile.row, tile.slab);
            load_operand(
                b, &args->b, full, SHARE == DG_SHARE_B, BLOCK_N, k * 128, tile.column, tile.group);
            if (scales) load_tile_scales(scale_a_at(p), &args->scale_a, full, &tile, k);
            p = next_place(p);
        }
    }
}

/* Two warps, in turn, readers of the ring of tiles: the scales of a, stage after stage, where TMA
 * cannot bring them; two, so that the loads of two blocks are in flight. turn: 0 or 1. */
DEVICE void load_scales_a(const args_t *args, uint32_t turn) {
    const int lane = (int)lane_index();
    uint32_t mine = turn ^ 1;
    place_t p = {0, 0};
    for (tile_place_t at = {0, 0}; wait_tile(at) >= 0; at = next_tile_place(at)) {
        const tile_t tile = take_tile(at);
        const int rows = args->scale_a_values ? tile.rows - lane : 0; /* mine are below */
        const float *block = args->scale_a_values + tile.slab * args->scale_a_slab_stride +
                             (tile.row + lane) * args->scale_a_m_stride;
        UNROLL_BY(1)
        for (int k = 0; k < tile.k_blocks; k++) {
            float scales[BLOCK_M / 32];
            mine ^= 1;
            if (mine == 0) {
                const float *from = block;
                UNROLL
                for (int i = 0; i < BLOCK_M / 32; i++) {
                    scales[i] = args->scale_a_values ? 0.f : 1.f;
                    if (i * 32 < rows) scales[i] = ld_constant_f32(from);
                    from += 32 * args->scale_a_m_stride;
                }
                wait_empty(p);
                UNROLL
                for (int i = 0; i < BLOCK_M / 32; i++)
                    st_shared_f32(scale_a_at(p) + (uint32_t)(i * 32 + lane) * 4, scales[i]);
                warp_sync();
                if (lane == 0) mbarrier_arrive(full_barrier(p));
            }
            block += args->scale_a_k_stride;
            p = next_place(p);
        }
    }
}

/* Lane l fetches the scales of block k + l for every row of scale_b that the tile can touch.
 * scales: [SCALE_ROWS] */
DEVICE void fetch_scales(float *scales, const args_t *args, const tile_t *tile, int k) {
    const int block = k + (int)lane_index();
    const float *from = args->scale_b + tile->group * args->scale_b_group_stride;
    UNROLL
    for (int i = 0; i < SCALE_ROWS; i++) {
        int row = tile->column / 128 + i;
        if (row >= args->scale_b_rows) row = args->scale_b_rows - 1;
        scales[i] = 1.f;
        if (args->scale_b && block < tile->k_blocks)
            scales[i] = ld_constant_f32(
                from + row * args->scale_b_n_stride + block * args->scale_b_k_stride);
    }
}

/* One warp: publishes tiles and writes the scales of b, stage after stage. 32 blocks are fetched at
 * a time, the next 32 while these are handed out. */
DEVICE void load_scales(const args_t *args) {
    const uint32_t lane = lane_index();
    float scales[SCALE_ROWS], coming[SCALE_ROWS] = {};
    tile_t tile, coming_tile;
    tile_place_t tile_place = {0, 0};
    place_t p = {0, 0};
    int k = 0;
    walk_t walk = begin_walk(&args->tiles);
    bool more = next_tile(&args->tiles, &walk, &tile);
    if (more && lane == 0) publish_tile(&tile_place, &tile);
    if (more) fetch_scales(scales, args, &tile, 0);
    while (more) {
        int coming_k = k + 32;
        coming_tile = tile;
        if (coming_k >= tile.k_blocks) {
            coming_k = 0;
            more = next_tile(&args->tiles, &walk, &coming_tile);
            if (more && lane == 0) publish_tile(&tile_place, &coming_tile);
        }
        if (more) fetch_scales(coming, args, &coming_tile, coming_k);
        const int count = tile.k_blocks - k < 32 ? tile.k_blocks - k : 32;
        const int my_row = ((tile.column + (int)lane * GROUP_N) >> 7) - (tile.column >> 7);
        UNROLL_BY(1)
        for (int i = 0; i < count; i++) {
            float value = shuffle_f32(scales[0], (uint32_t)i);
            UNROLL
            for (int row = 1; row < SCALE_ROWS; row++) {
                const float other = shuffle_f32(scales[row], (uint32_t)i);
                if (my_row == row) value = other;
            }
            wait_empty(p);
            if (lane < GROUPS) st_shared_f32(scale_b_at(p) + lane * 4, value);
            warp_sync();
            if (lane == 0) mbarrier_arrive(full_barrier(p));
            p = next_place(p);
        }
        k = coming_k;
        tile = coming_tile;
        UNROLL
        for (int row = 0; row < SCALE_ROWS; row++) scales[row] = coming[row];
    }
    if (lane == 0) publish_end(&tile_place);
}

/* Starts the products of one 64-row sub-tile and one k block into `products`: [BLOCK_N / 2]. */
DEVICE void start_products(float *products, uint32_t a, uint32_t b) {
    pin_f32_array(products, BLOCK_N / 2);
    wgmma_fence();
    UNROLL
    for (uint32_t i = 0; i < 4; i++)
        WGMMA(e4m3, BLOCK_N, products, descriptor_from_low_k128(a + i * 2),
            descriptor_from_low_k128(b + i * 2), i > 0);
    wgmma_commit();
    pin_f32_array(products, BLOCK_N / 2);
}

DEVICE void finish_products(float *products) {
    pin_f32_array(products, BLOCK_N / 2);
    wgmma_wait<0>();
    pin_f32_array(products, BLOCK_N / 2);
}

/* Scales of this thread's two rows for each column group. upper, lower: [GROUPS] */
DEVICE void read_scales(float *upper, float *lower, uint32_t scale_a, uint32_t scale_b) {
    const float row_upper = ld_shared_f32(scale_a), row_lower = ld_shared_f32(scale_a + 32);
    UNROLL
    for (int g = 0; g < GROUPS; g++) {
        const float column_scale = ld_shared_f32(scale_b + (uint32_t)g * 4);
        upper[g] = row_upper * column_scale;
        lower[g] = row_lower * column_scale;
    }
    pin_f32_array(upper, GROUPS);
    pin_f32_array(lower, GROUPS);
}

/* sums += scale * products. upper, lower: [GROUPS] scales of this thread's two rows. */
DEVICE void promote(float *sums, const float *products, const float *upper, const float *lower) {
    UNROLL
    for (int i = 0; i < BLOCK_N / 8; i++) {
        const int g = i * 8 / GROUP_N;
        sums[i * 4] += upper[g] * products[i * 4];
        sums[i * 4 + 1] += upper[g] * products[i * 4 + 1];
        sums[i * 4 + 2] += lower[g] * products[i * 4 + 2];
        sums[i * 4 + 3] += lower[g] * products[i * 4 + 3];
    }
    pin_f32_array(sums, BLOCK_N / 2);
}

/* What a math warp keeps: the addresses of stage 0 and where it stands. */
typedef struct reader {
    uint32_t a, b;   /* descriptors of its first sub-tile */
    uint32_t my_row; /* bytes to the thread's first scale of a */
    place_t p;       /* the block to be multiplied next */
} reader_t;

DEVICE uint32_t a_of(const reader_t *r, place_t p) {
    return r->a + p.stage * (A_BYTES / 16);
}
DEVICE uint32_t b_of(const reader_t *r, place_t p) {
    return r->b + p.stage * (B_BYTES / 16);
}

/* All blocks of the warpgroup's first `count` sub-tiles. sums: [count][BLOCK_N / 2] */
template <int count, int turns>
DEVICE void multiply_blocks(reader_t *r, float (*sums)[BLOCK_N / 2], int k_blocks) {
    float products[BLOCK_N / 2];
    uint32_t a = a_of(r, r->p), b = b_of(r, r->p);
    uint32_t scale_a = scale_a_at(r->p) + r->my_row, scale_b = scale_b_at(r->p);
    if (k_blocks > 0) wait_full(r->p);
    UNROLL_BY(turns)
    for (int k = 0; k < k_blocks; k++) {
        const place_t next = next_place(r->p);
        const uint32_t a_next = a_of(r, next), b_next = b_of(r, next);
        UNROLL
        for (uint32_t j = 0; j < count; j++) {
            float upper[GROUPS], lower[GROUPS];
            uint32_t ready = 1;
            start_products(products, a + j * (SUB_TILES_APART * 128 / 16), b);
            read_scales(upper, lower, scale_a + j * SUB_TILES_APART * 4, scale_b);
            finish_products(products);
            if (j == count - 1) {
                release(r->p);
                if (k < k_blocks - 1) ready = test_full(next);
            }
            promote(sums[j], products, upper, lower);
            if (!ready) wait_full(next);
        }
        scale_b = scale_b_at(next);
        scale_a = scale_a_at(next) + r->my_row;
        a = a_next;
        b = b_next;
        r->p = next;
    }
}

/* The same for a warpgroup that has nothing to multiply. */
DEVICE void skip_blocks(reader_t *r, int k_blocks) {
    UNROLL_BY(1)
    for (; k_blocks > 0; k_blocks--) {
        wait_full(r->p);
        release(r->p);
        r->p = next_place(r->p);
    }
}

/* One math warpgroup: for every tile, all k blocks of its WARP_ROWS sub-tiles, then their rows of
 * d. */
DEVICE void multiply(const args_t *args) {
    const uint32_t base = shared_base(), lane = lane_index(), warp = warp_index();
    const uint32_t group = warp / 4, warp_row = warp * 16;
    reader_t reader = {descriptor_low_k128(base + group * 64 * 128),
        descriptor_low_k128(base + AT_B), (warp_row + lane / 4) * 4, {0, 0}};
    tile_place_t tile_place = {0, 0};
    store_t store = begin_store(warp);

    for (int k_blocks, coming = wait_tile(tile_place); (k_blocks = coming) >= 0;) {
        float sums[WARP_ROWS][BLOCK_N / 2];
        UNROLL
        for (int i = 0; i < WARP_ROWS * BLOCK_N / 2; i++)
            sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] = 0.f;
        if (SCHEDULE == DG_SCHEDULE_M_GROUPED) { /* scales begin at a multiple of 4 rows */
            const uint32_t before = args->scale_a_by_tma ? peek_first_row(tile_place) % 4 : 0;
            reader.my_row = (warp_row + lane / 4 + before) * 4;
        }
        /* Tiles at the end of a group are low: the tensor cores have less to do. */
        const int rows = SCHEDULE == DG_SCHEDULE_M_GROUPED ? peek_rows(tile_place) : BLOCK_M;
        const int mine = rows - (int)group * 64;
        if (SCHEDULE == DG_SCHEDULE_M_GROUPED && mine <= 0)
            skip_blocks(&reader, k_blocks);
        else if (SCHEDULE == DG_SCHEDULE_M_GROUPED && WARP_ROWS == 2 && mine <= SUB_TILES_APART)
            multiply_blocks<1, 1>(&reader, sums, k_blocks);
        else
            multiply_blocks<WARP_ROWS, UNROLL_K>(&reader, sums, k_blocks);
        const tile_t tile = take_tile(tile_place);
        tile_place = next_tile_place(tile_place);
        coming = wait_tile(tile_place);
        UNROLL
        for (int j = 0; j < WARP_ROWS; j++)
            store_sums(&args->out, &tile, sums[j], (int)warp_row + j * SUB_TILES_APART, &store);
    }
    finish_store(&store);
}

KERNEL(THREADS) dg_sm90_fp8_gemm_block(KERNEL_PARAMETER dg_sm90_fp8_gemm_block_args_t args) {
    const uint32_t warp = warp_index();
    const bool scales_by_warps = !args.scale_a_by_tma;
    if (thread_index() == THREADS - 1) {
        tensormap_prefetch(&args.a);
        tensormap_prefetch(&args.b);
        if (!scales_by_warps) tensormap_prefetch(&args.scale_a);
        if (args.out.by_tma) tensormap_prefetch(&args.out.map);
    }
    if (thread_index() == 0) {
        init_ring(scales_by_warps ? 3 : 2);
        init_tile_ring(MATH_WARPS + (scales_by_warps ? 2 : ADD_C ? 1 : 0));
        fence_mbarrier_init();
    }
    cluster_sync();
    dependency_wait();

    if (warp >= MATH_WARPS) {
        const uint32_t role = warp - MATH_WARPS;
        if (MATH_GROUPS > 1) setmaxnreg_dec<LOAD_REGISTERS>();
        if (role == 0 && lane_index() == 0) load_tiles(&args);
        if (role == 1) load_scales(&args);
        if (role >= 2 && scales_by_warps) load_scales_a(&args, role - 2);
        if (ADD_C && role == 2 && !scales_by_warps) prefetch_c(&args.out);
    } else {
        if (MATH_GROUPS > 1) setmaxnreg_inc<MATH_REGISTERS>();
        multiply(&args);
    }
    /* Nobody leaves while the other CTA may still signal its barriers or write its memory. */
    cluster_sync();
}
