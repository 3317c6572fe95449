/* SPDX-License-Identifier: MIT
 *
 * The remembered plans are those that dg_make_plan() makes, for any order of calls and any number of
 * threads, and remembering does not confuse options or machines.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "plan/plan_cache.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
/* last: it needs those above */
#include <cmocka.h>

#include "random_work.h"

enum { WORKS = 2000, THREADS = 4 };

/* In front of the planner: counts what it is asked. */
static atomic_int plans_made;
dg_status_t __real_dg_make_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan);
dg_status_t __wrap_dg_make_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan);
dg_status_t __wrap_dg_make_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    atomic_fetch_add(&plans_made, 1);
    return __real_dg_make_plan(work, machine, options, plan);
}

static bool same_plan(const dg_plan_t *a, const dg_plan_t *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* Few enough works that most calls are answered from memory, many enough that slots are contended. */
static bool agrees(uint64_t seed) {
    dg_random_t order = {seed};
    for (int i = 0; i < WORKS; i++) {
        dg_random_t random = {(uint64_t)dg_draw(&order, 1, 200)};
        const dg_work_t work = dg_draw_work(&random);
        const dg_machine_t machine = *dg_draw_machine(&random); /* a copy, at another address */
        const dg_plan_options_t options = dg_draw_options(&random);
        dg_plan_t plan, expected;
        memset(&plan, 0xA5, sizeof plan);
        memset(&expected, 0x5A, sizeof expected);
        const dg_status_t status = dg_make_plan(&work, &machine, &options, &expected);
        if (dg_find_plan(&work, &machine, &options, &plan) != status) return false;
        if (status == DG_STATUS_OK && !same_plan(&plan, &expected)) return false;
    }
    return true;
}

static void *run_thread(void *seed) {
    return agrees((uint64_t)(uintptr_t)seed) ? NULL : seed;
}

static void agrees_with_the_planner(void **state) {
    (void)state;
    assert_true(agrees(100));
}

static void agrees_on_many_threads(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* The products of a call, or the shapes of a model: each is planned once, whatever hashes they have. Where
 * the machine's name lies is part of the hash, so each run of this test draws other ones. */
static void remembers_works_that_take_turns(void **state) {
    const dg_plan_options_t options = {0};
    const dg_machine_t *machine = dg_find_machine("H200");
    (void)state;
    atomic_store(&plans_made, 0);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 40; i++) {
            const dg_work_t work = dg_block_work(1000 + i, 7168, 2048);
            dg_plan_t plan;
            assert_int_equal(dg_find_plan(&work, machine, &options, &plan), DG_STATUS_OK);
        }
    }
    assert_int_equal(atomic_load(&plans_made), 40);
}

static void tells_options_apart(void **state) {
    const dg_work_t work = dg_block_work(4096, 7168, 2048);
    const dg_machine_t *machine = dg_find_machine("H200");
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int32_t sms = 1; sms <= 132; sms++) {
            const dg_plan_options_t options = {.num_sms = sms};
            dg_plan_t plan;
            assert_int_equal(dg_find_plan(&work, machine, &options, &plan), DG_STATUS_OK);
            assert_true(plan.stage[0].grid <= (uint32_t)sms);
        }
    }
    dg_plan_options_t only = {0};
    for (int32_t i = 0; (only.only = dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_BLOCK, i)); i++) {
        dg_plan_t plan;
        if (dg_find_plan(&work, machine, &only, &plan) == DG_STATUS_OK)
            assert_memory_equal(
                &plan.stage[0].specialisation, only.only, sizeof(dg_specialisation_t));
    }
}

/* Not a test of speed, which a shared machine does not allow: prints what it takes. */
static void tells_its_time(void **state) {
    const dg_plan_options_t options = {0};
    const dg_machine_t *machine = dg_find_machine("H200");
    double best[2] = {1e9, 1e9};
    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int cached = 0; cached < 2; cached++) {
            struct timespec begin, end;
            dg_plan_t plan;
            clock_gettime(CLOCK_MONOTONIC, &begin);
            for (int i = 0; i < 2000; i++) {
                const dg_work_t work = dg_block_work(4096 - i % 16, 7168, 2048);
                (cached ? dg_find_plan : dg_make_plan)(&work, machine, &options, &plan);
            }
            clock_gettime(CLOCK_MONOTONIC, &end);
            const double ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
                                  (double)(end.tv_nsec - begin.tv_nsec)) /
                              2000;
            if (ns < best[cached]) best[cached] = ns;
        }
    }
    printf("a plan: %.0f ns, a remembered one: %.0f ns\n", best[0], best[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_planner),
        cmocka_unit_test(agrees_on_many_threads),
        cmocka_unit_test(remembers_works_that_take_turns),
        cmocka_unit_test(tells_options_apart),
        cmocka_unit_test(tells_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
