/* SPDX-License-Identifier: MIT
 *
 * dg_launch_t.prepare on the CPU: calls check their arguments as ever and write nothing, no workspace is
 * asked for. (That kernels are ready afterwards: tests/cuda/test_warm_call.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"

enum { M = 6, N = 5, K = 256, BYTES = M * K * 4 };

static dg_launch_t prepare(void) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.prepare = 1;
    return launch;
}

static bool is_poison(const void *bytes, size_t count) {
    const uint8_t *byte = bytes;
    while (count > 0 && byte[count - 1] == 0xFF) count--;
    return count == 0;
}

static void products_write_nothing(void **state) {
    (void)state;
    sample_t sample;
    const dg_launch_t launch = prepare();
    sample_begin(&sample, 11);
    void *d = sample_bytes(&sample, BYTES);
    int32_t sizes[2] = {K - 40, 40};
    dg_gemm_args_t gemm = DG_GEMM_ARGS_INIT;
    gemm.a.data = sample_matrix(&sample, DG_DTYPE_BF16, M, K, false, 0);
    gemm.b.data = sample_matrix(&sample, DG_DTYPE_BF16, N, K, false, 0);
    gemm.d = dg_tensor_2d(d, DG_DTYPE_F32, M, N);
    sample_succeeded(dg_gemm(NULL, &gemm, &launch));
    dg_k_grouped_gemm_args_t tokens = DG_K_GROUPED_GEMM_ARGS_INIT;
    tokens.a.form = tokens.b.form = DG_K_TOKENS_FIRST;
    tokens.a.data = sample_matrix(&sample, DG_DTYPE_BF16, K, M, false, 0);
    tokens.b.data = sample_matrix(&sample, DG_DTYPE_BF16, K, N, false, 0);
    tokens.groups.form = DG_GROUPS_SIZES;
    tokens.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, 2);
    tokens.d = dg_tensor_3d(d, DG_DTYPE_F32, 2, M, N);
    sample_succeeded(dg_k_grouped_gemm(NULL, &tokens, &launch));
    dg_m_grouped_gemm_args_t rows = DG_M_GROUPED_GEMM_ARGS_INIT;
    sizes[0] = M - 1;
    sizes[1] = 1;
    rows.a.data = gemm.a.data;
    rows.b.data =
        sample_tensor(&sample, DG_DTYPE_BF16, 3, (int64_t[]){2, N, K}, (int32_t[]){0, 1, 2}, 0);
    rows.groups = tokens.groups;
    rows.d = gemm.d;
    sample_succeeded(dg_m_grouped_gemm(NULL, &rows, &launch));
    assert_true(is_poison(d, BYTES));

    sample_succeeded(dg_gemm(NULL, &gemm, NULL));
    assert_false(is_poison(d, BYTES));
    sample_end(&sample);
}

static void casts_write_nothing(void **state) {
    (void)state;
    sample_t sample;
    const dg_launch_t launch = prepare();
    sample_begin(&sample, 12);
    void *codes = sample_bytes(&sample, M * K), *scale = sample_bytes(&sample, BYTES);
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = sample_matrix(&sample, DG_DTYPE_F32, M, K, false, 0);
    args.out[0].data = dg_tensor_2d(codes, DG_DTYPE_E4M3, M, K);
    args.out[0].scale = dg_tensor_2d(scale, DG_DTYPE_F32, M, K / 128);
    args.out[0].gran[0] = 1;
    args.out[0].gran[1] = 128;
    sample_succeeded(dg_quantize(NULL, &args, &launch));
    assert_true(is_poison(codes, M * K) && is_poison(scale, BYTES));
    sample_succeeded(dg_quantize(NULL, &args, NULL));
    assert_false(is_poison(scale, BYTES));
    sample_end(&sample);
}

static void bad_calls_are_refused_all_the_same(void **state) {
    (void)state;
    sample_t sample;
    dg_launch_t launch = prepare();
    sample_begin(&sample, 13);
    dg_gemm_args_t gemm = DG_GEMM_ARGS_INIT;
    gemm.a.data = sample_matrix(&sample, DG_DTYPE_BF16, M, K, false, 0);
    gemm.b.data = sample_matrix(&sample, DG_DTYPE_BF16, N, K - 1, false, 0);
    gemm.d = dg_tensor_2d(sample_bytes(&sample, BYTES), DG_DTYPE_F32, M, N);
    assert_int_equal(dg_gemm(NULL, &gemm, &launch), DG_STATUS_BAD_SHAPE);
    launch.prepare = 2;
    assert_int_equal(dg_gemm(NULL, &gemm, &launch), DG_STATUS_BAD_VALUE);
    assert_string_equal(dg_last_error_argument(), "launch.prepare");
    sample_end(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_write_nothing),
        cmocka_unit_test(casts_write_nothing),
        cmocka_unit_test(bad_calls_are_refused_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
