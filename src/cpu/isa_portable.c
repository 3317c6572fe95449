/* SPDX-License-Identifier: MIT
 *
 * The innermost loops in plain C: the definition of the bits that every other table must give, and
 * the fallback on machines without one. fmaf is exact everywhere and fast where the base instruction
 * set has a fused multiply-add; the C library emulates it otherwise.
 */
#include "cpu/isa.h"

#include <math.h>
#include <string.h>

#include "model/dtype.h"

enum { ROWS = 6, COLS = 16 };

static void multiply(int64_t k_count, int used_rows, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    float sum[ROWS][COLS];
    memset(sum, 0, sizeof sum);
    for (int64_t k = 0; k < k_count; k++) {
        for (int i = 0; i < used_rows; i++) {
            for (int j = 0; j < COLS; j++) {
                sum[i][j] = fmaf(a[k * ROWS + i], b[k * COLS + j], sum[i][j]);
            }
        }
    }
    for (int i = 0; i < used_rows; i++) {
        for (int j = 0; j < COLS; j++) {
            float *element = &total[i * COLS + j];
            *element = fmaf(scale_a[i] * scale_b[j], sum[i][j], *element);
        }
    }
}

static void decode_e4m3(const uint8_t *codes, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i++) values[i] = dg_decode_e4m3(codes[i]);
}

static void decode_bf16(const uint16_t *codes, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i++) values[i] = dg_decode_bf16(codes[i]);
}

const dg_cpu_kernels_t dg_cpu_kernels_portable = {
    .name = "portable",
    .rows = ROWS,
    .cols = COLS,
    .multiply = multiply,
    .decode_e4m3 = decode_e4m3,
    .decode_bf16 = decode_bf16,
};
