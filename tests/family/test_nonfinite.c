/* SPDX-License-Identifier: MIT
 *
 * NaN and infinity stay where they belong: one in a row of a reaches that row of d and no other,
 * one in a group or in a factor reaches what that group or factor covers; and there they do arrive,
 * also where the other operand is zero. Guards against tiles that mix rows, and against skipping
 * zeros.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

enum { M = 37, N = 150, K = 300 };

typedef struct problem_t {
    operand_t a, b;
    output_t output;
    dg_gemm_args_t args;
} problem_t;

static problem_t problem_make(const operand_spec_t *a, const operand_spec_t *b, uint64_t seed) {
    rng_t rng = rng_make(seed);
    problem_t p = {.a = operand_make(&rng, a, 0, M, K), .b = operand_make(&rng, b, 0, N, K)};
    p.output = output_make(&rng, DG_DTYPE_F32, 0, M, N, 1, C_SEPARATE, VALUES_RANDOM);
    const dg_gemm_args_t init = DG_GEMM_ARGS_INIT;
    p.args = init;
    p.args.a = p.a.view, p.args.b = p.b.view, p.args.c = p.output.c, p.args.d = p.output.d;
    return p;
}

static void problem_verify(const problem_t *p) {
    guard_seal();
    expect_ok(dg_gemm(NULL, &p->args, NULL));
    for (int64_t i = 0; i < M; i++) {
        for (int64_t j = 0; j < N; j++) {
            output_judge(JUDGE_BOUND, &p->output, 0, i, j,
                ref_dot(p->a.value + i * K, p->b.value + j * K, K));
        }
    }
    guard_check();
    guard_release();
}

/* Overwrites element [i, k] of an operand stored with k contiguous and no gaps. */
static void put(operand_t *operand, int64_t i, int64_t k, uint32_t bits, double value) {
    code_store(operand->view.data.dtype, operand->view.data.data, i * operand->k + k, bits);
    operand->value[i * operand->k + k] = value;
}

static void test_nan_in_one_row(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 5, 36};
    for (int r = 0; r < 3; r++) {
        for (int64_t k = 0; k < K; k += 149) {
            const operand_spec_t sa = fp8_1x128(), sb = fp8_128x128(), bf16 = bf16_plain();
            label("NaN at a[%lld, %lld], fp8", (long long)rows[r], (long long)k);
            problem_t p = problem_make(&sa, &sb, 100);
            put(&p.a, rows[r], k, r % 2 ? 0x7F : 0xFF, NAN);
            put(&p.b, 149 - rows[r], k, 0x7F, NAN);
            problem_verify(&p);
            label("NaN at a[%lld, %lld], bf16", (long long)rows[r], (long long)k);
            p = problem_make(&bf16, &bf16, 101);
            put(&p.a, rows[r], k, r % 2 ? 0x7FC0 : 0xFF81, NAN);
            problem_verify(&p);
        }
    }
}

/* Infinity times a positive number, infinities of both signs, infinity times zero. */
static void test_infinity(void **state) {
    (void)state;
    const operand_spec_t bf16 = bf16_plain();
    label("infinities in bf16");
    problem_t p = problem_make(&bf16, &bf16, 200);
    for (int64_t j = 0; j < N; j++) {
        put(&p.b, j, 7,
            j % 3 == 0   ? 0
            : j % 3 == 1 ? 0x3F80
                         : 0xBF80,
            j % 3 == 0   ? 0.0
            : j % 3 == 1 ? 1.0
                         : -1.0);
        put(&p.b, j, 270, 0x4000, 2.0);
    }
    put(&p.a, 3, 7, 0x7F80, INFINITY);
    put(&p.a, 20, 270, 0xFF80, -INFINITY);
    put(&p.a, 36, 7, 0x7F80, INFINITY);
    put(&p.a, 36, 270, 0xFF80, -INFINITY);
    problem_verify(&p);
}

/* A row of zeros times a NaN is NaN, and only in that column. */
static void test_zero_times_nan(void **state) {
    (void)state;
    const operand_spec_t sa = fp8_1x128(), sb = fp8_128x128();
    label("zero rows against NaN");
    problem_t p = problem_make(&sa, &sb, 300);
    for (int64_t i = 0; i < M; i++) {
        for (int64_t k = 0; k < K; k++) put(&p.a, i, k, 0, 0.0);
    }
    put(&p.b, 77, 299, 0x7F, NAN);
    problem_verify(&p);
}

/* A factor that is NaN, in each of the three types, on each side. */
static void test_nan_factor(void **state) {
    (void)state;
    static const dg_dtype_t types[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};
    for (int type = 0; type < 3; type++) {
        for (int side = 0; side < 2; side++) {
            operand_spec_t sa = fp8_1x128(), sb = fp8_128x128();
            sa.scale = sb.scale = types[type];
            label("NaN factor, %s, side %d", dg_dtype_string(types[type]), side);
            problem_t p = problem_make(&sa, &sb, 400);
            operand_t *operand = side ? &p.b : &p.a;
            const int64_t row = side ? 1 : 9; /* of factors: rows 128.. of b, row 9 of a */
            const int64_t block = 1;
            uint8_t *scale = operand->view.scale.data;
            if (types[type] == DG_DTYPE_F32) memset(scale + (row * 3 + block) * 4, 0xFF, 4);
            if (types[type] == DG_DTYPE_E8M0) scale[row * 3 + block] = 255;
            if (types[type] == DG_DTYPE_I32) scale[row * 4 + block] = 255;
            const int64_t gran = side ? 128 : 1;
            for (int64_t i = row * gran; i < (row + 1) * gran && i < operand->mn; i++) {
                for (int64_t k = 128; k < 256; k++) operand->value[i * K + k] = NAN;
            }
            problem_verify(&p);
        }
    }
}

/* An addend that is not finite changes its own element alone. */
static void test_addend(void **state) {
    (void)state;
    const operand_spec_t sa = fp8_1x128(), sb = fp8_128x128();
    label("c not finite");
    problem_t p = problem_make(&sa, &sb, 500);
    const int64_t stride = p.output.c.stride[0];
    ((float *)p.output.c.data)[3 * stride + 9] = NAN;
    ((float *)p.output.c.data)[36 * stride + 149] = -INFINITY;
    p.output.c_value[3 * N + 9] = NAN;
    p.output.c_value[36 * N + 149] = -INFINITY;
    problem_verify(&p);
}

/* Results beyond the range of FP32 and BF16 are infinite, not the largest number. */
static void test_overflow(void **state) {
    (void)state;
    const uint16_t a[2] = {0x7F7F, 0x3F80}; /* the largest, 1 */
    const uint16_t b[2][2] = {{0x4000, 0}, {0x3F80, 0x7B00}};
    uint16_t d[2] = {0, 0};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_BF16, 1, 2);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_BF16, 2, 2);
    args.d = dg_tensor_2d(d, DG_DTYPE_BF16, 1, 2);
    label("overflow");
    expect_ok(dg_gemm(NULL, &args, NULL));
    assert_int_equal(d[0], 0x7F80); /* 2 * the largest: beyond FP32 */
    assert_int_equal(d[1], 0x7F80); /* the largest + half its unit: rounds up beyond BF16 */
}

/* One bad token of one group: that group's rows and columns, no other group's. */
static void test_k_grouped(void **state) {
    (void)state;
    static const int64_t sizes[] = {40, 0, 130, 20};
    for (int output_kind = DG_K_OUTPUT_STACK; output_kind <= DG_K_OUTPUT_SUM; output_kind += 2) {
        rng_t rng = rng_make(600);
        const grouping_t grouping =
            grouping_make(&rng, DG_GROUPS_PSUM, DG_DTYPE_I32, sizes, 4, 9, 16);
        const k_spec_t spec = {.form = DG_K_TOKENS_FIRST, .dtype = DG_DTYPE_BF16};
        k_matrix_t a = k_operand_make(&rng, &spec, 21, &grouping);
        const k_matrix_t b = k_operand_make(&rng, &spec, 33, &grouping);
        const int64_t bad = grouping.begin[2] + 129;
        ((uint16_t *)a.view.data.data)[bad * 21 + 4] = 0x7FC0;
        a.value[4 * a.tokens + bad] = NAN;
        const bool sum = output_kind == DG_K_OUTPUT_SUM;
        const output_t output =
            output_make(&rng, DG_DTYPE_F32, sum ? 0 : 4, 21, 33, 0, C_NONE, VALUES_RANDOM);
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        args.a = a.view, args.b = b.view, args.d = output.d, args.groups = grouping.view;
        args.output = (dg_k_output_t)output_kind;
        label("k_grouped with NaN in group 2, output %d", output_kind);
        guard_seal();
        expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
        for (int64_t g = 0; g < (sum ? 1 : 4); g++) {
            const int64_t begin = sum ? 0 : grouping.begin[g];
            for (int64_t i = 0; i < 21; i++) {
                for (int64_t j = 0; j < 33; j++) {
                    output_judge(JUDGE_BOUND, &output, g, i, j,
                        ref_dot(a.value + i * a.tokens + begin, b.value + j * b.tokens + begin,
                            sum ? grouping.rows : sizes[g]));
                }
            }
        }
        guard_check();
        guard_release();
    }
}

/* A matrix of NaN belongs to group 1 alone, in every form. */
static void test_m_grouped(void **state) {
    (void)state;
    static const int64_t sizes[] = {5, 40, 0, 12};
    for (int form = DG_GROUPS_SIZES; form <= DG_GROUPS_INDEX; form++) {
        rng_t rng = rng_make(700);
        const grouping_t grouping =
            grouping_make(&rng, (dg_group_form_t)form, DG_DTYPE_I32, sizes, 4, 3, 16);
        const operand_spec_t sa = fp8_1x128(), sb = fp8_128x128();
        const operand_t a = operand_make(&rng, &sa, 0, grouping.rows, 140);
        const operand_t b = operand_make(&rng, &sb, 4, 19, 140);
        memset((uint8_t *)b.view.data.data + 19 * 140, 0x7F, 19 * 140);
        float *d = guard_scratch((size_t)grouping.rows * 19 * sizeof *d);
        dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
        args.a = a.view, args.b = b.view, args.groups = grouping.view;
        args.d = dg_tensor_2d(d, DG_DTYPE_F32, grouping.rows, 19);
        label("m_grouped with a matrix of NaN, form %d", form);
        expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
        for (int64_t i = 0; i < grouping.rows * 19; i++) {
            assert_int_equal(isnan(d[i]) != 0, grouping.of_row[i / 19] == 1);
        }
        guard_release();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nan_in_one_row, guard_teardown),
        cmocka_unit_test_teardown(test_infinity, guard_teardown),
        cmocka_unit_test_teardown(test_zero_times_nan, guard_teardown),
        cmocka_unit_test_teardown(test_nan_factor, guard_teardown),
        cmocka_unit_test_teardown(test_addend, guard_teardown),
        cmocka_unit_test_teardown(test_overflow, guard_teardown),
        cmocka_unit_test_teardown(test_k_grouped, guard_teardown),
        cmocka_unit_test_teardown(test_m_grouped, guard_teardown),
    };
    return cmocka_run_group_tests_name("not finite", tests, NULL, NULL);
}
