/* SPDX-License-Identifier: MIT
 *
 * Implementation of fp8_gemm_case.h. Sums are kept in double in the order of k, straight from the
 * definition; nothing here knows of tiles, swizzles or warps. */
#include "fp8_gemm_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define E4M3_NAN 0x7f
#define E4M3_ONE 0x38

float dg_decode_e4m3(uint8_t code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    float magnitude;
    if ((code & 127) == 127)
        magnitude = NAN;
    else if (exponent)
        magnitude = ldexpf(1.0f + (float)mantissa / 8.0f, exponent - 7);
    else
        magnitude = ldexpf((float)mantissa, -9);
    return code & 128 ? -magnitude : magnitude;
}

static uint32_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* 0, +-1, +-2: 128 products of these and their sums stay below 2^10, exact even in an accumulator
 * of 14 bits. */
static uint8_t draw_small_integer(uint64_t *state) {
    static const uint8_t codes[5] = {0x00, E4M3_ONE, 0x40, 0x80 | E4M3_ONE, 0x80 | 0x40};
    return codes[draw(state) % 5];
}

/* Any finite code up to 8 in magnitude, small ones and subnormals included. */
static uint8_t draw_code(uint64_t *state) {
    uint8_t code;
    do code = (uint8_t)draw(state);
    while ((code & 0x7f) > 0x50);
    return code;
}

static void fill_operand(uint8_t *p, int32_t rows, const dg_fp8_gemm_case_t *c, uint64_t *state) {
    for (int32_t r = 0; r < rows; r++)
        for (int32_t k = 0; k < c->k_pitch; k++)
            p[(size_t)r * (size_t)c->k_pitch + (size_t)k] = k >= c->k  ? E4M3_NAN
                                                            : c->exact ? draw_small_integer(state)
                                                                       : draw_code(state);
}

static float draw_scale(const dg_fp8_gemm_case_t *c, uint64_t *state) {
    if (c->exact) return ldexpf(1.0f, (int)(draw(state) % 3) - 1);
    return 0.25f + (float)(draw(state) % 4096) / 1024.0f;
}

size_t dg_fp8_gemm_case_a_bytes(const dg_fp8_gemm_case_t *c) {
    return (size_t)c->m * (size_t)c->k_pitch;
}
size_t dg_fp8_gemm_case_b_bytes(const dg_fp8_gemm_case_t *c) {
    return (size_t)c->n * (size_t)c->k_pitch;
}
size_t dg_fp8_gemm_case_scale_a_bytes(const dg_fp8_gemm_case_t *c) {
    return (size_t)c->k_blocks * (size_t)c->scale_a_pitch * sizeof(float);
}
size_t dg_fp8_gemm_case_scale_b_bytes(const dg_fp8_gemm_case_t *c) {
    return (size_t)c->scale_b_rows * (size_t)c->k_blocks * sizeof(float);
}
size_t dg_fp8_gemm_case_d_bytes(const dg_fp8_gemm_case_t *c) {
    return (size_t)c->m * (size_t)c->pitch * sizeof(uint16_t);
}

static void *allocate(size_t bytes) {
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

bool dg_make_fp8_gemm_case(
    dg_fp8_gemm_case_t *c, int32_t m, int32_t n, int32_t k, bool exact, uint64_t seed) {
    memset(c, 0, sizeof *c);
    c->m = m;
    c->n = n;
    c->k = k;
    c->exact = exact;
    c->k_blocks = (k + 127) / 128;
    c->scale_b_rows = (n + 127) / 128;
    c->k_pitch = (k + 15) / 16 * 16 + 16; /* at least one column of NaN that must not be read */
    c->scale_a_pitch = (m + 3) / 4 * 4 + 4;
    c->pitch = (n + 7) / 8 * 8 + 8;
    c->a = allocate(dg_fp8_gemm_case_a_bytes(c));
    c->b = allocate(dg_fp8_gemm_case_b_bytes(c));
    c->scale_a = allocate(dg_fp8_gemm_case_scale_a_bytes(c));
    c->scale_b = allocate(dg_fp8_gemm_case_scale_b_bytes(c));
    if (!c->a || !c->b || !c->scale_a || !c->scale_b) return false;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    fill_operand(c->a, m, c, &state);
    fill_operand(c->b, n, c, &state);
    for (int32_t block = 0; block < c->k_blocks; block++)
        for (int32_t row = 0; row < c->scale_a_pitch; row++)
            c->scale_a[(size_t)block * (size_t)c->scale_a_pitch + (size_t)row] =
                row < m ? draw_scale(c, &state) : NAN;
    for (size_t i = 0; i < (size_t)c->scale_b_rows * (size_t)c->k_blocks; i++)
        c->scale_b[i] = draw_scale(c, &state);
    return true;
}

void dg_free_fp8_gemm_case(dg_fp8_gemm_case_t *c) {
    free(c->a);
    free(c->b);
    free(c->scale_a);
    free(c->scale_b);
    memset(c, 0, sizeof *c);
}

static float decode_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t round_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The sum of one element and of the magnitudes of its terms. a_row, b_row: [k] decoded */
static void sum_element(const dg_fp8_gemm_case_t *c, const float *a_row, const float *b_row,
    int32_t row, int32_t column, double *sum, double *magnitude) {
    *sum = *magnitude = 0;
    for (int32_t block = 0; block < c->k_blocks; block++) {
        const int32_t first = block * 128, last = first + 128 < c->k ? first + 128 : c->k;
        double part = 0, part_magnitude = 0;
        for (int32_t k = first; k < last; k++) {
            const double term = (double)a_row[k] * (double)b_row[k];
            part += term;
            part_magnitude += fabs(term);
        }
        const double scale =
            (double)c->scale_a[(size_t)block * (size_t)c->scale_a_pitch + (size_t)row] *
            (double)c->scale_b[(size_t)(column / 128) * (size_t)c->k_blocks + (size_t)block];
        *sum += scale * part;
        *magnitude += fabs(scale) * part_magnitude;
    }
}

static bool is_right(const dg_fp8_gemm_case_t *c, uint16_t got, double sum, double magnitude,
    double slack, double *excess) {
    if (c->exact) {
        *excess = 1;
        return got == round_bf16((float)sum) || (sum == 0 && (got & 0x7fff) == 0);
    }
    const double error = fabs((double)decode_bf16(got) - sum);
    const double allowed = fabs(sum) / 256 + slack * magnitude;
    *excess = error / allowed;
    return error <= allowed; /* false for NaN */
}

/* all: [n, k], decoded */
static void decode_rows(
    const uint8_t *codes, int32_t rows, const dg_fp8_gemm_case_t *c, float *all) {
    for (size_t r = 0; r < (size_t)rows; r++)
        for (size_t i = 0; i < (size_t)c->k; i++)
            all[r * (size_t)c->k + i] = dg_decode_e4m3(codes[r * (size_t)c->k_pitch + i]);
}

size_t dg_check_fp8_gemm_case(const dg_fp8_gemm_case_t *c, const uint16_t *d, int32_t row_step,
    double slack, char *text, size_t text_size) {
    size_t wrong = 0, stray = 0;
    double worst = 0;
    float *a_row = malloc((size_t)c->k * sizeof(float));
    float *b = malloc((size_t)c->k * (size_t)c->n * sizeof(float));
    if (!a_row || !b) {
        snprintf(text, text_size, "out of memory");
        wrong = 1;
        goto done;
    }
    decode_rows(c->b, c->n, c, b);
    for (int32_t row = 0; row < c->m; row += row_step) {
        const uint16_t *d_row = d + (size_t)row * (size_t)c->pitch;
        decode_rows(c->a + (size_t)row * (size_t)c->k_pitch, 1, c, a_row);
        for (int32_t column = 0; column < c->n; column++) {
            double sum, magnitude, excess;
            sum_element(c, a_row, b + (size_t)column * (size_t)c->k, row, column, &sum, &magnitude);
            if (is_right(c, d_row[column], sum, magnitude, slack, &excess)) continue;
            wrong++;
            if (!(excess <= worst)) worst = excess;
        }
        for (int32_t column = c->n; column < c->pitch; column++)
            stray += d_row[column] != DG_POISON_BF16;
    }
    snprintf(text, text_size,
        "%zu of %d x %d elements wrong (worst %.3g times the allowed error), %zu written outside",
        wrong, c->m, c->n, worst, stray);
done:
    free(a_row);
    free(b);
    return wrong + stray;
}
