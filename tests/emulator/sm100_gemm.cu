/* SPDX-License-Identifier: MIT
 *
 * A small GEMM for Blackwell that shows how the vocabulary of device/tcgen05.cuh is used: d[m, n] =
 * a[m, k] x b[n, k], bf16 out. It is compiled for sm_100a and runs on the emulator; no hardware has
 * run it, and it is no part of the library. Macros:
 *
 *   BLOCK_N  columns of a tile; 128 if SCALED
 *   STAGES   depth of the ring, in blocks of 128 bytes of k
 *   CTAS     1, or 2: pairs of CTAs multiply a tile of 256 rows, each loading its 128 rows of a and
 *            half of b
 *   SCALED   0: bf16 operands; 1: e4m3 with ue8m0 scales for every 32 k
 *
 * Warp 0 loads, warp 1 multiplies (of a pair, in the even CTA), warp 2 owns tensor memory, warps 4
 * to 7 store. Two accumulators: a tile is stored while the next one is multiplied.
 *
 *   full[s]   the even CTA's: all bytes of stage s of the pair are there
 *   empty[s]  each CTA's: the products that read stage s are done
 *   sums[i]   each CTA's: accumulator i is finished
 *   free[i]   the even CTA's: every storing warp of the pair is done with accumulator i */
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tcgen05.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#include "sm100_gemm.h"

#define THREADS 256
#define CLUSTER CTAS
#define A_BYTES (128 * 128)
#define B_BYTES (BLOCK_N / CTAS * 128)
#define SCALE_BYTES (SCALED ? 512 : 0) /* of 128 rows and one block of k */
#define STAGE_BYTES (A_BYTES + B_BYTES + 2 * SCALE_BYTES)
#define K_PER_BLOCK (SCALED ? 128 : 64)
#define AT_B (STAGES * A_BYTES)
#define AT_SCALE_A (AT_B + STAGES * B_BYTES)
#define AT_SCALE_B (AT_SCALE_A + STAGES * SCALE_BYTES)
#define AT_FULL (AT_SCALE_B + STAGES * SCALE_BYTES)
#define AT_EMPTY (AT_FULL + STAGES * 8)
#define AT_SUMS (AT_EMPTY + STAGES * 8)
#define AT_FREE (AT_SUMS + 16)
#define AT_COLUMNS (AT_FREE + 16)
#define SHARED_BYTES (AT_COLUMNS + 16)

/* Tensor memory: two accumulators, then the scales of the block that is being multiplied. */
#define SCALE_A_COLUMN (2 * BLOCK_N)
#define SCALE_B_COLUMN (SCALE_A_COLUMN + 4)
#define USED_COLUMNS (2 * BLOCK_N + (SCALED ? 8 : 0))
#define COLUMNS (USED_COLUMNS > 256 ? 512 : USED_COLUMNS > 128 ? 256 : 128)

static_assert(BLOCK_N % (16 * CTAS) == 0 && BLOCK_N <= 256, "what one instruction multiplies");
static_assert(!SCALED || BLOCK_N == 128, "scales come for 128 columns");
static_assert(USED_COLUMNS <= 512, "does not fit tensor memory");
static_assert(SHARED_BYTES <= 227 * 1024, "does not fit shared memory");

typedef struct place {
    uint32_t index, parity;
} place_t;

DEVICE place_t next_place(place_t p, uint32_t count) {
    const bool wraps = p.index + 1 == count;
    return {wraps ? 0 : p.index + 1, wraps ? p.parity ^ 1 : p.parity};
}

DEVICE uint32_t full_barrier(uint32_t i) {
    return shared_base() + AT_FULL + i * 8;
}
DEVICE uint32_t empty_barrier(uint32_t i) {
    return shared_base() + AT_EMPTY + i * 8;
}
DEVICE uint32_t sums_barrier(uint32_t i) {
    return shared_base() + AT_SUMS + i * 8;
}
DEVICE uint32_t free_barrier(uint32_t i) {
    return shared_base() + AT_FREE + i * 8;
}

DEVICE bool is_even_cta(void) {
    return CTAS == 1 || cluster_rank() == 0;
}
DEVICE int first_tile(void) {
    return (int)block_index() / CTAS;
}
DEVICE int tile_step(void) {
    return (int)block_count() / CTAS;
}
/* The CTA's first row of tile t. */
DEVICE int tile_row(const dg_sm100_gemm_args_t *args, int t) {
    return (t / args->tiles_n * CTAS + (CTAS == 1 ? 0 : (int)cluster_rank())) * 128;
}
DEVICE int tile_column(const dg_sm100_gemm_args_t *args, int t) {
    return t % args->tiles_n * BLOCK_N;
}

/* What others did with tensor memory before they arrived is visible behind this. */
DEVICE void wait_for_tensor_memory(uint32_t barrier, uint32_t parity) {
    mbarrier_wait_cluster(barrier, parity);
    tcgen05_fence_after();
}

DEVICE void load(uint32_t to, const dg_tensor_map_t *map, uint32_t barrier, int x, int y) {
    if (CTAS == 2)
        tma_load_2d_pair(to, map, barrier, x, y);
    else
        tma_load_2d(to, map, barrier, x, y);
}

/* One thread of each CTA. */
DEVICE void load_tiles(const dg_sm100_gemm_args_t *args) {
    const uint32_t base = shared_base();
    const int half = CTAS == 1 ? 0 : (int)cluster_rank() * (BLOCK_N / 2);
    place_t p = {0, 0};
    for (int t = first_tile(); t < args->tiles_m * args->tiles_n; t += tile_step()) {
        const int row = tile_row(args, t), column = tile_column(args, t);
        for (int kb = 0; kb < args->k_blocks; kb++) {
            const uint32_t s = p.index, full = full_barrier(s);
            mbarrier_wait_cluster(empty_barrier(s), p.parity ^ 1);
            if (is_even_cta()) mbarrier_arrive_expect(full, STAGE_BYTES * CTAS);
            load(base + s * A_BYTES, &args->a, full, kb * K_PER_BLOCK, row);
            load(base + AT_B + s * B_BYTES, &args->b, full, kb * K_PER_BLOCK, column + half);
            if (SCALED) {
                load(base + AT_SCALE_A + s * SCALE_BYTES, &args->scale_a, full, 0,
                    row / 128 * args->k_blocks + kb);
                load(base + AT_SCALE_B + s * SCALE_BYTES, &args->scale_b, full, 0,
                    column / 128 * args->k_blocks + kb);
            }
            p = next_place(p, STAGES);
        }
    }
}

/* The products of one block of k. sums, scales: columns of tensor memory. */
DEVICE void multiply_block(uint32_t sums, uint32_t columns, uint32_t stage, bool first) {
    const uint32_t base = shared_base();
    const uint64_t a = tcgen05_descriptor_k128(base + stage * A_BYTES);
    const uint64_t b = tcgen05_descriptor_k128(base + AT_B + stage * B_BYTES);
    const uint32_t scale_a = columns + SCALE_A_COLUMN, scale_b = columns + SCALE_B_COLUMN;
    if (SCALED) {
        tcgen05_copy_scales<CTAS>(scale_a,
            tcgen05_descriptor(base + AT_SCALE_A + stage * SCALE_BYTES, 0, 128, TCGEN05_NONE));
        tcgen05_copy_scales<CTAS>(scale_b,
            tcgen05_descriptor(base + AT_SCALE_B + stage * SCALE_BYTES, 0, 128, TCGEN05_NONE));
    }
    UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        const bool accumulate = !first || k > 0;
        if (SCALED)
            tcgen05_mma_mxf8f6f4<CTAS>(sums, a + k * 2, b + k * 2,
                tcgen05_instruction_scaled(128 * CTAS, BLOCK_N, TCGEN05_E4M3, TCGEN05_E4M3, k),
                scale_a, scale_b, accumulate);
        else
            tcgen05_mma_f16<CTAS>(sums, a + k * 2, b + k * 2,
                tcgen05_instruction(128 * CTAS, BLOCK_N, TCGEN05_BF16, TCGEN05_BF16, false, false),
                accumulate);
    }
}

/* Signals a barrier of every CTA of the pair when the products so far are done. */
DEVICE void commit(uint32_t barrier) {
    if (CTAS == 2)
        tcgen05_commit_multicast<CTAS>(barrier, 3);
    else
        tcgen05_commit<CTAS>(barrier);
}

/* One thread of the even CTA. */
DEVICE void multiply(const dg_sm100_gemm_args_t *args, uint32_t columns) {
    place_t p = {0, 0}, accumulator = {0, 0};
    for (int t = first_tile(); t < args->tiles_m * args->tiles_n; t += tile_step()) {
        const uint32_t sums = columns + accumulator.index * BLOCK_N;
        wait_for_tensor_memory(free_barrier(accumulator.index), accumulator.parity ^ 1);
        for (int kb = 0; kb < args->k_blocks; kb++) {
            wait_for_tensor_memory(full_barrier(p.index), p.parity);
            multiply_block(sums, columns, p.index, kb == 0);
            commit(empty_barrier(p.index));
            p = next_place(p, STAGES);
        }
        commit(sums_barrier(accumulator.index));
        accumulator = next_place(accumulator, 2);
    }
}

/* Stores 32 columns of this lane's row. values: [32] f32 as bits */
DEVICE void store_values(
    const dg_sm100_gemm_args_t *args, const uint32_t *values, int row, int column) {
    UNROLL
    for (int i = 0; i < 32; i += 2) {
        const uint32_t pair = pack_bf16(f32_from_bits(values[i]), f32_from_bits(values[i + 1]));
        if (row < args->m && column + i < args->n)
            st_global_u32(args->d + (int64_t)row * args->n + column + i, pair);
    }
}

/* Four warps of each CTA, 32 rows each. */
DEVICE void store_tiles(const dg_sm100_gemm_args_t *args, uint32_t columns) {
    const uint32_t quarter = warp_index() % 4, lanes = (quarter * 32) << 16;
    place_t accumulator = {0, 0};
    for (int t = first_tile(); t < args->tiles_m * args->tiles_n; t += tile_step()) {
        const int row = tile_row(args, t) + (int)(quarter * 32 + lane_index());
        wait_for_tensor_memory(sums_barrier(accumulator.index), accumulator.parity);
        for (uint32_t c = 0; c < BLOCK_N; c += 32) {
            uint32_t values[32];
            tcgen05_load_x32(values, columns + accumulator.index * BLOCK_N + c + lanes);
            tcgen05_wait_load();
            store_values(args, values, row, tile_column(args, t) + (int)c);
        }
        tcgen05_fence_before();
        warp_sync();
        if (lane_index() == 0) mbarrier_arrive_peer(free_barrier(accumulator.index), 0);
        accumulator = next_place(accumulator, 2);
    }
}

/* A rendezvous of the pair, behind which everybody knows what was done to tensor memory. */
DEVICE void sync_with_tensor_memory(void) {
    tcgen05_fence_before();
    cluster_sync();
    tcgen05_fence_after();
}

KERNEL(THREADS) dg_sm100_gemm(KERNEL_PARAMETER dg_sm100_gemm_args_t args) {
    const uint32_t warp = warp_index();
    if (warp == 0 && elect_one()) {
        for (uint32_t i = 0; i < STAGES; i++) {
            mbarrier_init(full_barrier(i), 1);
            mbarrier_init(empty_barrier(i), 1);
        }
        for (uint32_t i = 0; i < 2; i++) {
            mbarrier_init(sums_barrier(i), 1);
            mbarrier_init(free_barrier(i), 4 * CTAS);
        }
        fence_mbarrier_init();
    }
    if (warp == 2) {
        tcgen05_allocate<CTAS>(shared_base() + AT_COLUMNS, COLUMNS);
        tcgen05_relinquish<CTAS>();
    }
    sync_with_tensor_memory();
    const uint32_t columns = ld_shared_u32(shared_base() + AT_COLUMNS);

    if (warp == 0 && elect_one()) load_tiles(&args);
    if (warp == 1 && is_even_cta() && elect_one()) multiply(&args, columns);
    if (warp >= 4) store_tiles(&args, columns);
    warp_sync();
    sync_with_tensor_memory();
    if (warp == 2) tcgen05_deallocate<CTAS>(columns, COLUMNS);
}
