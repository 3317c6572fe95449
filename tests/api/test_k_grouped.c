/* SPDX-License-Identifier: MIT
 *
 * dg_k_grouped_gemm against an FP64 product group by group: each form of the operands and of the
 * groups, each kind of output, gathered rows, and gaps between groups that hold NaN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "sample.h"

enum { GROUPS = 6, M = 38, N = 20, TOKENS = 460 };

/* Groups with a tail block, with one token, and none at all, first, last and in between. */
static const int32_t sizes[GROUPS] = {0, 129, 1, 0, 255, 0};
static const int32_t offsets[GROUPS] = {0, 129, 130, 130, 385, 385};
static const int32_t psum[GROUPS] = {0, 129, 161, 192, 447, 448}; /* aligned to 32 */

/* First token of each group. */
static void find_begins(dg_group_form_t form, int64_t *begins) {
    static const int64_t psum_begins[GROUPS] = {0, 0, 160, 192, 192, 448};
    int64_t begin = 0;
    for (int g = 0; g < GROUPS; g++) {
        begins[g] = form == DG_GROUPS_PSUM ? psum_begins[g] : begin;
        begin += sizes[g];
    }
}

typedef struct k_case_t {
    dg_dtype_t dtype;
    dg_k_form_t form;
    dg_dtype_t scale;
    int32_t gran_k;
    bool swapped;  /* the other axis is contiguous */
    bool gathered; /* rows are listed */
} k_case_t;

/* One side: [mn, tokens] of values, and the operand that stands for them. */
typedef struct k_side_t {
    dg_k_operand_t operand;
    int64_t mn;
    const int32_t *rows; /* or NULL */
} k_side_t;

static int64_t factor_rows(const k_case_t *kind, int group_count) {
    const int64_t step = kind->scale == DG_DTYPE_I32 ? 4 * kind->gran_k : kind->gran_k;
    int64_t rows = 0;
    for (int g = 0; g < group_count; g++) rows += (sizes[g] + step - 1) / step;
    return rows;
}

static int64_t flat_length(const k_case_t *kind, int group_count) {
    int64_t length = 0;
    for (int g = 0; g < group_count; g++) {
        length += kind->dtype == DG_DTYPE_E2M1X2 ? (sizes[g] + 1) / 2 : sizes[g];
    }
    return length;
}

/* Makes every byte of a token outside the groups NaN (of e2m1, which has none, nothing). */
static void poison_gaps(dg_tensor_t *data, int32_t token_axis, const int64_t *begins) {
    const int64_t size = dg_dtype_size(data->dtype);
    for (int64_t t = 0; data->dtype != DG_DTYPE_E2M1X2 && t < data->shape[token_axis]; t++) {
        bool inside = false;
        for (int g = 0; g < GROUPS; g++) {
            inside = inside || (t >= begins[g] && t < begins[g] + sizes[g]);
        }
        for (int64_t i = 0; !inside && i < data->shape[1 - token_axis]; i++) {
            const int64_t at = t * data->stride[token_axis] + i * data->stride[1 - token_axis];
            memset((char *)data->data + at * size, 0xFF, (size_t)size);
        }
    }
}

static k_side_t make_side(
    sample_t *sample, const k_case_t *kind, int64_t mn, const int64_t *begins) {
    k_side_t side = {.operand = DG_NO_K_OPERAND, .mn = mn, .rows = NULL};
    const bool packed = kind->dtype == DG_DTYPE_E2M1X2;
    dg_k_operand_t *operand = &side.operand;
    operand->form = kind->form;
    if (kind->form == DG_K_FLAT) {
        const int64_t length = mn * flat_length(kind, GROUPS);
        const int32_t order[1] = {0};
        operand->data = sample_tensor(sample, kind->dtype, 1, &length, order, 0);
    } else if (kind->form == DG_K_TOKENS_LAST) {
        operand->data =
            sample_matrix(sample, kind->dtype, mn, packed ? TOKENS / 2 : TOKENS, kind->swapped, 3);
        poison_gaps(&operand->data, 1, begins);
    } else {
        const int64_t stored = kind->gathered ? 99 : TOKENS;
        operand->data =
            sample_matrix(sample, kind->dtype, stored, packed ? mn / 2 : mn, kind->swapped, 3);
        if (!kind->gathered) poison_gaps(&operand->data, 0, begins);
    }
    if (kind->gathered) {
        int32_t *rows = sample_bytes(sample, TOKENS * 4);
        for (int t = 0; t < TOKENS; t++) rows[t] = (int32_t)sample_between(sample, -1, 98);
        operand->rows = dg_tensor_1d(rows, DG_DTYPE_I32, TOKENS);
        side.rows = rows;
    }
    if (kind->scale != DG_DTYPE_NONE) {
        operand->gran_k = kind->gran_k;
        operand->scale = sample_matrix(sample, kind->scale, factor_rows(kind, GROUPS) + 2, mn,
            sample_between(sample, 0, 1) == 1, 0);
    }
    return side;
}

/* Value times factor of token `begin + t` of group g. */
static double side_value(
    const k_side_t *side, const k_case_t *kind, int g, int64_t begin, int64_t t, int64_t i) {
    const dg_k_operand_t *operand = &side->operand;
    const bool packed = kind->dtype == DG_DTYPE_E2M1X2;
    double value;
    if (kind->form == DG_K_FLAT) {
        const int64_t row = packed ? (sizes[g] + 1) / 2 * 2 : sizes[g];
        const int64_t index[1] = {side->mn * flat_length(kind, g) * (packed ? 2 : 1) + i * row + t};
        value = sample_value(&operand->data, index, 0);
    } else if (kind->form == DG_K_TOKENS_LAST) {
        const int64_t index[2] = {i, begin + t};
        value = sample_value(&operand->data, index, 1);
    } else {
        const int64_t index[2] = {side->rows != NULL ? side->rows[begin + t] : begin + t, i};
        if (index[0] < 0) return 0;
        value = sample_value(&operand->data, index, 1);
    }
    if (kind->scale == DG_DTYPE_NONE) return value;
    const int64_t parts = kind->scale == DG_DTYPE_I32 ? 4 : 1;
    const int64_t factor[2] = {factor_rows(kind, g) * parts + t / kind->gran_k, i};
    return value * sample_value(&operand->scale, factor, 0);
}

/* One element of a group's product, added to *sum. */
static void add_group(const k_side_t *a, const k_case_t *kind_a, const k_side_t *b,
    const k_case_t *kind_b, int g, int64_t begin, const int64_t *at, double *sum,
    double *magnitude) {
    for (int64_t t = 0; t < sizes[g]; t++) {
        const double term =
            side_value(a, kind_a, g, begin, t, at[0]) * side_value(b, kind_b, g, begin, t, at[1]);
        *sum += term;
        *magnitude += fabs(term);
    }
}

static void use_groups(dg_k_grouped_gemm_args_t *args, dg_group_form_t form) {
    args->groups.form = form;
    args->groups.alignment = 32;
    args->groups.values = dg_tensor_1d(form == DG_GROUPS_SIZES     ? sizes
                                       : form == DG_GROUPS_OFFSETS ? offsets
                                                                   : psum,
        DG_DTYPE_I32, GROUPS);
}

/* c: 0 absent, 1 apart, 2 in place. */
static void run_case(uint64_t seed, const k_case_t *kind_a, const k_case_t *kind_b,
    dg_group_form_t form, dg_k_output_t output, int c_kind) {
    const bool sum_up = output == DG_K_OUTPUT_SUM;
    const int64_t shape[3] = {GROUPS, M, N};
    const int32_t order[3] = {0, 1, 2};
    int64_t begins[GROUPS];
    void *d_list[GROUPS];
    const void *c_list[GROUPS];
    sample_t sample;
    sample_begin(&sample, seed);
    find_begins(form, begins);
    const k_side_t a = make_side(&sample, kind_a, M, begins);
    const k_side_t b = make_side(&sample, kind_b, N, begins);
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = a.operand;
    args.b = b.operand;
    args.output = output;
    use_groups(&args, form);
    if (kind_a->dtype == DG_DTYPE_E2M1X2 && kind_a->form != DG_K_TOKENS_FIRST) {
        args.num_tokens = kind_a->form == DG_K_FLAT ? 0 : TOKENS;
    }
    const dg_dtype_t dtype = seed % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const dg_tensor_t d = sample_tensor(&sample, dtype, sum_up ? 2 : 3, shape + sum_up, order, 3);
    const dg_tensor_t apart =
        sample_tensor(&sample, dtype, sum_up ? 2 : 3, shape + sum_up, order, 3);
    dg_tensor_t c = c_kind == 1 ? apart : d;
    double *before = sample_bytes(&sample, GROUPS * M * N * (int64_t)sizeof *before);
    for (int64_t x = 0; x < (sum_up ? 1 : GROUPS) * M * N; x++) {
        const int64_t index[3] = {x / N / M, x / N % M, x % N};
        before[x] = c_kind ? sample_value(&c, index + sum_up, -1) : 0;
    }
    args.d = d;
    if (c_kind) args.c = c;
    if (output == DG_K_OUTPUT_LIST) {
        for (int g = 0; g < GROUPS; g++) {
            const int64_t slice = g * d.stride[0] * dg_dtype_size(dtype);
            d_list[GROUPS - 1 - g] = (char *)d.data + slice;
            c_list[GROUPS - 1 - g] = (char *)c.data + slice;
        }
        args.d = dg_tensor_2d(NULL, dtype, M, N);
        args.d.stride[0] = d.stride[1];
        args.c = (dg_tensor_t)DG_NO_TENSOR;
        args.d_list = d_list;
        args.c_list = c_kind ? c_list : NULL;
    }
    sample_succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    for (int64_t x = 0; x < (sum_up ? 1 : GROUPS) * M * N; x++) {
        const int64_t index[3] = {x / N / M, x / N % M, x % N};
        double sum = before[x], magnitude = fabs(sum);
        for (int g = 0; g < GROUPS; g++) {
            const int64_t slice = output == DG_K_OUTPUT_LIST ? GROUPS - 1 - g : g;
            if (!sum_up && slice != index[0]) continue;
            add_group(&a, kind_a, &b, kind_b, g, begins[g], index + 1, &sum, &magnitude);
        }
        sample_check(&d, index + sum_up, sum, magnitude);
    }
    sample_end(&sample);
}

static const k_case_t tokens_first = {
    DG_DTYPE_E4M3, DG_K_TOKENS_FIRST, DG_DTYPE_F32, 128, false, false};

static void every_pair_of_operands(void **state) {
    (void)state;
    static const k_case_t kinds[] = {
        {DG_DTYPE_E4M3, DG_K_TOKENS_FIRST, DG_DTYPE_F32, 128, false, false},
        {DG_DTYPE_E4M3, DG_K_TOKENS_FIRST, DG_DTYPE_I32, 32, true, false},
        {DG_DTYPE_E4M3, DG_K_TOKENS_LAST, DG_DTYPE_I32, 128, false, false},
        {DG_DTYPE_E4M3, DG_K_TOKENS_LAST, DG_DTYPE_NONE, 0, true, false},
        {DG_DTYPE_E4M3, DG_K_TOKENS_FIRST, DG_DTYPE_E8M0, 32, false, true},
        {DG_DTYPE_E2M1X2, DG_K_TOKENS_FIRST, DG_DTYPE_F32, 128, false, false},
        {DG_DTYPE_E2M1X2, DG_K_TOKENS_LAST, DG_DTYPE_F32, 32, false, false},
        {DG_DTYPE_E2M1X2, DG_K_TOKENS_FIRST, DG_DTYPE_I32, 32, false, true},
    };
    const int count = sizeof kinds / sizeof *kinds;
    for (int i = 0; i < count * count; i++) {
        static const dg_group_form_t forms[] = {DG_GROUPS_SIZES, DG_GROUPS_OFFSETS, DG_GROUPS_PSUM};
        run_case((uint64_t)i + 1, &kinds[i % count], &kinds[i / count], forms[i % 3],
            (dg_k_output_t)(i / 3 % 3), i / 9 % 3);
    }
}

static void flat_operands_hold_a_matrix_a_group(void **state) {
    (void)state;
    static const k_case_t flat[] = {
        {DG_DTYPE_E4M3, DG_K_FLAT, DG_DTYPE_F32, 128, false, false},
        {DG_DTYPE_E2M1X2, DG_K_FLAT, DG_DTYPE_I32, 32, false, false},
    };
    for (int i = 0; i < 12; i++) {
        run_case(300 + (uint64_t)i, &flat[i % 2], &flat[i / 2 % 2], DG_GROUPS_SIZES,
            (dg_k_output_t)(i % 3), i % 2);
    }
}

static void bf16_operands(void **state) {
    (void)state;
    static const k_case_t kinds[] = {
        {DG_DTYPE_BF16, DG_K_TOKENS_FIRST, DG_DTYPE_NONE, 0, false, false},
        {DG_DTYPE_BF16, DG_K_TOKENS_LAST, DG_DTYPE_NONE, 0, false, false},
        {DG_DTYPE_BF16, DG_K_TOKENS_FIRST, DG_DTYPE_NONE, 0, false, true},
    };
    for (int i = 0; i < 9; i++) {
        run_case(400 + (uint64_t)i, &kinds[i % 3], &kinds[i / 3], DG_GROUPS_PSUM,
            (dg_k_output_t)(i % 3), i % 2);
    }
}

/* The three forms of one matrix, flat beside gathered included, give the same bits. */
static void forms_and_outputs_agree_bit_for_bit(void **state) {
    (void)state;
    enum { R = 385 };
    sample_t sample;
    sample_begin(&sample, 99);
    const dg_tensor_t x = sample_matrix(&sample, DG_DTYPE_E4M3, R, M, false, 0);
    const dg_tensor_t y = sample_matrix(&sample, DG_DTYPE_E4M3, R, N, false, 0);
    uint8_t *last = sample_bytes(&sample, R * M), *flat = sample_bytes(&sample, R * M);
    int32_t *rows = sample_bytes(&sample, R * 4);
    for (int64_t t = 0, g = 0, begin = 0; t < R; t++) {
        while (t >= begin + sizes[g]) begin += sizes[g++];
        rows[t] = (int32_t)t;
        for (int64_t i = 0; i < M; i++) {
            const uint8_t code = ((const uint8_t *)x.data)[t * M + i];
            last[i * R + t] = code;
            flat[begin * M + i * sizes[g] + t - begin] = code;
        }
    }
    rows[200] = -1;
    float results[3][M * N];
    const dg_k_operand_t forms[3] = {
        {DG_K_TOKENS_FIRST, x, DG_NO_TENSOR, 0, DG_NO_TENSOR},
        {DG_K_TOKENS_LAST, dg_tensor_2d(last, DG_DTYPE_E4M3, M, R), DG_NO_TENSOR, 0, DG_NO_TENSOR},
        {DG_K_FLAT, dg_tensor_1d(flat, DG_DTYPE_E4M3, M * R), DG_NO_TENSOR, 0, DG_NO_TENSOR},
    };
    for (int i = 0; i < 3; i++) {
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        use_groups(&args, DG_GROUPS_SIZES);
        args.a = forms[i];
        args.b = (dg_k_operand_t){
            DG_K_TOKENS_FIRST, y, DG_NO_TENSOR, 0, dg_tensor_1d(rows, DG_DTYPE_I32, R)};
        args.d = dg_tensor_2d(results[i], DG_DTYPE_F32, M, N);
        args.output = DG_K_OUTPUT_SUM;
        sample_succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    assert_memory_equal(results[0], results[2], sizeof results[0]);
    sample_end(&sample);
}

/* An empty group copies c bit for bit, or gives zeros; a slice nobody owns is the caller's. */
static void empty_groups_copy_c(void **state) {
    (void)state;
    static const int64_t none[3] = {0, 0, 0};
    uint32_t c[3 * 6], d[3 * 6];
    for (int i = 0; i < 18; i++) c[i] = i % 2 ? 0x80000000u : 0x7FC00000u + (uint32_t)i;
    memset(d, 0xAA, sizeof d);
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = args.b.form = DG_K_TOKENS_FIRST;
    args.a.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 0, 2);
    args.b.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 0, 3);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.host_sizes = none;
    args.groups.host_count = 3;
    args.d = dg_tensor_3d(d, DG_DTYPE_F32, 3, 2, 3);
    args.c = dg_tensor_3d(c, DG_DTYPE_F32, 3, 2, 3);
    sample_succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    assert_memory_equal(d, c, sizeof d);
    args.c = (dg_tensor_t)DG_NO_TENSOR;
    sample_succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    for (int i = 0; i < 18; i++) assert_int_equal(d[i], 0);
}

static void too_few_factors_are_refused(void **state) {
    (void)state;
    int64_t begins[GROUPS];
    float d[GROUPS * M * N];
    sample_t sample;
    sample_begin(&sample, 17);
    find_begins(DG_GROUPS_SIZES, begins);
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = make_side(&sample, &tokens_first, M, begins).operand;
    args.b = make_side(&sample, &tokens_first, N, begins).operand;
    args.d = dg_tensor_3d(d, DG_DTYPE_F32, GROUPS, M, N);
    use_groups(&args, DG_GROUPS_SIZES);
    args.b.scale.shape[0] = 5; /* 2 + 1 + 2 rows are needed */
    sample_succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    args.b.scale.shape[0] = 4;
    assert_int_equal(dg_k_grouped_gemm(NULL, &args, NULL), DG_STATUS_BAD_SCALE);
    assert_string_equal(dg_last_error_argument(), "b.scale");
    sample_end(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_operands),
        cmocka_unit_test(flat_operands_hold_a_matrix_a_group),
        cmocka_unit_test(bf16_operands),
        cmocka_unit_test(forms_and_outputs_agree_bit_for_bit),
        cmocka_unit_test(empty_groups_copy_c),
        cmocka_unit_test(too_few_factors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
