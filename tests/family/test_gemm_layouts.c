/* SPDX-License-Identifier: MIT
 *
 * dg_gemm in its four forms NT, NN, TN and TT, dense and with poisoned gaps between lines, with
 * factors in every order, through dg_tensor_transpose and through strides. Guards against a stride
 * recomputed from a shape, and against layouts that agree only at small sizes: all shapes have more
 * than one block of factors along both axes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

static const dg_dtype_t scale_types[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};

static void run_forms(gemm_case_t test, int64_t m, int64_t n, int64_t k, uint64_t seed) {
    for (int form = 0; form < 4; form++) {
        test.a.mn_major = form / 2;
        test.b.mn_major = form % 2;
        gemm_verify(NULL, &test, m, n, k, seed + (uint64_t)form);
    }
}

static void test_fp8_forms(void **state) {
    (void)state;
    for (int order = SCALE_ROWS; order <= SCALE_LOOSE; order++) {
        for (int pad = 0; pad <= 17; pad += 17) {
            for (int type = 0; type < 3; type++) {
                gemm_case_t test = {
                    .a = fp8_1x128(), .b = fp8_128x128(), .d = DG_DTYPE_BF16, .d_pad = pad};
                test.a.order = test.b.order = (scale_order_t)order;
                test.a.scale = test.b.scale = scale_types[type];
                test.a.pad = test.b.pad = pad;
                run_forms(test, 45, 261, 389, 1000 + (uint64_t)(order * 100 + pad * 10 + type));
            }
        }
    }
}

static void test_bf16_forms(void **state) {
    (void)state;
    for (int pad = 0; pad < 4; pad++) {
        gemm_case_t test = {.a = bf16_plain(),
            .b = bf16_plain(),
            .d = DG_DTYPE_F32,
            .d_pad = pad,
            .c = (addend_t)(pad % 3)};
        test.a.pad = pad;
        test.b.pad = 3 - pad;
        run_forms(test, 67, 94, 301, 2000 + 10 * (uint64_t)pad);
        run_forms(test, 1, 33, 129, 2100 + 10 * (uint64_t)pad);
        run_forms(test, 129, 1, 65, 2200 + 10 * (uint64_t)pad);
    }
}

/* Packed along the contiguous axis, whichever that is; d tells which axis was halved. */
static void test_fp4_forms(void **state) {
    (void)state;
    const operand_spec_t fp4 = {
        .dtype = DG_DTYPE_E2M1X2, .scale = DG_DTYPE_F32, .gran_mn = 1, .gran_k = 32};
    for (int pad = 0; pad <= 5; pad += 5) {
        gemm_case_t test = {.a = fp4, .b = fp4, .d = DG_DTYPE_F32};
        test.a.pad = test.b.pad = pad;
        run_forms(test, 46, 134, 290, 3000 + (uint64_t)pad);
        test.b = fp8_128x128();
        run_forms(test, 46, 261, 290, 3100 + (uint64_t)pad);
        test.a = fp8_1x128();
        test.b = fp4;
        run_forms(test, 45, 134, 290, 3200 + (uint64_t)pad);
    }
}

/* m = n = k and m = k / 2: shapes in which a guess from the extents goes wrong. */
static void test_square_fp4(void **state) {
    (void)state;
    const operand_spec_t fp4 = {
        .dtype = DG_DTYPE_E2M1X2, .scale = DG_DTYPE_E8M0, .gran_mn = 1, .gran_k = 32};
    const gemm_case_t test = {.a = fp4, .b = fp4, .d = DG_DTYPE_F32};
    run_forms(test, 64, 64, 64, 4000);
    run_forms(test, 64, 64, 128, 4010);
    run_forms(test, 128, 128, 64, 4020);
}

/* The four forms as gemm.h spells them, on integers: all must give the very same bits. */
static void test_transposed_views(void **state) {
    (void)state;
    enum { M = 33, N = 21, K = 150 };
    rng_t rng = rng_make(5000);
    float *forms[4];
    uint16_t *a = guard_scratch(M * K * 2), *at = guard_scratch(M * K * 2);
    uint16_t *b = guard_scratch(N * K * 2), *bt = guard_scratch(N * K * 2);
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++) {
            at[k * M + i] = a[i * K + k] = (uint16_t)code_random(&rng, DG_DTYPE_BF16, 0).bits;
        }
        for (int j = 0; j < N; j++) {
            bt[k * N + j] = b[j * K + k] = (uint16_t)code_random(&rng, DG_DTYPE_BF16, 0).bits;
        }
    }
    for (int form = 0; form < 4; form++) {
        forms[form] = guard_take(M * N * sizeof(float), 0, "d");
        dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
        args.a.data = form / 2 ? dg_tensor_transpose(dg_tensor_2d(at, DG_DTYPE_BF16, K, M))
                               : dg_tensor_2d(a, DG_DTYPE_BF16, M, K);
        args.b.data = form % 2 ? dg_tensor_transpose(dg_tensor_2d(bt, DG_DTYPE_BF16, K, N))
                               : dg_tensor_2d(b, DG_DTYPE_BF16, N, K);
        args.d = dg_tensor_2d(forms[form], DG_DTYPE_F32, M, N);
        label("transposed views, form %d", form);
        expect_ok(dg_gemm(NULL, &args, NULL));
        assert_memory_equal(forms[0], forms[form], M * N * sizeof(float));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fp8_forms, guard_teardown),
        cmocka_unit_test_teardown(test_bf16_forms, guard_teardown),
        cmocka_unit_test_teardown(test_fp4_forms, guard_teardown),
        cmocka_unit_test_teardown(test_square_fp4, guard_teardown),
        cmocka_unit_test_teardown(test_transposed_views, guard_teardown),
    };
    return cmocka_run_group_tests_name("gemm layouts", tests, NULL, NULL);
}
