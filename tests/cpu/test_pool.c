/* SPDX-License-Identifier: MIT
 *
 * The thread pool by itself: every index once, failures, scratch memory, threads that are asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/pool.h"

enum { COUNT = 5000 };

typedef struct job_t {
    dg_cpu_pool_t *pool;
    atomic_int done[COUNT];
    atomic_int busy[8]; /* by worker */
    atomic_int clashes;
    atomic_uint workers; /* bit w: worker w took part */
    int64_t failing;     /* index that fails, or -1 */
} job_t;

static dg_status_t count_index(void *context, int64_t index, int worker) {
    job_t *job = context;
    if (atomic_fetch_add(&job->busy[worker], 1) != 0) atomic_fetch_add(&job->clashes, 1);
    unsigned char *scratch = dg_cpu_scratch(job->pool, worker);
    memset(scratch, worker, (size_t)(1 + index % 9000));
    if ((uintptr_t)scratch % 64 != 0) atomic_fetch_add(&job->clashes, 1);
    atomic_fetch_add(&job->done[index], 1);
    atomic_fetch_or(&job->workers, 1u << worker);
    for (size_t i = 0; i < (size_t)(1 + index % 9000); i++) {
        if (scratch[i] != worker) atomic_fetch_add(&job->clashes, 1);
    }
    atomic_fetch_sub(&job->busy[worker], 1);
    return index == job->failing ? DG_STATUS_OUT_OF_MEMORY : DG_STATUS_OK;
}

/* Guards against: an index lost or done twice, two tasks under one worker number, shared scratch. */
static void test_every_index_once(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 7};
    for (int t = 0; t < 3; t++) {
        static job_t job;
        memset(&job, 0, sizeof job);
        job.failing = -1;
        assert_int_equal(
            dg_cpu_create_pool(threads[t], DG_CPU_ISA_PORTABLE, &job.pool), DG_STATUS_OK);
        assert_int_equal(dg_cpu_pool_threads(job.pool), threads[t]);
        for (int round = 1; round <= 3; round++) {
            assert_int_equal(
                dg_cpu_run_tasks(job.pool, count_index, &job, COUNT, 0, 9000), DG_STATUS_OK);
            for (int i = 0; i < COUNT; i++) assert_int_equal(job.done[i], round);
        }
        assert_int_equal(job.clashes, 0);
        assert_true(job.workers < 1u << threads[t]);
        dg_cpu_destroy_pool(job.pool);
    }
}

/* Guards against: jobs of changing width leaving a worker behind or waking one too many. */
static void test_thread_bound_is_kept(void **state) {
    (void)state;
    static job_t job;
    memset(&job, 0, sizeof job);
    job.failing = -1;
    assert_int_equal(dg_cpu_create_pool(7, DG_CPU_ISA_PORTABLE, &job.pool), DG_STATUS_OK);
    static const int bounds[] = {1, 5, 2, 7, 3, 1, 7, 4};
    for (int round = 0; round < 200; round++) {
        job.workers = 0;
        const int bound = bounds[round % 8];
        const int64_t count = 1 + round % 23;
        assert_int_equal(
            dg_cpu_run_tasks(job.pool, count_index, &job, count, bound, 9000), DG_STATUS_OK);
        assert_true(__builtin_popcount(job.workers) <= bound);
    }
    int64_t total = 0, expected = 0;
    for (int i = 0; i < COUNT; i++) total += job.done[i];
    for (int round = 0; round < 200; round++) expected += 1 + round % 23;
    assert_int_equal(total, expected);
    assert_int_equal(job.clashes, 0);
    dg_cpu_destroy_pool(job.pool);
}

/* Guards against: a failure that is lost, or that poisons the next job. */
static void test_failure_is_reported_once(void **state) {
    (void)state;
    static job_t job;
    memset(&job, 0, sizeof job);
    job.failing = 10;
    assert_int_equal(dg_cpu_create_pool(3, DG_CPU_ISA_PORTABLE, &job.pool), DG_STATUS_OK);
    assert_int_equal(
        dg_cpu_run_tasks(job.pool, count_index, &job, COUNT, 0, 9000), DG_STATUS_OUT_OF_MEMORY);
    assert_int_equal(job.done[10], 1);
    job.failing = -1;
    assert_int_equal(dg_cpu_run_tasks(job.pool, count_index, &job, COUNT, 0, 9000), DG_STATUS_OK);
    assert_int_equal(dg_cpu_run_tasks(job.pool, count_index, &job, 0, 0, 9000), DG_STATUS_OK);
    dg_cpu_destroy_pool(job.pool);
}

static void test_counts_of_threads(void **state) {
    (void)state;
    dg_cpu_pool_t *pool;
    assert_int_equal(dg_cpu_create_pool(0, DG_CPU_ISA_AUTO, &pool), DG_STATUS_OK);
    assert_true(dg_cpu_pool_threads(pool) >= 1);
    dg_cpu_destroy_pool(pool);
    assert_int_equal(dg_cpu_create_pool(1000000, DG_CPU_ISA_AUTO, &pool), DG_STATUS_OK);
    assert_int_equal(dg_cpu_pool_threads(pool), DG_CPU_MAX_THREADS);
    dg_cpu_destroy_pool(pool);
    dg_cpu_destroy_pool(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_thread_bound_is_kept),
        cmocka_unit_test(test_failure_is_reported_once),
        cmocka_unit_test(test_counts_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
