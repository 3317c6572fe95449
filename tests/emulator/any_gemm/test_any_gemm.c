/* SPDX-License-Identifier: MIT
 *
 * kernels/any/gemm.cu and the lists it walks, on the emulator with its race checker, through the
 * public API: cases drawn at random from everything the API takes, and the corners by name. Results
 * are judged as those of the CPU backend are (tests/family): exact where all sums are, within the
 * same bound elsewhere, and every byte beside them untouched; what no group has holds NaN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "backend.h"
#include "guard.h"
#include "product.h"

static const dg_dtype_t scale_types[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};

static int64_t pick(rng_t *rng, const int64_t *values, int64_t count) {
    return values[rng_range(rng, 0, count - 1)];
}
#define PICK(rng, ...)                                                                             \
    pick((rng), (const int64_t[]){__VA_ARGS__},                                                    \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* A machine of one or two SMs, either tile, any schedule. */
static void draw_machine(rng_t *rng) {
    emulated_machine.block = (int32_t)PICK(rng, 64, 64, 64, 128);
    emulated_machine.sms = (int32_t)rng_range(rng, 1, 2);
    emulated_machine.schedule = (uint32_t)rng_next(rng);
}

/* Both types, values and judgement of a case. */
static void draw_types(rng_t *rng, dg_dtype_t *a, dg_dtype_t *b, values_t *values, judge_t *judge) {
    const int64_t kind = rng_range(rng, 0, 5);
    *a = kind < 2 ? DG_DTYPE_BF16 : kind < 4 ? DG_DTYPE_E4M3 : (dg_dtype_t)rng_range(rng, 1, 2);
    *b = kind < 2 ? DG_DTYPE_BF16 : kind < 4 ? DG_DTYPE_E4M3 : (dg_dtype_t)rng_range(rng, 1, 2);
    *values = rng_range(rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    *judge = *values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
}

static dg_dtype_t draw_scale(rng_t *rng, dg_dtype_t dtype) {
    if (dtype == DG_DTYPE_BF16) return DG_DTYPE_NONE;
    if (dtype == DG_DTYPE_E4M3 && rng_range(rng, 0, 3) == 0) return DG_DTYPE_NONE;
    return scale_types[rng_range(rng, 0, 2)];
}

static operand_spec_t draw_operand(
    rng_t *rng, dg_dtype_t dtype, values_t values, bool only_k_major) {
    operand_spec_t spec = {.dtype = dtype, .values = values};
    spec.mn_major = !(only_k_major && dtype == DG_DTYPE_E2M1X2) && rng_range(rng, 0, 1);
    spec.pad = PICK(rng, 0, 0, 1, 3, 16);
    spec.scale = draw_scale(rng, dtype);
    spec.order = (scale_order_t)rng_range(rng, 0, 2);
    spec.gran_mn = (int32_t)PICK(rng, 1, 1, 128, 5);
    spec.gran_k = (int32_t)PICK(rng, 128, 128, 32);
    return spec;
}

/* Even where E2M1X2 is packed along that axis. */
static int64_t draw_extent(rng_t *rng, int64_t most) {
    return 2 * rng_range(rng, 1, most / 2) - (rng_range(rng, 0, 2) == 0);
}

static int64_t even_for(const operand_spec_t *spec, bool along_mn, int64_t extent) {
    return spec->dtype == DG_DTYPE_E2M1X2 && spec->mn_major == along_mn ? extent + extent % 2
                                                                        : extent;
}

static void dense(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rng_t rng = rng_make(seed * 7919);
        gemm_case_t test = {.d = rng_range(&rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32};
        dg_dtype_t a, b;
        values_t values;
        draw_machine(&rng);
        draw_types(&rng, &a, &b, &values, &test.judge);
        test.a = draw_operand(&rng, a, values, false);
        test.b = draw_operand(&rng, b, values, false);
        test.c = (addend_t)rng_range(&rng, 0, 2);
        test.d_pad = PICK(&rng, 0, 1, 4);
        int64_t m = draw_extent(&rng, 150), n = draw_extent(&rng, 150), k = draw_extent(&rng, 300);
        m = even_for(&test.a, true, m);
        n = even_for(&test.b, true, n);
        k = even_for(&test.a, false, even_for(&test.b, false, k));
        gemm_verify(NULL, &test, m, n, k, seed);
    }
}

/* Sizes of groups: some empty, one large. */
static int64_t draw_sizes(rng_t *rng, int64_t most, int64_t *sizes) {
    const int64_t groups = rng_range(rng, 1, 6);
    for (int64_t g = 0; g < groups; g++) {
        sizes[g] = rng_range(rng, 0, 3) == 0 ? 0 : rng_range(rng, 1, most);
    }
    return groups;
}

static void m_grouped(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rng_t rng = rng_make(seed * 104729);
        m_grouped_case_t test = {.d = rng_range(&rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32};
        dg_dtype_t a, b;
        values_t values;
        int64_t sizes[8];
        draw_machine(&rng);
        draw_types(&rng, &a, &b, &values, &test.judge);
        test.a = draw_operand(&rng, a, values, true);
        test.b = draw_operand(&rng, b, values, false);
        test.c = (addend_t)rng_range(&rng, 0, 2);
        test.d_pad = PICK(&rng, 0, 1, 4);
        test.form = (dg_group_form_t)rng_range(&rng, 1, 6);
        test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
        test.tail = rng_range(&rng, 0, 40);
        test.alignment = (int32_t)PICK(&rng, 32, 1, 48, 100);
        test.zero_padding = rng_range(&rng, 0, 1) ? DG_ON : DG_OFF;
        test.gather = test.form != DG_GROUPS_MASKED && rng_range(&rng, 0, 1);
        const int64_t groups = draw_sizes(&rng, rng_range(&rng, 1, 100), sizes);
        const int64_t n = even_for(&test.b, true, draw_extent(&rng, 100));
        const int64_t k = draw_extent(&rng, 200);
        m_grouped_verify(NULL, &test, sizes, groups, n,
            even_for(&test.a, false, even_for(&test.b, false, k)), seed);
    }
}

static k_spec_t draw_k_operand(
    rng_t *rng, dg_dtype_t dtype, values_t values, dg_group_form_t form) {
    k_spec_t spec = {.dtype = dtype, .values = values};
    spec.form = (dg_k_form_t)rng_range(rng, 1, form == DG_GROUPS_SIZES ? 3 : 2);
    spec.turned = dtype != DG_DTYPE_E2M1X2 && rng_range(rng, 0, 2) == 0;
    spec.pad = spec.form == DG_K_FLAT ? 0 : PICK(rng, 0, 0, 1, 3, 16);
    spec.scale = draw_scale(rng, dtype);
    spec.order = (scale_order_t)rng_range(rng, 0, 2);
    spec.gran_k = (int32_t)PICK(rng, 128, 128, 32);
    spec.gather = spec.form == DG_K_TOKENS_FIRST && rng_range(rng, 0, 2) == 0;
    return spec;
}

static void k_grouped(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rng_t rng = rng_make(seed * 1299709);
        k_grouped_case_t test = {.d = rng_range(&rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32};
        dg_dtype_t a, b;
        values_t values;
        int64_t sizes[8];
        draw_machine(&rng);
        draw_types(&rng, &a, &b, &values, &test.judge);
        test.form = (dg_group_form_t)rng_range(&rng, 1, 3);
        test.a = draw_k_operand(&rng, a, values, test.form);
        test.b = draw_k_operand(&rng, b, values, test.form);
        test.c = (addend_t)rng_range(&rng, 0, 2);
        test.d_pad = PICK(&rng, 0, 1, 4);
        test.output = (dg_k_output_t)rng_range(&rng, 0, 2);
        test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
        const bool flat = test.a.form == DG_K_FLAT || test.b.form == DG_K_FLAT;
        test.tail = flat ? 0 : rng_range(&rng, 0, 40);
        test.alignment = (int32_t)PICK(&rng, 32, 1, 48, 100);
        test.host_sizes = test.form == DG_GROUPS_SIZES ? rng_range(&rng, 0, 2) : 0;
        const int64_t groups = draw_sizes(&rng, rng_range(&rng, 1, 200), sizes);
        const bool fp4 = a == DG_DTYPE_E2M1X2 || b == DG_DTYPE_E2M1X2;
        const int64_t m = draw_extent(&rng, 100), n = draw_extent(&rng, 100);
        k_grouped_verify(
            NULL, &test, sizes, groups, fp4 ? m + m % 2 : m, fp4 ? n + n % 2 : n, seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(dense, guard_teardown),
        cmocka_unit_test_teardown(m_grouped, guard_teardown),
        cmocka_unit_test_teardown(k_grouped, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
