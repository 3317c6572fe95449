/* SPDX-License-Identifier: MIT
 *
 * Products of one warp of gemm.cu from shared memory: ldmatrix, mma.sync on 16-bit values with FP32
 * accumulation, promotion by scale factors. Used by gemm.cu; the layout of slabs is that of
 * operand.cuh.
 *
 * A warp has 32 x WARP_N of the tile. `part` holds the sums of the block of k at hand (128 k, or 32
 * where a granularity is 32), `total` what earlier blocks came to: total = fma(sa * sb, part,
 * total). So the tensor core's own accumulation, which rounds toward zero, never runs over more
 * than 128 values; blocks are added in FP32, in order. */
#pragma once
#include "any/operand.cuh"
#include "device/matrix.cuh"

#define WARP_N (BLOCK_N / 2)
#define ROW_TILES 2               /* of 16 rows */
#define COLUMN_TILES (WARP_N / 8) /* of 8 columns */

/* Where this lane's matrix rows of an operand begin, and how the address goes on with k and mn. The
 * exclusive-or parts only touch the chunk bits, where nothing carries. */
typedef struct lane_matrix {
    uint32_t base;
    uint32_t k_add, k_xor;   /* for each 16 k */
    uint32_t mn_add, mn_xor; /* for each 16 rows */
    bool transposed;
} lane_matrix_t;

/* mn: first row of the warp, a multiple of 32; rows: of the slab; matrix_mn, matrix_k: which 8 x 8
 * part of a 16 x 16 piece this lane names a row of. */
DEVICE lane_matrix_t find_matrix(bool k_contiguous, uint32_t slab, uint32_t rows, uint32_t mn,
    uint32_t matrix_mn, uint32_t matrix_k) {
    const uint32_t inner = lane_index() & 7;
    if (k_contiguous)
        return {slab + (mn + matrix_mn * 8 + inner) * 128 + ((matrix_k ^ inner) << 4), 0, 32,
            16 * 128, 0, false};
    return {slab + (matrix_k * 8 + inner) * rows * 2 + ((mn / 8 + matrix_mn) ^ inner) * 16,
        16 * rows * 2, 0, 0, 32, true};
}

/* values: [4], the four 8 x 8 matrices of piece (mn, k), 16 x 16 each */
DEVICE void load_matrices(const lane_matrix_t *m, uint32_t mn, uint32_t k, uint32_t *values) {
    const uint32_t address =
        (m->base ^ k * m->k_xor ^ mn * m->mn_xor) + k * m->k_add + mn * m->mn_add;
    if (m->transposed)
        ldmatrix_x4_trans(values, address);
    else
        ldmatrix_x4(values, address);
}

typedef struct sums {
    float part[ROW_TILES][COLUMN_TILES][4], total[ROW_TILES][COLUMN_TILES][4];
} sums_t;

DEVICE void clear_parts(sums_t *s) {
    UNROLL
    for (int i = 0; i < ROW_TILES; i++) UNROLL
    for (int j = 0; j < COLUMN_TILES; j++) UNROLL
    for (int e = 0; e < 4; e++) s->part[i][j][e] = 0;
}

DEVICE void clear_totals(sums_t *s) {
    UNROLL
    for (int i = 0; i < ROW_TILES; i++) UNROLL
    for (int j = 0; j < COLUMN_TILES; j++) UNROLL
    for (int e = 0; e < 4; e++) s->total[i][j][e] = 0;
}

/* 16 k of the warp's products. k: 0 .. 3, which 16 of the slab */
DEVICE void multiply_step(const lane_matrix_t *a, const lane_matrix_t *b, uint32_t k, sums_t *s) {
    uint32_t a_values[ROW_TILES][4];
    UNROLL
    for (int i = 0; i < ROW_TILES; i++) load_matrices(a, (uint32_t)i, k, a_values[i]);
    UNROLL
    for (int j = 0; j < COLUMN_TILES; j += 2) {
        uint32_t b_values[4];
        load_matrices(b, (uint32_t)j / 2, k, b_values);
        UNROLL
        for (int i = 0; i < ROW_TILES; i++) UNROLL
        for (int half = 0; half < 2; half++) {
            if (WIDE)
                mma_bf16_m16n8k16(s->part[i][j + half], a_values[i], b_values + half * 2);
            else
                mma_f16_m16n8k16(s->part[i][j + half], a_values[i], b_values + half * 2);
        }
    }
}

/* total += sa * sb * part for the block that is complete. row, column: of the warp in the tile;
 * scale_a, scale_b: shared addresses of [BLOCK_M], [BLOCK_N] f32 */
DEVICE void promote(
    uint32_t row, uint32_t column, uint32_t scale_a, uint32_t scale_b, bool scaled, sums_t *s) {
    const uint32_t g = lane_index() / 4, t = lane_index() % 4;
    float a[ROW_TILES][2];
    UNROLL
    for (int i = 0; i < ROW_TILES; i++) UNROLL
    for (int half = 0; half < 2; half++)
        a[i][half] =
            scaled ? ld_shared_f32(scale_a + (row + (uint32_t)(i * 16 + half * 8) + g) * 4) : 1;
    UNROLL
    for (int j = 0; j < COLUMN_TILES; j++) UNROLL
    for (int e = 0; e < 2; e++) {
        const uint32_t at = column + (uint32_t)(j * 8 + e) + t * 2;
        const float b = scaled ? ld_shared_f32(scale_b + at * 4) : 1;
        UNROLL
        for (int i = 0; i < ROW_TILES; i++) UNROLL
        for (int half = 0; half < 2; half++) {
            float *total = &s->total[i][j][half * 2 + e];
            *total += a[i][half] * b * s->part[i][j][half * 2 + e];
            s->part[i][j][half * 2 + e] = 0;
        }
    }
}
