/* SPDX-License-Identifier: MIT
 *
 * dg_m_grouped_gemm against the FP64 reference in each of its six group forms. Guards against rows
 * multiplied with a neighbour's matrix, rows written that belong to no group, and sentinels used as
 * an index. Operands outside the groups are random too, so that a wrong row shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct group_list_t {
    int64_t count;
    int64_t sizes[8];
} group_list_t;

static const group_list_t lists[] = {
    {1, {1}},
    {1, {129}},
    {3, {5, 0, 17}},
    {4, {0, 33, 64, 0}},
    {5, {128, 1, 0, 0, 31}},
    {8, {2, 3, 5, 7, 11, 13, 17, 19}},
    {3, {0, 0, 0}},
};

static const dg_group_form_t all_forms[] = {DG_GROUPS_SIZES, DG_GROUPS_OFFSETS, DG_GROUPS_PSUM,
    DG_GROUPS_INDEX, DG_GROUPS_BLOCK_INDEX, DG_GROUPS_MASKED};

static void run_lists(m_grouped_case_t test, int64_t n, int64_t k, uint64_t seed) {
    for (size_t i = 0; i < COUNT(lists); i++) {
        m_grouped_verify(NULL, &test, lists[i].sizes, lists[i].count, n, k, seed + i);
    }
}

/* Each form with FP8 operands, both types of values, with and without rows past the groups. */
static void test_fp8_forms(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        for (int variant = 0; variant < 4; variant++) {
            const m_grouped_case_t test = {.a = fp8_1x128(),
                .b = fp8_128x128(),
                .d = variant % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .form = all_forms[f],
                .value_type = variant % 2 ? DG_DTYPE_I64 : DG_DTYPE_I32,
                .tail = variant / 2 * 41,
                .d_pad = variant * 3};
            run_lists(test, 70, 200, 100 * (uint64_t)(f * 4 + (size_t)variant + 1));
        }
    }
}

static void test_bf16_forms(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        for (int variant = 0; variant < 2; variant++) {
            m_grouped_case_t test = {.a = bf16_plain(),
                .b = bf16_plain(),
                .d = variant ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .form = all_forms[f],
                .tail = 9};
            test.b.mn_major = variant;
            test.b.pad = variant * 2;
            run_lists(test, 45, 97, 10000 + 100 * (uint64_t)(f * 2 + (size_t)variant));
        }
    }
}

/* c in memory of its own, and in place, in each form. Rows of no group do not get c. */
static void test_c(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        for (int c = C_SEPARATE; c <= C_ALIAS; c++) {
            const m_grouped_case_t test = {.a = fp8_1x128(),
                .b = fp8_128x128(),
                .d = c == C_ALIAS ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .form = all_forms[f],
                .tail = 6,
                .c = (addend_t)c,
                .d_pad = 4};
            run_lists(test, 40, 130, 20000 + 100 * (uint64_t)(f * 2 + (size_t)c));
        }
    }
}

/* The gather that fused kernels do: rows in any order, repeated, and -1 for a row of zeros. */
static void test_gather(void **state) {
    (void)state;
    for (size_t f = 0; f + 1 < COUNT(all_forms); f++) {
        for (int variant = 0; variant < 2; variant++) {
            const m_grouped_case_t test = {.a = variant ? bf16_plain() : fp8_1x128(),
                .b = variant ? bf16_plain() : fp8_128x128(),
                .d = DG_DTYPE_BF16,
                .form = all_forms[f],
                .tail = 11,
                .gather = true,
                .c = variant ? C_SEPARATE : C_NONE};
            run_lists(test, 33, 190, 30000 + 100 * (uint64_t)(f * 2 + (size_t)variant));
        }
    }
}

/* The data gradient: b stored [G, k, n], for each element type; a with n contiguous too. */
static void test_nn_and_layouts(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        for (int variant = 0; variant < 3; variant++) {
            m_grouped_case_t test = {
                .a = fp8_1x128(), .b = fp8_128x128(), .d = DG_DTYPE_BF16, .form = all_forms[f]};
            test.b.mn_major = true;
            test.b.pad = test.a.pad = 2 * variant;
            test.a.mn_major = variant == 1;
            test.a.order = (scale_order_t)variant;
            test.b.order = (scale_order_t)((variant + 1) % 3);
            test.a.scale = variant == 2 ? DG_DTYPE_I32 : DG_DTYPE_F32;
            test.b.scale = variant == 1 ? DG_DTYPE_E8M0 : DG_DTYPE_F32;
            run_lists(test, 138, 260, 40000 + 100 * (uint64_t)(f * 3 + (size_t)variant));
        }
    }
}

static void test_fp4(void **state) {
    (void)state;
    const operand_spec_t fp4 = {
        .dtype = DG_DTYPE_E2M1X2, .scale = DG_DTYPE_I32, .gran_mn = 1, .gran_k = 32};
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        for (int pair = 1; pair < 4; pair++) {
            const m_grouped_case_t test = {.a = pair % 2 ? fp4 : fp8_1x128(),
                .b = pair / 2 ? fp4 : fp8_128x128(),
                .d = DG_DTYPE_F32,
                .form = all_forms[f],
                .tail = 3};
            run_lists(test, 36, 162, 50000 + 100 * (uint64_t)(f * 3 + (size_t)pair));
        }
    }
}

/* Factors of a that cover several rows: their blocks start at row 0 of a, not at a group's begin, so
 * groups begin and end inside them. With and without gather. */
static void test_factors_of_several_rows(void **state) {
    (void)state;
    static const int32_t grans[] = {7, 128, 2};
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        for (size_t i = 0; i < 2 * COUNT(grans); i++) {
            m_grouped_case_t test = {.a = fp8_1x128(),
                .b = fp8_128x128(),
                .d = DG_DTYPE_F32,
                .form = all_forms[f],
                .tail = 5};
            test.a.gran_mn = grans[i / 2];
            test.b.gran_mn = grans[(i + 1) % 3];
            test.a.order = (scale_order_t)(i % 3);
            test.gather = i % 2 && all_forms[f] != DG_GROUPS_MASKED;
            run_lists(test, 40, 140, 55000 + 100 * (uint64_t)(f * 6 + i));
        }
    }
}

/* PSUM with and without the zeros after each group, several alignments; BLOCK_INDEX alike. */
static void test_alignment_and_zero_padding(void **state) {
    (void)state;
    static const int32_t alignments[] = {1, 8, 128, 256};
    for (size_t i = 0; i < COUNT(alignments); i++) {
        for (int padding = DG_DEFAULT; padding <= DG_OFF; padding++) {
            m_grouped_case_t test = {.a = fp8_1x128(),
                .b = fp8_128x128(),
                .d = DG_DTYPE_BF16,
                .form = DG_GROUPS_PSUM,
                .alignment = alignments[i],
                .zero_padding = (dg_switch_t)padding,
                .tail = 77,
                .c = (addend_t)padding};
            run_lists(test, 20, 64, 60000 + 100 * (uint64_t)(i * 3 + (size_t)padding));
            test.form = DG_GROUPS_BLOCK_INDEX;
            test.zero_padding = DG_DEFAULT;
            run_lists(test, 20, 64, 70000 + 100 * (uint64_t)(i * 3 + (size_t)padding));
        }
    }
}

/* Groups of more rows than any tile has, with more columns. */
static void test_many_tiles(void **state) {
    (void)state;
    static const int64_t sizes[] = {300, 0, 7, 523};
    for (size_t f = 0; f < COUNT(all_forms); f++) {
        const m_grouped_case_t test = {.a = fp8_1x128(),
            .b = fp8_128x128(),
            .d = DG_DTYPE_BF16,
            .form = all_forms[f],
            .tail = 40,
            .gather = f == 1};
        m_grouped_verify(NULL, &test, sizes, 4, 590, 70, 90000 + f);
    }
}

/* host_sizes beside or in place of values. */
static void test_host_sizes(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, 0, 4};
    const operand_spec_t spec = bf16_plain();
    for (int beside = 0; beside < 2; beside++) {
        rng_t rng = rng_make(80000);
        const operand_t a = operand_make(&rng, &spec, 0, 9, 10);
        const operand_t b = operand_make(&rng, &spec, 3, 5, 10);
        const output_t output = output_make(&rng, DG_DTYPE_F32, 0, 9, 5, 0, C_NONE, 0);
        dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
        args.a = a.view, args.b = b.view, args.d = output.d;
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.host_sizes = sizes;
        args.groups.host_count = 3;
        if (beside) args.groups.values = integers_make(DG_DTYPE_I64, sizes, 3, 1, "sizes");
        label("m_grouped host_sizes beside=%d", beside);
        guard_seal();
        expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
        for (int64_t i = 0; i < 7; i++) {
            const int64_t g = i < 3 ? 0 : 2;
            for (int64_t j = 0; j < 5; j++) {
                output_judge(JUDGE_BOUND, &output, 0, i, j,
                    ref_dot(a.value + i * 10, b.value + (g * 5 + j) * 10, 10));
            }
        }
        guard_check();
        guard_release();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fp8_forms, guard_teardown),
        cmocka_unit_test_teardown(test_bf16_forms, guard_teardown),
        cmocka_unit_test_teardown(test_c, guard_teardown),
        cmocka_unit_test_teardown(test_gather, guard_teardown),
        cmocka_unit_test_teardown(test_nn_and_layouts, guard_teardown),
        cmocka_unit_test_teardown(test_fp4, guard_teardown),
        cmocka_unit_test_teardown(test_factors_of_several_rows, guard_teardown),
        cmocka_unit_test_teardown(test_alignment_and_zero_padding, guard_teardown),
        cmocka_unit_test_teardown(test_many_tiles, guard_teardown),
        cmocka_unit_test_teardown(test_host_sizes, guard_teardown),
    };
    return cmocka_run_group_tests_name("m_grouped", tests, NULL, NULL);
}
