/* SPDX-License-Identifier: MIT
 *
 * dg_quantize and dg_dequantize against the reference of reference_cast.h, bit for bit: recipes,
 * both code types, three kinds of factors, transposed and gapped outputs, ragged groups, blocks of
 * ordinary and of hostile values. Guards against a block that crosses groups, a tail scaled with
 * its neighbour, a reciprocal that is only nearly right, and ties rounded the wrong way.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "grouping.h"
#include "guard.h"
#include "random_data.h"
#include "reference.h"
#include "reference_cast.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct cast_case_t {
    int32_t gran[2];
    bool fp4;
    bool pack_first; /* FP4 packed along axis 0 */
    dg_dtype_t scale;
    bool power_of_two;
    dg_k_axis_t k_axis;
    dg_dtype_t x; /* F32 or BF16 */
    bool turned;  /* data and scale are transposed views */
    int64_t pad;
    int hostile; /* values to mix in: 0 none, 1 extreme, 2 ties, 3 NaN and infinities */
} cast_case_t;

static float value_random(rng_t *rng, const cast_case_t *test) {
    static const float extreme[] = {
        0.0F, -0.0F, 1e-45F, -1e-38F, 1e-4F, 3.3e38F, -3e38F, 1e-4F * 448};
    static const float ties[] = {448.0F, 1.0625F, 1.1875F, 17.0F, -19.0F, 0x1p-10F, 0x3p-10F, 6.0F,
        0.25F, -0.75F, 2.5F, 5.0F};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const int64_t pick = rng_range(rng, 0, 999);
    if (test->hostile == 1 && pick < 100) return extreme[pick % 8];
    if (test->hostile == 2) return ties[pick % 12];
    if (test->hostile == 3 && pick < 6) return bad[pick % 3];
    if (pick < 20) return 0.0F;
    return (float)ldexp(rng_normal(rng), (int)rng_range(rng, -12, 12));
}

/* Input tensor [m, n] and the same values as a dense FP32 array. */
static dg_tensor_t input_make(
    rng_t *rng, const cast_case_t *test, int64_t m, int64_t n, float **dense) {
    const int64_t stride = n + test->pad;
    const int64_t size = dg_dtype_size(test->x);
    uint8_t *memory = guard_take((size_t)(m * stride * size), 0, "x");
    *dense = guard_scratch((size_t)(m * n) * sizeof(float));
    dg_tensor_t x = dg_tensor_2d(memory, test->x, m, n);
    x.stride[0] = stride;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            const float value = value_random(rng, test);
            if (test->x == DG_DTYPE_BF16) {
                ((uint16_t *)memory)[i * stride + j] = ref_round_bf16((double)value);
            } else {
                ((float *)memory)[i * stride + j] = value;
            }
            (*dense)[i * n + j] = (float)ref_read(&x, i * stride + j);
        }
    }
    return x;
}

static dg_tensor_t result_make(
    const cast_case_t *test, dg_dtype_t dtype, int64_t rows, int64_t columns, const char *name) {
    const int64_t lines = test->turned ? columns : rows;
    const int64_t stride = (test->turned ? rows : columns) + test->pad;
    void *memory = guard_take((size_t)(lines * stride * dg_dtype_size(dtype)), 0, name);
    dg_tensor_t tensor = dg_tensor_2d(memory, dtype, rows, columns);
    tensor.stride[0] = test->turned ? 1 : stride;
    tensor.stride[1] = test->turned ? stride : 1;
    return tensor;
}

/* Where the factors of block row i lie. Words along axis 0: groups start a new one. Otherwise the rows
 * of all groups follow each other, or stay with the row of x that alone they cover. */
typedef struct word_rows_t {
    int64_t *word; /* [block rows] */
    int64_t *byte; /* [block rows] */
    int64_t *row;  /* [block rows] */
    int64_t words;
} word_rows_t;

static word_rows_t word_rows(
    const cast_case_t *test, int64_t m, const grouping_t *grouping, int64_t block_rows) {
    word_rows_t rows = {guard_scratch((size_t)block_rows * 8),
        guard_scratch((size_t)block_rows * 8), guard_scratch((size_t)block_rows * 8), 0};
    const int64_t groups = grouping ? grouping->count : 1;
    int64_t block = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t size = grouping ? grouping->sizes[g] : m;
        const int64_t gran = test->gran[0] > 0 ? test->gran[0] : size;
        const int64_t count = size == 0 ? 0 : (size + gran - 1) / gran;
        for (int64_t b = 0; b < count; b++, block++) {
            rows.word[block] = rows.words + b / 4;
            rows.byte[block] = b % 4;
            rows.row[block] = grouping && test->gran[0] == 1 ? grouping->begin[g] + b : block;
        }
        rows.words += (count + 3) / 4;
    }
    return rows;
}

static void check_factors(const cast_case_t *test, const ref_cast_t *want, const dg_tensor_t *scale,
    const word_rows_t *rows) {
    const int64_t block_rows = want->blocks[2], block_columns = want->blocks[3];
    const size_t size = (size_t)dg_dtype_size(scale->dtype);
    const bool first = test->k_axis == DG_K_AXIS_ROWS;
    /* what each element of the tensor should hold: FP32 bits, a byte, or a word of four bytes */
    uint32_t *expected = guard_scratch((size_t)(scale->shape[0] * scale->shape[1]) * 4);
    bool *written = guard_scratch((size_t)scale->shape[0] * sizeof *written);
    for (int64_t i = 0; i < block_rows; i++) {
        for (int64_t j = 0; j < block_columns; j++) {
            const float factor = want->factor[i * block_columns + j];
            uint32_t bits;
            memcpy(&bits, &factor, sizeof bits);
            const bool words = scale->dtype == DG_DTYPE_I32;
            const int64_t row = words && first ? rows->word[i] : rows->row[i];
            written[row] = true;
            if (scale->dtype == DG_DTYPE_F32) {
                expected[row * scale->shape[1] + j] = bits;
            } else if (scale->dtype == DG_DTYPE_E8M0) {
                expected[row * scale->shape[1] + j] = bits >> 23;
            } else {
                const int64_t column = first ? j : j / 4;
                const int64_t byte = first ? rows->byte[i] : j % 4;
                expected[row * scale->shape[1] + column] |= bits >> 23 << (8 * byte);
            }
        }
    }
    for (int64_t i = 0; i < scale->shape[0]; i++) {
        for (int64_t j = 0; written[i] && j < scale->shape[1]; j++) {
            const uint8_t *at = (const uint8_t *)scale->data +
                                (size_t)(i * scale->stride[0] + j * scale->stride[1]) * size;
            uint32_t got = 0;
            memcpy(&got, at, size);
            const uint32_t need = expected[i * scale->shape[1] + j];
            const bool both_nan = scale->dtype == DG_DTYPE_F32 && (got & 0x7FFFFFFF) > 0x7F800000 &&
                                  (need & 0x7FFFFFFF) > 0x7F800000;
            if (got != need && !both_nan) {
                label_fail("factor [%lld, %lld]: got 0x%08x, want 0x%08x", (long long)i,
                    (long long)j, got, need);
            }
            guard_allow(at, size);
        }
    }
}

static void check_codes(const cast_case_t *test, const ref_cast_t *want, const dg_tensor_t *data,
    const float *x, const grouping_t *grouping) {
    const int64_t m = want->shape[2], n = want->shape[3];
    for (int64_t i = 0; i < m; i++) {
        if (grouping != NULL && grouping->of_row[i] < 0) continue;
        for (int64_t j = 0; j < n; j++) {
            const int64_t row = test->fp4 && test->pack_first ? i / 2 : i;
            const int64_t column = test->fp4 && !test->pack_first ? j / 2 : j;
            const uint8_t *at =
                (const uint8_t *)data->data + row * data->stride[0] + column * data->stride[1];
            const int64_t index = test->pack_first ? i : j;
            const unsigned nibble = ((unsigned)*at >> (index % 2 * 4)) & 15U;
            const uint8_t got = (uint8_t)(test->fp4 ? nibble : *at);
            const uint8_t need = want->code[i * n + j];
            const bool both_nan = !test->fp4 && (got & 0x7F) == 0x7F && (need & 0x7F) == 0x7F;
            if (got != need && !both_nan) {
                label_fail("code [%lld, %lld] of %.9g: got 0x%02x, want 0x%02x", (long long)i,
                    (long long)j, (double)x[i * n + j], got, need);
            }
            guard_allow(at, 1);
        }
    }
}

/* Casts back into x_type and compares with the values of the reference. */
static void check_back(const ref_cast_t *want, const dg_quantized_t *q, const dg_groups_t *groups,
    const grouping_t *grouping, dg_dtype_t x_type) {
    const int64_t m = want->shape[2], n = want->shape[3];
    void *memory = guard_take((size_t)(m * n * dg_dtype_size(x_type)), 0, "x back");
    dg_dequantize_args_t args = DG_DEQUANTIZE_ARGS_INIT;
    args.q = *q;
    args.x = dg_tensor_2d(memory, x_type, m, n);
    args.groups = *groups;
    guard_seal();
    expect_ok(dg_dequantize(NULL, &args, NULL));
    for (int64_t i = 0; i < m; i++) {
        if (grouping != NULL && grouping->of_row[i] < 0) continue;
        for (int64_t j = 0; j < n; j++) {
            const ref_sum_t value = {(double)want->value[i * n + j], 0.0};
            ref_judge(JUDGE_EXACT, &args.x, i * n + j, value, i, j);
        }
        guard_allow((const uint8_t *)memory + (size_t)(i * n * dg_dtype_size(x_type)),
            (size_t)(n * dg_dtype_size(x_type)));
    }
    guard_check();
}

static ref_cast_t reference_of(
    const cast_case_t *test, int64_t m, int64_t n, const grouping_t *grouping, const float *x) {
    ref_cast_t want = {.shape = {1, 1, m, n},
        .gran = {1, 1, test->gran[0], test->gran[1]},
        .first_axis = 2,
        .fp4 = test->fp4,
        .power_of_two = test->power_of_two || test->scale != DG_DTYPE_F32};
    if (grouping != NULL) {
        want.begin = grouping->begin;
        want.size = grouping->sizes;
        want.groups = grouping->count;
    }
    ref_cast(&want, x);
    return want;
}

/* One cast of x [m, n], or of the rows that `grouping` names. */
static void cast_verify(
    const cast_case_t *test, int64_t m, int64_t n, rng_t *rng, const grouping_t *grouping) {
    float *x;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = input_make(rng, test, m, n, &x);
    const ref_cast_t want = reference_of(test, m, n, grouping, x);
    const word_rows_t rows = word_rows(test, m, grouping, want.blocks[2]);
    int64_t scale_rows = want.blocks[2], scale_columns = want.blocks[3];
    if (grouping != NULL && test->gran[0] == 1) scale_rows = m;
    if (test->scale == DG_DTYPE_I32 && test->k_axis == DG_K_AXIS_ROWS) scale_rows = rows.words;
    if (test->scale == DG_DTYPE_I32 && test->k_axis == DG_K_AXIS_LAST) {
        scale_columns = (scale_columns + 3) / 4;
    }
    dg_quantized_t *out = &args.out[0];
    cast_case_t data_layout = *test;
    if (test->fp4) data_layout.turned = test->pack_first; /* the packed axis has stride 1 */
    out->data = result_make(&data_layout, test->fp4 ? DG_DTYPE_E2M1X2 : DG_DTYPE_E4M3,
        test->fp4 && test->pack_first ? m / 2 : m, test->fp4 && !test->pack_first ? n / 2 : n,
        "codes");
    out->scale = result_make(test, test->scale, scale_rows, scale_columns, "factors");
    out->gran[0] = test->gran[0], out->gran[1] = test->gran[1];
    out->power_of_two = test->power_of_two ? DG_ON : DG_DEFAULT;
    out->k_axis = test->k_axis;
    if (grouping != NULL) args.groups = grouping->view;
    guard_seal();
    expect_ok(dg_quantize(NULL, &args, NULL));
    check_factors(test, &want, &out->scale, &rows);
    check_codes(test, &want, &out->data, x, grouping);
    guard_check();
    check_back(&want, out, &args.groups, grouping, test->turned ? DG_DTYPE_BF16 : DG_DTYPE_F32);
    guard_release();
}

static void label_case(const cast_case_t *test, int64_t m, int64_t n, uint64_t seed) {
    label(
        "quantize m=%lld n=%lld gran %dx%d fp4=%d first=%d scale=%s pow2=%d k_axis=%d x=%s turned=%d "
        "pad=%lld hostile=%d seed=%llu",
        (long long)m, (long long)n, test->gran[0], test->gran[1], test->fp4, test->pack_first,
        dg_dtype_string(test->scale), test->power_of_two, (int)test->k_axis,
        dg_dtype_string(test->x), test->turned, (long long)test->pad, test->hostile,
        (unsigned long long)seed);
}

static const int32_t grans[][2] = {
    {1, 128}, {128, 1}, {128, 128}, {1, 32}, {32, 1}, {0, 1}, {1, 0}, {0, 0}, {3, 5}};

/* Case number `kind` out of all combinations, taken with a stride that visits each of them. */
static cast_case_t case_of(uint64_t kind) {
    static const dg_dtype_t scales[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};
    cast_case_t test = {.scale = scales[kind / 9 % 3],
        .fp4 = kind / 27 % 2,
        .x = kind / 54 % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
        .power_of_two = kind / 5 % 2,
        .turned = kind / 108 % 2,
        .pad = (int64_t)(kind / 7 % 3),
        .k_axis = kind / 11 % 2 ? DG_K_AXIS_ROWS : DG_K_AXIS_LAST,
        .hostile = (int)(kind / 13 % 3)};
    memcpy(test.gran, grans[kind % 9], sizeof test.gran);
    test.pack_first = test.fp4 && test.turned;
    return test;
}

static const int64_t shapes[][2] = {{1, 2}, {2, 128}, {130, 4}, {34, 258}, {128, 128}, {258, 130},
    {6, 386}, {386, 6}, {0, 8}, {8, 0}};

static void test_recipes(void **state) {
    (void)state;
    for (uint64_t kind = 0; kind < 1200; kind++) {
        const cast_case_t test = case_of(kind);
        const int64_t *shape = shapes[kind * 3 % COUNT(shapes)];
        if (test.pack_first && shape[0] % 2) continue;
        if (shape[0] * shape[1] == 0 && (test.gran[0] == 0 || test.gran[1] == 0)) continue;
        rng_t rng = rng_make(kind);
        label_case(&test, shape[0], shape[1], kind);
        cast_verify(&test, shape[0], shape[1], &rng, NULL);
    }
}

/* Blocks and tensors longer than what fits a cache at once, along either axis. */
static void test_large(void **state) {
    (void)state;
    static const int64_t large[][2] = {{70, 1100}, {1100, 70}, {6, 40000}, {40000, 6}};
    for (uint64_t kind = 0; kind < 4 * 9 * 3; kind++) {
        cast_case_t test = case_of(kind * 5 + kind / 36 * 29);
        memcpy(test.gran, grans[kind / 4 % 9], sizeof test.gran);
        const int64_t *shape = large[kind % 4];
        rng_t rng = rng_make(2000 + kind);
        label_case(&test, shape[0], shape[1], 2000 + kind);
        cast_verify(&test, shape[0], shape[1], &rng, NULL);
    }
}

/* NaN and infinities: in E4M3 with FP32 factors, where the header defines every bit. */
static void test_nonfinite(void **state) {
    (void)state;
    for (uint64_t kind = 0; kind < 60; kind++) {
        cast_case_t test = {.scale = DG_DTYPE_F32,
            .x = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
            .hostile = 3,
            .turned = kind % 3 == 0};
        memcpy(test.gran, grans[kind % 5], sizeof test.gran);
        rng_t rng = rng_make(3000 + kind);
        label_case(&test, 140, 200, 3000 + kind);
        cast_verify(&test, 140, 200, &rng, NULL);
    }
}

/* Ragged groups in three forms; rows outside them are neither read nor written. */
static void test_groups(void **state) {
    (void)state;
    static const int64_t lists[][4] = {
        {5, 0, 130, 31}, {0, 128, 257, 0}, {0, 0, 0, 0}, {32, 46, 26, 2}, {640, 1, 2, 3}};
    for (uint64_t kind = 0; kind < 600; kind++) {
        cast_case_t test = case_of(kind * 7 + 3);
        if (test.gran[0] == 0) test.gran[0] = 16;
        if (test.fp4) test.turned = test.pack_first = false;
        const int64_t *sizes = lists[kind % COUNT(lists)];
        rng_t rng = rng_make(4000 + kind);
        const grouping_t grouping = grouping_make(&rng, (dg_group_form_t)(1 + kind % 3),
            kind % 2 ? DG_DTYPE_I32 : DG_DTYPE_I64, sizes, 4, (int64_t)(kind % 4) * 3, 64);
        const int64_t n = kind % 4 == 0 ? 4 : 66;
        label_case(&test, grouping.rows, n, 4000 + kind);
        cast_verify(&test, grouping.rows, n, &rng, &grouping);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_recipes, guard_teardown),
        cmocka_unit_test_teardown(test_large, guard_teardown),
        cmocka_unit_test_teardown(test_nonfinite, guard_teardown),
        cmocka_unit_test_teardown(test_groups, guard_teardown),
    };
    return cmocka_run_group_tests_name("quantize", tests, NULL, NULL);
}
