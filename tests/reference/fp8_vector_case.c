/* SPDX-License-Identifier: MIT
 *
 * Implementation of fp8_vector_case.h. Sums are kept in double, straight from the definition; nothing
 * here knows of tiles or of how operands lie in shared memory. */
#include "fp8_vector_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fp8_gemm_case.h"

#define E4M3_NAN 0x7f

static uint32_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static uint8_t draw_code(const dg_vector_shape_t *s, uint64_t *state) {
    static const uint8_t integers[5] = {0x00, 0x38, 0x40, 0xb8, 0xc0}; /* 0, 1, 2, -1, -2 */
    uint8_t code;
    if (s->exact) return integers[draw(state) % 5];
    do code = (uint8_t)draw(state);
    while ((code & 0x7f) > 0x50);
    return code;
}

static float draw_factor(const dg_vector_shape_t *s, uint64_t *state) {
    if (s->exact) return ldexpf(1.0f, (int)(draw(state) % 3) - 1);
    return 0.25f + (float)(draw(state) % 4096) / 1024.0f;
}

static void *allocate(size_t bytes) {
    return aligned_alloc(256, bytes / 256 * 256 + 256);
}

/* Where the code of row `row` of an operand and token `token` of a group lies. */
static size_t code_at(const dg_vector_case_t *c, const dg_vector_operand_t *o, dg_case_form_t form,
    int32_t rows, int32_t row, int32_t group, int32_t token) {
    const int64_t r = row, t = token, k = c->shape.sizes[group];
    if (form == DG_CASE_TOKENS_FIRST) return (size_t)((c->begin[group] + t) * o->pitch + r);
    if (form == DG_CASE_TOKENS_LAST) return (size_t)(r * o->pitch + c->begin[group] + t);
    return (size_t)((int64_t)c->flat_begin[group] * rows + r * k + t);
}

static size_t factor_at(const dg_vector_case_t *c, const dg_vector_operand_t *o, int32_t row,
    int32_t group, int32_t block) {
    return (size_t)(row * o->scale_mn_stride + (c->scale_row[group] + block) * o->scale_k_stride);
}

static bool fill_operand(dg_vector_case_t *c, dg_vector_operand_t *o, dg_case_form_t form,
    int32_t rows, bool scaled, uint64_t *state) {
    const dg_vector_shape_t *s = &c->shape;
    const int64_t inner = form == DG_CASE_TOKENS_FIRST ? rows : c->tokens;
    const int64_t outer = form == DG_CASE_TOKENS_FIRST ? c->tokens : rows;
    o->pitch = (inner + 15) / 16 * 16 + 16;
    o->bytes = (size_t)(outer > 0 ? outer * o->pitch : 16);
    o->data = allocate(o->bytes);
    if (!o->data) return false;
    memset(o->data, E4M3_NAN, o->bytes);
    for (int32_t g = 0; g < s->group_count; g++)
        for (int32_t row = 0; row < rows; row++)
            for (int32_t token = 0; token < s->sizes[g]; token++)
                o->data[code_at(c, o, form, rows, row, g, token)] = draw_code(s, state);
    if (!scaled) return true;
    o->scale_mn_stride = s->scale_k_fastest ? c->scale_rows + 1 : 1;
    o->scale_k_stride = s->scale_k_fastest ? 1 : rows % 4 == 0 ? rows + 4 : rows + 3;
    const size_t count = ((size_t)rows + 4) * ((size_t)c->scale_rows + 1);
    o->scale_bytes = count * sizeof(float);
    o->scale = allocate(o->scale_bytes);
    if (!o->scale) return false;
    for (size_t i = 0; i < count; i++) o->scale[i] = NAN;
    for (int32_t g = 0; g < s->group_count; g++)
        for (int32_t block = 0; block < (s->sizes[g] + 127) / 128; block++)
            for (int32_t row = 0; row < rows; row++)
                o->scale[factor_at(c, o, row, g, block)] = draw_factor(s, state);
    return true;
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

static double element(const dg_vector_case_t *c, const void *matrix, size_t i) {
    if (c->shape.out_f32) return (double)((const float *)matrix)[i];
    return (double)decode_bf16(((const uint16_t *)matrix)[i]);
}

bool dg_make_vector_case(dg_vector_case_t *c, const dg_vector_shape_t *shape, uint64_t seed) {
    memset(c, 0, sizeof *c);
    c->shape = *shape;
    int32_t flat = 0;
    for (int32_t g = 0; g < shape->group_count; g++) {
        c->begin[g] = c->tokens;
        c->flat_begin[g] = flat;
        c->scale_row[g] = c->scale_rows;
        c->tokens += shape->sizes[g] + shape->gap;
        flat += shape->sizes[g];
        c->scale_rows += (shape->sizes[g] + 127) / 128;
    }
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    if (!fill_operand(c, &c->a, shape->form_a, shape->m, true, &state) ||
        !fill_operand(c, &c->b, shape->form_b, shape->n, !shape->no_scale_b, &state))
        return false;
    const size_t size = shape->out_f32 ? 4 : 2;
    c->slabs = shape->sum ? 1 : shape->group_count;
    c->pitch = (shape->n + 7) / 8 * 8 + 8 + shape->odd_pitch;
    c->slab_stride = (shape->m + 1) * c->pitch;
    c->d_bytes = (size_t)(c->slabs * c->slab_stride) * size;
    if (!shape->accumulates) return true;
    c->c = allocate(c->d_bytes);
    if (!c->c) return false;
    for (size_t i = 0; i < c->d_bytes / size; i++) {
        const float value = (float)((int)(draw(&state) % 65) - 32);
        if (shape->out_f32)
            ((float *)c->c)[i] = value;
        else
            ((uint16_t *)c->c)[i] = round_bf16(value);
    }
    return true;
}

void dg_free_vector_case(dg_vector_case_t *c) {
    free(c->a.data);
    free(c->b.data);
    free(c->a.scale);
    free(c->b.scale);
    free(c->c);
    memset(c, 0, sizeof *c);
}

/* Adds one group's share of an element, and the magnitudes of its terms. */
static void add_group(const dg_vector_case_t *c, int32_t row, int32_t column, int32_t group,
    double *sum, double *magnitude) {
    const dg_vector_shape_t *s = &c->shape;
    for (int32_t first = 0; first < s->sizes[group]; first += 128) {
        const int32_t last = first + 128 < s->sizes[group] ? first + 128 : s->sizes[group];
        double part = 0, part_magnitude = 0, factor = 1;
        for (int32_t t = first; t < last; t++) {
            const size_t at_a = code_at(c, &c->a, s->form_a, s->m, row, group, t);
            const size_t at_b = code_at(c, &c->b, s->form_b, s->n, column, group, t);
            const double term =
                (double)dg_decode_e4m3(c->a.data[at_a]) * (double)dg_decode_e4m3(c->b.data[at_b]);
            part += term;
            part_magnitude += fabs(term);
        }
        if (c->a.scale) factor *= (double)c->a.scale[factor_at(c, &c->a, row, group, first / 128)];
        if (c->b.scale)
            factor *= (double)c->b.scale[factor_at(c, &c->b, column, group, first / 128)];
        *sum += factor * part;
        *magnitude += fabs(factor) * part_magnitude;
    }
}

static bool is_right(
    const dg_vector_case_t *c, double got, double sum, double magnitude, double slack) {
    if (c->shape.exact)
        return got == (c->shape.out_f32 ? (double)(float)sum
                                        : (double)decode_bf16(round_bf16((float)sum)));
    const double rounding = fabs(sum) * ldexp(1, c->shape.out_f32 ? -23 : -8);
    return fabs(got - sum) <= rounding + slack * magnitude; /* false for NaN */
}

size_t dg_check_vector_case(
    const dg_vector_case_t *c, const void *d, double slack, char *text, size_t text_size) {
    const dg_vector_shape_t *s = &c->shape;
    const size_t size = s->out_f32 ? 4 : 2;
    size_t wrong = 0, stray = 0, nan = 0;
    int32_t first[3] = {-1, -1, -1};
    for (int32_t slab = 0; slab < c->slabs; slab++)
        for (int32_t row = 0; row <= s->m; row++)
            for (int64_t column = 0; column < c->pitch; column++) {
                const size_t at = (size_t)(slab * c->slab_stride + row * c->pitch + column);
                static const uint8_t poison[4] = {0xff, 0xff, 0xff, 0xff};
                if (row == s->m || column >= s->n) {
                    stray += memcmp((const uint8_t *)d + at * size, poison, size) != 0;
                    continue;
                }
                double sum = c->c ? element(c, c->c, at) : 0, magnitude = fabs(sum);
                for (int32_t g = s->sum ? 0 : slab; g < (s->sum ? s->group_count : slab + 1); g++)
                    add_group(c, row, (int32_t)column, g, &sum, &magnitude);
                const double got = element(c, d, at);
                if (is_right(c, got, sum, magnitude, slack)) continue;
                if (wrong++ == 0) {
                    first[0] = slab;
                    first[1] = row;
                    first[2] = (int32_t)column;
                }
                nan += isnan(got) ? 1 : 0;
            }
    snprintf(text, text_size,
        "%zu elements wrong (%zu NaN; first: group %d row %d column %d), %zu "
        "written outside",
        wrong, nan, first[0], first[1], first[2], stray);
    return wrong + stray;
}
