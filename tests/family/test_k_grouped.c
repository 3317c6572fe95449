/* SPDX-License-Identifier: MIT
 *
 * dg_k_grouped_gemm, the weight gradient, against the FP64 reference: operand forms, factor types,
 * group forms, outputs, accumulation and gather, over groups whose sizes are multiples of nothing.
 * Guards against a block of factors that spans two groups, an empty group left unwritten, and gap
 * tokens that enter a sum.
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
    {3, {32, 45, 27}},
    {4, {0, 129, 0, 31}},
    {5, {128, 0, 0, 257, 0}},
    {6, {256, 0, 130, 128, 0, 128}},
    {8, {1, 2, 3, 33, 127, 5, 640, 7}},
    {3, {0, 0, 0}},
};

static k_spec_t tokens_first(void) {
    return (k_spec_t){
        .form = DG_K_TOKENS_FIRST, .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_k = 128};
}

static void run_lists(const k_grouped_case_t *test, int64_t m, int64_t n, uint64_t seed) {
    for (size_t i = 0; i < COUNT(lists); i++) {
        k_grouped_verify(NULL, test, lists[i].sizes, lists[i].count, m, n, seed + i);
    }
}

/* Every form of a with every form of b. */
static void test_operand_forms(void **state) {
    (void)state;
    for (int a = 0; a < 5; a++) {
        for (int b = 0; b < 5; b++) {
            k_grouped_case_t test = {.a = tokens_first(),
                .b = tokens_first(),
                .d = DG_DTYPE_F32,
                .c = (addend_t)((a + b) % 3)};
            test.a.form = (dg_k_form_t)(1 + a % 3);
            test.b.form = (dg_k_form_t)(1 + b % 3);
            test.a.turned = a > 2;
            test.b.turned = b > 2;
            test.a.pad = a;
            test.b.pad = 2 * b;
            run_lists(&test, 38, 51, 100 * (uint64_t)(1 + a * 5 + b));
        }
    }
}

/* Every factor type, granularity and order, different on the two sides. */
static void test_scale_kinds(void **state) {
    (void)state;
    static const dg_dtype_t types[] = {DG_DTYPE_NONE, DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};
    const int kinds = 4 * 2 * 3;
    for (int kind = 0; kind < kinds; kind++) {
        k_grouped_case_t test = {.d = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32};
        for (int side = 0; side < 2; side++) {
            const int x = side ? (kind * 7 + 5) % kinds : kind;
            k_spec_t spec = tokens_first();
            spec.form = (dg_k_form_t)(1 + (kind + side) % 3);
            spec.scale = types[x % 4];
            spec.gran_k = x / 4 % 2 ? 32 : 128;
            spec.order = (scale_order_t)(x / 8);
            *(side ? &test.b : &test.a) = spec;
        }
        run_lists(&test, 34, 35, 5000 + 100 * (uint64_t)kind);
    }
}

/* STACK, LIST and SUM, each with both output types and each way of c. */
static void test_outputs(void **state) {
    (void)state;
    for (int output = DG_K_OUTPUT_STACK; output <= DG_K_OUTPUT_SUM; output++) {
        for (int c = C_NONE; c <= C_ALIAS; c++) {
            for (int wide = 0; wide < 2; wide++) {
                const k_grouped_case_t test = {.a = tokens_first(),
                    .b = tokens_first(),
                    .d = wide ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                    .c = (addend_t)c,
                    .output = (dg_k_output_t)output,
                    .d_pad = wide * 7};
                run_lists(&test, 40, 29, 10000 + 100 * (uint64_t)(output * 6 + c * 2 + wide));
            }
        }
    }
}

/* SIZES, OFFSETS and PSUM with tokens past the groups, I32 and I64. */
static void test_group_forms(void **state) {
    (void)state;
    for (int form = DG_GROUPS_SIZES; form <= DG_GROUPS_PSUM; form++) {
        for (int variant = 0; variant < 6; variant++) {
            k_grouped_case_t test = {.a = tokens_first(),
                .b = tokens_first(),
                .d = DG_DTYPE_F32,
                .form = (dg_group_form_t)form,
                .tail = variant % 2 * 50,
                .alignment = variant % 3 == 0 ? 128 : 1 << variant,
                .value_type = variant % 2 ? DG_DTYPE_I64 : DG_DTYPE_I32,
                .c = variant == 5 ? C_ALIAS : C_NONE};
            if (variant / 2 == 1) test.a.form = DG_K_TOKENS_LAST;
            if (variant / 2 == 2) test.b.scale = DG_DTYPE_I32;
            run_lists(&test, 33, 34, 20000 + 100 * (uint64_t)(form * 6 + variant));
        }
    }
}

/* Results of more rows and columns than any tile has. */
static void test_many_tiles(void **state) {
    (void)state;
    static const int64_t sizes[] = {70, 0, 33};
    for (int form = DG_K_TOKENS_FIRST; form <= DG_K_FLAT; form++) {
        k_grouped_case_t test = {.a = tokens_first(),
            .b = tokens_first(),
            .d = DG_DTYPE_F32,
            .output = (dg_k_output_t)(form - 1),
            .c = C_ALIAS};
        test.a.form = (dg_k_form_t)form;
        k_grouped_verify(NULL, &test, sizes, 3, 530, 1050, 25000 + (uint64_t)form);
        k_grouped_verify(NULL, &test, sizes, 3, 1050, 260, 25010 + (uint64_t)form);
    }
}

static void test_host_sizes(void **state) {
    (void)state;
    for (int host = 1; host <= 2; host++) {
        const k_grouped_case_t test = {.a = tokens_first(),
            .b = tokens_first(),
            .d = DG_DTYPE_F32,
            .host_sizes = host,
            .tail = host};
        run_lists(&test, 5, 6, 30000 + 100 * (uint64_t)host);
    }
}

static void test_gather(void **state) {
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        k_grouped_case_t test = {.a = tokens_first(),
            .b = tokens_first(),
            .d = DG_DTYPE_F32,
            .form = kind % 2 ? DG_GROUPS_PSUM : DG_GROUPS_SIZES,
            .tail = kind};
        test.a.gather = kind % 3 != 1;
        test.b.gather = kind % 3 != 0;
        if (kind >= 3) {
            test.a.dtype = test.b.dtype = DG_DTYPE_BF16;
            test.a.scale = test.b.scale = DG_DTYPE_NONE;
        }
        run_lists(&test, 31, 41, 40000 + 100 * (uint64_t)kind);
    }
}

static void test_bf16(void **state) {
    (void)state;
    for (int kind = 0; kind < 9; kind++) {
        k_grouped_case_t test = {.a = tokens_first(),
            .b = tokens_first(),
            .d = kind % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
            .output = (dg_k_output_t)(kind % 3)};
        test.a.dtype = test.b.dtype = DG_DTYPE_BF16;
        test.a.scale = test.b.scale = DG_DTYPE_NONE;
        test.a.form = (dg_k_form_t)(1 + kind % 3);
        test.b.form = (dg_k_form_t)(1 + kind / 3);
        run_lists(&test, 33, 64, 50000 + 100 * (uint64_t)kind);
    }
}

/* FP4 with nibbles along tokens (TOKENS_LAST, FLAT, odd group sizes) and along rows. */
static void test_fp4(void **state) {
    (void)state;
    for (int kind = 0; kind < 9; kind++) {
        k_grouped_case_t test = {
            .a = tokens_first(), .b = tokens_first(), .d = DG_DTYPE_F32, .c = (addend_t)(kind % 3)};
        test.a.form = (dg_k_form_t)(1 + kind % 3);
        test.b.form = (dg_k_form_t)(1 + kind / 3);
        test.a.dtype = DG_DTYPE_E2M1X2;
        test.a.gran_k = 32;
        if (kind % 2) test.b.dtype = DG_DTYPE_E2M1X2;
        test.a.scale = kind % 2 ? DG_DTYPE_I32 : DG_DTYPE_E8M0;
        run_lists(&test, 34, 22, 60000 + 100 * (uint64_t)kind);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_operand_forms, guard_teardown),
        cmocka_unit_test_teardown(test_scale_kinds, guard_teardown),
        cmocka_unit_test_teardown(test_outputs, guard_teardown),
        cmocka_unit_test_teardown(test_group_forms, guard_teardown),
        cmocka_unit_test_teardown(test_many_tiles, guard_teardown),
        cmocka_unit_test_teardown(test_host_sizes, guard_teardown),
        cmocka_unit_test_teardown(test_gather, guard_teardown),
        cmocka_unit_test_teardown(test_bf16, guard_teardown),
        cmocka_unit_test_teardown(test_fp4, guard_teardown),
    };
    return cmocka_run_group_tests_name("k_grouped", tests, NULL, NULL);
}
