/* SPDX-License-Identifier: MIT
 *
 * DG_GROUP_VALUES_CLAMP: group values, indices and row lists out of range. Each line gives wild values
 * and what they come to; a call that clamps the wild ones must leave the same bytes behind, poison
 * included, as a refusing call with the tame ones. The refusing call refuses the wild ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

enum { ROWS = 10, GROUPS = 3, N = 5, K = 40, ALIGNMENT = 4 };

static uint8_t a[GROUPS * ROWS * K], b[GROUPS * N * K];
static dg_context_t *clamping, *refusing;

typedef struct line_t {
    dg_group_form_t form;
    int64_t wild[ROWS], tame[ROWS];
} line_t;

static const line_t lines[] = {
    {DG_GROUPS_SIZES, {3, -2, 4}, {3, 0, 4}},
    {DG_GROUPS_SIZES, {3, INT64_MAX, 4}, {3, 7, 0}},
    {DG_GROUPS_SIZES, {INT64_MIN, 11, 1}, {0, 10, 0}},
    {DG_GROUPS_OFFSETS, {6, 4, 9}, {6, 6, 9}},
    {DG_GROUPS_OFFSETS, {-1, 3, 11}, {0, 3, 10}},
    {DG_GROUPS_OFFSETS, {INT64_MAX, INT64_MIN, 3}, {10, 10, 10}},
    {DG_GROUPS_PSUM, {3, 99, 99}, {3, 10, 10}},
    {DG_GROUPS_PSUM, {-5, 2, INT64_MAX}, {0, 2, 10}},
    {DG_GROUPS_MASKED, {-1, 11, 4}, {0, 10, 4}},
    {DG_GROUPS_INDEX, {0, 3, 2, 1, INT64_MAX, 0, 2, 1, 1, INT64_C(1) << 32},
        {0, -1, 2, 1, -1, 0, 2, 1, 1, -1}},
    {DG_GROUPS_BLOCK_INDEX, {7, 0, 0, 0, 1, 9, 9, 9, INT64_C(1) << 33, 0},
        {-1, 0, 0, 0, 1, 1, 1, 1, -1, -1}},
};

enum { LINES = sizeof lines / sizeof *lines };

static dg_groups_t groups_of(const line_t *line, const int64_t *values) {
    const bool by_row = line->form == DG_GROUPS_INDEX || line->form == DG_GROUPS_BLOCK_INDEX;
    return (dg_groups_t){.form = line->form,
        .values = dg_tensor_1d(values, DG_DTYPE_I64, by_row ? ROWS : GROUPS),
        .alignment = ALIGNMENT};
}

static dg_status_t m_grouped(dg_context_t *ctx, dg_groups_t groups, const int64_t *rows, float *d) {
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    const bool masked = groups.form == DG_GROUPS_MASKED;
    args.a.data = masked ? dg_tensor_3d(a, DG_DTYPE_E4M3, GROUPS, ROWS, K)
                         : dg_tensor_2d(a, DG_DTYPE_E4M3, ROWS, K);
    args.b.data = dg_tensor_3d(b, DG_DTYPE_E4M3, GROUPS, N, K);
    args.d = masked ? dg_tensor_3d(d, DG_DTYPE_F32, GROUPS, ROWS, N)
                    : dg_tensor_2d(d, DG_DTYPE_F32, ROWS, N);
    args.groups = groups;
    if (rows != NULL) args.a_rows = dg_tensor_1d(rows, DG_DTYPE_I64, ROWS);
    return dg_m_grouped_gemm(ctx, &args, NULL);
}

static dg_status_t k_grouped(dg_context_t *ctx, dg_groups_t groups, const int64_t *rows, float *d) {
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = args.b.form = DG_K_TOKENS_FIRST;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, ROWS, K);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_E4M3, ROWS, N);
    args.d = dg_tensor_3d(d, DG_DTYPE_F32, GROUPS, K, N);
    args.groups = groups;
    if (rows != NULL) args.a.rows = dg_tensor_1d(rows, DG_DTYPE_I64, ROWS);
    return dg_k_grouped_gemm(ctx, &args, NULL);
}

typedef dg_status_t (*product_fn)(dg_context_t *, dg_groups_t, const int64_t *, float *);

static void compare(
    product_fn product, const line_t *line, const int64_t *wild_rows, const int64_t *tame_rows) {
    static float got[GROUPS * ROWS * K], expected[GROUPS * ROWS * K];
    memset(got, 0xA5, sizeof got);
    memset(expected, 0xA5, sizeof expected);
    const dg_groups_t wild = groups_of(line, line->wild), tame = groups_of(line, line->tame);
    assert_int_equal(product(refusing, wild, wild_rows, got), DG_STATUS_BAD_VALUE);
    assert_memory_equal(got, expected, sizeof got);
    assert_int_equal(product(refusing, tame, tame_rows, expected), DG_STATUS_OK);
    assert_int_equal(product(clamping, wild, wild_rows, got), DG_STATUS_OK);
    assert_memory_equal(got, expected, sizeof got);
}

static void groups_end_at_the_tensor(void **state) {
    (void)state;
    for (int i = 0; i < LINES; i++) {
        compare(m_grouped, &lines[i], NULL, NULL);
        if (lines[i].form <= DG_GROUPS_PSUM) compare(k_grouped, &lines[i], NULL, NULL);
    }
}

static void a_wrong_row_is_no_row(void **state) {
    (void)state;
    static const line_t sizes = {DG_GROUPS_SIZES, {4, 1, 99}, {4, 1, 5}};
    static const line_t index = {
        DG_GROUPS_INDEX, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1}, {0, 1, 2, -1, 0, 1, 2, -1, 0, 1}};
    static const int64_t wild[ROWS] = {9, 10, INT64_MAX, -1, INT64_MIN, 0, 3, 3, 1 << 20, 2};
    static const int64_t tame[ROWS] = {9, -1, -1, -1, -7, 0, 3, 3, -1, 2};
    compare(m_grouped, &sizes, wild, tame);
    compare(m_grouped, &index, wild, tame);
    compare(k_grouped, &sizes, wild, tame);
}

static void casts_clamp_as_well(void **state) {
    (void)state;
    static float x[ROWS * N], factors[2][ROWS * N];
    static uint8_t codes[2][ROWS * N];
    for (int i = 0; i < ROWS * N; i++) x[i] = (float)(i * 37 % 101) - 50;
    for (int i = 0; i < LINES; i++) {
        if (lines[i].form > DG_GROUPS_PSUM) continue;
        memset(codes, 0xA5, sizeof codes);
        memset(factors, 0xA5, sizeof factors);
        for (int clamp = 0; clamp < 2; clamp++) {
            dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
            args.x = dg_tensor_2d(x, DG_DTYPE_F32, ROWS, N);
            args.out[0].data = dg_tensor_2d(codes[clamp], DG_DTYPE_E4M3, ROWS, N);
            args.out[0].scale = dg_tensor_2d(factors[clamp], DG_DTYPE_F32, ROWS, N);
            args.out[0].gran[0] = 3, args.out[0].gran[1] = 1;
            args.groups = groups_of(&lines[i], clamp ? lines[i].wild : lines[i].tame);
            assert_int_equal(dg_quantize(clamp ? clamping : refusing, &args, NULL), DG_STATUS_OK);
        }
        assert_memory_equal(codes[0], codes[1], sizeof codes[0]);
        assert_memory_equal(factors[0], factors[1], sizeof factors[0]);
    }
}

static int begin(void **state) {
    (void)state;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    for (int i = 0; i < GROUPS * ROWS * K; i++) a[i] = (uint8_t)(i * 29 % 113);
    for (int i = 0; i < GROUPS * N * K; i++) b[i] = (uint8_t)(i * 31 % 109 + 128 * (i % 2));
    options.group_values = DG_GROUP_VALUES_REFUSE;
    if (dg_context_create(&refusing, &options) != DG_STATUS_OK) return 1;
    options.group_values = DG_GROUP_VALUES_CLAMP;
    return dg_context_create(&clamping, &options) != DG_STATUS_OK;
}

static int end(void **state) {
    (void)state;
    return dg_context_destroy(refusing) != DG_STATUS_OK ||
           dg_context_destroy(clamping) != DG_STATUS_OK;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_end_at_the_tensor),
        cmocka_unit_test(a_wrong_row_is_no_row),
        cmocka_unit_test(casts_clamp_as_well),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
