/* SPDX-License-Identifier: MIT
 *
 * Calls from several threads: each with its own context, all with one context, all with the default
 * context; and a fork between calls, after which parent and child both go on. Every result is
 * compared byte for byte with one computed alone. Also settings read while they change. Guards against
 * shared scratch memory, a pool that serves one caller, torn settings, and locks left held in a child. Run under ThreadSanitizer as well.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

enum { THREADS = 3, CALLS = 40, M = 70, N = 90, K = 300, GROUPS = 4 };

/* ThreadSanitizer ends a child that starts threads after a fork, whatever the program does. */
#if defined(__SANITIZE_THREAD__)
#    define SKIP_FORK_UNDER_TSAN() skip()
#else
#    define SKIP_FORK_UNDER_TSAN() ((void)0)
#endif

/* The problems, one dense and one of each grouped family, and what they give. */
typedef struct work_t {
    dg_gemm_args_t gemm;
    dg_m_grouped_gemm_args_t m_grouped;
    dg_k_grouped_gemm_args_t k_grouped;
    float *want; /* [RESULT] of the three calls, one after the other */
} work_t;

#define GEMM_RESULT (M * N)
#define K_GROUPED_RESULT (GROUPS * 20 * 30)
#define RESULT (2 * GEMM_RESULT + K_GROUPED_RESULT)

/* All three calls with outputs in d: [RESULT]. Returns 0 if each went well. */
static int call_all(dg_context_t *ctx, const work_t *work, float *d) {
    dg_gemm_args_t gemm = work->gemm;
    dg_m_grouped_gemm_args_t m_grouped = work->m_grouped;
    dg_k_grouped_gemm_args_t k_grouped = work->k_grouped;
    memset(d, 0xFF, RESULT * sizeof *d);
    gemm.d = dg_tensor_2d(d, DG_DTYPE_F32, M, N);
    m_grouped.d = dg_tensor_2d(d + GEMM_RESULT, DG_DTYPE_F32, M, N);
    k_grouped.d = dg_tensor_3d(d + 2 * GEMM_RESULT, DG_DTYPE_F32, GROUPS, 20, 30);
    return dg_gemm(ctx, &gemm, NULL) != DG_STATUS_OK ||
           dg_m_grouped_gemm(ctx, &m_grouped, NULL) != DG_STATUS_OK ||
           dg_k_grouped_gemm(ctx, &k_grouped, NULL) != DG_STATUS_OK;
}

static work_t work_make(uint64_t seed) {
    static const int64_t row_sizes[GROUPS] = {20, 0, 33, 17};
    static const int64_t token_sizes[GROUPS] = {130, 7, 0, 64};
    rng_t rng = rng_make(seed);
    const operand_spec_t sa = fp8_1x128(), sb = fp8_128x128();
    work_t work = {.gemm = DG_GEMM_ARGS_INIT,
        .m_grouped = DG_M_GROUPED_GEMM_ARGS_INIT,
        .k_grouped = DG_K_GROUPED_GEMM_ARGS_INIT};
    work.gemm.a = work.m_grouped.a = operand_make(&rng, &sa, 0, M, K).view;
    work.gemm.b = operand_make(&rng, &sb, 0, N, K).view;
    work.m_grouped.b = operand_make(&rng, &sb, GROUPS, N, K).view;
    work.m_grouped.groups =
        grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, row_sizes, GROUPS, 0, 1).view;
    const grouping_t tokens =
        grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, token_sizes, GROUPS, 0, 1);
    const k_spec_t spec = {
        .form = DG_K_TOKENS_FIRST, .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_k = 128};
    work.k_grouped.a = k_operand_make(&rng, &spec, 20, &tokens).view;
    work.k_grouped.b = k_operand_make(&rng, &spec, 30, &tokens).view;
    work.k_grouped.groups = tokens.view;
    work.want = guard_scratch(RESULT * sizeof *work.want);
    dg_context_t *ctx = context_make(1, DG_CPU_ISA_PORTABLE);
    assert_int_equal(call_all(ctx, &work, work.want), 0);
    expect_ok(dg_context_destroy(ctx));
    return work;
}

typedef struct caller_t {
    pthread_t thread;
    dg_context_t *ctx;
    const work_t *work;
    int failures; /* calls refused or with other bytes */
} caller_t;

static void *call_many(void *argument) {
    caller_t *caller = argument;
    float *d = malloc(RESULT * sizeof *d);
    for (int i = 0; i < CALLS; i++) {
        if (d == NULL || call_all(caller->ctx, caller->work, d) != 0 ||
            memcmp(d, caller->work->want, RESULT * sizeof *d) != 0) {
            caller->failures++;
        }
    }
    free(d);
    return NULL;
}

/* contexts: [THREADS]; works: [THREADS] */
static void run_threads(dg_context_t *const *contexts, const work_t *works) {
    caller_t callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller_t){.ctx = contexts[i], .work = &works[i]};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_many, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(callers[i].failures, 0);
}

static void works_make(work_t *works) {
    for (int i = 0; i < THREADS; i++) works[i] = work_make(100 + (uint64_t)i);
}

static void test_context_each(void **state) {
    (void)state;
    work_t works[THREADS];
    dg_context_t *contexts[THREADS];
    label("threads with a context each");
    works_make(works);
    for (int i = 0; i < THREADS; i++) contexts[i] = context_make(1 + i, DG_CPU_ISA_AUTO);
    run_threads(contexts, works);
    for (int i = 0; i < THREADS; i++) expect_ok(dg_context_destroy(contexts[i]));
}

static void test_one_context(void **state) {
    (void)state;
    work_t works[THREADS];
    label("threads with one context");
    works_make(works);
    for (int32_t threads = 1; threads <= 7; threads += 3) {
        dg_context_t *ctx = context_make(threads, DG_CPU_ISA_AUTO);
        dg_context_t *const contexts[THREADS] = {ctx, ctx, ctx};
        run_threads(contexts, works);
        expect_ok(dg_context_destroy(ctx));
    }
}

static void test_default_context(void **state) {
    (void)state;
    work_t works[THREADS];
    dg_context_t *const contexts[THREADS] = {NULL, NULL, NULL};
    label("threads with the default context");
    works_make(works);
    run_threads(contexts, works);
}

/* The child has none of the pool's threads; it must make its own and may not wait for the old. */
static void test_fork(void **state) {
    (void)state;
    SKIP_FORK_UNDER_TSAN();
    label("fork between calls");
    const work_t work = work_make(200);
    float *d = guard_scratch(RESULT * sizeof *d);
    dg_context_t *contexts[2] = {context_make(4, DG_CPU_ISA_AUTO), NULL};
    for (int i = 0; i < 2; i++) assert_int_equal(call_all(contexts[i], &work, d), 0);
    for (int round = 0; round < 3; round++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int failures = 0;
            alarm(20); /* a child that waits for ever ends by SIGALRM */
            for (int i = 0; i < 2; i++) {
                failures += call_all(contexts[i], &work, d);
                failures += memcmp(d, work.want, RESULT * sizeof *d) != 0;
            }
            failures += dg_context_destroy(contexts[0]) != DG_STATUS_OK;
            _exit(failures);
        }
        int status = 0;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(call_all(contexts[i], &work, d), 0);
            assert_memory_equal(d, work.want, RESULT * sizeof *d);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    expect_ok(dg_context_destroy(contexts[0]));
}

/* A fork while another thread is inside calls: the child still can call. */
typedef struct background_t {
    caller_t caller;
    int stop;
} background_t;

static void *call_until_stopped(void *argument) {
    background_t *background = argument;
    while (!__atomic_load_n(&background->stop, __ATOMIC_ACQUIRE)) call_many(&background->caller);
    return NULL;
}

static void test_fork_during_calls(void **state) {
    (void)state;
    SKIP_FORK_UNDER_TSAN();
    label("fork during calls of another thread");
    const work_t work = work_make(300);
    float *d = guard_scratch(RESULT * sizeof *d);
    dg_context_t *ctx = context_make(3, DG_CPU_ISA_AUTO);
    background_t background = {.caller = {.ctx = ctx, .work = &work}};
    assert_int_equal(
        pthread_create(&background.caller.thread, NULL, call_until_stopped, &background), 0);
    int bad = 0;
    for (int round = 0; round < 5; round++) {
        usleep(2000);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            int failures = call_all(ctx, &work, d);
            failures += memcmp(d, work.want, RESULT * sizeof *d) != 0;
            _exit(failures);
        }
        int status = 0;
        bad += child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
               WEXITSTATUS(status) != 0;
    }
    __atomic_store_n(&background.stop, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(background.caller.thread, NULL), 0);
    assert_int_equal(bad, 0);
    assert_int_equal(background.caller.failures, 0);
    expect_ok(dg_context_destroy(ctx));
}

enum { CHANGES = 20000 };

/* Sets num_sms and block_m_multiple to one number at a time. */
static void *change_settings(void *ctx) {
    for (int32_t i = 1; i <= CHANGES; i++) {
        dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
        options.num_sms = i % 4096 + 1;
        options.block_m_multiple = options.num_sms;
        if (dg_context_set_options(ctx, &options) != DG_STATUS_OK) return ctx;
    }
    return NULL;
}

/* Whoever reads meanwhile sees both old or both new. */
static void test_settings_are_never_torn(void **state) {
    (void)state;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.num_sms = options.block_m_multiple = 7;
    dg_context_t *ctx;
    assert_int_equal(dg_context_create(&ctx, &options), DG_STATUS_OK);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, change_settings, ctx), 0);
    int torn = 0;
    for (int i = 0; i < CHANGES; i++) {
        if (dg_context_get_options(ctx, &options) != DG_STATUS_OK) break;
        torn += options.num_sms != options.block_m_multiple;
    }
    void *failed;
    assert_int_equal(pthread_join(writer, &failed), 0);
    assert_null(failed);
    assert_int_equal(torn, 0);
    assert_int_equal(dg_context_destroy(ctx), DG_STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_context_each, guard_teardown),
        cmocka_unit_test_teardown(test_one_context, guard_teardown),
        cmocka_unit_test_teardown(test_default_context, guard_teardown),
        cmocka_unit_test_teardown(test_settings_are_never_torn, guard_teardown),
        cmocka_unit_test_teardown(test_fork, guard_teardown),
        cmocka_unit_test_teardown(test_fork_during_calls, guard_teardown),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
