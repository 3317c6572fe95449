/* SPDX-License-Identifier: MIT
 *
 * The product in front of a hyper-connection's norm: d = a b^T with BF16 a and a few columns of
 * FP32 b taken as TF32, and the sum of squares of each row of a. Reading a is what takes the time;
 * b stays in L2. Runs on any GPU from sm_80 on. Parameters: args/tf32_hc_prenorm_gemm.h.
 *
 * A CTA has 64 rows, BLOCK_N columns and one split of k, in blocks of 64 k:
 *
 *     blocks 1 .. STAGES - 1 ahead:  global memory -> shared memory                      
 *     (cp.async) this block:  a  ldmatrix, two values a register -> a TF32 value a register: a
 *     shift or a mask
 *                  b  two neighbouring values of a row
 *                  both -> mma.sync, and a's values squared
 *
 * A lane of mma.sync has k t and t + 4 of eight. Here it takes k 2 t and 2 t + 1 for them, in a and
 * in b alike: any order of k will do, and this one makes both pairs neighbours in memory.
 *
 * Shared memory, STAGES times:
 *
 *     A  [64 rows, 64 k] bf16, 16-byte chunk c of row r at c ^ (r & 7)
 *     B  [BLOCK_N, 64 k] f32, rows 288 bytes apart
 *
 * A block's products and squares are added up by themselves and then added to the totals: the
 * tensor core, which rounds toward zero, adds 64 products at the most. */
#include "args/tf32_hc_prenorm_gemm.h"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/copy_async.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/shared.cuh"
#include "device/warp.cuh"

#define BLOCK_M DG_HC_PRENORM_BLOCK_M
#define BLOCK_K 64
#define THREADS DG_HC_PRENORM_THREADS
#define B_PITCH DG_HC_PRENORM_B_PITCH
#define STAGE_BYTES DG_HC_PRENORM_STAGE_BYTES(BLOCK_N)
#define AT_B (BLOCK_M * 128)
#define SHARED_BYTES DG_HC_PRENORM_SHARED_BYTES(BLOCK_N, STAGES)
#define TILES (BLOCK_N / 8)
static_assert(BLOCK_N % 8 == 0 && BLOCK_M == THREADS / 32 * 16, "a warp has 16 rows");
static_assert(STAGES >= 2, "one block is computed while another comes");

/* What one CTA computes at a time. */
typedef struct part {
    int64_t row, column, split;
    int32_t rows, columns;
    int64_t k_begin, k_end;
} part_t;

/* What a lane adds up: d rows g and g + 8 of its warp's sixteen, columns 8 i + 2 t and the next. */
typedef struct sums {
    float d[TILES][4];
    float squares[2];
} sums_t;

DEVICE int32_t at_most(int64_t value, int32_t limit) {
    return value < limit ? (int32_t)value : limit;
}

/* Where split `index` of k begins: the first ones have a block more. */
DEVICE int64_t split_begin(const dg_any_tf32_hc_prenorm_gemm_args_t *args, int64_t index) {
    const int64_t blocks = (args->k + BLOCK_K - 1) / BLOCK_K;
    const int64_t each = blocks / args->splits, more = blocks - each * args->splits;
    const int64_t begin = (index * each + (index < more ? index : more)) * BLOCK_K;
    return begin < args->k ? begin : args->k;
}

/* Rows fastest: CTAs side by side read the same part of b. */
DEVICE part_t find_part(
    const dg_any_tf32_hc_prenorm_gemm_args_t *args, int64_t index, int64_t row_tiles) {
    part_t p;
    const int64_t rest = index / row_tiles;
    p.row = (index - rest * row_tiles) * BLOCK_M;
    p.split = rest % args->splits;
    p.column = rest / args->splits * BLOCK_N;
    p.rows = at_most(args->m - p.row, BLOCK_M);
    p.columns = at_most(args->n - p.column, BLOCK_N);
    p.k_begin = split_begin(args, p.split);
    p.k_end = split_begin(args, p.split + 1);
    return p;
}

/* Starts the copies of block k .. k + 63 into a stage. Rows and k that do not exist become zeros.
 * */
DEVICE void load_block(
    const dg_any_tf32_hc_prenorm_gemm_args_t *args, const part_t *part, int64_t k, uint32_t stage) {
    const uint16_t *a = (const uint16_t *)args->a;
    UNROLL
    for (uint32_t i = 0; i < BLOCK_M * 8 / THREADS; i++) {
        const uint32_t piece = i * THREADS + thread_index(), row = piece / 8, chunk = piece % 8;
        const int64_t at = k + chunk * 8;
        const bool exists = (int32_t)row < part->rows && at < part->k_end;
        const uint32_t valid = exists ? (uint32_t)at_most(part->k_end - at, 8) * 2 : 0;
        copy_async<16>(stage + row * 128 + (chunk ^ (row & 7)) * 16,
            exists ? a + (part->row + row) * args->a_stride + at : a, valid);
    }
    UNROLL_BY(1)
    for (uint32_t piece = thread_index(); piece < BLOCK_N * 16; piece += THREADS) {
        const uint32_t column = piece / 16, chunk = piece % 16;
        const int64_t at = k + chunk * 4;
        const bool exists = (int32_t)column < part->columns && at < part->k_end;
        const uint32_t valid = exists ? (uint32_t)at_most(part->k_end - at, 4) * 4 : 0;
        copy_async<16>(stage + AT_B + column * B_PITCH + chunk * 16,
            exists ? args->b + (part->column + column) * args->b_stride + at : args->b, valid);
    }
}

DEVICE void clear(sums_t *sums) {
    UNROLL
    for (int i = 0; i < TILES; i++) {
        UNROLL
        for (int j = 0; j < 4; j++) sums->d[i][j] = 0;
    }
    sums->squares[0] = sums->squares[1] = 0;
}

/* Adds the products of 8 k; values: [4] of a, in mma.sync's order, as TF32 */
DEVICE void multiply(const uint32_t *values, uint32_t b_address, sums_t *sums) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        const float value = f32_from_bits(values[i]);
        sums->squares[i & 1] += value * value;
    }
    UNROLL
    for (int i = 0; i < TILES; i++) {
        float pair[2];
        ld_shared_f32x2(pair, b_address + (uint32_t)i * 8 * B_PITCH);
        const uint32_t b[2] = {bits_from_f32(pair[0]), bits_from_f32(pair[1])};
        mma_tf32_m16n8k8(sums->d[i], values, b);
    }
}

DEVICE void multiply_block(uint32_t stage, sums_t *totals) {
    const uint32_t lane = lane_index(), row = warp_index() * 16 + lane % 16;
    const uint32_t b_address = stage + AT_B + lane / 4 * B_PITCH + lane % 4 * 8;
    sums_t parts;
    clear(&parts);
    UNROLL
    for (uint32_t step = 0; step < BLOCK_K / 16; step++) {
        uint32_t pairs[4]; /* rows 0..7 and 8..15 of k 0..7, then of k 8..15 */
        const uint32_t chunk = step * 2 + lane / 16;
        ldmatrix_x4(pairs, stage + row * 128 + (chunk ^ (row & 7)) * 16);
        UNROLL
        for (uint32_t half = 0; half < 2; half++) {
            const uint32_t low = pairs[half * 2], high = pairs[half * 2 + 1];
            const uint32_t values[4] = {
                low << 16, high << 16, low & 0xFFFF0000u, high & 0xFFFF0000u};
            multiply(values, b_address + (step * 16 + half * 8) * 4, &parts);
        }
    }
    UNROLL
    for (int i = 0; i < TILES; i++) {
        UNROLL
        for (int j = 0; j < 4; j++) totals->d[i][j] += parts.d[i][j];
    }
    UNROLL
    for (int i = 0; i < 2; i++) totals->squares[i] += parts.squares[i];
}

DEVICE void store_sums(
    const dg_any_tf32_hc_prenorm_gemm_args_t *args, const part_t *part, const sums_t *sums) {
    const uint32_t lane = lane_index(), pair = lane % 4;
    UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        const int32_t row = (int32_t)(warp_index() * 16 + lane / 4 + i * 8);
        float squares = sums->squares[i];
        squares += shuffle_xor_f32(squares, 1);
        squares += shuffle_xor_f32(squares, 2);
        if (row >= part->rows) continue;
        float *d = args->d + part->split * args->d_split_stride +
                   (part->row + row) * args->d_stride + part->column;
        if (pair == 0 && part->column == 0)
            st_global_f32(
                args->sqr_sum + part->split * args->sqr_sum_split_stride + part->row + row,
                squares);
        UNROLL
        for (uint32_t j = 0; j < TILES * 2; j++) {
            const uint32_t column = j / 2 * 8 + pair * 2 + j % 2;
            if ((int32_t)column < part->columns)
                st_global_f32(d + column, sums->d[j / 2][i * 2 + j % 2]);
        }
    }
}

DEVICE void compute_part(const dg_any_tf32_hc_prenorm_gemm_args_t *args, const part_t *part) {
    const uint32_t base = shared_base();
    const int64_t blocks = (part->k_end - part->k_begin + BLOCK_K - 1) / BLOCK_K;
    uint32_t stage = 0, free_stage = STAGES - 1; /* the block at work, and the one that was */
    sums_t sums;
    clear(&sums);
    UNROLL_BY(1)
    for (uint32_t i = 0; i < STAGES - 1; i++) {
        if (i < blocks) load_block(args, part, part->k_begin + i * BLOCK_K, base + i * STAGE_BYTES);
        copy_async_commit();
    }
    UNROLL_BY(1)
    for (int64_t block = 0; block < blocks; block++) {
        copy_async_wait<STAGES - 2>();
        cta_sync(); /* copies of all threads are there, and all are done with the free stage */
        const int64_t next = block + STAGES - 1;
        if (next < blocks)
            load_block(args, part, part->k_begin + next * BLOCK_K, base + free_stage * STAGE_BYTES);
        copy_async_commit();
        multiply_block(base + stage * STAGE_BYTES, &sums);
        free_stage = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    store_sums(args, part, &sums);
}

KERNEL(THREADS)
dg_any_tf32_hc_prenorm_gemm(KERNEL_PARAMETER dg_any_tf32_hc_prenorm_gemm_args_t args) {
    dependency_wait();
    const int64_t row_tiles = (args.m + BLOCK_M - 1) / BLOCK_M;
    const int64_t column_tiles = args.n > BLOCK_N ? (args.n + BLOCK_N - 1) / BLOCK_N : 1;
    const int64_t count = row_tiles * column_tiles * args.splits;
    for (int64_t index = block_index(); index < count; index += block_count()) {
        const part_t part = find_part(&args, index, row_tiles);
        compute_part(&args, &part);
        cta_sync(); /* stages are free for the next part */
    }
}
