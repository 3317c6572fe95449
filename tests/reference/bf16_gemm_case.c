/* SPDX-License-Identifier: MIT
 *
 * Implementation of bf16_gemm_case.h.
 */
#include "bf16_gemm_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draw(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static float decode(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* to nearest even; no NaN */
static uint16_t encode(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float draw_value(bool exact, uint64_t *state) {
    if (exact) return (float)(int32_t)(draw(state) % 17) - 8.0f;
    return (float)((double)draw(state) / 9223372036854775808.0 - 1.0);
}

static bool in_a_group(const dg_bf16_shape_t *s, int32_t index) {
    for (int32_t g = 0; g < s->group_count; g++)
        if (index >= s->groups[g].begin && index < s->groups[g].end) return true;
    return false;
}

static int32_t line_pitch(int32_t length) {
    return (length + 7) / 8 * 8 + 8;
}

static size_t at(bool mn_fastest, int32_t pitch, int32_t mn, int32_t k) {
    return mn_fastest ? (size_t)k * (size_t)pitch + (size_t)mn
                      : (size_t)mn * (size_t)pitch + (size_t)k;
}

/* NaN everywhere, then values where a product may look. */
static void fill(uint16_t *data, size_t bytes, const dg_bf16_shape_t *s, int32_t mn,
    bool mn_fastest, int32_t pitch, bool rows_grouped, uint64_t *state) {
    for (size_t i = 0; i < bytes / 2; i++) data[i] = 0x7fc1;
    for (int32_t row = 0; row < mn; row++) {
        if (rows_grouped && !in_a_group(s, row)) continue;
        for (int32_t k = 0; k < s->k; k++) {
            if (s->family == DG_BF16_CASE_K_GROUPED && !in_a_group(s, k)) continue;
            data[at(mn_fastest, pitch, row, k)] = encode(draw_value(s->exact, state));
        }
    }
}

bool dg_make_bf16_gemm_case(dg_bf16_gemm_case_t *c, const dg_bf16_shape_t *shape) {
    const dg_bf16_shape_t *s = shape;
    const size_t size = s->f32 ? 4 : 2;
    uint64_t state = s->seed * 77 + 5;
    memset(c, 0, sizeof *c);
    c->shape = *s;
    c->matrices = s->family == DG_BF16_CASE_K_GROUPED && !s->sum ? s->group_count : 1;
    c->b_matrices = s->family == DG_BF16_CASE_M_GROUPED ? s->group_count : 1;
    c->a_pitch = line_pitch(s->a_mn ? s->m : s->k);
    c->b_pitch = line_pitch(s->b_mn ? s->n : s->k);
    c->b_stride = (int64_t)c->b_pitch * (s->b_mn ? s->k : s->n);
    c->d_pitch = s->narrow ? s->n + 3 - s->n % 2 : line_pitch(s->n);
    c->d_stride = (int64_t)c->d_pitch * s->m;
    c->a_bytes = (size_t)c->a_pitch * (size_t)(s->a_mn ? s->k : s->m) * 2;
    c->b_bytes = (size_t)c->b_stride * (size_t)c->b_matrices * 2;
    c->d_bytes = (size_t)c->d_stride * (size_t)c->matrices * size;
    c->a = aligned_alloc(256, (c->a_bytes + 511) / 256 * 256);
    c->b = aligned_alloc(256, (c->b_bytes + 511) / 256 * 256);
    c->d = aligned_alloc(256, (c->d_bytes + 511) / 256 * 256);
    c->before = malloc(c->d_bytes + 1);
    c->c = s->in_place ? c->d : aligned_alloc(256, (c->d_bytes + 511) / 256 * 256);
    if (!c->a || !c->b || !c->d || !c->before || !c->c) return false;
    fill(c->a, c->a_bytes, s, s->m, s->a_mn, c->a_pitch, s->family == DG_BF16_CASE_M_GROUPED,
        &state);
    for (int32_t g = 0; g < c->b_matrices; g++)
        fill(c->b + g * c->b_stride, (size_t)c->b_stride * 2, s, s->n, s->b_mn, c->b_pitch, false,
            &state);
    memset(c->d, 0xff, c->d_bytes);
    if (c->c != c->d) memset(c->c, 0xff, c->d_bytes);
    if (s->accumulates) {
        for (int32_t g = 0; g < c->matrices; g++)
            for (int32_t row = 0; row < s->m; row++)
                for (int32_t x = 0; x < s->n; x++) {
                    const size_t i =
                        (size_t)(g * c->d_stride) + (size_t)row * (size_t)c->d_pitch + (size_t)x;
                    const float value = draw_value(s->exact, &state);
                    if (s->f32)
                        ((float *)c->c)[i] = value;
                    else
                        ((uint16_t *)c->c)[i] = encode(value);
                }
    }
    memcpy(c->before, c->d, c->d_bytes);
    return true;
}

void dg_free_bf16_gemm_case(dg_bf16_gemm_case_t *c) {
    if (c->c != c->d) free(c->c);
    free(c->a);
    free(c->b);
    free(c->d);
    free(c->before);
    memset(c, 0, sizeof *c);
}

/* Adds the products of k in [begin, end) to *sum, and their magnitudes to *magnitude. */
static void add_products(const dg_bf16_gemm_case_t *c, int32_t row, int32_t column, int32_t matrix,
    dg_bf16_range_t range, double *sum, double *magnitude) {
    const dg_bf16_shape_t *s = &c->shape;
    const uint16_t *b = c->b + matrix * c->b_stride;
    for (int32_t k = range.begin; k < range.end; k++) {
        const double product = (double)decode(c->a[at(s->a_mn, c->a_pitch, row, k)]) *
                               (double)decode(b[at(s->b_mn, c->b_pitch, column, k)]);
        *sum += product;
        *magnitude += fabs(product);
    }
}

/* The group of a row of an M-grouped product; -1: none. */
static int32_t group_of(const dg_bf16_shape_t *s, int32_t row) {
    for (int32_t g = 0; g < s->group_count; g++)
        if (row >= s->groups[g].begin && row < s->groups[g].end) return g;
    return -1;
}

/* False if this row of d is not written. */
static bool reference(const dg_bf16_gemm_case_t *c, int32_t matrix, int32_t row, int32_t column,
    double *sum, double *magnitude) {
    const dg_bf16_shape_t *s = &c->shape;
    *sum = *magnitude = 0;
    if (s->family == DG_BF16_CASE_DENSE) {
        add_products(c, row, column, 0, (dg_bf16_range_t){0, s->k}, sum, magnitude);
    } else if (s->family == DG_BF16_CASE_M_GROUPED) {
        const int32_t group = group_of(s, row);
        if (group < 0) return false;
        add_products(c, row, column, group, (dg_bf16_range_t){0, s->k}, sum, magnitude);
    } else if (s->sum) {
        for (int32_t g = 0; g < s->group_count; g++)
            add_products(c, row, column, 0, s->groups[g], sum, magnitude);
    } else {
        add_products(c, row, column, 0, s->groups[matrix], sum, magnitude);
    }
    return true;
}

static double element(const dg_bf16_gemm_case_t *c, const void *data, size_t i) {
    return c->shape.f32 ? (double)((const float *)data)[i]
                        : (double)decode(((const uint16_t *)data)[i]);
}

static bool element_is_right(const dg_bf16_gemm_case_t *c, size_t i, double sum, double magnitude) {
    const dg_bf16_shape_t *s = &c->shape;
    const double got = element(c, c->d, i);
    if (s->exact) {
        const float rounded = s->f32 ? (float)sum : decode(encode((float)sum));
        return got == (double)rounded;
    }
    /* FP32 sums in any order, then one rounding. */
    const double rounding = s->f32 ? ldexp(fabs(sum), -23) : ldexp(fabs(sum), -8);
    return fabs(got - sum) <= rounding + ldexp(magnitude, -20);
}

size_t dg_check_bf16_gemm_case(const dg_bf16_gemm_case_t *c, char *text, size_t size) {
    const dg_bf16_shape_t *s = &c->shape;
    const size_t element_bytes = s->f32 ? 4 : 2;
    const size_t all = c->d_bytes / element_bytes;
    size_t wrong = 0;
    for (size_t i = 0; i < all; i++) {
        const int32_t matrix = (int32_t)((int64_t)i / c->d_stride);
        const int64_t rest = (int64_t)i % c->d_stride;
        const int32_t row = (int32_t)(rest / c->d_pitch), x = (int32_t)(rest % c->d_pitch);
        double sum = 0, magnitude = 0;
        const bool written = x < s->n && reference(c, matrix, row, x, &sum, &magnitude);
        if (written && s->accumulates) {
            const double added = element(c, s->in_place ? c->before : c->c, i);
            sum += added;
            magnitude += fabs(added);
        }
        const bool right =
            written ? element_is_right(c, i, sum, magnitude)
                    : memcmp((const uint8_t *)c->d + i * element_bytes,
                          (const uint8_t *)c->before + i * element_bytes, element_bytes) == 0;
        if (!right && wrong++ == 0)
            snprintf(text, size, "matrix %d, row %d, column %d%s: got %.9g, expected %.9g", matrix,
                row, x, written ? "" : " (not to be written)", element(c, c->d, i), sum);
    }
    return wrong;
}
