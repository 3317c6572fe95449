/* SPDX-License-Identifier: MIT
 *
 * The cases of engine_case.h. Stored codes and factors are pure functions of (seed, row, k), so that
 * a gathered row met twice agrees with itself; whatever a case does not use holds NaN.
 */
#include "engine_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t at(uint64_t seed, int64_t row, int64_t k) {
    return mix(seed ^ mix((uint64_t)row * 0x10001u + 7) ^ mix((uint64_t)k * 0x777u + 0x5555555u));
}

static int64_t draw(uint64_t *state, int64_t count) {
    *state = mix(*state);
    return (int64_t)(*state >> 33) % count;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* ---- decoding, by the definitions of the formats ---- */

static float value_of(dg_dtype_t dtype, uint32_t code) {
    if (dtype == DG_DTYPE_BF16) return float_of(code << 16);
    const int exponent_bits = dtype == DG_DTYPE_E4M3 ? 4 : 2;
    const int mantissa_bits = dtype == DG_DTYPE_E4M3 ? 3 : 1;
    const int bias = dtype == DG_DTYPE_E4M3 ? 7 : 1;
    const int mantissa = (int)(code & ((1u << mantissa_bits) - 1));
    const int exponent = (int)(code >> mantissa_bits & ((1u << exponent_bits) - 1));
    const double magnitude =
        exponent == 0 ? ldexp(mantissa, 1 - bias - mantissa_bits)
                      : ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
    const bool negative = code >> (exponent_bits + mantissa_bits) & 1;
    return (float)(negative ? -magnitude : magnitude);
}

/* A finite code, over the whole range of the narrow formats. */
static uint32_t draw_code(dg_dtype_t dtype, uint64_t random, bool integers) {
    static const uint8_t e4m3_integers[] = {0x00, 0x38, 0x40, 0x44, 0xB8, 0xC0, 0xC4, 0x80};
    static const uint8_t e2m1_integers[] = {0x0, 0x2, 0x4, 0x5, 0xA, 0xC, 0xD, 0x8};
    if (dtype == DG_DTYPE_E2M1X2) {
        return integers ? e2m1_integers[random & 7] : (uint32_t)(random & 15);
    }
    if (dtype == DG_DTYPE_E4M3) {
        const uint32_t code = integers ? e4m3_integers[random & 7] : (uint32_t)(random & 0xFF);
        return (code & 0x7F) == 0x7F ? code - 1 : code;
    }
    if (integers)
        return value_of(DG_DTYPE_E4M3, e4m3_integers[random & 7]) == 0
                   ? 0
                   : (uint32_t)(0x3F80u | (random & 0x8000u));
    return (uint32_t)((random & 0x807Fu) | (119 + (random >> 20 & 15)) << 7);
}

static uint32_t draw_scale_byte(uint64_t random, bool integers) {
    return integers ? 126 + (uint32_t)(random % 3) : 117 + (uint32_t)(random % 20);
}

/* ---- building ---- */

case_spec_t draw_case(uint64_t seed, double large) {
    static const int64_t sizes[] = {0, 1, 5, 16, 31, 64, 127, 128, 129, 257, 300};
    static const dg_dtype_t dtypes[] = {DG_DTYPE_E4M3, DG_DTYPE_E2M1X2, DG_DTYPE_BF16};
    static const dg_dtype_t scale_dtypes[] = {
        DG_DTYPE_NONE, DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};
    static const int32_t grans[] = {1, 3, 32, 128};
    uint64_t state = mix(seed);
    case_spec_t spec = {0};
    do {
        spec.m = sizes[draw(&state, 11)];
        spec.n = sizes[draw(&state, 11)];
        spec.k = sizes[draw(&state, 11)] * (1 + draw(&state, 2));
    } while ((double)spec.m * (double)spec.n * (double)spec.k > large);
    case_side_spec_t *sides[2] = {&spec.a, &spec.b};
    for (int i = 0; i < 2; i++) {
        *sides[i] = (case_side_spec_t){
            .dtype = dtypes[draw(&state, 3)],
            .layout = (case_layout_t)draw(&state, LAYOUT_COUNT),
            .gather_rows = draw(&state, 4) == 0,
            .gather_ks = draw(&state, 4) == 0,
            .scale_dtype = scale_dtypes[draw(&state, 4)],
            .gran_mn = grans[draw(&state, 4)],
            .gran_k = draw(&state, 2) ? 32 : 128,
            .scale_rows_fast = draw(&state, 2) == 0,
        };
    }
    spec.segment_count = 1 + (int)draw(&state, 4);
    spec.integers = draw(&state, 3) == 0;
    spec.with_c = draw(&state, 2) == 0;
    spec.c_is_d = draw(&state, 2) == 0;
    spec.scatter = draw(&state, 4) == 0;
    spec.d_dtype = draw(&state, 2) ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    return spec;
}

static int32_t *draw_indices(uint64_t *state, int64_t count, int64_t sources) {
    int32_t *indices = malloc((size_t)(count + 1) * sizeof *indices);
    for (int64_t i = 0; i < count; i++) {
        indices[i] =
            draw(state, 9) == 0 ? -1 - (int32_t)draw(state, 3) : (int32_t)draw(state, sources);
    }
    return indices;
}

static void store_code(void *data, dg_dtype_t dtype, int64_t index, uint32_t code) {
    if (dtype == DG_DTYPE_BF16) {
        ((uint16_t *)data)[index] = (uint16_t)code;
    } else if (dtype == DG_DTYPE_E4M3) {
        ((uint8_t *)data)[index] = (uint8_t)code;
    } else {
        uint8_t *byte = (uint8_t *)data + index / 2;
        const int shift = 4 * (int)(index % 2);
        *byte = (uint8_t)((*byte & ~(15 << shift)) | (int)code << shift);
    }
}

/* Index along K of the factor for value k, and the segment's first value. */
static int64_t factor_index(
    const case_t *made, bool is_a, int32_t gran_k, bool packed, int64_t k, int *byte) {
    for (int s = 0; s < made->spec.segment_count; s++) {
        const dg_cpu_segment_t *segment = &made->segments[s];
        if (k < segment->k_begin || k >= segment->k_begin + segment->k_count) continue;
        const int64_t unit = (k - segment->k_begin) / gran_k;
        *byte = (int)(unit % 4);
        return (is_a ? segment->scale_begin_a : segment->scale_begin_b) +
               (packed ? unit / 4 : unit);
    }
    return -1;
}

static void set_strides(
    dg_cpu_operand_t *operand, case_layout_t layout, int64_t rows, int64_t ks, int64_t *extent) {
    const bool packed = operand->dtype == DG_DTYPE_E2M1X2;
    if (layout == STRIDED && packed) layout = K_MAJOR; /* one axis is packed */
    const int64_t row_pitch = (ks + 7) / 2 * 2, k_pitch = (rows + 5) / 2 * 2;
    operand->row_stride = layout == K_MAJOR ? row_pitch : layout == MN_MAJOR ? 1 : 3;
    operand->k_stride = layout == K_MAJOR ? 1 : layout == MN_MAJOR ? k_pitch : 3 * rows + 1;
    *extent = (rows - 1) * operand->row_stride + (ks - 1) * operand->k_stride + 1;
}

static void make_scale(case_t *made, case_side_t *side, const case_side_spec_t *spec, bool is_a,
    int64_t row_count, int64_t source_rows, uint64_t seed) {
    dg_cpu_operand_t *operand = &side->operand;
    const bool packed = spec->scale_dtype == DG_DTYPE_I32;
    const int64_t blocks_mn = source_rows / spec->gran_mn + 1;
    const int64_t blocks_k = made->k_end / 32 + made->spec.segment_count * 2 + 1;
    const size_t count = (size_t)(blocks_mn * blocks_k);
    operand->scale_dtype = spec->scale_dtype;
    operand->gran_mn = spec->gran_mn;
    operand->gran_k = spec->gran_k;
    operand->scale_row_stride = spec->scale_rows_fast ? 1 : blocks_k;
    operand->scale_k_stride = spec->scale_rows_fast ? blocks_mn : 1;
    operand->scale = side->scale = malloc(count * 4);
    memset(side->scale, 0xFF, count * 4); /* NaN in every scale type */
    for (int64_t i = 0; i < row_count; i++) {
        const int64_t source = side->rows ? side->rows[i] : i;
        if (source < 0) continue;
        for (int64_t k = 0; k < made->k_end; k++) {
            int byte = 0;
            const int64_t block_k = factor_index(made, is_a, spec->gran_k, packed, k, &byte);
            if (block_k < 0) continue;
            const int64_t block_mn = source / spec->gran_mn;
            const uint64_t random = at(seed ^ 0x5CA1E, block_mn, block_k * 4 + (packed ? byte : 0));
            const uint32_t exponent = draw_scale_byte(random, made->spec.integers);
            const int64_t index =
                block_mn * operand->scale_row_stride + block_k * operand->scale_k_stride;
            float factor = float_of(exponent << 23);
            if (spec->scale_dtype == DG_DTYPE_F32) {
                if (!made->spec.integers)
                    factor = float_of(exponent << 23 | (random >> 40 & 0x7FFFFF));
                ((float *)side->scale)[index] = factor;
            } else {
                ((uint8_t *)side->scale)[packed ? 4 * index + byte : index] = (uint8_t)exponent;
            }
            side->factors[i * made->k_end + k] = factor;
        }
    }
}

static void make_side(case_t *made, case_side_t *side, const case_side_spec_t *spec, bool is_a,
    int64_t row_count, uint64_t seed) {
    uint64_t state = seed;
    const int64_t k_end = made->k_end;
    const int64_t source_rows = spec->gather_rows ? row_count + 3 : row_count;
    const int64_t source_ks = spec->gather_ks ? k_end + 4 : k_end;
    dg_cpu_operand_t *operand = &side->operand;
    operand->dtype = spec->dtype;
    operand->gran_mn = 1;
    operand->gran_k = 128;
    if (spec->gather_rows)
        operand->rows = side->rows = draw_indices(&state, row_count, source_rows);
    if (spec->gather_ks) operand->ks = side->ks = draw_indices(&state, k_end, source_ks);
    int64_t extent;
    set_strides(operand, spec->layout, source_rows, source_ks, &extent);
    const size_t bytes = extent <= 0                      ? 0
                         : spec->dtype == DG_DTYPE_BF16   ? (size_t)extent * 2
                         : spec->dtype == DG_DTYPE_E2M1X2 ? (size_t)(extent + 1) / 2
                                                          : (size_t)extent;
    /* Exactly what the strides span, so that a sanitizer sees a read beyond it. */
    operand->data = side->data = malloc(bytes ? bytes : 1);
    memset(side->data, 0x7F, bytes); /* NaN; for e2m1 7 = 6.0 and 15 = -6.0 */
    if (spec->dtype == DG_DTYPE_BF16) {
        for (size_t i = 0; i < bytes / 2; i++) ((uint16_t *)side->data)[i] = 0x7FC0;
    }
    const size_t count = (size_t)(row_count * k_end + 1);
    side->values = calloc(count, sizeof(float));
    side->factors = calloc(count, sizeof(float));
    for (size_t i = 0; i < count; i++) side->factors[i] = 1.0f;
    for (int64_t i = 0; i < row_count; i++) {
        for (int64_t k = 0; k < k_end; k++) {
            int byte;
            const int64_t row = side->rows ? side->rows[i] : i;
            const int64_t source = side->ks ? side->ks[k] : k;
            if (row < 0 || source < 0 || factor_index(made, is_a, 128, false, k, &byte) < 0)
                continue;
            const uint32_t code =
                draw_code(spec->dtype, at(seed, row, source), made->spec.integers);
            store_code(side->data, spec->dtype,
                row * operand->row_stride + source * operand->k_stride, code);
            side->values[i * k_end + k] = value_of(spec->dtype, code);
        }
    }
    if (spec->scale_dtype != DG_DTYPE_NONE) {
        make_scale(made, side, spec, is_a, row_count, source_rows, seed);
    }
}

/* Segments in order with gaps between them, and an empty one now and then. */
static void make_segments(case_t *made, uint64_t seed) {
    uint64_t state = mix(seed ^ 0x5E6);
    const int count = made->spec.segment_count;
    made->segments = calloc((size_t)count, sizeof *made->segments);
    int64_t left = made->spec.k, k = 0, scale_a = 0, scale_b = 0;
    for (int s = 0; s < count; s++) {
        dg_cpu_segment_t *segment = &made->segments[s];
        if (count > 1) k += draw(&state, 7);
        segment->k_begin = k;
        segment->k_count = s == count - 1 ? left : draw(&state, left + 1);
        segment->scale_begin_a = scale_a;
        segment->scale_begin_b = scale_b;
        const case_side_spec_t *sides[2] = {&made->spec.a, &made->spec.b};
        int64_t *begins[2] = {&scale_a, &scale_b};
        for (int i = 0; i < 2; i++) {
            const int64_t unit = sides[i]->gran_k * (sides[i]->scale_dtype == DG_DTYPE_I32 ? 4 : 1);
            *begins[i] += (segment->k_count + unit - 1) / unit;
        }
        k += segment->k_count;
        left -= segment->k_count;
    }
    made->k_end = k;
}

static size_t d_size(const case_t *made) {
    return made->spec.d_dtype == DG_DTYPE_F32 ? 4 : 2;
}

static void make_output(case_t *made, uint64_t seed) {
    uint64_t state = mix(seed ^ 0xD);
    const case_spec_t *spec = &made->spec;
    const int64_t stride = spec->n + 3;
    made->d_rows_total = spec->scatter ? 2 * spec->m + 1 : spec->m + 1;
    const size_t count = (size_t)(made->d_rows_total * stride);
    made->d_bytes = count * d_size(made);
    made->d = malloc(made->d_bytes);
    made->before = malloc(made->d_bytes);
    memset(made->before, 0xA5, made->d_bytes);
    made->c = malloc(made->d_bytes);
    for (size_t i = 0; i < count; i++) {
        const uint32_t code = draw_code(DG_DTYPE_BF16, mix(seed ^ (i + 99)), spec->integers);
        if (spec->d_dtype == DG_DTYPE_F32) {
            ((uint32_t *)made->c)[i] = code << 16;
        } else {
            ((uint16_t *)made->c)[i] = (uint16_t)code;
        }
    }
    if (spec->with_c && spec->c_is_d) memcpy(made->before, made->c, made->d_bytes);
    if (spec->scatter) {
        made->d_rows = malloc((size_t)(spec->m + 1) * sizeof *made->d_rows);
        for (int64_t i = 0; i < spec->m; i++) { /* reversed, with holes */
            made->d_rows[i] = draw(&state, 5) == 0 ? -1 : (int32_t)(2 * (spec->m - i));
        }
    }
    dg_cpu_product_t *product = &made->product;
    product->c = !spec->with_c ? NULL : spec->c_is_d ? made->d : made->c;
    product->c_row_stride = stride;
    product->d = made->d;
    product->d_row_stride = stride;
    product->d_dtype = spec->d_dtype;
    product->d_rows = made->d_rows;
}

void make_case(case_t *made, const case_spec_t *spec, uint64_t seed) {
    *made = (case_t){.spec = *spec};
    make_segments(made, seed);
    make_side(made, &made->a, &spec->a, true, spec->m, mix(seed ^ 0xA));
    make_side(made, &made->b, &spec->b, false, spec->n, mix(seed ^ 0xB));
    make_output(made, seed);
    dg_cpu_product_t *product = &made->product;
    product->a = made->a.operand;
    product->b = made->b.operand;
    product->m = spec->m;
    product->n = spec->n;
    product->segments = made->segments;
    product->segment_count = spec->segment_count;
    reset_output(made);
}

void reset_output(case_t *made) {
    memcpy(made->d, made->before, made->d_bytes);
}

void free_case(case_t *made) {
    case_side_t *sides[2] = {&made->a, &made->b};
    for (int i = 0; i < 2; i++) {
        free(sides[i]->data);
        free(sides[i]->scale);
        free(sides[i]->rows);
        free(sides[i]->ks);
        free(sides[i]->values);
        free(sides[i]->factors);
    }
    free(made->segments);
    free(made->c);
    free(made->d);
    free(made->before);
    free(made->d_rows);
}

/* ---- references ---- */

typedef struct result_t {
    float total;                 /* by the documented operations */
    long double sum, magnitudes; /* exact to 64 bits; sum of the terms' magnitudes */
} result_t;

static result_t multiply_row(const case_t *made, int64_t i, int64_t j) {
    result_t result = {0};
    const case_side_t *a = &made->a, *b = &made->b;
    const bool absent = (a->rows && a->rows[i] < 0) || (b->rows && b->rows[j] < 0);
    if (absent) return result;
    const case_spec_t *spec = &made->spec;
    const bool fine = (spec->a.scale_dtype && spec->a.gran_k == 32) ||
                      (spec->b.scale_dtype && spec->b.gran_k == 32);
    const int64_t block = fine ? 32 : 128;
    for (int s = 0; s < spec->segment_count; s++) {
        const dg_cpu_segment_t *segment = &made->segments[s];
        const int64_t end = segment->k_begin + segment->k_count;
        for (int64_t begin = segment->k_begin; begin < end; begin += block) {
            const int64_t stop = begin + block < end ? begin + block : end;
            const float sa = a->factors[i * made->k_end + begin];
            const float sb = b->factors[j * made->k_end + begin];
            float sum = 0;
            for (int64_t k = begin; k < stop; k++) {
                if ((a->ks && a->ks[k] < 0) || (b->ks && b->ks[k] < 0)) continue;
                const float x = a->values[i * made->k_end + k], y = b->values[j * made->k_end + k];
                sum = fmaf(x, y, sum);
                const long double term = (long double)x * y * sa * sb;
                result.sum += term;
                result.magnitudes += fabsl(term);
            }
            result.total = fmaf(sa * sb, sum, result.total);
        }
    }
    return result;
}

static uint16_t round_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static void check_element(const case_t *made, int64_t i, int64_t j, int64_t index) {
    const case_spec_t *spec = &made->spec;
    const bool wide = spec->d_dtype == DG_DTYPE_F32;
    const result_t result = multiply_row(made, i, j);
    float c = 0, got, expected = result.total;
    if (spec->with_c) {
        c = wide ? ((float *)made->c)[index]
                 : float_of((uint32_t)((uint16_t *)made->c)[index] << 16);
        expected = c + result.total;
    }
    uint32_t got_bits, expected_bits;
    if (wide) {
        memcpy(&got, (float *)made->d + index, 4);
        memcpy(&got_bits, &got, 4);
        memcpy(&expected_bits, &expected, 4);
    } else {
        got_bits = ((uint16_t *)made->d)[index];
        expected_bits = round_bf16(expected);
        got = float_of(got_bits << 16);
    }
    const long double reference = result.sum + c;
    const long double bound = fabsl(reference) * (wide ? 0x1p-23L : 0x1p-8L) +
                              0x1p-20L * (result.magnitudes + (wide ? fabsl(c) : 0));
    if (got_bits != expected_bits || !(fabsl(got - reference) <= bound)) {
        fail_msg("m %lld n %lld k %lld at [%lld, %lld]: got %.9g (%08x), expected %.9g (%08x), "
                 "reference %.12Lg, bound %.3Lg",
            (long long)spec->m, (long long)spec->n, (long long)spec->k, (long long)i, (long long)j,
            (double)got, got_bits, (double)expected, expected_bits, reference, bound);
    }
    if (spec->integers && (long double)got != (wide ? reference : (long double)got)) {
        fail_msg("integer inputs: got %.9g, exact %.12Lg", (double)got, reference);
    }
}

void check_case(const case_t *made) {
    const case_spec_t *spec = &made->spec;
    const int64_t stride = made->product.d_row_stride;
    const size_t size = d_size(made);
    bool *written = calloc((size_t)(made->d_rows_total * stride), sizeof *written);
    for (int64_t i = 0; i < spec->m; i++) {
        const int64_t row = made->d_rows ? made->d_rows[i] : i;
        if (row < 0) continue;
        for (int64_t j = 0; j < spec->n; j++) {
            written[row * stride + j] = true;
            check_element(made, i, j, row * stride + j);
        }
    }
    for (int64_t i = 0; i < made->d_rows_total * stride; i++) {
        const size_t offset = (size_t)i * size;
        if (!written[i]) {
            assert_memory_equal((char *)made->d + offset, (char *)made->before + offset, size);
        }
    }
    free(written);
}

void check_same(const case_t *made, const void *expected) {
    const int64_t count = made->d_rows_total * made->product.d_row_stride;
    for (int64_t i = 0; i < count; i++) {
        if (made->spec.d_dtype == DG_DTYPE_F32) {
            const uint32_t x = ((const uint32_t *)made->d)[i], y = ((const uint32_t *)expected)[i];
            const bool nan = (x & 0x7FFFFFFF) > 0x7F800000 && (y & 0x7FFFFFFF) > 0x7F800000;
            if (!nan) assert_int_equal(x, y);
        } else {
            const uint16_t x = ((const uint16_t *)made->d)[i], y = ((const uint16_t *)expected)[i];
            const bool nan = (x & 0x7FFF) > 0x7F80 && (y & 0x7FFF) > 0x7F80;
            if (!nan) assert_int_equal(x, y);
        }
    }
}
