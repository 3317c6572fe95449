/* SPDX-License-Identifier: MIT
 *
 * The CPU engine against two independent references (engine_case.h), with every padding poisoned,
 * and against itself: thread counts, batches and tile shapes must not change a bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "engine_case.h"

static dg_cpu_pool_t *make_pool(int threads) {
    dg_cpu_pool_t *pool;
    assert_int_equal(dg_cpu_create_pool(threads, DG_CPU_ISA_AUTO, &pool), DG_STATUS_OK);
    return pool;
}

/* Guards against: wrong strides, gathers, segment starts, scale addressing, tails, absent rows and
 * ks, NaN creeping in from padding, writes outside d, a changed order of operations. */
static void test_random_cases(void **state) {
    (void)state;
    dg_cpu_pool_t *pool = make_pool(2);
    for (uint64_t seed = 1; seed <= 600; seed++) {
        const case_spec_t spec = draw_case(seed, seed % 20 == 0 ? 4e6 : 3e5);
        case_t made;
        make_case(&made, &spec, seed);
        assert_int_equal(dg_cpu_run(pool, &made.product, 1), DG_STATUS_OK);
        check_case(&made);
        free_case(&made);
    }
    dg_cpu_destroy_pool(pool);
}

/* Guards against: a pair of dtypes, or a layout of one, that random drawing happens to miss. */
static void test_every_dtype_pair_and_layout(void **state) {
    (void)state;
    static const dg_dtype_t dtypes[] = {DG_DTYPE_E4M3, DG_DTYPE_E2M1X2, DG_DTYPE_BF16};
    dg_cpu_pool_t *pool = make_pool(2);
    for (int pair = 0; pair < 9 * LAYOUT_COUNT * LAYOUT_COUNT; pair++) {
        const int layouts = pair / 9;
        case_spec_t spec = {.m = 13,
            .n = 37,
            .k = 261,
            .segment_count = 1,
            .d_dtype = pair % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16};
        spec.a = (case_side_spec_t){.dtype = dtypes[pair % 3],
            .layout = (case_layout_t)(layouts % LAYOUT_COUNT),
            .scale_dtype = DG_DTYPE_F32,
            .gran_mn = 1,
            .gran_k = 128};
        spec.b = (case_side_spec_t){.dtype = dtypes[pair / 3 % 3],
            .layout = (case_layout_t)(layouts / LAYOUT_COUNT),
            .scale_dtype = DG_DTYPE_I32,
            .gran_mn = 1,
            .gran_k = 32};
        case_t made;
        make_case(&made, &spec, (uint64_t)pair);
        assert_int_equal(dg_cpu_run(pool, &made.product, 1), DG_STATUS_OK);
        check_case(&made);
        free_case(&made);
    }
    dg_cpu_destroy_pool(pool);
}

/* Guards against: results that depend on who computes which tile, or on the neighbours in a batch. */
static void test_threads_and_batches_keep_bits(void **state) {
    (void)state;
    enum { COUNT = 24 };
    static const int threads[] = {1, 2, 7};
    static case_t cases[COUNT];
    dg_cpu_product_t products[COUNT];
    void *first[COUNT];
    for (int i = 0; i < COUNT; i++) {
        case_spec_t spec = draw_case(1000 + (uint64_t)i, 3e6);
        make_case(&cases[i], &spec, 1000 + (uint64_t)i);
        products[i] = cases[i].product;
        dg_cpu_pool_t *alone = make_pool(1);
        assert_int_equal(dg_cpu_run(alone, &products[i], 1), DG_STATUS_OK);
        dg_cpu_destroy_pool(alone);
        check_case(&cases[i]);
        first[i] = malloc(cases[i].d_bytes);
        memcpy(first[i], cases[i].d, cases[i].d_bytes);
    }
    for (int t = 0; t < 3; t++) {
        dg_cpu_pool_t *pool = make_pool(threads[t]);
        for (int i = 0; i < COUNT; i++) reset_output(&cases[i]);
        assert_int_equal(dg_cpu_run(pool, products, COUNT), DG_STATUS_OK);
        for (int i = 0; i < COUNT; i++) check_same(&cases[i], first[i]);
        dg_cpu_destroy_pool(pool);
    }
    for (int i = 0; i < COUNT; i++) {
        free(first[i]);
        free_case(&cases[i]);
    }
}

/* Guards against: a row whose bits depend on how many rows stand beside it. */
static void test_rows_do_not_depend_on_m_or_n(void **state) {
    (void)state;
    case_spec_t spec = {.m = 129, .n = 257, .k = 300, .segment_count = 1, .d_dtype = DG_DTYPE_F32};
    spec.a =
        (case_side_spec_t){.dtype = DG_DTYPE_BF16, .layout = K_MAJOR, .gran_mn = 1, .gran_k = 128};
    spec.b =
        (case_side_spec_t){.dtype = DG_DTYPE_BF16, .layout = MN_MAJOR, .gran_mn = 1, .gran_k = 128};
    case_t made;
    make_case(&made, &spec, 7);
    dg_cpu_pool_t *pool = make_pool(2);
    assert_int_equal(dg_cpu_run(pool, &made.product, 1), DG_STATUS_OK);
    float row[257];
    for (int64_t i = 0; i < spec.m; i += 9) {
        dg_cpu_product_t one = made.product;
        one.m = 1;
        one.n = 200;
        one.a.data = (const uint16_t *)one.a.data + i * one.a.row_stride;
        one.d = row;
        assert_int_equal(dg_cpu_run(pool, &one, 1), DG_STATUS_OK);
        assert_memory_equal(
            row, (float *)made.d + i * made.product.d_row_stride, 200 * sizeof(float));
    }
    dg_cpu_destroy_pool(pool);
    free_case(&made);
}

/* Guards against: NaN or infinity in an operand that is used getting lost, or spreading to rows that
 * do not use it. */
static void test_nan_stays_in_its_row(void **state) {
    (void)state;
    enum { M = 20, N = 40, K = 150 };
    static uint8_t a[M * K], b[N * K];
    static float d[M * N];
    for (int i = 0; i < M * K; i++) a[i] = (uint8_t)(0x30 + i % 16);
    for (int i = 0; i < N * K; i++) b[i] = (uint8_t)(0xB0 + i % 11);
    a[7 * K + 140] = 0xFF;
    b[33 * K + 2] = 0x7F;
    const dg_cpu_segment_t segment = {.k_count = K};
    const dg_cpu_product_t product = {
        .a = {.data = a, .dtype = DG_DTYPE_E4M3, .row_stride = K, .k_stride = 1},
        .b = {.data = b, .dtype = DG_DTYPE_E4M3, .row_stride = K, .k_stride = 1},
        .m = M,
        .n = N,
        .segments = &segment,
        .segment_count = 1,
        .d = d,
        .d_row_stride = N,
        .d_dtype = DG_DTYPE_F32};
    dg_cpu_pool_t *pool = make_pool(1);
    assert_int_equal(dg_cpu_run(pool, &product, 1), DG_STATUS_OK);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            assert_int_equal(d[i * N + j] != d[i * N + j], i == 7 || j == 33);
        }
    }
    dg_cpu_destroy_pool(pool);
}

/* Guards against: no k at all leaving d as it was. */
static void test_empty_k_overwrites_or_copies(void **state) {
    (void)state;
    float d[6] = {9, 9, 9, 9, 9, 9};
    const float c[6] = {1, 2, 3, 4, 5, 6};
    dg_cpu_product_t product = {.a = {.dtype = DG_DTYPE_E4M3},
        .b = {.dtype = DG_DTYPE_E4M3},
        .m = 2,
        .n = 3,
        .d = d,
        .d_row_stride = 3,
        .d_dtype = DG_DTYPE_F32};
    dg_cpu_pool_t *pool = make_pool(2);
    assert_int_equal(dg_cpu_run(pool, &product, 1), DG_STATUS_OK);
    for (int i = 0; i < 6; i++) assert_int_equal(d[i] == 0, 1);
    product.c = c;
    product.c_row_stride = 3;
    assert_int_equal(dg_cpu_run(pool, &product, 1), DG_STATUS_OK);
    assert_memory_equal(d, c, sizeof c);
    dg_cpu_destroy_pool(pool);
}

static void test_unknown_dtype_is_refused(void **state) {
    (void)state;
    float d = 5;
    dg_cpu_product_t product = {.a = {.dtype = DG_DTYPE_I32},
        .b = {.dtype = DG_DTYPE_E4M3},
        .m = 1,
        .n = 1,
        .d = &d,
        .d_dtype = DG_DTYPE_F32};
    dg_cpu_pool_t *pool = make_pool(1);
    assert_int_equal(dg_cpu_run(pool, &product, 1), DG_STATUS_INTERNAL);
    assert_int_equal(d == 5, 1);
    dg_cpu_destroy_pool(pool);
}

/* Large enough that the workers are woken. */
static void make_large_case(case_t *made, uint64_t seed) {
    case_spec_t spec = {.m = 150, .n = 130, .k = 200, .segment_count = 1, .d_dtype = DG_DTYPE_F32};
    spec.a = (case_side_spec_t){
        .dtype = DG_DTYPE_E4M3, .scale_dtype = DG_DTYPE_F32, .gran_mn = 1, .gran_k = 128};
    spec.b = (case_side_spec_t){
        .dtype = DG_DTYPE_E4M3, .scale_dtype = DG_DTYPE_F32, .gran_mn = 128, .gran_k = 128};
    make_case(made, &spec, seed);
}

#if defined(__SANITIZE_THREAD__)
#    define THREAD_SANITIZER 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define THREAD_SANITIZER 1
#    endif
#endif

/* Guards against: a child that waits for workers which fork() did not copy. */
static void test_child_of_fork_computes(void **state) {
    (void)state;
#ifdef THREAD_SANITIZER
    skip(); /* it ends any child of a threaded process that starts a thread */
#endif
    case_t made;
    make_large_case(&made, 3);
    dg_cpu_pool_t *pool = make_pool(3);
    assert_int_equal(dg_cpu_run(pool, &made.product, 1), DG_STATUS_OK);
    check_case(&made);
    const pid_t child = fork();
    if (child == 0) {
        void *expected = malloc(made.d_bytes);
        memcpy(expected, made.d, made.d_bytes);
        reset_output(&made);
        alarm(60);
        const dg_status_t status = dg_cpu_run(pool, &made.product, 1);
        const bool same = memcmp(expected, made.d, made.d_bytes) == 0;
        dg_cpu_destroy_pool(pool);
        _exit(status == DG_STATUS_OK && same ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    reset_output(&made);
    assert_int_equal(dg_cpu_run(pool, &made.product, 1), DG_STATUS_OK);
    check_case(&made);
    dg_cpu_destroy_pool(pool);
    free_case(&made);
}

typedef struct user_t {
    dg_cpu_pool_t *pool;
    case_t made;
    bool same;
} user_t;

static void *use_pool(void *argument) {
    user_t *user = argument;
    void *first = malloc(user->made.d_bytes);
    user->same = true;
    for (int i = 0; i < 20; i++) {
        reset_output(&user->made);
        if (dg_cpu_run(user->pool, &user->made.product, 1) != DG_STATUS_OK) user->same = false;
        if (i == 0) memcpy(first, user->made.d, user->made.d_bytes);
        if (memcmp(first, user->made.d, user->made.d_bytes) != 0) user->same = false;
    }
    free(first);
    return NULL;
}

/* Guards against: shared state between pools, and between two callers of one pool. */
static void test_two_callers_at_once(void **state) {
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        dg_cpu_pool_t *pools[2] = {make_pool(2), make_pool(3)};
        static user_t users[2];
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) {
            users[i].pool = pools[shared ? 0 : i];
            make_large_case(&users[i].made, 40 + (uint64_t)i);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, use_pool, &users[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_true(users[i].same);
            check_case(&users[i].made);
            free_case(&users[i].made);
            dg_cpu_destroy_pool(pools[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases),
        cmocka_unit_test(test_every_dtype_pair_and_layout),
        cmocka_unit_test(test_threads_and_batches_keep_bits),
        cmocka_unit_test(test_rows_do_not_depend_on_m_or_n),
        cmocka_unit_test(test_nan_stays_in_its_row),
        cmocka_unit_test(test_empty_k_overwrites_or_copies),
        cmocka_unit_test(test_unknown_dtype_is_refused),
        cmocka_unit_test(test_child_of_fork_computes),
        cmocka_unit_test(test_two_callers_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
