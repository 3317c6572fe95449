/* SPDX-License-Identifier: MIT
 *
 * FP8 GEMM for Hopper: d[m, n] = sum over blocks of 128 k of scale_a[m] * scale_b[n / 128] * (a x
 * b), BF16 out; persistent, warp specialised, optionally in clusters of two. Parameters and
 * specialisation macros: args/gemm.h. m, n, k are whatever the tensor maps describe: loads outside
 * give zero, stores outside are clipped. TMA stores clip in units of 16 bytes, so d goes through
 * TMA only where its rows end on such a boundary; otherwise STORE_BUFFERS is 0 and every thread
 * stores its own elements.
 *
 * Warps. Warpgroups 0 .. MATH_GROUPS-1 multiply, promote and store, each warp for itself. In the
 * last warpgroup, warp 0 issues all TMA loads and warp 1 brings the scales of b; the other two
 * idle.
 *
 * Shared memory, from a 1024-byte aligned base:
 *
 *   A        STAGES      x [BLOCK_M x 128] e4m3, swizzled        full[s]: A, B and both scales of
 *   B        STAGES      x [BLOCK_N x 128] e4m3, swizzled                 stage s are there
 *   CHUNKS   warps x STORE_BUFFERS x [16 x STORE_N] bf16         empty[s]: every warp of every CTA
 *   SCALE_A  2 * STAGES  x [BLOCK_M] f32                                  that reads it is done
 *   SCALE_B  2 * STAGES  x [8] words: scale of column group 0..6, tile coordinates
 *   full, empty: STAGES mbarriers each
 *
 * Scale slots are twice as many as stages, slot = stage + STAGES * parity. So a stage is handed
 * back as soon as its products are done, and its scales stay readable until the block STAGES later.
 *
 * What costs time is not the promotion itself but whatever else stands between "my products are
 * done" and "my next products are issued". Therefore scales are read and multiplied, and the next
 * descriptors prepared, while the products run; after them the stage is handed back, the next full
 * barrier is looked at once, and only then are the products promoted. */
#include "args/gemm.h"
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/convert.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#ifndef WGMMA_SHAPES
#    define WGMMA_SHAPES WGMMA_SHAPE(BLOCK_N)
#endif
#include "device/wgmma.cuh"

/* Columns that surely share one scale of b, how many such groups a tile has, and how many rows of
 * scale_b it can touch. */
#define GROUP_N (BLOCK_N % 128 == 0 ? 128 : BLOCK_N % 64 == 0 ? 64 : BLOCK_N % 32 == 0 ? 32 : 16)
#define GROUPS (BLOCK_N / GROUP_N)
#define SCALE_ROWS ((128 - GROUP_N + BLOCK_N - 1) / 128 + 1)

#define CLUSTER (SHARE == DG_SHARE_NONE ? 1 : 2)
#define CLUSTER_M (SHARE == DG_SHARE_B ? 2 : 1)
#define CLUSTER_N (SHARE == DG_SHARE_A ? 2 : 1)
#define WARP_ROWS (BLOCK_M / 64 / MATH_GROUPS) /* 64-row products of a warpgroup per k block */
#define MATH_WARPS (MATH_GROUPS * 4)
#define THREADS (MATH_GROUPS * 128 + 128)
/* 65536 registers / 128 threads = 512 over all warpgroups; the launch gives each an equal share,
 * which is already the most a thread can have when there are only two. */
#define LOAD_REGISTERS (MATH_GROUPS == 3 ? 32 : 40)
#define MATH_REGISTERS (MATH_GROUPS == 3 ? 160 : 232)

#define A_BYTES (BLOCK_M * 128)
#define B_BYTES (BLOCK_N * 128)
#define CHUNK_BYTES (16 * STORE_N * 2)
#define SCALE_A_BYTES (BLOCK_M * 4)
#define SCALE_B_BYTES 32
#define AT_B (STAGES * A_BYTES)
#define AT_CHUNKS (AT_B + STAGES * B_BYTES)
#define AT_SCALE_A (AT_CHUNKS + MATH_WARPS * STORE_BUFFERS * CHUNK_BYTES)
#define AT_SCALE_B (AT_SCALE_A + 2 * STAGES * SCALE_A_BYTES)
#define AT_FULL (AT_SCALE_B + 2 * STAGES * SCALE_B_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define SHARED_BYTES (AT_EMPTY + STAGES * 8)

#define COORDINATES 7 /* word of a SCALE_B slot that holds tile_m << 16 | tile_n */

static_assert(GROUPS <= COORDINATES, "a scale slot has room for seven column groups");
static_assert(WARP_ROWS * 64 * MATH_GROUPS == BLOCK_M, "BLOCK_M is split over the warpgroups");
static_assert(BLOCK_N % STORE_N == 0 && (STORE_N == 64 || STORE_N == 32), "output chunks");
static_assert(SHARED_BYTES == DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(
                                  BLOCK_M, BLOCK_N, STAGES, MATH_GROUPS, STORE_N, STORE_BUFFERS),
    "the host counts the same bytes");
static_assert(SHARED_BYTES <= 227 * 1024, "does not fit shared memory");

/* A place in the ring: stage, and parity of the number of times round. */
typedef struct place {
    uint32_t stage, parity;
} place_t;

DEVICE place_t next_place(place_t p) {
    const bool wraps = p.stage + 1 == STAGES;
    return {wraps ? 0 : p.stage + 1, wraps ? p.parity ^ 1 : p.parity};
}

DEVICE uint32_t full_barrier(place_t p) {
    return shared_base() + AT_FULL + p.stage * 8;
}
DEVICE uint32_t empty_barrier(place_t p) {
    return shared_base() + AT_EMPTY + p.stage * 8;
}
DEVICE uint32_t scale_slot(place_t p) {
    return p.stage + p.parity * STAGES;
}
DEVICE uint32_t scale_a_at(place_t p) {
    return shared_base() + AT_SCALE_A + scale_slot(p) * SCALE_A_BYTES;
}
DEVICE uint32_t scale_b_at(place_t p) {
    return shared_base() + AT_SCALE_B + scale_slot(p) * SCALE_B_BYTES;
}

/* The CTA's tile of unit t of the raster. Bands of `band` tiles in m, m fastest inside a band, so
 * that the tiles in flight form a rough square and share operands in L2. */
typedef struct tile {
    int m, n;
} tile_t;

DEVICE tile_t find_tile(const dg_sm90_fp8_gemm_block_args_t *args, int t) {
    const int per_band = args->band * args->tiles_n, band = t / per_band, r = t - band * per_band;
    const int left = args->tiles_m - band * args->band,
              height = left < args->band ? left : args->band;
    const int n = r / height, m = band * args->band + r - n * height;
    const int rank = (int)cluster_rank();
    return {CLUSTER_M == 2 ? m * 2 + rank : m, CLUSTER_N == 2 ? n * 2 + rank : n};
}

DEVICE int first_unit(void) {
    return (int)block_index() / CLUSTER;
}
DEVICE int unit_step(void) {
    return (int)block_count() / CLUSTER;
}
DEVICE int unit_count(const dg_sm90_fp8_gemm_block_args_t *args) {
    return args->tiles_m * args->tiles_n;
}

/* One thread: fills stage after stage with A, B and the scales of A. A shared operand is loaded in
 * halves, one by each CTA, each half into both. */
DEVICE void load_tiles(const dg_sm90_fp8_gemm_block_args_t *args) {
    const uint32_t base = shared_base(), rank = cluster_rank();
    place_t p = {0, 0};
    for (int t = first_unit(); t < unit_count(args); t += unit_step()) {
        const tile_t tile = find_tile(args, t);
        const int row = tile.m * BLOCK_M, column = tile.n * BLOCK_N;
        for (int k = 0; k < args->k_blocks; k++) {
            const uint32_t full = full_barrier(p);
            const uint32_t a = base + p.stage * A_BYTES, b = base + AT_B + p.stage * B_BYTES;
            mbarrier_wait(empty_barrier(p), p.parity ^ 1);
            mbarrier_arrive_expect(full, A_BYTES + B_BYTES + SCALE_A_BYTES);
            if (SHARE == DG_SHARE_A)
                tma_load_2d_multicast(a + rank * (A_BYTES / 2), &args->a, full, k * 128,
                    row + (int)rank * (BLOCK_M / 2), 3);
            else
                tma_load_2d(a, &args->a, full, k * 128, row);
            if (SHARE == DG_SHARE_B)
                tma_load_2d_multicast(b + rank * (B_BYTES / 2), &args->b, full, k * 128,
                    column + (int)rank * (BLOCK_N / 2), 3);
            else
                tma_load_2d(b, &args->b, full, k * 128, column);
            tma_load_2d(scale_a_at(p), &args->scale_a, full, row, k);
            p = next_place(p);
        }
    }
}

/* Lane l fetches the scales of block k + l for every row of scale_b that a tile at column tile n
 * can touch. scales: [SCALE_ROWS] */
DEVICE void fetch_scales(float *scales, const dg_sm90_fp8_gemm_block_args_t *args, int n, int k) {
    const int block = k + (int)lane_index();
    UNROLL
    for (int i = 0; i < SCALE_ROWS; i++) {
        int row = n * BLOCK_N / 128 + i;
        if (row >= args->scale_b_rows) row = args->scale_b_rows - 1;
        scales[i] = 0.f;
        if (block < args->k_blocks)
            scales[i] = ld_constant_f32(args->scale_b + (int64_t)row * args->k_blocks + block);
    }
}

/* One warp: writes the scales of b and the tile's coordinates, stage after stage, so that math
 * warps neither divide nor wait for global memory. 32 blocks are fetched at a time, the next 32
 * while these are handed out. */
DEVICE void load_scales(const dg_sm90_fp8_gemm_block_args_t *args) {
    const uint32_t lane = lane_index();
    float scales[SCALE_ROWS], coming[SCALE_ROWS] = {};
    int t = first_unit(), k = 0;
    if (t >= unit_count(args)) return;
    tile_t tile = find_tile(args, t);
    place_t p = {0, 0};
    fetch_scales(scales, args, tile.n, 0);
    while (t < unit_count(args)) {
        int coming_t = t, coming_k = k + 32;
        tile_t coming_tile = tile;
        if (coming_k >= args->k_blocks) {
            coming_k = 0;
            coming_t += unit_step();
            if (coming_t < unit_count(args)) coming_tile = find_tile(args, coming_t);
        }
        if (coming_t < unit_count(args)) fetch_scales(coming, args, coming_tile.n, coming_k);
        const int count = args->k_blocks - k < 32 ? args->k_blocks - k : 32;
        const int first = tile.n * BLOCK_N;
        const int my_row = ((first + (int)lane * GROUP_N) >> 7) - (first >> 7);
        for (int i = 0; i < count; i++) {
            float value = shuffle_f32(scales[0], (uint32_t)i);
            UNROLL
            for (int row = 1; row < SCALE_ROWS; row++) {
                const float other = shuffle_f32(scales[row], (uint32_t)i);
                if (my_row == row) value = other;
            }
            if (lane == COORDINATES)
                value = f32_from_bits((uint32_t)tile.m << 16 | (uint32_t)tile.n);
            mbarrier_wait(empty_barrier(p), p.parity ^ 1);
            if (lane < GROUPS || lane == COORDINATES)
                st_shared_f32(scale_b_at(p) + lane * 4, value);
            warp_sync();
            if (lane == 0) mbarrier_arrive(full_barrier(p));
            p = next_place(p);
        }
        t = coming_t;
        k = coming_k;
        tile = coming_tile;
        UNROLL
        for (int row = 0; row < SCALE_ROWS; row++) scales[row] = coming[row];
    }
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

/* Hands a stage back to every CTA that writes into it. The warp's lanes have read their scales of
 * the block STAGES earlier by now; warp_sync makes that formal. */
DEVICE void release(place_t p) {
    warp_sync();
    if (CLUSTER == 1) {
        if (lane_index() == 0) mbarrier_arrive(empty_barrier(p));
    } else if (lane_index() < CLUSTER) {
        mbarrier_arrive_peer(empty_barrier(p), lane_index());
    }
}

#if STORE_BUFFERS > 0
/* Stores a warp's 16 rows of one sub-tile: chunk by chunk to BF16, into swizzled shared memory, and
 * one TMA store, which clips at the edges. sums: [BLOCK_N / 2]; buffer: the chunk to fill next. */
DEVICE uint32_t store_rows(const dg_sm90_fp8_gemm_block_args_t *args, const float *sums, int row,
    int column, uint32_t chunks, uint32_t buffer) {
    const uint32_t lane = lane_index();
    UNROLL
    for (int c = 0; c < BLOCK_N / STORE_N; c++) {
        const uint32_t chunk = chunks + buffer * CHUNK_BYTES;
        if (lane == 0) bulk_wait_read<STORE_BUFFERS - 1>();
        warp_sync();
        UNROLL
        for (int q = 0; q < STORE_N / 16; q++) {
            const float *s = sums + c * (STORE_N / 2) + q * 8;
            const uint32_t dense =
                (lane & 15) * (STORE_N * 2) + ((uint32_t)q * 2 + (lane >> 4)) * 16;
            const uint32_t values[4] = {pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]),
                pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7])};
            stmatrix_x4(chunk + (STORE_N == 64 ? swizzle_128(dense) : swizzle_64(dense)), values);
        }
        fence_proxy_async();
        warp_sync();
        if (lane == 0) {
            tma_store_2d(&args->d, chunk, column + c * STORE_N, row);
            bulk_commit();
        }
        buffer = buffer + 1 == STORE_BUFFERS ? 0 : buffer + 1;
    }
    return buffer;
}
#else
/* Stores two neighbouring elements, or as many of them as d has. */
DEVICE void store_pair(
    const dg_sm90_fp8_gemm_block_args_t *args, int row, int column, float left, float right) {
    uint16_t *to = args->d_elements + row * args->d_pitch + column;
    const uint32_t pair = pack_bf16(left, right);
    if (row < args->m && column < args->n) st_global_u16(to, (uint16_t)(pair & 0xffff));
    if (row < args->m && column + 1 < args->n) st_global_u16(to + 1, (uint16_t)(pair >> 16));
}

/* The same without TMA, for rows of d that end or begin off a 16-byte boundary. */
DEVICE uint32_t store_rows(const dg_sm90_fp8_gemm_block_args_t *args, const float *sums, int row,
    int column, uint32_t chunks, uint32_t buffer) {
    const int my_row = row + (int)lane_index() / 4, my_column = column + (int)lane_index() % 4 * 2;
    (void)chunks;
    UNROLL
    for (int i = 0; i < BLOCK_N / 8; i++) {
        const float *s = sums + i * 4;
        store_pair(args, my_row, my_column + i * 8, s[0], s[1]);
        store_pair(args, my_row + 8, my_column + i * 8, s[2], s[3]);
    }
    return buffer;
}
#endif

/* One math warpgroup: for every tile, all k blocks of its WARP_ROWS sub-tiles, then their rows of
 * d. */
DEVICE void multiply(const dg_sm90_fp8_gemm_block_args_t *args) {
    const uint32_t base = shared_base(), lane = lane_index(), warp = warp_index();
    const uint32_t group = warp / 4, warp_row = group * 64 * WARP_ROWS + warp % 4 * 16;
    const uint32_t my_row = (warp_row + lane / 4) * 4; /* bytes to my first scale of a */
    const uint32_t a_first = descriptor_low_k128(base + group * WARP_ROWS * 64 * 128);
    const uint32_t b_first = descriptor_low_k128(base + AT_B);
    const uint32_t chunks = base + AT_CHUNKS + warp * STORE_BUFFERS * CHUNK_BYTES;
    /* A copy, because the compiler must take args to change at every asm volatile, and a loop whose
     * count may change cannot be unrolled without an exit in every copy of its body. */
    const int k_blocks = args->k_blocks, units = unit_count(args), step = unit_step();
    uint32_t buffer = 0, a = a_first, b = b_first;
    uint32_t scale_a = scale_a_at({0, 0}) + my_row, scale_b = scale_b_at({0, 0});
    place_t p = {0, 0};
    float products[BLOCK_N / 2];

    for (int t = first_unit(); t < units; t += step) {
        uint32_t coordinates_at = scale_b;
        float sums[WARP_ROWS][BLOCK_N / 2];
        UNROLL
        for (int i = 0; i < WARP_ROWS * BLOCK_N / 2; i++)
            sums[i / (BLOCK_N / 2)][i % (BLOCK_N / 2)] = 0.f;

        mbarrier_wait(full_barrier(p), p.parity);
        UNROLL_BY(UNROLL_K)
        for (int k = 0; k < k_blocks; k++) {
            const place_t next = next_place(p);
            const uint32_t a_next = a_first + next.stage * (A_BYTES / 16);
            const uint32_t b_next = b_first + next.stage * (B_BYTES / 16);
            UNROLL
            for (uint32_t j = 0; j < WARP_ROWS; j++) {
                float upper[GROUPS], lower[GROUPS];
                uint32_t ready = 1;
                start_products(products, a + j * (64 * 128 / 16), b);
                const float row_upper = ld_shared_f32(scale_a + j * 256);
                const float row_lower = ld_shared_f32(scale_a + j * 256 + 32);
                UNROLL
                for (int g = 0; g < GROUPS; g++) {
                    const float column_scale = ld_shared_f32(scale_b + (uint32_t)g * 4);
                    upper[g] = row_upper * column_scale;
                    lower[g] = row_lower * column_scale;
                }
                pin_f32_array(upper, GROUPS);
                pin_f32_array(lower, GROUPS);
                finish_products(products);
                if (j == WARP_ROWS - 1) {
                    release(p);
                    if (k < k_blocks - 1) ready = mbarrier_test(full_barrier(next), next.parity);
                }
                promote(sums[j], products, upper, lower);
                if (!ready) mbarrier_wait(full_barrier(next), next.parity);
            }
            coordinates_at = scale_b;
            scale_b = scale_b_at(next);
            scale_a = scale_a_at(next) + my_row;
            a = a_next;
            b = b_next;
            p = next;
        }
        const uint32_t coordinates = ld_shared_u32(coordinates_at + COORDINATES * 4);
        const int row = (int)(coordinates >> 16) * BLOCK_M + (int)warp_row;
        const int column = (int)(coordinates & 0xffff) * BLOCK_N;
        UNROLL
        for (int j = 0; j < WARP_ROWS; j++)
            buffer = store_rows(args, sums[j], row + j * 64, column, chunks, buffer);
    }
    if (lane == 0) bulk_wait_read<0>();
}

KERNEL(THREADS) dg_sm90_fp8_gemm_block(KERNEL_PARAMETER dg_sm90_fp8_gemm_block_args_t args) {
    const uint32_t warp = warp_index();
    if (thread_index() == 0) {
        for (uint32_t s = 0; s < STAGES; s++) {
            mbarrier_init(full_barrier({s, 0}), 2);
            mbarrier_init(empty_barrier({s, 0}), MATH_WARPS * CLUSTER);
        }
        fence_mbarrier_init();
        tensormap_prefetch(&args.a);
        tensormap_prefetch(&args.b);
        tensormap_prefetch(&args.scale_a);
        if (STORE_BUFFERS > 0) tensormap_prefetch(&args.d);
    }
    cluster_sync();
    dependency_wait();

    if (warp >= MATH_WARPS) {
        if (MATH_GROUPS > 1) setmaxnreg_dec<LOAD_REGISTERS>();
        if (warp == MATH_WARPS && lane_index() == 0) load_tiles(&args);
        if (warp == MATH_WARPS + 1) load_scales(&args);
    } else {
        if (MATH_GROUPS > 1) setmaxnreg_inc<MATH_REGISTERS>();
        multiply(&args);
    }
    /* Nobody leaves while the other CTA may still signal its barriers or write its memory. */
    cluster_sync();
}
