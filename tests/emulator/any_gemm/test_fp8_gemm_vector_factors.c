/* SPDX-License-Identifier: MIT
 *
 * kernels/sm90/fp8_gemm_vector.cu on the emulator with its race checker, through the public API: factors
 * in every form that it takes (F32, bytes and words of exponents, for a row or for 128 of them, in any
 * order), dense, for groups of rows and for groups of tokens. Judged as the CPU backend is: exact cases bit
 * for bit, others within the bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "backend.h"
#include "guard.h"
#include "product.h"

#define TILE                                                                                       \
    "sm90_fp8_gemm_vector BLOCK_M=128 BLOCK_N=128 STAGES=5 MATH_GROUPS=2 SHARE=0 A_MN=%d B_MN=%d " \
    "SCHEDULE=%d OUT_F32=%d UNROLL_K=1"
#define PAIR                                                                                       \
    "sm90_fp8_gemm_vector BLOCK_M=256 BLOCK_N=128 STAGES=4 MATH_GROUPS=2 SHARE=2 A_MN=%d B_MN=%d " \
    "SCHEDULE=%d OUT_F32=%d UNROLL_K=1"

enum { DENSE, ROWS_IN_GROUPS, TOKENS_IN_GROUPS }; /* SCHEDULE */

static dg_specialisation_t chosen;

static void choose(rng_t *rng, const char *tile, bool a_mn, bool b_mn, int schedule, dg_dtype_t d) {
    char text[300];
    snprintf(text, sizeof text, tile, a_mn, b_mn, schedule, d == DG_DTYPE_F32);
    if (dg_parse_specialisation(text, &chosen) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
    emulated_machine =
        (emulated_machine_t){.only = &chosen, .sms = 4, .schedule = (uint32_t)rng_next(rng)};
}

static dg_dtype_t draw_scale(rng_t *rng) {
    static const dg_dtype_t forms[] = {
        DG_DTYPE_F32, DG_DTYPE_I32, DG_DTYPE_I32, DG_DTYPE_E8M0, DG_DTYPE_NONE};
    return forms[rng_range(rng, 0, 4)];
}

static operand_spec_t draw_operand(rng_t *rng, bool mn_fastest, values_t values) {
    return (operand_spec_t){.dtype = DG_DTYPE_E4M3,
        .mn_major = mn_fastest,
        .pad = 16 * rng_range(rng, 0, 1),
        .aligned = true,
        .scale = draw_scale(rng),
        .order = (scale_order_t)rng_range(rng, 0, 2),
        .gran_mn = rng_range(rng, 0, 1) ? 128 : 1,
        .gran_k = 128,
        .values = values};
}

static void draw_kind(rng_t *rng, dg_dtype_t *d, addend_t *c, judge_t *judge, values_t *values) {
    *d = rng_range(rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
    *c = (addend_t)rng_range(rng, 0, 2);
    *values = rng_range(rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    *judge = *values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
}

/* All four layouts; more than four blocks of k, so that words of factors are turned. */
static void dense(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rng_t rng = rng_make(seed * 6007);
        gemm_case_t test = {0};
        values_t values;
        const bool a_mn = seed & 1, b_mn = seed & 2;
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        test.a = draw_operand(&rng, a_mn, values);
        test.b = draw_operand(&rng, b_mn, values);
        test.d_pad = rng_range(&rng, 0, 3);
        choose(&rng, a_mn == b_mn ? TILE : PAIR, a_mn, b_mn, DENSE, test.d);
        gemm_verify(NULL, &test, rng_range(&rng, 1, 200), rng_range(&rng, 1, 200),
            rng_range(&rng, 1, 1200), seed);
    }
}

static int64_t draw_sizes(rng_t *rng, int64_t *sizes) {
    static const int64_t usual[] = {0, 0, 1, 64, 127, 128, 129, 8};
    const int64_t groups = rng_range(rng, 1, 4);
    for (int64_t g = 0; g < groups; g++) {
        const int64_t i = rng_range(rng, 0, 12);
        sizes[g] = i < 8 ? usual[i] : rng_range(rng, 1, 150);
    }
    return groups;
}

/* Every form of groups; groups that begin at any row, so that factors of a row are now copied, now not. */
static void rows_in_groups(void **state) {
    (void)state;
    static const dg_group_form_t forms[] = {DG_GROUPS_SIZES, DG_GROUPS_OFFSETS, DG_GROUPS_PSUM,
        DG_GROUPS_INDEX, DG_GROUPS_BLOCK_INDEX, DG_GROUPS_MASKED};
    for (uint64_t seed = 1; seed <= 36; seed++) {
        rng_t rng = rng_make(seed * 6011);
        m_grouped_case_t test = {0};
        values_t values;
        int64_t sizes[4];
        const bool b_mn = seed & 1;
        const int64_t groups = draw_sizes(&rng, sizes);
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        test.a = draw_operand(&rng, false, values);
        test.b = draw_operand(&rng, b_mn, values);
        test.form = forms[seed % 6];
        test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
        test.tail = rng_range(&rng, 0, 1) ? rng_range(&rng, 0, 40) : 0;
        test.zero_padding = rng_range(&rng, 0, 1) ? DG_ON : DG_OFF;
        test.d_pad = rng_range(&rng, 0, 3);
        if (seed % 4 == 0) test.d = DG_DTYPE_BF16;
        choose(&rng, seed % 4 == 0 ? PAIR : TILE, false, b_mn, ROWS_IN_GROUPS, test.d);
        m_grouped_verify(
            NULL, &test, sizes, groups, rng_range(&rng, 1, 200), rng_range(&rng, 1, 900), seed);
    }
}

/* Words of exponents begin anew with each group. */
static void tokens_in_groups(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rng_t rng = rng_make(seed * 6029);
        k_grouped_case_t test = {0};
        values_t values;
        const int64_t sizes[] = {rng_range(&rng, 0, 700), 0, rng_range(&rng, 1, 700)};
        const int64_t m = rng_range(&rng, 1, 150), n = rng_range(&rng, 1, 150);
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        test.a = (k_spec_t){.form = DG_K_TOKENS_FIRST,
            .dtype = DG_DTYPE_E4M3,
            .pad = (16 - m % 16) % 16,
            .scale = draw_scale(&rng),
            .order = (scale_order_t)rng_range(&rng, 0, 2),
            .gran_k = 128,
            .values = values};
        test.b = test.a;
        test.b.pad = (16 - n % 16) % 16;
        test.b.scale = draw_scale(&rng);
        test.host_sizes = rng_range(&rng, 0, 1);
        choose(&rng, TILE, true, true, TOKENS_IN_GROUPS, test.d);
        k_grouped_verify(NULL, &test, sizes, 3, m, n, seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(dense, guard_teardown),
        cmocka_unit_test_teardown(rows_in_groups, guard_teardown),
        cmocka_unit_test_teardown(tokens_in_groups, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
