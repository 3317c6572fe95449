/* SPDX-License-Identifier: MIT
 *
 * kernels/sm90/fp8_mqa_logits.cu, kernels/any/mqa_logits.cu and mqa_schedule.cu on the emulator,
 * against the FP64 reference: every ragged end of queries, heads, dim and tokens, ranges of all
 * kinds, pages, more blocks than the ring has stages, more CTAs than groups and fewer. Guards
 * against races, waits that miss, accesses beside a tensor, and tokens of others in a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backend.h"
#include "guard.h"
#include "logits.h"
#include "reference.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static logits_case_t flat(int64_t queries, int64_t heads, int64_t dim, int64_t tokens) {
    return (logits_case_t){.q = DG_DTYPE_E4M3,
        .kv = DG_DTYPE_E4M3,
        .weights = DG_DTYPE_F32,
        .logits = DG_DTYPE_F32,
        .requests = queries,
        .next = 1,
        .heads = heads,
        .dim = dim,
        .tokens = tokens,
        .columns = tokens,
        .aligned = true};
}

static logits_case_t paged(
    int64_t requests, int64_t next, int64_t heads, int64_t page, int64_t tokens) {
    logits_case_t test = flat(requests, heads, 32, tokens);
    test.next = next, test.page = page;
    return test;
}

static void test_shapes(void **state) {
    (void)state;
    static const int64_t heads[] = {64, 40, 32, 16, 8, 3, 100};
    static const int64_t dims[] = {128, 128, 128, 64, 32, 32, 128};
    for (size_t i = 0; i < COUNT(heads); i++) {
        logits_case_t test = flat(5, heads[i], dims[i], 200);
        test.weights = i % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32;
        test.logits = i % 3 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        test.pad = i % 2 ? 16 : 0;
        emulated_sms = 1 + (int32_t)i % 3;
        logits_verify(NULL, &test, 10 + i);
    }
}

/* A dim below the width of a row in shared memory. */
static void test_narrow_dims(void **state) {
    (void)state;
    logits_case_t test = flat(3, 32, 96, 130);
    logits_verify(NULL, &test, 30);
    test = flat(3, 60, 48, 130);
    logits_verify(NULL, &test, 31);
    test = flat(9, 8, 16, 130);
    logits_verify(NULL, &test, 32);
}

static void test_ranges(void **state) {
    (void)state;
    for (int kind = 0; kind < 12; kind++) {
        logits_case_t test = flat(11, 16, 64, 300);
        test.ranges = (ranges_t)(kind % 4);
        test.dirty = kind / 4 % 2;
        test.compressed = kind / 8 % 2;
        test.columns = kind % 3 == 0 ? 70 : kind % 3 == 1 ? 300 : 410;
        emulated_sms = 1 + kind % 5;
        logits_verify(NULL, &test, 100 + (uint64_t)kind);
    }
}

/* More blocks for a CTA than stages, several groups of queries each. */
static void test_many_blocks(void **state) {
    (void)state;
    logits_case_t test = flat(17, 8, 32, 1300);
    test.ranges = RANGES_CAUSAL;
    emulated_sms = 2;
    logits_verify(NULL, &test, 200);
}

static void test_nan_and_exact(void **state) {
    (void)state;
    logits_case_t test = flat(7, 32, 128, 150);
    test.nan_tokens = true;
    logits_verify(NULL, &test, 300);
    test.nan_tokens = false, test.integers = true, test.no_scale = true;
    logits_verify(NULL, &test, 301);
    test.no_scale = false;
    logits_verify(NULL, &test, 302);
}

static void test_pages(void **state) {
    (void)state;
    static const int64_t pages[] = {64, 32, 128, 8, 24};
    for (int kind = 0; kind < 10; kind++) {
        logits_case_t test = paged(2, 1 + kind % 9, kind % 2 ? 8 : 30, pages[kind % 5], 170);
        test.ranges = kind == 7 ? RANGES_EMPTY : (ranges_t)(kind % 3);
        test.dirty = kind % 3 == 0;
        test.bad_pages = kind % 4 == 1;
        test.logits = kind % 7 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        emulated_sms = 1 + kind % 4;
        logits_verify(NULL, &test, 400 + (uint64_t)kind);
    }
}

static void test_indices(void **state) {
    (void)state;
    logits_case_t test = paged(9, 1, 8, 64, 130);
    test.indices = true;
    logits_verify(NULL, &test, 500);
}

static void test_no_tokens(void **state) {
    (void)state;
    logits_case_t test = flat(3, 8, 32, 0);
    test.compressed = true, test.columns = 50;
    logits_verify(NULL, &test, 600);
    test = paged(300, 1, 8, 64, 20);
    test.ranges = RANGES_EMPTY;
    logits_verify(NULL, &test, 601);
}

/* What the Hopper kernel does not take: FP4, odd strides and addresses, many heads, any dim. */
static void test_anything(void **state) {
    (void)state;
    static const struct {
        int64_t heads, dim;
        dg_dtype_t q, kv;
    } kinds[] = {{8, 64, DG_DTYPE_E2M1X2, DG_DTYPE_E2M1X2},
        {33, 34, DG_DTYPE_E2M1X2, DG_DTYPE_E4M3}, {3, 128, DG_DTYPE_E4M3, DG_DTYPE_E2M1X2},
        {130, 5, DG_DTYPE_E4M3, DG_DTYPE_E4M3}, {2, 200, DG_DTYPE_E4M3, DG_DTYPE_E4M3},
        {0, 8, DG_DTYPE_E4M3, DG_DTYPE_E4M3}};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        logits_case_t test = flat(3, kinds[i].heads, kinds[i].dim, 150);
        test.q = kinds[i].q, test.kv = kinds[i].kv;
        test.aligned = false, test.pad = 3;
        test.dirty = i % 2, test.compressed = i % 3 == 0, test.columns = 90;
        test.nan_tokens = i == 4;
        test.weights = i % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32;
        logits_verify(NULL, &test, 650 + i);
    }
    logits_case_t test = paged(3, 2, 5, 7, 150);
    test.q = test.kv = DG_DTYPE_E2M1X2, test.bad_pages = true;
    logits_verify(NULL, &test, 660);
    test = paged(6, 1, 3, 5, 40);
    test.indices = true, test.dim = 9;
    logits_verify(NULL, &test, 661);
}

/* The schedule of the CPU is the reference: tests/family judges it. */
void dg_cpu_mqa_logits_schedule(const int32_t *lens, int64_t requests, int64_t next,
    int64_t request_stride, int64_t query_stride, int64_t parts, int64_t row_stride,
    int32_t *schedule);

static void test_schedule(void **state) {
    (void)state;
    static const int64_t counts[] = {0, 1, 3, 700, 2000};
    static int32_t lens[4000], schedule[2 * 133], expected[2 * 133];
    rng_t rng = rng_make(700);
    for (int kind = 0; kind < 20; kind++) {
        const int64_t requests = counts[kind % 5], next = 1 + kind % 2;
        const int64_t parts = kind % 4 == 3 ? 132 : 1 + kind;
        for (int64_t i = 0; i < requests * next; i++)
            lens[i] = kind == 8 ? 0 : (int32_t)rng_range(&rng, -2, kind % 3 ? 300 : 3000);
        dg_paged_mqa_logits_schedule_args_t args = DG_PAGED_MQA_LOGITS_SCHEDULE_ARGS_INIT;
        args.context_lens = dg_tensor_2d(lens, DG_DTYPE_I32, requests, next);
        args.schedule = dg_tensor_2d(schedule, DG_DTYPE_I32, parts + 1, 2);
        memset(schedule, 0x5A, sizeof schedule);
        memset(expected, 0x5A, sizeof expected);
        expect_ok(dg_paged_mqa_logits_schedule(NULL, &args, NULL));
        dg_cpu_mqa_logits_schedule(lens, requests, next, next, 1, parts, 2, expected);
        assert_memory_equal(schedule, expected, sizeof schedule);
    }
}

static int set_tolerance(void **state) {
    (void)state;
    ref_sum_error = 0x1p-10; /* wgmma keeps about 14 bits of an FP8 sum */
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_shapes, guard_teardown),
        cmocka_unit_test_teardown(test_narrow_dims, guard_teardown),
        cmocka_unit_test_teardown(test_ranges, guard_teardown),
        cmocka_unit_test_teardown(test_many_blocks, guard_teardown),
        cmocka_unit_test_teardown(test_nan_and_exact, guard_teardown),
        cmocka_unit_test_teardown(test_pages, guard_teardown),
        cmocka_unit_test_teardown(test_indices, guard_teardown),
        cmocka_unit_test_teardown(test_no_tokens, guard_teardown),
        cmocka_unit_test_teardown(test_anything, guard_teardown),
        cmocka_unit_test_teardown(test_schedule, guard_teardown),
    };
    return cmocka_run_group_tests_name("emulated mqa_logits", tests, set_tolerance, NULL);
}
