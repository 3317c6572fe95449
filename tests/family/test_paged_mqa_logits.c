/* SPDX-License-Identifier: MIT
 *
 * dg_paged_mqa_logits against the FP64 reference, and the schedule: pages of any size in any order,
 * one to nine queries a request, lengths of every kind, pages that do not exist, queries that share
 * a request. Guards against reading a page of nobody, a length of the wrong query, and units that are
 * lost or dealt twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "logits.h"

static logits_case_t paged(int64_t requests, int64_t next, int64_t page, int64_t tokens) {
    return (logits_case_t){.q = DG_DTYPE_E4M3,
        .kv = DG_DTYPE_E4M3,
        .weights = DG_DTYPE_F32,
        .logits = DG_DTYPE_F32,
        .requests = requests,
        .next = next,
        .heads = 8,
        .dim = 32,
        .tokens = tokens,
        .page = page};
}

static void test_pages(void **state) {
    (void)state;
    static const int64_t pages[] = {32, 64, 128, 1, 7};
    for (int kind = 0; kind < 40; kind++) {
        logits_case_t test = paged(3, 1 + kind % 9, pages[kind % 5], 300 - 41 * (kind % 3));
        test.ranges = (ranges_t)(kind / 5 % 4);
        test.dirty = kind % 2;
        test.pad = kind % 3;
        test.weights = kind % 4 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        test.logits = kind % 7 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        logits_verify(NULL, &test, 900 + (uint64_t)kind);
    }
}

static void test_pages_that_do_not_exist(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        logits_case_t test = paged(4, 2, 32, 200);
        test.bad_pages = true;
        test.dirty = kind % 2;
        test.ranges = kind / 2 % 2 ? RANGES_RANDOM : RANGES_ALL;
        logits_verify(NULL, &test, 1000 + (uint64_t)kind);
    }
}

static void test_indices(void **state) {
    (void)state;
    for (uint64_t seed = 1100; seed < 1106; seed++) {
        logits_case_t test = paged(20, 1, 64, 130);
        test.indices = true;
        logits_verify(NULL, &test, seed);
    }
}

static void test_fp4_and_nan(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        logits_case_t test = paged(5, 3, 64, 170);
        test.nan_tokens = true;
        test.heads = 64, test.dim = kind % 4 < 2 ? 128 : 64;
        if (kind % 2) test.q = test.kv = DG_DTYPE_E2M1X2;
        logits_verify(NULL, &test, 1200 + (uint64_t)kind);
    }
}

static void test_empty(void **state) {
    (void)state;
    logits_case_t test = paged(0, 2, 64, 100);
    logits_verify(NULL, &test, 1300);
    test = paged(2, 0, 64, 100);
    test.next = 1, test.tokens = 0;
    logits_verify(NULL, &test, 1301);
}

/* More requests than any other test has tasks; nearly all of them without a token. */
static void test_large_batch(void **state) {
    (void)state;
    logits_case_t test = paged(5000, 1, 32, 3);
    test.heads = 1, test.dim = 2;
    logits_verify(NULL, &test, 1400);
}

/* The schedule as deep_gemm/mqa_logits.h has it, one unit after the other. */
static void check_schedule(
    const int32_t *lens, int64_t requests, int64_t next, int64_t parts, const int32_t *schedule) {
    int64_t total = 0, number = 0, part = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t r = 0; r < requests; r++) {
            int64_t longest = 0;
            for (int64_t t = 0; t < next; t++)
                longest = lens[r * next + t] > longest ? lens[r * next + t] : longest;
            for (int64_t u = 0; u * DG_MQA_LOGITS_SPLIT < longest; u++) {
                if (pass == 0) total++;
                if (pass == 0) continue;
                /* part p begins at unit p q + min(p, rest) */
                const int64_t q = total / parts, rest = total % parts;
                if (part < parts && number == part * q + (part < rest ? part : rest)) {
                    assert_int_equal(schedule[2 * part], r);
                    assert_int_equal(schedule[2 * part + 1], u);
                    part++;
                }
                number++;
            }
        }
    }
    assert_true(part <= parts);
    for (; part <= parts; part++) {
        assert_int_equal(schedule[2 * part], requests);
        assert_int_equal(schedule[2 * part + 1], 0);
    }
}

static void test_schedule(void **state) {
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 5, 300, 65536};
    static int32_t lens[65536 * 2], schedule[2 * 133];
    rng_t rng = rng_make(1500);
    for (int kind = 0; kind < 48; kind++) {
        const int64_t requests = counts[kind % 6], next = 1 + kind / 6 % 2;
        const int64_t parts = kind / 12 % 2 ? 132 : 1 + kind;
        for (int64_t i = 0; i < requests * next; i++)
            lens[i] = kind / 24 ? 0 : (int32_t)rng_range(&rng, -2, 2000);
        dg_paged_mqa_logits_schedule_args_t args = DG_PAGED_MQA_LOGITS_SCHEDULE_ARGS_INIT;
        args.context_lens = next == 1 ? dg_tensor_1d(lens, DG_DTYPE_I32, requests)
                                      : dg_tensor_2d(lens, DG_DTYPE_I32, requests, next);
        args.schedule = dg_tensor_2d(schedule, DG_DTYPE_I32, parts + 1, 2);
        memset(schedule, 0x5A, sizeof schedule);
        expect_ok(dg_paged_mqa_logits_schedule(NULL, &args, NULL));
        check_schedule(lens, requests, next, parts, schedule);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pages, guard_teardown),
        cmocka_unit_test_teardown(test_pages_that_do_not_exist, guard_teardown),
        cmocka_unit_test_teardown(test_indices, guard_teardown),
        cmocka_unit_test_teardown(test_fp4_and_nan, guard_teardown),
        cmocka_unit_test_teardown(test_empty, guard_teardown),
        cmocka_unit_test_teardown(test_large_batch, guard_teardown),
        cmocka_unit_test_teardown(test_schedule, guard_teardown),
    };
    return cmocka_run_group_tests_name("paged_mqa_logits", tests, NULL, NULL);
}
