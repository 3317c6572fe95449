/* SPDX-License-Identifier: MIT
 *
 * dg_mqa_logits against the FP64 reference: ranges of every kind, both ways to place columns,
 * types, heads and dims around every border. Guards against tokens of others in a row, elements outside a
 * range that are written or forgotten, wrong factors, and rows that depend on their neighbours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "logits.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static logits_case_t fp8(int64_t queries, int64_t heads, int64_t dim, int64_t tokens) {
    return (logits_case_t){.q = DG_DTYPE_E4M3,
        .kv = DG_DTYPE_E4M3,
        .weights = DG_DTYPE_F32,
        .logits = DG_DTYPE_F32,
        .requests = queries,
        .next = 1,
        .heads = heads,
        .dim = dim,
        .tokens = tokens,
        .columns = tokens};
}

static void test_ranges(void **state) {
    (void)state;
    for (int kind = 0; kind < 32; kind++) {
        logits_case_t test = fp8(21, 9, 64, 150);
        test.ranges = (ranges_t)(kind % 4);
        test.dirty = kind / 4 % 2;
        test.compressed = kind / 8 % 2;
        test.logits = kind / 16 ? DG_DTYPE_BF16 : DG_DTYPE_F32;
        test.columns = kind % 3 == 0 ? 40 : kind % 3 == 1 ? 150 : 200;
        test.pad = kind % 5;
        logits_verify(NULL, &test, 100 + (uint64_t)kind);
    }
}

static void test_heads_and_dims(void **state) {
    (void)state;
    static const int64_t heads[] = {0, 1, 5, 6, 7, 8, 16, 32, 64, 65};
    static const int64_t dims[] = {0, 1, 31, 32, 64, 128, 200};
    uint64_t seed = 200;
    for (size_t i = 0; i < COUNT(heads); i++) {
        for (size_t j = 0; j < COUNT(dims); j++) {
            logits_case_t test = fp8(3, heads[i], dims[j], 35);
            test.weights = seed % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32;
            test.pad = (int64_t)(seed % 3);
            logits_verify(NULL, &test, seed++);
        }
    }
}

/* More than one task of tokens, and groups of queries that end anywhere. */
static void test_many_tokens(void **state) {
    (void)state;
    static const int64_t tokens[] = {1, 15, 1023, 1024, 1025, 2500};
    for (size_t i = 0; i < COUNT(tokens); i++) {
        logits_case_t test = fp8(9, 4, 32, tokens[i]);
        test.dirty = i % 2;
        logits_verify(NULL, &test, 300 + i);
        test.compressed = true, test.columns = 1 + tokens[i] / 2;
        logits_verify(NULL, &test, 320 + i);
    }
}

static void test_fp4(void **state) {
    (void)state;
    static const int64_t dims[] = {2, 32, 34, 64, 128};
    for (int kind = 0; kind < 20; kind++) {
        logits_case_t test = fp8(10, 8, dims[kind % 5], 70);
        if (kind / 5 != 1) test.q = DG_DTYPE_E2M1X2;
        if (kind / 5 != 2) test.kv = DG_DTYPE_E2M1X2;
        test.logits = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32;
        test.pad = kind % 3;
        logits_verify(NULL, &test, 400 + (uint64_t)kind);
    }
}

static void test_nan_tokens(void **state) {
    (void)state;
    for (uint64_t seed = 500; seed < 510; seed++) {
        logits_case_t test = fp8(17, 3, 32, 120);
        test.nan_tokens = true;
        test.logits = seed % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32;
        logits_verify(NULL, &test, seed);
    }
}

static void test_exact(void **state) {
    (void)state;
    for (uint64_t seed = 600; seed < 608; seed++) {
        logits_case_t test = fp8(11, 64, 128, 90);
        test.integers = true;
        test.no_scale = seed % 2;
        if (seed % 4 > 1) test.q = test.kv = DG_DTYPE_E2M1X2;
        test.no_scale = test.no_scale && test.kv == DG_DTYPE_E4M3;
        logits_verify(NULL, &test, seed);
    }
}

static void test_empty(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        logits_case_t test = fp8(kind % 2 ? 0 : 3, 8, 64, kind / 2 ? 0 : 40);
        logits_verify(NULL, &test, 700 + (uint64_t)kind);
        test.compressed = true, test.columns = 5; /* no token, and yet columns to clean */
        logits_verify(NULL, &test, 710 + (uint64_t)kind);
    }
}

/* Bits are those of a call with one query, one thread and the plain loops. */
static void test_bits(void **state) {
    (void)state;
    enum { S = 13, H = 16, D = 64, TOKENS = 1100 };
    rng_t rng = rng_make(800);
    uint8_t *q = guard_scratch(S * H * D), *kv = guard_scratch(TOKENS * D);
    float *weights = guard_scratch(S * H * sizeof(float));
    float *all = guard_scratch(S * TOKENS * sizeof(float));
    float *one = guard_scratch(TOKENS * sizeof(float));
    int32_t *ends = guard_scratch(S * sizeof(int32_t));
    for (int i = 0; i < S * H * D; i++) q[i] = (uint8_t)rng_range(&rng, 0, 0x7E);
    for (int i = 0; i < TOKENS * D; i++)
        kv[i] = (uint8_t)rng_range(&rng, 0x80, 0xFE) ^ (i % 3 ? 0x80 : 0);
    for (int i = 0; i < S * H; i++) weights[i] = (float)rng_normal(&rng);
    for (int i = 0; i < S; i++) ends[i] = (int32_t)rng_range(&rng, 0, TOKENS);
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.num_threads = 1, options.cpu_isa = DG_CPU_ISA_PORTABLE;
    dg_context_t *plain;
    expect_ok(dg_context_create(&plain, &options));
    dg_mqa_logits_args_t args = DG_MQA_LOGITS_ARGS_INIT;
    args.q = dg_tensor_3d(q, DG_DTYPE_E4M3, S, H, D);
    args.kv = dg_tensor_2d(kv, DG_DTYPE_E4M3, TOKENS, D);
    args.weights = dg_tensor_2d(weights, DG_DTYPE_F32, S, H);
    args.ends = dg_tensor_1d(ends, DG_DTYPE_I32, S);
    args.logits = dg_tensor_2d(all, DG_DTYPE_F32, S, TOKENS);
    expect_ok(dg_mqa_logits(NULL, &args, NULL));
    for (int i = 0; i < S; i++) {
        args.q = dg_tensor_3d(q + i * H * D, DG_DTYPE_E4M3, 1, H, D);
        args.weights = dg_tensor_2d(weights + i * H, DG_DTYPE_F32, 1, H);
        args.ends = dg_tensor_1d(ends + i, DG_DTYPE_I32, 1);
        args.logits = dg_tensor_2d(one, DG_DTYPE_F32, 1, TOKENS);
        expect_ok(dg_mqa_logits(plain, &args, NULL));
        assert_memory_equal(one, all + i * TOKENS, TOKENS * sizeof(float));
    }
    expect_ok(dg_context_destroy(plain));
    guard_release();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_ranges, guard_teardown),
        cmocka_unit_test_teardown(test_heads_and_dims, guard_teardown),
        cmocka_unit_test_teardown(test_many_tokens, guard_teardown),
        cmocka_unit_test_teardown(test_fp4, guard_teardown),
        cmocka_unit_test_teardown(test_nan_tokens, guard_teardown),
        cmocka_unit_test_teardown(test_exact, guard_teardown),
        cmocka_unit_test_teardown(test_empty, guard_teardown),
        cmocka_unit_test_teardown(test_bits, guard_teardown),
    };
    return cmocka_run_group_tests_name("mqa_logits", tests, NULL, NULL);
}
