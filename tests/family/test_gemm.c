/* SPDX-License-Identifier: MIT
 *
 * dg_gemm against the FP64 reference: every pair of element types, every kind of factors, both
 * output types, with and without c. Guards against a wrong factor for a block, a dropped tail of k,
 * two roundings, and a c that is read after it was overwritten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

typedef struct shape_t {
    int64_t m, n, k;
} shape_t;

static const shape_t shapes[] = {
    {1, 1, 2}, {3, 5, 30}, {64, 64, 128}, {37, 130, 386}, {129, 66, 512}, {130, 200, 258}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void run_shapes(const gemm_case_t *test, uint64_t seed) {
    for (size_t i = 0; i < COUNT(shapes); i++) {
        gemm_verify(NULL, test, shapes[i].m, shapes[i].n, shapes[i].k, seed + i);
    }
}

/* a 1 x 128, b 128 x 128: the recipe of forward passes; each output type, each way of c. */
static void test_fp8_forward_recipe(void **state) {
    (void)state;
    for (int c = C_NONE; c <= C_ALIAS; c++) {
        for (int wide = 0; wide < 2; wide++) {
            const gemm_case_t test = {.a = fp8_1x128(),
                .b = fp8_128x128(),
                .d = wide ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .c = (addend_t)c,
                .d_pad = 5 * c};
            run_shapes(&test, 100 + 10 * (uint64_t)(2 * c + wide));
        }
    }
}

static void test_bf16(void **state) {
    (void)state;
    for (int c = C_NONE; c <= C_ALIAS; c++) {
        for (int wide = 0; wide < 2; wide++) {
            const gemm_case_t test = {.a = bf16_plain(),
                .b = bf16_plain(),
                .d = wide ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .c = (addend_t)c,
                .d_pad = 3};
            run_shapes(&test, 200 + 10 * (uint64_t)(2 * c + wide));
        }
    }
}

/* Every granularity, factor type and factor layout on each side, independently of the other. */
static void test_scale_kinds(void **state) {
    (void)state;
    static const int32_t gran_mn[] = {1, 128, 7};
    static const int32_t gran_k[] = {32, 128};
    static const dg_dtype_t types[] = {DG_DTYPE_NONE, DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};
    const int kinds = 3 * 2 * 4 * 3;
    for (int kind = 0; kind < kinds; kind++) {
        const int other = (kind * 29 + 11) % kinds;
        gemm_case_t test = {.d = kind % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16};
        for (int side = 0; side < 2; side++) {
            const int x = side ? other : kind;
            operand_spec_t spec = {.dtype = DG_DTYPE_E4M3,
                .gran_mn = gran_mn[x % 3],
                .gran_k = gran_k[x / 3 % 2],
                .scale = types[x / 6 % 4],
                .order = (scale_order_t)(x / 24)};
            *(side ? &test.b : &test.a) = spec;
        }
        gemm_verify(NULL, &test, 35, 140, 700, 300 + (uint64_t)kind);
        gemm_verify(NULL, &test, 130, 9, 130, 400 + (uint64_t)kind);
    }
}

static operand_spec_t fp4(dg_dtype_t scale, int32_t gran_mn, int32_t gran_k) {
    return (operand_spec_t){
        .dtype = DG_DTYPE_E2M1X2, .scale = scale, .gran_mn = gran_mn, .gran_k = gran_k};
}

static void test_fp4_pairs(void **state) {
    (void)state;
    const operand_spec_t specs[] = {fp8_1x128(), fp8_128x128(), fp4(DG_DTYPE_F32, 1, 32),
        fp4(DG_DTYPE_F32, 1, 128), fp4(DG_DTYPE_I32, 1, 32), fp4(DG_DTYPE_E8M0, 128, 128)};
    for (size_t i = 0; i < COUNT(specs); i++) {
        for (size_t j = 0; j < COUNT(specs); j++) {
            const gemm_case_t test = {.a = specs[i],
                .b = specs[j],
                .d = (i + j) % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .c = (addend_t)((i + 2 * j) % 3)};
            run_shapes(&test, 500 + 10 * (i * COUNT(specs) + j));
        }
    }
}

/* More rows and columns than any tile has, in each layout. */
static void test_many_tiles(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) {
        gemm_case_t test = {.a = fp8_1x128(),
            .b = fp8_128x128(),
            .d = DG_DTYPE_F32,
            .c = (addend_t)(form % 3),
            .d_pad = form};
        test.a.mn_major = form / 2;
        test.b.mn_major = form % 2;
        gemm_verify(NULL, &test, 517, 1090, 140, 650 + (uint64_t)form);
        test.a = test.b = bf16_plain();
        gemm_verify(NULL, &test, 1030, 530, 70, 660 + (uint64_t)form);
    }
}

/* A long sum: partial sums of thousands of blocks stay within the bound. */
static void test_long_k(void **state) {
    (void)state;
    const gemm_case_t fp8 = {.a = fp8_1x128(), .b = fp8_1x128(), .d = DG_DTYPE_F32};
    const gemm_case_t bf16 = {.a = bf16_plain(), .b = bf16_plain(), .d = DG_DTYPE_F32};
    gemm_verify(NULL, &fp8, 2, 3, 147456, 600);
    gemm_verify(NULL, &fp8, 5, 7, 65537, 601);
    gemm_verify(NULL, &bf16, 2, 3, 100003, 602);
}

/* One factor is not a power of two among powers of two, and one is zero: used exactly as they are. */
static void test_odd_factors_are_exact(void **state) {
    (void)state;
    enum { M = 5, N = 6, K = 256 };
    rng_t rng = rng_make(700);
    operand_spec_t spec = fp8_1x128();
    spec.values = VALUES_INTEGER;
    operand_t a = operand_make(&rng, &spec, 0, M, K);
    const operand_t b = operand_make(&rng, &spec, 0, N, K);
    static const float odd[3] = {1.5F, 0.0F, 0.375F};
    for (int64_t i = 0; i < 3; i++) {
        float *const factor = (float *)a.view.scale.data + i * 2 + 1;
        for (int64_t k = 128; k < K; k++) a.value[i * K + k] *= (double)(odd[i] / *factor);
        *factor = odd[i];
    }
    const output_t output = output_make(&rng, DG_DTYPE_F32, 0, M, N, 0, C_NONE, VALUES_INTEGER);
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = a.view, args.b = b.view, args.d = output.d;
    label("gemm with factors 1.5, 0 and 0.375");
    guard_seal();
    expect_ok(dg_gemm(NULL, &args, NULL));
    for (int64_t i = 0; i < M; i++) {
        for (int64_t j = 0; j < N; j++) {
            output_judge(
                JUDGE_EXACT, &output, 0, i, j, ref_dot(a.value + i * K, b.value + j * K, K));
        }
    }
    guard_check();
}

/* The query is part of every family's calling sequence; the CPU asks for nothing. */
static void test_workspace_query(void **state) {
    (void)state;
    rng_t rng = rng_make(800);
    const operand_spec_t spec = bf16_plain();
    const operand_t a = operand_make(&rng, &spec, 0, 3, 4);
    const operand_t b = operand_make(&rng, &spec, 0, 5, 4);
    const output_t output = output_make(&rng, DG_DTYPE_F32, 0, 3, 5, 0, C_NONE, VALUES_RANDOM);
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = a.view, args.b = b.view, args.d = output.d;
    size_t bytes = 12345;
    label("gemm workspace");
    guard_seal();
    expect_ok(dg_gemm_workspace(NULL, &args, &bytes));
    assert_int_equal(bytes, 0);
    guard_check();
    args.d.shape[1] = 6;
    args.d.stride[0] = 6;
    expect_status(dg_gemm_workspace(NULL, &args, &bytes), DG_STATUS_BAD_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fp8_forward_recipe, guard_teardown),
        cmocka_unit_test_teardown(test_bf16, guard_teardown),
        cmocka_unit_test_teardown(test_scale_kinds, guard_teardown),
        cmocka_unit_test_teardown(test_fp4_pairs, guard_teardown),
        cmocka_unit_test_teardown(test_many_tiles, guard_teardown),
        cmocka_unit_test_teardown(test_long_k, guard_teardown),
        cmocka_unit_test_teardown(test_odd_factors_are_exact, guard_teardown),
        cmocka_unit_test_teardown(test_workspace_query, guard_teardown),
    };
    return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
