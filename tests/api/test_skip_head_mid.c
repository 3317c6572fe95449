/* SPDX-License-Identifier: MIT
 *
 * dg_gemm_skip_head_mid against an FP64 product: splits of every kind, those that cut blocks of
 * factors and empty parts among them; FP8 and BF16, operands both ways round. The gaps of d, and
 * what lies between its rows, must keep their bytes. And calls that must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "sample.h"

typedef struct split_case_t {
    int32_t left, mid, right;
    int64_t heads, m, k;
    dg_dtype_t dtype, scale;
    int32_t gran_n, gran_k;
    dg_dtype_t d_dtype;
    bool turned; /* b in memory [k, n] */
} split_case_t;

static int64_t blocks(int64_t count, int64_t gran) {
    return (count + gran - 1) / gran;
}

static dg_operand_t make_operand(
    sample_t *sample, const split_case_t *test, int64_t mn, int32_t gran_mn, bool turned) {
    dg_operand_t operand = DG_NO_OPERAND;
    operand.data = sample_matrix(sample, test->dtype, mn, test->k, turned, 2);
    if (test->scale == DG_DTYPE_NONE) return operand;
    operand.gran_mn = gran_mn;
    operand.gran_k = test->gran_k;
    const int64_t step = test->scale == DG_DTYPE_I32 ? 4 * test->gran_k : test->gran_k;
    operand.scale =
        sample_matrix(sample, test->scale, blocks(mn, gran_mn), blocks(test->k, step), !turned, 1);
    return operand;
}

static dg_gemm_skip_head_mid_args_t make_call(sample_t *sample, const split_case_t *test) {
    dg_gemm_skip_head_mid_args_t args = DG_GEMM_SKIP_HEAD_MID_ARGS_INIT;
    const int64_t n = test->heads * (test->left + test->right);
    args.a = make_operand(sample, test, test->m, 1, false);
    args.b = make_operand(sample, test, n, test->gran_n, test->turned);
    args.d = sample_matrix(sample, test->d_dtype, test->m, n + test->heads * test->mid, false, 3);
    args.left = test->left, args.mid = test->mid, args.right = test->right;
    return args;
}

/* Column j of the product stands in this column of d, as the formula of the interface has it. */
static int64_t column_of(const split_case_t *test, int64_t j) {
    return j + (j + test->right) / (test->left + test->right) * test->mid;
}

static void run_case(uint64_t seed, const split_case_t *test) {
    sample_t sample;
    sample_begin(&sample, seed);
    const dg_gemm_skip_head_mid_args_t args = make_call(&sample, test);
    const int64_t n = test->heads * (test->left + test->right);
    sample_poison(&args.d);
    uint8_t *before = sample_copy(&sample, &args.d);
    sample_succeeded(dg_gemm_skip_head_mid(NULL, &args, NULL));
    for (int64_t i = 0; i < test->m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, magnitude = 0;
            for (int64_t k = 0; k < test->k; k++) {
                const double term = sample_operand_value(&args.a, 1, 0, i, k) *
                                    sample_operand_value(&args.b, 1, 0, j, k);
                sum += term;
                magnitude += fabs(term);
            }
            const int64_t index[2] = {i, column_of(test, j)};
            sample_check(&args.d, index, sum, magnitude);
            const size_t size = (size_t)dg_dtype_size(args.d.dtype);
            const size_t at = (size_t)(index[0] * args.d.stride[0] + index[1]) * size;
            memset((uint8_t *)args.d.data + at, 0xFF, size); /* what remains was never written */
        }
    }
    if (args.d.data != NULL) {
        const int64_t all = (test->m - 1) * args.d.stride[0] + args.d.shape[1];
        assert_memory_equal(args.d.data, before, (size_t)(all * dg_dtype_size(args.d.dtype)));
    }
    sample_end(&sample);
}

static void usual_split(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const split_case_t test = {.left = 128,
            .mid = 64,
            .right = 128,
            .heads = 2,
            .m = 5,
            .k = 200,
            .dtype = DG_DTYPE_E4M3,
            .scale = DG_DTYPE_F32,
            .gran_n = 128,
            .gran_k = 128,
            .d_dtype = wide ? DG_DTYPE_F32 : DG_DTYPE_BF16};
        run_case(1, &test);
    }
}

static void any_split(void **state) {
    (void)state;
    static const int32_t splits[][3] = {{1, 1, 1}, {3, 2, 5}, {0, 4, 7}, {9, 1, 0}, {20, 0, 30},
        {100, 7, 61}, {130, 3, 5}, {127, 64, 129}};
    static const dg_dtype_t types[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32, DG_DTYPE_NONE};
    static const int32_t grans[] = {128, 1, 7};
    for (int i = 0; i < 8; i++) {
        for (int kind = 0; kind < 12; kind++) {
            const split_case_t test = {.left = splits[i][0],
                .mid = splits[i][1],
                .right = splits[i][2],
                .heads = 3,
                .m = 4,
                .k = 130 + kind,
                .dtype = DG_DTYPE_E4M3,
                .scale = types[kind % 4],
                .gran_n = grans[kind / 4],
                .gran_k = kind % 2 ? 32 : 128,
                .d_dtype = kind % 3 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .turned = kind % 5 > 2};
            run_case(10 + (uint64_t)(12 * i + kind), &test);
        }
    }
}

static void bf16(void **state) {
    (void)state;
    const split_case_t test = {.left = 40,
        .mid = 8,
        .right = 24,
        .heads = 2,
        .m = 33,
        .k = 70,
        .dtype = DG_DTYPE_BF16,
        .d_dtype = DG_DTYPE_BF16};
    run_case(200, &test);
}

static void empty_extents(void **state) {
    (void)state;
    split_case_t test = {.left = 4,
        .mid = 8,
        .right = 2,
        .heads = 2,
        .m = 0,
        .k = 70,
        .dtype = DG_DTYPE_BF16,
        .d_dtype = DG_DTYPE_BF16};
    run_case(300, &test);
    test.m = 3, test.k = 0;
    run_case(301, &test);
}

static void refuse(const dg_gemm_skip_head_mid_args_t *args, dg_status_t status,
    const char *argument, const char *text) {
    size_t bytes;
    assert_int_equal(dg_gemm_skip_head_mid(NULL, args, NULL), status);
    assert_string_equal(dg_last_error_argument(), argument);
    if (strstr(dg_last_error(), text) == NULL) fail_msg("%s lacks %s", dg_last_error(), text);
    assert_int_equal(dg_gemm_skip_head_mid_workspace(NULL, args, &bytes), status);
}

static void wrong_calls(void **state) {
    (void)state;
    sample_t sample;
    sample_begin(&sample, 400);
    const split_case_t test = {.left = 4,
        .mid = 8,
        .right = 2,
        .heads = 2,
        .m = 3,
        .k = 64,
        .dtype = DG_DTYPE_E4M3,
        .scale = DG_DTYPE_F32,
        .gran_n = 128,
        .gran_k = 128,
        .d_dtype = DG_DTYPE_BF16};
    const dg_gemm_skip_head_mid_args_t good = make_call(&sample, &test);
    dg_gemm_skip_head_mid_args_t bad = good;
    size_t bytes = 1;
    sample_succeeded(dg_gemm_skip_head_mid_workspace(NULL, &good, &bytes));
    assert_int_equal(bytes, 0);
    bad.struct_size = 1;
    refuse(&bad, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", "_INIT");
    bad = good, bad.left = 5;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "b.data", "multiple of left + right = 7");
    bad = good, bad.mid = -1;
    refuse(&bad, DG_STATUS_BAD_VALUE, "left", "4, -1 and 2");
    bad = good, bad.left = bad.right = 0;
    refuse(&bad, DG_STATUS_BAD_VALUE, "left", "at least 1");
    bad = good, bad.mid = 7;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "d", "expected 26 columns");
    bad = good, bad.b.data.dtype = DG_DTYPE_E2M1X2;
    refuse(&bad, DG_STATUS_BAD_DTYPE, "b.data", "e4m3 or bf16");
    bad = good, bad.a.data.shape[1] = 63;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "b.data", "a has k = 63");
    bad = good, bad.d.data = bad.b.data.data;
    refuse(&bad, DG_STATUS_OVERLAP, "d", "shares bytes");
    sample_end(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_split),
        cmocka_unit_test(any_split),
        cmocka_unit_test(bf16),
        cmocka_unit_test(empty_extents),
        cmocka_unit_test(wrong_calls),
    };
    return cmocka_run_group_tests_name("skip_head_mid", tests, NULL, NULL);
}
