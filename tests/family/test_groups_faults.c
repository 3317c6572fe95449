/* SPDX-License-Identifier: MIT
 *
 * Inputs on which grouped products of other libraries failed, scaled down in m and n: races on
 * one-block groups, empty experts left as garbage, sentinels used as indices, writes past n, hangs
 * on unaligned groups, refusals of sizes that are multiples of nothing. Each case names its kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct k_fault_t {
    const char *kind;
    int64_t m, n;
    int64_t count;
    int64_t sizes[8];
} k_fault_t;

static const k_fault_t k_faults[] = {
    {"descriptor rewritten while in use", 48, 64, 8, {128, 128, 256, 256, 128, 256, 256, 256}},
    {"one-block group among longer ones", 64, 64, 4, {256, 128, 128, 256}},
    {"empty experts", 24, 40, 6, {256, 0, 512, 128, 0, 128}},
    {"empty experts first and last", 24, 40, 6, {0, 0, 256, 128, 0, 0}},
    {"all experts empty", 24, 40, 5, {0, 0, 0, 0, 0}},
    {"one empty expert", 24, 40, 1, {0}},
    {"one tile a group and runs of empty groups", 16, 16, 8, {128, 0, 256, 0, 0, 384, 128, 128}},
    {"group pairs of different length, odd tile count", 88, 88, 2, {384, 256}},
    {"groups of one, of one less and one more than a block", 33, 40, 3, {1, 127, 129}},
    {"last partial block", 20, 24, 4, {64, 96, 576, 1000}},
    {"token counts that are multiples of nothing", 20, 24, 3, {7984, 31, 129}},
    {"few tokens for many", 192, 192, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
};

/* Each list through FP8 and BF16, each operand form, overwriting and accumulating. */
static void test_weight_gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(k_faults); i++) {
        for (int kind = 0; kind < 12; kind++) {
            k_grouped_case_t test = {.d = kind % 4 == 3 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
                .c = (addend_t)(kind % 3),
                .output = (dg_k_output_t)(kind / 4)};
            test.a = (k_spec_t){.form = (dg_k_form_t)(1 + kind / 4),
                .dtype = DG_DTYPE_E4M3,
                .scale = DG_DTYPE_F32,
                .gran_k = 128};
            test.b = test.a;
            if (kind % 2) {
                test.a.dtype = test.b.dtype = DG_DTYPE_BF16;
                test.a.scale = test.b.scale = DG_DTYPE_NONE;
            }
            if (k_faults[i].sizes[0] > 1000 && kind > 3) continue;
            k_grouped_verify(NULL, &test, k_faults[i].sizes, k_faults[i].count, k_faults[i].m,
                k_faults[i].n, 100 * i + (uint64_t)kind);
        }
    }
}

/* A channel that is zero throughout, and a group of exactly one block: 20 calls, the same bytes. */
static void test_zero_channel_repeats(void **state) {
    (void)state;
    enum { M = 64, N = 64, REPEATS = 20 };
    static const int64_t sizes[] = {256, 128, 128, 256};
    rng_t rng = rng_make(2000);
    const grouping_t grouping = grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, sizes, 4, 0, 1);
    const k_spec_t spec = {
        .form = DG_K_TOKENS_FIRST, .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_k = 128};
    const k_matrix_t a = k_operand_make(&rng, &spec, M, &grouping);
    const k_matrix_t b = k_operand_make(&rng, &spec, N, &grouping);
    for (int64_t t = 256; t < 384; t++) {
        ((uint8_t *)a.view.data.data)[t * M + 5] = 0;
        a.value[5 * a.tokens + t] = 0.0;
    }
    const output_t output = output_make(&rng, DG_DTYPE_F32, 4, M, N, 0, C_NONE, VALUES_RANDOM);
    float *first = guard_scratch(4 * M * N * sizeof *first);
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = a.view, args.b = b.view, args.d = output.d, args.groups = grouping.view;
    label("k_grouped with a zero channel, seed=2000");
    guard_seal();
    for (int i = 0; i < REPEATS; i++) {
        expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
        if (i == 0) memcpy(first, output.d.data, 4 * M * N * sizeof *first);
        assert_memory_equal(first, output.d.data, 4 * M * N * sizeof *first);
    }
    for (int64_t g = 0; g < 4; g++) {
        for (int64_t i = 0; i < M; i++) {
            for (int64_t j = 0; j < N; j++) {
                output_judge(JUDGE_BOUND, &output, g, i, j,
                    ref_dot(a.value + i * a.tokens + grouping.begin[g],
                        b.value + j * b.tokens + grouping.begin[g], sizes[g]));
            }
        }
    }
    guard_check();
}

/* 128 groups of the pattern in which a scheduler skipped groups. */
static void test_many_small_groups(void **state) {
    (void)state;
    static const int64_t pattern[] = {128, 0, 256, 0, 0, 384, 128, 128};
    int64_t sizes[384];
    for (size_t g = 0; g < COUNT(sizes); g++) {
        sizes[g] = g < 128 ? pattern[g % 8] : (int64_t)(g * 7 % 4);
    }
    k_grouped_case_t test = {.d = DG_DTYPE_F32};
    test.a = (k_spec_t){
        .form = DG_K_TOKENS_FIRST, .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_k = 128};
    test.b = test.a;
    k_grouped_verify(NULL, &test, sizes, 128, 16, 16, 3000);
    k_grouped_verify(NULL, &test, sizes + 120, 264, 9, 7, 3001);
    const m_grouped_case_t forward = {
        .a = fp8_1x128(), .b = fp8_128x128(), .d = DG_DTYPE_BF16, .form = DG_GROUPS_SIZES};
    m_grouped_verify(NULL, &forward, sizes + 120, 264, 17, 40, 3002);
}

/* The emulator compiles this file with fewer. */
#ifndef MANY_TOKENS
#    define MANY_TOKENS 147456
#endif

static void test_very_long_k(void **state) {
    (void)state;
    static const int64_t sizes[] = {MANY_TOKENS};
    static const int64_t uneven[] = {MANY_TOKENS / 9 * 16 + 128 - 129, 0, 129};
    k_grouped_case_t test = {.d = DG_DTYPE_F32};
    test.a = (k_spec_t){
        .form = DG_K_TOKENS_FIRST, .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_k = 128};
    test.b = test.a;
    k_grouped_verify(NULL, &test, sizes, 1, 4, 8, 4000);
    k_grouped_verify(NULL, &test, uneven, 3, 3, 2, 4001);
    test.b.form = DG_K_TOKENS_LAST;
    test.a.form = DG_K_FLAT;
    k_grouped_verify(NULL, &test, uneven, 3, 3, 2, 4002);
}

typedef struct m_fault_t {
    const char *kind;
    dg_group_form_t form;
    int64_t n, k, tail, count;
    int64_t sizes[8];
} m_fault_t;

static const m_fault_t m_faults[] = {
    {"write past the mask", DG_GROUPS_MASKED, 40, 96, 0, 3, {5, 0, 64}},
    {"validation of padding past the mask", DG_GROUPS_MASKED, 40, 256, 5, 2, {3, 0}},
    {"write past n", DG_GROUPS_SIZES, 33, 64, 0, 2, {2, 2}},
    {"write past n into the next row", DG_GROUPS_OFFSETS, 129, 64, 3, 2, {1, 3}},
    {"rows past the last group", DG_GROUPS_OFFSETS, 24, 40, 300, 3, {10, 20, 30}},
    {"rows past the last group", DG_GROUPS_PSUM, 24, 40, 300, 3, {10, 20, 30}},
    {"one group in a larger buffer", DG_GROUPS_SIZES, 16, 512, 256, 1, {256}},
    {"one group in a larger buffer", DG_GROUPS_MASKED, 16, 512, 256, 1, {256}},
    {"all groups empty", DG_GROUPS_SIZES, 24, 40, 0, 4, {0, 0, 0, 0}},
    {"all groups empty, buffer not", DG_GROUPS_MASKED, 24, 40, 9, 4, {0, 0, 0, 0}},
    {"empty at start, middle and end", DG_GROUPS_PSUM, 24, 40, 1, 5, {0, 3, 0, 4, 0}},
    {"empty at start, middle and end", DG_GROUPS_INDEX, 24, 40, 1, 5, {0, 3, 0, 4, 0}},
    {"one token, many columns", DG_GROUPS_SIZES, 2457, 1536, 0, 1, {1}},
    {"groups of 1, 127 and 129", DG_GROUPS_BLOCK_INDEX, 40, 70, 0, 3, {1, 127, 129}},
    {"all rows of no group", DG_GROUPS_INDEX, 24, 40, 200, 2, {0, 0}},
    {"10000 trailing rows of no group", DG_GROUPS_INDEX, 3, 10, 10000, 2, {1, 2}},
    {"shards of 192", DG_GROUPS_SIZES, 192, 192, 0, 2, {5, 130}},
};

static void test_forward(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(m_faults); i++) {
        const m_fault_t *fault = &m_faults[i];
        for (int kind = 0; kind < 4; kind++) {
            const m_grouped_case_t test = {.a = kind % 2 ? bf16_plain() : fp8_1x128(),
                .b = kind % 2 ? bf16_plain() : fp8_128x128(),
                .d = kind / 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .form = fault->form,
                .tail = fault->tail};
            m_grouped_verify(NULL, &test, fault->sizes, fault->count, fault->n, fault->k,
                5000 + 10 * i + (uint64_t)kind);
        }
    }
}

/* Whole blocks and first rows of -1: the index as written, rows 0..r-1 in order. */
static void test_sentinel_rows(void **state) {
    (void)state;
    enum { ROWS = 300, N = 20, K = 72 };
    for (int kind = 0; kind < 4; kind++) {
        rng_t rng = rng_make(6000 + (uint64_t)kind);
        int64_t index[ROWS];
        for (int i = 0; i < ROWS; i++) {
            const int none = kind == 0 ? i == 0 : kind == 1 ? i / 128 == 1 : kind == 2 || i >= 290;
            index[i] = none ? -1 : i / 100;
        }
        const operand_spec_t sa = fp8_1x128(), sb = fp8_128x128();
        operand_t a = operand_make(&rng, &sa, 0, ROWS, K);
        const operand_t b = operand_make(&rng, &sb, 3, N, K);
        const output_t output = output_make(&rng, DG_DTYPE_BF16, 0, ROWS, N, 1, C_NONE, 0);
        for (int i = 0; i < ROWS; i++) {
            if (index[i] < 0) memset((uint8_t *)a.view.data.data + i * K, 0x7F, K);
        }
        dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
        args.a = a.view, args.b = b.view, args.d = output.d;
        args.groups.form = DG_GROUPS_INDEX;
        args.groups.values = integers_make(DG_DTYPE_I32, index, ROWS, 1, "index");
        label("m_grouped index with sentinels, kind %d", kind);
        guard_seal();
        expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
        for (int64_t i = 0; i < ROWS; i++) {
            for (int64_t j = 0; j < N; j++) {
                if (index[i] < 0) {
                    output_zero(&output, 0, i, j);
                } else {
                    output_judge(JUDGE_BOUND, &output, 0, i, j,
                        ref_dot(a.value + i * K, b.value + (index[i] * N + j) * K, K));
                }
            }
        }
        guard_check();
        guard_release();
    }
}

/* Rows of constants 1, 2, 4, 8: the result of a row is k times its constant, nobody else's. */
static void test_constant_rows(void **state) {
    (void)state;
    enum { ROWS = 4, N = 33, K = 64 };
    static const uint8_t constant[ROWS] = {0x38, 0x40, 0x48, 0x50};
    static const int64_t sizes[] = {3, 1};
    uint8_t a[ROWS * K], b[2 * N * K];
    for (int i = 0; i < ROWS; i++) memset(a + i * K, constant[i], K);
    memset(b, 0x38, sizeof b);
    float *d = guard_take(ROWS * N * sizeof *d, 0, "d");
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, ROWS, K);
    args.b.data = dg_tensor_3d(b, DG_DTYPE_E4M3, 2, N, K);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, ROWS, N);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I64, 2);
    label("rows of constants");
    guard_seal();
    expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
    for (int i = 0; i < ROWS * N; i++) assert_true(d[i] == (float)(K << (i / N)));
    guard_allow(d, ROWS * N * sizeof *d);
    guard_check();
}

/* Factor rows and group counts that are no multiple of four, MN-major aligned; k of one block, in
 * which both layouts coincide, and of many. */
static void test_scale_rows_of_any_number(void **state) {
    (void)state;
    static const int64_t rows[] = {1, 2, 3, 5, 127, 129};
    static const int64_t groups[] = {1, 2, 3, 5, 7};
    static const int64_t ks[] = {128, 1024, 4096};
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t j = 0; j < COUNT(groups); j++) {
            int64_t sizes[7];
            for (int64_t g = 0; g < groups[j]; g++)
                sizes[g] = rows[i] < 100 ? rows[i] : rows[i] / 8;
            m_grouped_case_t test = {.a = fp8_1x128(),
                .b = fp8_1x128(),
                .d = DG_DTYPE_F32,
                .form = j % 2 ? DG_GROUPS_MASKED : DG_GROUPS_SIZES};
            test.a.order = test.b.order = (scale_order_t)((i + j) % 3);
            if (i % 2) test.a.scale = DG_DTYPE_I32;
            m_grouped_verify(
                NULL, &test, sizes, groups[j], rows[i], ks[(i + j) % 3], 7000 + 10 * i + j);
        }
    }
}

/* Rows 16, 32, 48 and 64 bytes longer than n, at addresses 16 bytes past an aligned one. */
static void test_row_strides(void **state) {
    (void)state;
    static const int64_t sizes[] = {100, 29};
    for (int64_t pad = 16; pad <= 64; pad += 16) {
        k_grouped_case_t test = {.d = DG_DTYPE_F32, .d_pad = pad / 4};
        test.a = (k_spec_t){.form = DG_K_TOKENS_FIRST,
            .dtype = DG_DTYPE_E4M3,
            .pad = pad,
            .scale = DG_DTYPE_F32,
            .gran_k = 128};
        test.b = test.a;
        k_grouped_verify(NULL, &test, sizes, 2, 36, 44, 8000 + (uint64_t)pad);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_weight_gradients, guard_teardown),
        cmocka_unit_test_teardown(test_zero_channel_repeats, guard_teardown),
        cmocka_unit_test_teardown(test_many_small_groups, guard_teardown),
        cmocka_unit_test_teardown(test_very_long_k, guard_teardown),
        cmocka_unit_test_teardown(test_forward, guard_teardown),
        cmocka_unit_test_teardown(test_sentinel_rows, guard_teardown),
        cmocka_unit_test_teardown(test_constant_rows, guard_teardown),
        cmocka_unit_test_teardown(test_scale_rows_of_any_number, guard_teardown),
        cmocka_unit_test_teardown(test_row_strides, guard_teardown),
    };
    return cmocka_run_group_tests_name("faults of groups", tests, NULL, NULL);
}
