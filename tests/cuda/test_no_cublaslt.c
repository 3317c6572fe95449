/* SPDX-License-Identifier: MIT
 *
 * A machine with a GPU and without cuBLASLt (DG_CUBLASLT names a library that is something else): its
 * products say what was tried and what to install, each time anew; those of the CPU need none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

enum { M = 3, N = 5, K = 4 };

static dg_cublaslt_gemm_args_t make_product(dg_device_type_t device) {
    static float a[M * K], b[N * K], d[M * N];
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    for (int i = 0; i < M * K; i++) a[i] = (float)i;
    for (int i = 0; i < N * K; i++) b[i] = 1.0f;
    args.a = dg_tensor_2d(a, DG_DTYPE_F32, M, K);
    args.b = dg_tensor_2d(b, DG_DTYPE_F32, N, K);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, M, N);
    args.a.device.type = args.b.device.type = args.d.device.type = device;
    return args;
}

static void a_product_says_what_to_install(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_product(DG_DEVICE_CUDA);
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_UNSUPPORTED);
        assert_non_null(strstr(dg_last_error(), "dg_cublaslt_gemm: no cuBLASLt: "));
        assert_non_null(strstr(dg_last_error(), "is no cuBLASLt; install the CUDA toolkit"));
        assert_non_null(strstr(dg_last_error(), "nvidia-cublas"));
    }
    assert_int_equal(dg_cublaslt_gemm_workspace(NULL, &args, &bytes), DG_STATUS_UNSUPPORTED);
}

static void the_cpu_needs_none(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_product(DG_DEVICE_CPU);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++)
            assert_true(((const float *)args.d.data)[i * N + j] == (float)(16 * i + 6));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_says_what_to_install),
        cmocka_unit_test(the_cpu_needs_none),
    };
    return cmocka_run_group_tests_name("no_cublaslt", tests, NULL, NULL);
}
