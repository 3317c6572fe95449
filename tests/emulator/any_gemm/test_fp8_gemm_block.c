/* SPDX-License-Identifier: MIT
 *
 * kernels/sm90/fp8_gemm_block.cu and fp8_gemm_swap.cu on the emulator with its race checker, through the public API:
 * planner, run file, group lists and kernel together. Cases at random from what the kernel takes:
 * any extents, outputs of both types at any pitch, with and without c, factors in every order or
 * none, rows in groups of every form. Judged as the CPU backend is; what no group has holds NaN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "backend.h"
#include "guard.h"
#include "kernels/args/gemm.h"
#include "plan/sm90_fp8_gemm_block.h"
#include "product.h"

#define SMALL                                                                                      \
    "sm90_fp8_gemm_block BLOCK_M=64 BLOCK_N=64 STAGES=3 MATH_GROUPS=1 SHARE=0 STORE_N=32 "         \
    "STORE_ROWS=16 STORE_BUFFERS=2 UNROLL_K=1 OUT_F32=%d ADD_C=%d SCHEDULE=%d"
#define PAIR_A                                                                                     \
    "sm90_fp8_gemm_block BLOCK_M=128 BLOCK_N=64 STAGES=2 MATH_GROUPS=2 SHARE=2 STORE_N=64 "        \
    "STORE_ROWS=64 STORE_BUFFERS=1 UNROLL_K=1 OUT_F32=0 ADD_C=0 SCHEDULE=1"
#define PAIR_B                                                                                     \
    "sm90_fp8_gemm_block BLOCK_M=128 BLOCK_N=32 STAGES=2 MATH_GROUPS=1 SHARE=1 STORE_N=32 "        \
    "STORE_ROWS=64 STORE_BUFFERS=1 UNROLL_K=1 OUT_F32=1 ADD_C=1 SCHEDULE=1"
#define WIDE                                                                                       \
    "sm90_fp8_gemm_block BLOCK_M=128 BLOCK_N=192 STAGES=2 MATH_GROUPS=1 SHARE=0 STORE_N=32 "       \
    "STORE_ROWS=16 STORE_BUFFERS=1 UNROLL_K=1 OUT_F32=1 ADD_C=0 SCHEDULE=0"

#define SWAP "sm90_fp8_gemm_swap STAGES=3 "
static const char *const swapped[] = {SWAP
    "BLOCK_M=16 BLOCK_N=64 MATH_GROUPS=1 SPLITS=1 PER_SM=1 RING_SUMS=1 SCHEDULE=0",
    SWAP "BLOCK_M=48 BLOCK_N=128 MATH_GROUPS=2 SPLITS=3 PER_SM=2 RING_SUMS=1 SCHEDULE=0",
    SWAP "BLOCK_M=16 BLOCK_N=64 MATH_GROUPS=1 SPLITS=4 PER_SM=1 RING_SUMS=0 SCHEDULE=0"};
static const char *const swapped_rows[] = {SWAP
    "BLOCK_M=16 BLOCK_N=192 MATH_GROUPS=3 SPLITS=1 PER_SM=1 RING_SUMS=0 SCHEDULE=1",
    SWAP "BLOCK_M=32 BLOCK_N=64 MATH_GROUPS=1 SPLITS=2 PER_SM=2 RING_SUMS=1 SCHEDULE=1"};

static dg_specialisation_t chosen;

static void choose(rng_t *rng, const char *text) {
    if (dg_parse_specialisation(text, &chosen) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
    emulated_machine.only = &chosen;
    emulated_machine.sms = 5;
    emulated_machine.schedule = (uint32_t)rng_next(rng);
}

static void choose_small(rng_t *rng, dg_dtype_t d, addend_t c, int schedule) {
    char text[300];
    snprintf(text, sizeof text, SMALL, d == DG_DTYPE_F32, c != C_NONE, schedule);
    choose(rng, text);
}

/* A side that TMA can read: rows of k begin on 16 bytes. */
static operand_spec_t draw_operand(rng_t *rng, int32_t gran_mn, values_t values) {
    return (operand_spec_t){.dtype = DG_DTYPE_E4M3,
        .pad = 16 * rng_range(rng, 0, 1),
        .aligned = true,
        .scale = rng_range(rng, 0, 4) ? DG_DTYPE_F32 : DG_DTYPE_NONE,
        .order = (scale_order_t)rng_range(rng, 0, 2),
        .gran_mn = gran_mn,
        .gran_k = 128,
        .values = values};
}

static void draw_kind(rng_t *rng, dg_dtype_t *d, addend_t *c, judge_t *judge, values_t *values) {
    *d = rng_range(rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
    *c = (addend_t)rng_range(rng, 0, 2);
    *values = rng_range(rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    *judge = *values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
}

/* Rows of d whose pitch suits TMA, or pieces of 4 bytes, or neither. Padded rows begin anywhere. */
static int64_t draw_pad(rng_t *rng, int64_t n) {
    static const int64_t unit[3] = {8, 2, 1};
    const int64_t u = unit[rng_range(rng, 0, 2)];
    return (u - n % u) % u + u * rng_range(rng, 0, 1);
}

static int64_t draw_extent(rng_t *rng, int64_t most) {
    const int64_t extent = rng_range(rng, 1, most);
    return rng_range(rng, 0, 1) ? extent : (extent + 7) / 8 * 8;
}

/* Rows and columns of d by the kernel that exchanges operands: any type, with and without c. */
static void swapped_case(uint64_t seed, const char *text) {
    rng_t rng = rng_make(seed * 6151);
    gemm_case_t test = {0};
    values_t values;
    draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
    const int64_t m = draw_extent(&rng, 60), n = draw_extent(&rng, 300),
                  k = rng_range(&rng, 1, 1200);
    test.a = draw_operand(&rng, 1, values);
    test.b = draw_operand(&rng, 128, values);
    test.d_pad = draw_pad(&rng, n);
    choose(&rng, text);
    gemm_verify(NULL, &test, m, n, k, seed);
}

static void exchanged(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 75; seed++) swapped_case(seed, swapped[seed % 3]);
}

static void dense_case(uint64_t seed, const char *text) {
    rng_t rng = rng_make(seed * 7919);
    gemm_case_t test = {0};
    values_t values;
    draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
    const int64_t m = draw_extent(&rng, 200), n = draw_extent(&rng, 200),
                  k = rng_range(&rng, 1, 600);
    test.a = draw_operand(&rng, 1, values);
    test.b = draw_operand(&rng, 128, values);
    test.d_pad = draw_pad(&rng, n);
    if (text != NULL) {
        test.d = DG_DTYPE_F32;
        test.c = C_NONE;
        choose(&rng, text);
    } else {
        choose_small(&rng, test.d, test.c, 0);
    }
    gemm_verify(NULL, &test, m, n, k, seed);
}

static void dense(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) dense_case(seed, NULL);
    for (uint64_t seed = 1; seed <= 12; seed++) dense_case(seed, WIDE);
}

/* Sizes of groups: some empty, most ragged. */
static int64_t draw_sizes(rng_t *rng, int64_t most, int64_t *sizes) {
    const int64_t groups = rng_range(rng, 1, 6);
    for (int64_t g = 0; g < groups; g++)
        sizes[g] = rng_range(rng, 0, 3) == 0 ? 0 : rng_range(rng, 1, most);
    return groups;
}

static void m_grouped_case(uint64_t seed, const char *text, dg_dtype_t d, addend_t c) {
    rng_t rng = rng_make(seed * 104729);
    m_grouped_case_t test = {0};
    values_t values;
    int64_t sizes[8];
    draw_kind(&rng, &test.d, &test.c, &test.judge, &values);
    const int64_t groups = draw_sizes(&rng, rng_range(&rng, 1, 150), sizes);
    const int64_t n = draw_extent(&rng, 150), k = rng_range(&rng, 1, 400);
    test.a = draw_operand(&rng, 1, values);
    test.b = draw_operand(&rng, 128, values);
    test.d_pad = draw_pad(&rng, n);
    test.form = (dg_group_form_t)rng_range(&rng, 1, 6);
    test.value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
    test.tail = rng_range(&rng, 0, 40);
    test.alignment = (int32_t[]){32, 1, 48, 128}[rng_range(&rng, 0, 3)];
    test.zero_padding = rng_range(&rng, 0, 1) ? DG_ON : DG_OFF;
    if (text != NULL) {
        if (d != DG_DTYPE_NONE) {
            test.d = d;
            test.c = c;
        }
        choose(&rng, text);
    } else {
        choose_small(&rng, test.d, test.c, 1);
    }
    m_grouped_verify(NULL, &test, sizes, groups, n, k, seed);
}

static void m_grouped(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 48; seed++) m_grouped_case(seed, NULL, 0, 0);
    for (uint64_t seed = 1; seed <= 12; seed++) m_grouped_case(seed, PAIR_A, DG_DTYPE_BF16, C_NONE);
    for (uint64_t seed = 1; seed <= 12; seed++)
        m_grouped_case(seed, PAIR_B, DG_DTYPE_F32, (addend_t)(1 + seed % 2));
}

static void exchanged_m_grouped(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        m_grouped_case(seed, swapped_rows[seed % 2], DG_DTYPE_NONE, C_NONE);
}

/* Every line of the catalogue, once: more tiles than CTAs, ragged edges, once round the ring and a bit.
 * The tests above draw many cases of small tiles. */
static void every_line_of_the_catalogue(void **state) {
    (void)state;
    for (int32_t i = 0; dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_BLOCK, i); i++) {
        const dg_specialisation_t *entry = dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_BLOCK, i);
        const dg_sm90_fp8_gemm_block_fields_t f = dg_sm90_fp8_gemm_block_fields(entry);
        rng_t rng = rng_make((uint64_t)i + 1);
        const operand_spec_t a = draw_operand(&rng, 1, VALUES_INTEGER);
        const operand_spec_t b = draw_operand(&rng, 128, VALUES_INTEGER);
        const dg_dtype_t d = f.out_f32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        const addend_t c = f.add_c ? C_SEPARATE : C_NONE;
        const int64_t m = 2 * f.block_m + 9, n = 2 * f.block_n + 24, k = f.stages * 128 + 144;
        emulated_machine = (emulated_machine_t){.sms = 2, .schedule = (uint32_t)i, .only = entry};
        if (f.schedule == DG_SCHEDULE_DENSE)
            gemm_verify(NULL, &(gemm_case_t){.a = a, .b = b, .d = d, .c = c, .judge = JUDGE_EXACT},
                m, n, k, (uint64_t)i);
        else
            m_grouped_verify(NULL,
                &(m_grouped_case_t){
                    .a = a, .b = b, .d = d, .c = c, .judge = JUDGE_EXACT, .form = DG_GROUPS_SIZES},
                (const int64_t[]){m / 2, 0, m - m / 2}, 3, n, k, (uint64_t)i);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(dense, guard_teardown),
        cmocka_unit_test_teardown(m_grouped, guard_teardown),
        cmocka_unit_test_teardown(exchanged, guard_teardown),
        cmocka_unit_test_teardown(exchanged_m_grouped, guard_teardown),
        cmocka_unit_test_teardown(every_line_of_the_catalogue, guard_teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
