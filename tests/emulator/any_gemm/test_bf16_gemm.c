/* SPDX-License-Identifier: MIT
 *
 * kernels/sm90/bf16_gemm.cu on the emulator with its race checker, through the public API: planner,
 * run file, group lists and kernel together. Cases at random from what the kernel takes: any extents
 * and layouts, outputs of both types at any pitch, with and without c, rows and tokens in groups of
 * every form and size. Judged as the CPU backend is; what no group has holds NaN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "backend.h"
#include "guard.h"
#include "kernels/args/bf16_gemm.h"
#include "plan/sm90_bf16_gemm.h"
#include "product.h"

static dg_specialisation_t chosen;

/* The 64 x 64 tile of a schedule and layout. */
static void choose(rng_t *rng, int schedule, bool a_mn, bool b_mn) {
    char text[300];
    snprintf(text, sizeof text,
        "sm90_bf16_gemm BLOCK_M=64 BLOCK_N=64 STAGES=3 MATH_GROUPS=1 SHARE=0 TURNS=0 A_MN=%d B_MN=%d "
        "SCHEDULE=%d",
        a_mn, b_mn, schedule);
    if (dg_parse_specialisation(text, &chosen) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
    emulated_machine =
        (emulated_machine_t){.sms = 5, .schedule = (uint32_t)rng_next(rng), .only = &chosen};
}

/* A side that TMA can read: its lines begin on 16 bytes. */
static operand_spec_t draw_operand(rng_t *rng, bool mn_major, values_t values) {
    return (operand_spec_t){.dtype = DG_DTYPE_BF16,
        .mn_major = mn_major,
        .pad = 8 * rng_range(rng, 0, 1),
        .aligned = true,
        .values = values};
}

static void draw_kind(rng_t *rng, dg_dtype_t *d, addend_t *c, judge_t *judge, values_t *values) {
    *d = rng_range(rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
    *c = (addend_t)rng_range(rng, 0, 2);
    *values = rng_range(rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    *judge = *values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
}

/* Rows of d that begin on 16 bytes, or anywhere. */
static int64_t draw_pad(rng_t *rng, int64_t n) {
    return rng_range(rng, 0, 1) ? (8 - n % 8) % 8 : rng_range(rng, 0, 3);
}

static int64_t draw_extent(rng_t *rng, int64_t most) {
    const int64_t extent = rng_range(rng, 1, most);
    return rng_range(rng, 0, 1) ? extent : (extent + 7) / 8 * 8;
}

static void dense(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rng_t rng = rng_make(seed * 7919);
        gemm_case_t test = {0};
        values_t values;
        const bool a_mn = seed % 2, b_mn = seed / 2 % 2;
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        /* above 1, so that the layout is what was asked for */
        const int64_t m = draw_extent(&rng, 150) + 1, n = draw_extent(&rng, 150) + 1,
                      k = rng_range(&rng, 2, 400);
        test.a = draw_operand(&rng, a_mn, values);
        test.b = draw_operand(&rng, b_mn, values);
        test.d_pad = draw_pad(&rng, n);
        choose(&rng, DG_SCHEDULE_DENSE, a_mn, b_mn);
        gemm_verify(NULL, &test, m, n, k, seed);
    }
}

/* Sizes of groups: some empty, most ragged. Returns how many there are. */
static int64_t draw_sizes(rng_t *rng, int64_t most, int64_t *sizes, int64_t *sum) {
    const int64_t groups = rng_range(rng, 1, 6);
    *sum = 0;
    for (int64_t g = 0; g < groups; g++) {
        sizes[g] = rng_range(rng, 0, 3) == 0 ? 0 : rng_range(rng, 1, most);
        *sum += sizes[g];
    }
    return groups;
}

static void m_grouped(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rng_t rng = rng_make(seed * 104729);
        m_grouped_case_t test = {0};
        values_t values;
        int64_t sizes[8], sum;
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        const int64_t groups = draw_sizes(&rng, rng_range(&rng, 1, 150), sizes, &sum);
        const int64_t n = draw_extent(&rng, 150) + 1, k = rng_range(&rng, 2, 300);
        test.a = draw_operand(&rng, false, values);
        test.b = draw_operand(&rng, seed % 2, values);
        test.d_pad = draw_pad(&rng, n);
        test.form = (dg_group_form_t)rng_range(&rng, 1, 6);
        test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
        test.tail = rng_range(&rng, 0, 40);
        test.alignment = (int32_t[]){32, 1, 48, 128}[rng_range(&rng, 0, 3)];
        test.zero_padding = rng_range(&rng, 0, 1) ? DG_ON : DG_OFF;
        choose(&rng, DG_SCHEDULE_M_GROUPED, false, seed % 2);
        m_grouped_verify(NULL, &test, sizes, groups, n, k, seed);
    }
}

/* Tokens that lie in either order, and token by token or not. mn_first: what the kernel sees */
static k_spec_t draw_k_operand(rng_t *rng, bool mn_fastest, int64_t mn, values_t values) {
    const bool first = rng_range(rng, 0, 1);
    return (k_spec_t){.form = first ? DG_K_TOKENS_FIRST : DG_K_TOKENS_LAST,
        .dtype = DG_DTYPE_BF16,
        .turned = first != mn_fastest,
        .pad = mn_fastest ? (8 - mn % 8) % 8 : 0,
        .values = values};
}

static void k_grouped(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        rng_t rng = rng_make(seed * 1299709);
        k_grouped_case_t test = {0};
        values_t values;
        int64_t sizes[8], sum;
        const bool a_mn = seed % 4 != 1, b_mn = seed % 4 != 1 && seed % 4 != 2;
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        const int64_t groups = draw_sizes(&rng, rng_range(&rng, 1, 200), sizes, &sum);
        const int64_t m = draw_extent(&rng, 100) + 1, n = draw_extent(&rng, 100) + 1;
        if (sum < 2) continue; /* one token, or none, has no layout */
        test.a = draw_k_operand(&rng, a_mn, m, values);
        test.b = draw_k_operand(&rng, b_mn, n, values);
        test.d_pad = draw_pad(&rng, n);
        test.output = (dg_k_output_t)rng_range(&rng, 0, 2);
        test.form = (dg_group_form_t)rng_range(&rng, 1, a_mn && b_mn ? 3 : 2);
        test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
        test.tail = a_mn && b_mn ? rng_range(&rng, 0, 40) : (8 - sum % 8) % 8;
        test.alignment = (int32_t[]){32, 1, 48, 128}[rng_range(&rng, 0, 3)];
        choose(&rng, DG_SCHEDULE_K_GROUPED, a_mn, b_mn);
        k_grouped_verify(NULL, &test, sizes, groups, m, n, seed);
    }
}

/* Every line of the catalogue, once: more tiles than CTAs, ragged edges, once round the ring and a
 * bit. The tests above draw many cases of a small tile. */
static void every_line_of_the_catalogue(void **state) {
    (void)state;
    for (int32_t i = 0; dg_catalogue_entry(DG_KERNEL_SM90_BF16_GEMM, i); i++) {
        const dg_specialisation_t *entry = dg_catalogue_entry(DG_KERNEL_SM90_BF16_GEMM, i);
        const dg_sm90_bf16_gemm_fields_t f = dg_sm90_bf16_gemm_fields(entry);
        rng_t rng = rng_make((uint64_t)i + 1);
        const operand_spec_t a = draw_operand(&rng, f.a_mn, VALUES_INTEGER);
        const operand_spec_t b = draw_operand(&rng, f.b_mn, VALUES_INTEGER);
        const dg_dtype_t d = i % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        const addend_t c = i / 2 % 2 ? C_SEPARATE : C_NONE;
        const int64_t m = f.block_m + 40, n = f.block_n + 24, k = f.stages * 64 + 72;
        const int64_t thirds[3] = {m / 2, 0, m - m / 2}, tokens[3] = {k - 65, 0, 65};
        emulated_machine = (emulated_machine_t){.sms = 2, .schedule = (uint32_t)i, .only = entry};
        if (f.schedule == DG_SCHEDULE_DENSE)
            gemm_verify(NULL, &(gemm_case_t){.a = a, .b = b, .d = d, .c = c, .judge = JUDGE_EXACT},
                m, n, k, (uint64_t)i);
        else if (f.schedule == DG_SCHEDULE_M_GROUPED)
            m_grouped_verify(NULL,
                &(m_grouped_case_t){
                    .a = a, .b = b, .d = d, .c = c, .judge = JUDGE_EXACT, .form = DG_GROUPS_SIZES},
                thirds, 3, n, k, (uint64_t)i);
        else
            k_grouped_verify(NULL,
                &(k_grouped_case_t){.a = draw_k_operand(&rng, f.a_mn, m, VALUES_INTEGER),
                    .b = draw_k_operand(&rng, f.b_mn, n, VALUES_INTEGER),
                    .d = d,
                    .c = c,
                    .judge = JUDGE_EXACT},
                tokens, 3, m, n, (uint64_t)i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(dense, guard_teardown),
        cmocka_unit_test_teardown(m_grouped, guard_teardown),
        cmocka_unit_test_teardown(k_grouped, guard_teardown),
        cmocka_unit_test_teardown(every_line_of_the_catalogue, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
