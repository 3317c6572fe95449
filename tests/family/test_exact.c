/* SPDX-License-Identifier: MIT
 *
 * Small integers and factors 1, 2 and 4: every sum is exact in FP32, so each result has one right
 * bit pattern whatever the order of additions. Guards against a BF16 result rounded twice, c added
 * after rounding, and products or factors that lose bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

static const dg_dtype_t data_types[] = {DG_DTYPE_E4M3, DG_DTYPE_E2M1X2, DG_DTYPE_BF16};
static const dg_dtype_t scale_types[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};

static operand_spec_t exact_spec(int type, int scale, int32_t gran_mn) {
    operand_spec_t spec = {.dtype = data_types[type], .values = VALUES_INTEGER};
    if (spec.dtype == DG_DTYPE_BF16) return spec;
    spec.scale = scale_types[scale % 3];
    spec.gran_mn = gran_mn;
    spec.gran_k = scale % 2 ? 32 : 128;
    return spec;
}

static void test_gemm(void **state) {
    (void)state;
    for (int kind = 0; kind < 90; kind++) {
        const int a = kind % 3;
        const int b = a == 2 ? 2 : kind / 3 % 2;
        gemm_case_t test = {.a = exact_spec(a, kind / 6, 1),
            .b = exact_spec(b, kind / 5, 128),
            .d = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
            .c = (addend_t)(kind / 2 % 3),
            .judge = JUDGE_EXACT};
        test.a.mn_major = kind / 7 % 2;
        test.b.mn_major = kind / 11 % 2;
        gemm_verify(NULL, &test, 34, 150, 386, 100 + (uint64_t)kind);
        gemm_verify(NULL, &test, 6, 2, 1030, 300 + (uint64_t)kind);
    }
}

static void test_m_grouped(void **state) {
    (void)state;
    static const int64_t sizes[] = {5, 0, 40, 129};
    for (int form = DG_GROUPS_SIZES; form <= DG_GROUPS_MASKED; form++) {
        for (int kind = 0; kind < 6; kind++) {
            const m_grouped_case_t test = {.a = exact_spec(kind % 3, kind, 1),
                .b = exact_spec(kind % 3, kind + 1, 128),
                .form = (dg_group_form_t)form,
                .d = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
                .c = (addend_t)(kind / 2),
                .judge = JUDGE_EXACT,
                .tail = 3};
            m_grouped_verify(
                NULL, &test, sizes, 4, 38, 258, 500 + 10 * (uint64_t)form + (uint64_t)kind);
        }
    }
}

static void test_k_grouped(void **state) {
    (void)state;
    static const int64_t sizes[] = {130, 0, 41, 300};
    for (int kind = 0; kind < 54; kind++) {
        k_grouped_case_t test = {.d = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
            .c = (addend_t)(kind / 2 % 3),
            .output = (dg_k_output_t)(kind / 6 % 3),
            .judge = JUDGE_EXACT};
        test.a = (k_spec_t){.form = (dg_k_form_t)(1 + kind % 3),
            .dtype = data_types[kind / 3 % 3],
            .gran_k = kind % 4 ? 32 : 128,
            .values = VALUES_INTEGER};
        if (test.a.dtype != DG_DTYPE_BF16) test.a.scale = scale_types[kind / 9 % 3];
        test.b = test.a;
        test.b.form = (dg_k_form_t)(1 + kind / 18);
        k_grouped_verify(NULL, &test, sizes, 4, 36, 50, 700 + (uint64_t)kind);
    }
}

/* 1 + 2^-8 in BF16 with c = 2^-9: one rounding gives 1 + 2^-7, rounding before adding c gives 1.
 * The operands: 1 * 1 + 2^-4 * 2^-4. */
static void test_one_rounding_of_c(void **state) {
    (void)state;
    const uint16_t a[2] = {0x3F80, 0x3D80};
    const uint16_t c[1] = {0x3B00};
    uint16_t d[1] = {0xFFFF};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_BF16, 1, 2);
    args.b.data = dg_tensor_2d(a, DG_DTYPE_BF16, 1, 2);
    args.c = dg_tensor_2d(c, DG_DTYPE_BF16, 1, 1);
    args.d = dg_tensor_2d(d, DG_DTYPE_BF16, 1, 1);
    label("one rounding of c + product");
    expect_ok(dg_gemm(NULL, &args, NULL));
    assert_int_equal(d[0], 0x3F81);
}

/* Ties go to the even neighbour: 1 + 2^-8 to 1, 1 + 3 * 2^-8 to 1 + 2^-6. */
static void test_ties_to_even(void **state) {
    (void)state;
    const uint16_t a[3] = {0x3F80, 0x3D80, 0x3DDE};
    const uint16_t b[2][3] = {{0x3F80, 0x3D80, 0}, {0x3F80, 0x3E40, 0}};
    uint16_t d[2] = {0, 0};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_BF16, 1, 3);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_BF16, 2, 3);
    args.d = dg_tensor_2d(d, DG_DTYPE_BF16, 1, 2);
    label("ties to even");
    expect_ok(dg_gemm(NULL, &args, NULL));
    assert_int_equal(d[0], 0x3F80);
    assert_int_equal(d[1], 0x3F82);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gemm, guard_teardown),
        cmocka_unit_test_teardown(test_m_grouped, guard_teardown),
        cmocka_unit_test_teardown(test_k_grouped, guard_teardown),
        cmocka_unit_test(test_one_rounding_of_c),
        cmocka_unit_test(test_ties_to_even),
    };
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
