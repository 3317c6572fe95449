/* SPDX-License-Identifier: MIT
 *
 * kernels/sm90/fp8_gemm_vector.cu on the emulator with its race checker, through the public API:
 * planner, run file, group lists, maps of FLAT groups and kernel together. Cases at random from what
 * the kernel takes: groups of any size and form, operands in every form, outputs of every kind.
 * Judged as the CPU backend is: exact cases bit for bit, others within the bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "backend.h"
#include "guard.h"
#include "kernels/args/fp8_gemm_vector.h"
#include "plan/sm90_fp8_gemm_vector.h"
#include "product.h"

#define TILE_128                                                                                   \
    "sm90_fp8_gemm_vector BLOCK_M=128 BLOCK_N=128 STAGES=5 MATH_GROUPS=2 SHARE=0 A_MN=%d B_MN=%d " \
    "SCHEDULE=%d OUT_F32=%d UNROLL_K=1"
#define TILE_256                                                                                   \
    "sm90_fp8_gemm_vector BLOCK_M=256 BLOCK_N=128 STAGES=4 MATH_GROUPS=2 SHARE=2 A_MN=%d B_MN=%d " \
    "SCHEDULE=%d OUT_F32=%d UNROLL_K=1"

static dg_specialisation_t chosen;

/* a_mn, b_mn: the operands are contiguous in m or n */
static void choose(rng_t *rng, bool a_mn, bool b_mn, int schedule, dg_dtype_t d) {
    char text[300];
    snprintf(text, sizeof text, a_mn == b_mn ? TILE_128 : TILE_256, a_mn, b_mn, schedule,
        d == DG_DTYPE_F32);
    if (dg_parse_specialisation(text, &chosen) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
    emulated_machine.only = &chosen;
    emulated_machine.sms = 4;
    emulated_machine.schedule = (uint32_t)rng_next(rng);
}

static void draw_kind(rng_t *rng, dg_dtype_t *d, addend_t *c, judge_t *judge, values_t *values) {
    *d = rng_range(rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
    *c = (addend_t)rng_range(rng, 0, 2);
    *values = rng_range(rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    *judge = *values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
}

/* What makes lines of `length` bytes begin on multiples of 16. */
static int64_t line_pad(rng_t *rng, int64_t length) {
    return (16 - length % 16) % 16 + 16 * rng_range(rng, 0, 1);
}

static k_spec_t draw_side(
    rng_t *rng, dg_k_form_t form, int64_t mn, int64_t tokens, values_t values) {
    return (k_spec_t){.form = form,
        .dtype = DG_DTYPE_E4M3,
        .pad = form == DG_K_FLAT ? 0 : line_pad(rng, form == DG_K_TOKENS_FIRST ? mn : tokens),
        .scale = rng_range(rng, 0, 4) ? DG_DTYPE_F32 : DG_DTYPE_NONE,
        .order = (scale_order_t)rng_range(rng, 0, 2),
        .gran_k = 128,
        .values = values};
}

/* Sizes of groups: some empty, most ragged; unit: what divides them. */
static int64_t draw_sizes(rng_t *rng, int64_t unit, int64_t *sizes, int64_t *sum) {
    static const int64_t usual[] = {0, 0, 1, 127, 128, 129, 256};
    const int64_t groups = rng_range(rng, 1, 5);
    *sum = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t i = rng_range(rng, 0, 12);
        const int64_t size = i < 7 ? usual[i] : rng_range(rng, 1, 300);
        sizes[g] = (size + unit - 1) / unit * unit;
        *sum += sizes[g];
    }
    return groups;
}

static void grouped_case(uint64_t seed, dg_k_form_t form_a, dg_k_form_t form_b) {
    rng_t rng = rng_make(seed * 7907 + (uint64_t)form_a * 31 + (uint64_t)form_b);
    k_grouped_case_t test = {0};
    values_t values;
    int64_t sizes[8], tokens;
    const bool first = form_a == DG_K_TOKENS_FIRST && form_b == DG_K_TOKENS_FIRST;
    const int64_t m = rng_range(&rng, 1, 150), n = rng_range(&rng, 1, 150);
    const int64_t groups = draw_sizes(&rng, first ? 1 : 16, sizes, &tokens);
    if (tokens == 0) tokens = sizes[0] = 16;
    draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
    test.a = draw_side(&rng, form_a, m, tokens, values);
    test.b = draw_side(&rng, form_b, n, tokens, values);
    test.d_pad = rng_range(&rng, 0, 1) ? (16 - n % 16) % 16 : rng_range(&rng, 0, 3);
    test.output = (dg_k_output_t)rng_range(&rng, 0, 2);
    test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
    test.form = DG_GROUPS_SIZES;
    test.host_sizes = first ? rng_range(&rng, 0, 2) : rng_range(&rng, 1, 2);
    if (first && test.host_sizes == 0) test.form = (dg_group_form_t)rng_range(&rng, 1, 3);
    choose(&rng, form_a == DG_K_TOKENS_FIRST, form_b == DG_K_TOKENS_FIRST, 2, test.d);
    k_grouped_verify(NULL, &test, sizes, groups, m, n, seed);
}

static void tokens_first(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        grouped_case(seed, DG_K_TOKENS_FIRST, DG_K_TOKENS_FIRST);
}

static void tokens_last_and_flat(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 32; seed++)
        grouped_case(
            seed, seed & 1 ? DG_K_TOKENS_LAST : DG_K_FLAT, seed & 2 ? DG_K_TOKENS_LAST : DG_K_FLAT);
}

static void mixed_forms(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        const dg_k_form_t other = seed & 1 ? DG_K_TOKENS_LAST : DG_K_FLAT;
        grouped_case(
            seed, seed & 2 ? DG_K_TOKENS_FIRST : other, seed & 2 ? other : DG_K_TOKENS_FIRST);
    }
}

/* PSUM begins groups at multiples of 16, whatever their sizes: ends lie anywhere, and between them NaN. */
static void tokens_last_in_aligned_groups(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, 0, 130, 16, 127};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        rng_t rng = rng_make(seed);
        k_grouped_case_t test = {.a = draw_side(&rng, DG_K_TOKENS_LAST, 40, 303, VALUES_INTEGER),
            .b = draw_side(&rng, DG_K_TOKENS_LAST, 50, 303, VALUES_INTEGER),
            .d = DG_DTYPE_F32,
            .c = (addend_t)(seed % 3),
            .judge = JUDGE_EXACT,
            .form = DG_GROUPS_PSUM,
            .alignment = 16};
        choose(&rng, false, false, 2, test.d);
        k_grouped_verify(NULL, &test, sizes, 5, 40, 50, seed);
    }
}

static operand_spec_t draw_operand(rng_t *rng, bool mn_fastest, values_t values) {
    return (operand_spec_t){.dtype = DG_DTYPE_E4M3,
        .mn_major = mn_fastest,
        .pad = 16 * rng_range(rng, 0, 1),
        .aligned = true,
        .scale = rng_range(rng, 0, 4) ? DG_DTYPE_F32 : DG_DTYPE_NONE,
        .order = (scale_order_t)rng_range(rng, 0, 2),
        .gran_mn = 1,
        .gran_k = 128,
        .values = values};
}

static void dense(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        rng_t rng = rng_make(seed * 7919);
        gemm_case_t test = {0};
        values_t values;
        draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
        const bool turned = seed & 1;
        const int64_t m = rng_range(&rng, 1, 200), n = rng_range(&rng, 1, 200);
        test.a = draw_operand(&rng, turned, values);
        test.b = draw_operand(&rng, turned, values);
        test.d_pad = rng_range(&rng, 0, 1) ? (16 - n % 16) % 16 : rng_range(&rng, 0, 3);
        choose(&rng, turned, turned, 0, test.d);
        gemm_verify(NULL, &test, m, n, rng_range(&rng, 1, 600), seed);
    }
}

/* Every line of the catalogue, once: more tiles than CTAs, ragged edges, once round the ring and a
 * bit. */
static void every_line_of_the_catalogue(void **state) {
    (void)state;
    for (int32_t i = 0; dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_VECTOR, i); i++) {
        const dg_specialisation_t *entry = dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_VECTOR, i);
        const dg_sm90_fp8_gemm_vector_fields_t f = dg_sm90_fp8_gemm_vector_fields(entry);
        rng_t rng = rng_make((uint64_t)i + 1);
        const dg_dtype_t d = f.out_f32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        const int64_t m = f.block_m + 9, n = f.block_n + 24, k = f.stages * 128 + 144;
        emulated_machine = (emulated_machine_t){.sms = 2, .schedule = (uint32_t)i, .only = entry};
        if (f.schedule == DG_SCHEDULE_DENSE) {
            gemm_case_t test = {.d = d, .c = C_SEPARATE, .judge = JUDGE_EXACT};
            test.a = draw_operand(&rng, f.a_mn != 0, VALUES_INTEGER);
            test.b = draw_operand(&rng, f.b_mn != 0, VALUES_INTEGER);
            gemm_verify(NULL, &test, m, n, k, (uint64_t)i);
            continue;
        }
        if (f.schedule == DG_SCHEDULE_M_GROUPED) {
            const int64_t rows[] = {m, 0, 5};
            m_grouped_case_t test = {
                .d = d, .c = C_SEPARATE, .judge = JUDGE_EXACT, .form = DG_GROUPS_OFFSETS};
            test.a = draw_operand(&rng, false, VALUES_INTEGER);
            test.b = draw_operand(&rng, f.b_mn != 0, VALUES_INTEGER);
            m_grouped_verify(NULL, &test, rows, 3, n, k, (uint64_t)i);
            continue;
        }
        const int64_t sizes[] = {0, k, 16}, tokens = k + 16;
        k_grouped_case_t test = {.d = d, .c = C_SEPARATE, .judge = JUDGE_EXACT, .host_sizes = 1};
        test.a = draw_side(&rng, f.a_mn ? DG_K_TOKENS_FIRST : DG_K_FLAT, m, tokens, VALUES_INTEGER);
        test.b = draw_side(
            &rng, f.b_mn ? DG_K_TOKENS_FIRST : DG_K_TOKENS_LAST, n, tokens, VALUES_INTEGER);
        k_grouped_verify(NULL, &test, sizes, 3, m, n, (uint64_t)i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(tokens_first, guard_teardown),
        cmocka_unit_test_teardown(tokens_last_and_flat, guard_teardown),
        cmocka_unit_test_teardown(mixed_forms, guard_teardown),
        cmocka_unit_test_teardown(tokens_last_in_aligned_groups, guard_teardown),
        cmocka_unit_test_teardown(dense, guard_teardown),
        cmocka_unit_test_teardown(every_line_of_the_catalogue, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
