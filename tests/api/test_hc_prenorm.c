/* SPDX-License-Identifier: MIT
 *
 * dg_tf32_hc_prenorm_gemm against sums in FP64: ragged shapes, more splits than blocks of k,
 * strided inputs and outputs, values of b whose lower bits must not count, results that are exact.
 * And calls that must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "sample.h"

typedef struct prenorm_case_t {
    int64_t m, n, k, splits; /* splits 0: outputs without that axis */
    int64_t pad;             /* a.pad a multiple of 8 and b.pad of 4, as GPUs want */
    bool integers;           /* every sum is exact */
} prenorm_case_t;

static dg_tensor_t make_output(
    sample_t *sample, int64_t splits, int32_t rank, int64_t rows, int64_t columns, int64_t pad) {
    const int64_t shape[3] = {splits, rows, columns};
    static const int32_t order[3] = {0, 1, 2};
    const dg_tensor_t tensor =
        splits > 0 ? sample_tensor(sample, DG_DTYPE_F32, rank + 1, shape, order, pad)
                   : sample_tensor(sample, DG_DTYPE_F32, rank, shape + 1, order, pad);
    sample_poison(&tensor);
    return tensor;
}

/* b as the product takes it. */
static double tf32(double value) {
    const float whole = (float)value;
    uint32_t bits;
    float cut;
    memcpy(&bits, &whole, 4);
    bits &= 0xFFFFE000u;
    memcpy(&cut, &bits, 4);
    return (double)cut;
}

static void make_integers(sample_t *sample, const dg_tensor_t *a, const dg_tensor_t *b) {
    for (int64_t k = 0; k < a->shape[1]; k++) {
        for (int64_t i = 0; i < a->shape[0]; i++) {
            const float x = (float)sample_between(sample, -3, 3);
            uint32_t bits;
            memcpy(&bits, &x, 4);
            ((uint16_t *)a->data)[i * a->stride[0] + k] = (uint16_t)(bits >> 16);
        }
        for (int64_t j = 0; j < b->shape[0]; j++) /* eleven bits: more than BF16 has */
            ((float *)b->data)[j * b->stride[0] + k] = (float)sample_between(sample, -1025, 1025);
    }
}

static dg_tf32_hc_prenorm_gemm_args_t make_call(sample_t *sample, const prenorm_case_t *test) {
    dg_tf32_hc_prenorm_gemm_args_t args = DG_TF32_HC_PRENORM_GEMM_ARGS_INIT;
    const int64_t left_a = -test->k & 7, left_b = -test->k & 3; /* rows begin on 16 bytes */
    args.a = sample_matrix(sample, DG_DTYPE_BF16, test->m, test->k, false, left_a + 8 * test->pad);
    args.b = sample_matrix(sample, DG_DTYPE_F32, test->n, test->k, false, left_b + 4 * test->pad);
    args.d = make_output(sample, test->splits, 2, test->m, test->n, test->pad);
    args.sqr_sum = make_output(sample, test->splits, 1, test->m, 0, 0);
    if (test->splits > 0) { /* [splits, m] */
        const int64_t shape[2] = {test->splits, test->m};
        static const int32_t order[2] = {0, 1};
        args.sqr_sum = sample_tensor(sample, DG_DTYPE_F32, 2, shape, order, test->pad);
        sample_poison(&args.sqr_sum);
    }
    if (test->integers && test->k > 0) make_integers(sample, &args.a, &args.b);
    return args;
}

/* One sum over [begin, end) of k: of products (j >= 0), or of squares. */
static void check_sum(const prenorm_case_t *test, const dg_tf32_hc_prenorm_gemm_args_t *args,
    int64_t split, int64_t i, int64_t j, int64_t begin, int64_t end) {
    const dg_tensor_t *d = j >= 0 ? &args->d : &args->sqr_sum;
    int64_t index[3] = {split, i, j};
    double sum = 0, magnitude = 0;
    for (int64_t k = begin; k < end; k++) {
        const int64_t at_a[2] = {i, k}, at_b[2] = {j, k};
        const double a = sample_value(&args->a, at_a, -1);
        const double term = a * (j >= 0 ? tf32(sample_value(&args->b, at_b, -1)) : a);
        sum += term;
        magnitude += fabs(term);
    }
    if (test->splits == 0) index[0] = i, index[1] = j;
    if (test->integers)
        assert_true(sample_value(d, index, -1) == sum);
    else
        sample_check(d, index, sum, magnitude);
}

static void run_case(uint64_t seed, const prenorm_case_t *test) {
    sample_t sample;
    sample_begin(&sample, seed);
    const dg_tf32_hc_prenorm_gemm_args_t args = make_call(&sample, test);
    uint8_t *d_before = sample_copy(&sample, &args.d);
    uint8_t *sums_before = sample_copy(&sample, &args.sqr_sum);
    sample_succeeded(dg_tf32_hc_prenorm_gemm(NULL, &args, NULL));
    const int64_t splits = test->splits > 0 ? test->splits : 1, blocks = (test->k + 63) / 64;
    int64_t begin = 0;
    for (int64_t s = 0; s < splits; s++) {
        int64_t end = begin + (blocks / splits + (s < blocks % splits)) * 64;
        if (end > test->k) end = test->k;
        for (int64_t i = 0; i < test->m; i++)
            for (int64_t j = -1; j < test->n; j++) check_sum(test, &args, s, i, j, begin, end);
        begin = end;
    }
    sample_check_between(&args.d, d_before);
    sample_check_between(&args.sqr_sum, sums_before);
    sample_end(&sample);
}

static void ragged_shapes(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 0}, {13, 24, 200, 0}, {64, 8, 64, 0},
        {65, 32, 130, 0}, {70, 33, 65, 0}, {13, 24, 1000, 3}, {3, 7, 640, 16}, {66, 24, 300, 2},
        {5, 40, 70, 1}};
    for (uint64_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int64_t pad = 0; pad < 2; pad++) {
            const prenorm_case_t test = {
                shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], pad, false};
            run_case(i, &test);
        }
    }
}

static void exact_sums(void **state) {
    (void)state;
    for (int64_t splits = 0; splits < 3; splits++) {
        const prenorm_case_t test = {67, 24, 500, splits, 1, true};
        run_case(50 + (uint64_t)splits, &test);
    }
}

static void long_rows(void **state) {
    (void)state;
    const prenorm_case_t test = {2, 3, 7000, 0, 0, false};
    run_case(60, &test);
}

static void empty_extents(void **state) {
    (void)state;
    static const prenorm_case_t tests[] = {{0, 3, 64, 0, 0, false}, {4, 0, 64, 0, 0, false},
        {4, 3, 0, 0, 0, false}, {4, 3, 0, 2, 0, false}, {4, 0, 70, 2, 1, false}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) run_case(70 + i, &tests[i]);
}

/* What is infinite or NaN in TF32 is so in its own row and column alone. */
static void infinities(void **state) {
    (void)state;
    enum { M = 3, N = 2, K = 72 };
    _Alignas(16) uint16_t a[M * K];
    _Alignas(16) float b[N * K];
    float d[M * N], sums[M];
    for (int i = 0; i < M * K; i++) a[i] = 0x3F80;
    for (int i = 0; i < N * K; i++) b[i] = 2;
    dg_tf32_hc_prenorm_gemm_args_t args = DG_TF32_HC_PRENORM_GEMM_ARGS_INIT;
    args.a = dg_tensor_2d(a, DG_DTYPE_BF16, M, K);
    args.b = dg_tensor_2d(b, DG_DTYPE_F32, N, K);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, M, N);
    args.sqr_sum = dg_tensor_1d(sums, DG_DTYPE_F32, M);
    a[K + 5] = 0x7FC0;
    b[K + 71] = INFINITY;
    sample_succeeded(dg_tf32_hc_prenorm_gemm(NULL, &args, NULL));
    assert_true(d[0] == 144 && d[4] == 144 && isinf(d[1]) && isinf(d[5]));
    assert_true(isnan(d[2]) && isnan(d[3]));
    assert_true(sums[0] == 72 && isnan(sums[1]) && sums[2] == 72);
}

static void refuse(const dg_tf32_hc_prenorm_gemm_args_t *args, dg_status_t status,
    const char *argument, const char *text) {
    size_t bytes;
    assert_int_equal(dg_tf32_hc_prenorm_gemm(NULL, args, NULL), status);
    assert_string_equal(dg_last_error_argument(), argument);
    if (strstr(dg_last_error(), text) == NULL) fail_msg("%s lacks %s", dg_last_error(), text);
    assert_int_equal(dg_tf32_hc_prenorm_gemm_workspace(NULL, args, &bytes), status);
}

static void wrong_calls(void **state) {
    (void)state;
    sample_t sample;
    sample_begin(&sample, 80);
    const prenorm_case_t test = {4, 8, 64, 2, 0, false};
    const dg_tf32_hc_prenorm_gemm_args_t good = make_call(&sample, &test);
    dg_tf32_hc_prenorm_gemm_args_t bad = good;
    size_t bytes = 1;
    sample_succeeded(dg_tf32_hc_prenorm_gemm_workspace(NULL, &good, &bytes));
    assert_int_equal(bytes, 0);
    bad.struct_size = 1;
    refuse(&bad, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", "_INIT");
    bad = good, bad.a.dtype = DG_DTYPE_F32;
    refuse(&bad, DG_STATUS_BAD_DTYPE, "a", "expected bf16");
    bad = good, bad.b.shape[1] = 63;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "b", "a has k = 64");
    bad = good, bad.a.stride[1] = 2;
    refuse(&bad, DG_STATUS_BAD_STRIDE, "a", "expected 1");
    bad = good, bad.d.rank = 1;
    refuse(&bad, DG_STATUS_BAD_RANK, "d", "expected 2");
    bad = good, bad.d.shape[0] = 0;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "d", "at least 1");
    bad = good, bad.sqr_sum.shape[0] = 3;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "sqr_sum", "[2, 4]");
    bad = good, bad.d.stride[1] = 7;
    refuse(&bad, DG_STATUS_BAD_STRIDE, "d", "own place");
    bad = good, bad.sqr_sum.data = bad.d.data;
    refuse(&bad, DG_STATUS_OVERLAP, "d", "sqr_sum");
    sample_end(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_shapes),
        cmocka_unit_test(exact_sums),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(empty_extents),
        cmocka_unit_test(infinities),
        cmocka_unit_test(wrong_calls),
    };
    return cmocka_run_group_tests_name("hc_prenorm", tests, NULL, NULL);
}
