/* SPDX-License-Identifier: MIT
 *
 * How the product in front of a hyper-connection's norm is launched: how k is split where the
 * caller left it open, where slices go, and that no split depends on m where results must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan/hc_prenorm.h"

static float b[1], d[1], sums[1], memory[1];
static const uint16_t a[1];

static dg_hc_prenorm_problem_t problem_of(int64_t m, int64_t n, int64_t k) {
    return (dg_hc_prenorm_problem_t){.m = m,
        .n = n,
        .k = k,
        .splits = 1,
        .a = a,
        .b = b,
        .d = d,
        .sqr_sum = sums,
        .a_stride = k,
        .b_stride = k,
        .d_stride = n + 3};
}

static dg_hc_prenorm_plan_t plan_of(const dg_hc_prenorm_problem_t *problem, bool batch_invariant) {
    const dg_plan_options_t options = {.batch_invariant = batch_invariant};
    dg_hc_prenorm_plan_t plan;
    dg_plan_hc_prenorm(problem, dg_find_machine("H200"), &options, &plan);
    return plan;
}

/* Blocks of all splits are those of k, in order, the first ones longer by one. */
static void k_is_dealt_out(void **state) {
    (void)state;
    for (int64_t k = 0; k < 700; k += 23) {
        for (int64_t splits = 1; splits < 14; splits++) {
            const int64_t blocks = (k + 63) / 64;
            int64_t end = 0;
            for (int64_t s = 0; s < splits; s++) {
                const dg_hc_split_t split = dg_hc_split(k, splits, s);
                const int64_t own = (split.end - split.begin + 63) / 64;
                assert_int_equal(own, blocks / splits + (s < blocks % splits));
                if (own > 0) assert_int_equal(split.begin, end);
                if (own > 0) end = split.end;
            }
            assert_int_equal(end, k);
        }
    }
}

static void few_rows_split_k(void **state) {
    (void)state;
    dg_hc_prenorm_problem_t problem = problem_of(13, 24, 7168);
    dg_hc_prenorm_plan_t plan = plan_of(&problem, false);
    assert_int_equal(plan.splits, 28); /* 112 blocks, four each */
    assert_int_equal(plan.product.grid, 28);
    assert_int_equal(plan.product.specialisation.values[0], 24);
    assert_true(plan.workspace >= 28 * 13 * 25 * sizeof(float));
    problem = problem_of(4096, 24, 28672);
    plan = plan_of(&problem, false);
    assert_int_equal(plan.splits, 6); /* 64 tiles, 396 CTAs at a time */
    problem = problem_of(132 * 3 * 64, 24, 28672);
    plan = plan_of(&problem, false);
    assert_int_equal(plan.splits, 1);
    assert_int_equal(plan.workspace, 0);
    assert_ptr_equal(plan.product_args.d, d);
}

static void slices_go_to_workspace(void **state) {
    (void)state;
    const dg_hc_prenorm_problem_t problem = problem_of(100, 7, 2048);
    dg_hc_prenorm_plan_t plan = plan_of(&problem, false);
    dg_place_hc_slices(&plan, memory);
    const dg_any_tf32_hc_prenorm_gemm_args_t *product = &plan.product_args;
    assert_ptr_equal(product->d, memory);
    assert_true(product->sqr_sum >= product->d + plan.splits * 100 * 7);
    assert_true((char *)(product->sqr_sum + plan.splits * 100) == (char *)memory + plan.workspace);
    assert_int_equal(product->d_stride, 7);
    assert_int_equal(product->d_split_stride, 700);
    assert_ptr_equal(plan.sum_args.d_slices, memory);
    assert_ptr_equal(plan.sum_args.d, d);
    assert_int_equal(plan.sum_args.d_stride, 10);
}

static void slices_of_the_caller_stay(void **state) {
    (void)state;
    dg_hc_prenorm_problem_t problem = problem_of(13, 40, 7168);
    problem.sliced = true, problem.splits = 5, problem.d_split_stride = 999;
    dg_hc_prenorm_plan_t plan = plan_of(&problem, false);
    dg_place_hc_slices(&plan, NULL);
    assert_int_equal(plan.splits, 5);
    assert_int_equal(plan.workspace, 0);
    assert_int_equal(plan.product.grid, 10); /* two tiles of 32 columns */
    assert_int_equal(plan.product_args.d_split_stride, 999);
}

static void invariant_splits_go_by_k(void **state) {
    (void)state;
    for (int64_t m = 1; m < 100000; m = m * 3 + 1) {
        const dg_hc_prenorm_problem_t problem = problem_of(m, 24, 7168);
        assert_int_equal(plan_of(&problem, true).splits, 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k_is_dealt_out),
        cmocka_unit_test(few_rows_split_k),
        cmocka_unit_test(slices_go_to_workspace),
        cmocka_unit_test(slices_of_the_caller_stay),
        cmocka_unit_test(invariant_splits_go_by_k),
    };
    return cmocka_run_group_tests_name("hc_prenorm_plan", tests, NULL, NULL);
}
