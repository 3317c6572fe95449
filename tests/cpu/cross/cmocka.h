/* SPDX-License-Identifier: MIT
 *
 * The little of cmocka that test_isa.c and engine_case.c use, for machines that tests are cross-built
 * for and that have no cmocka package. A failure prints its place and ends the program.
 */
#ifndef DG_TESTS_CROSS_CMOCKA_H
#define DG_TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup_func)(void **state);
    int (*teardown_func)(void **state);
    void *initial_state;
};

/* Where skip() goes. */
static jmp_buf cross_skip __attribute__((unused));

#define cmocka_unit_test(function)                                                                 \
    { #function, function, NULL, NULL, NULL }
#define print_message printf
#define skip() longjmp(cross_skip, 1)
#define fail_msg(...)                                                                              \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), exit(1))
#define assert_true(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) fail_msg("%s\n", #condition);                                            \
    } while (0)
#define assert_int_equal(x, y) assert_true((long long)(x) == (long long)(y))
#define assert_ptr_equal(x, y) assert_true((const void *)(x) == (const void *)(y))
#define assert_memory_equal(x, y, size) assert_true(memcmp(x, y, size) == 0)

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cross_run_tests(tests, sizeof(tests) / sizeof((tests)[0]))

static inline int cross_run_tests(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].initial_state;
        if (setjmp(cross_skip) == 0) {
            tests[i].test_func(&state);
            printf("ok      %s\n", tests[i].name);
        } else {
            printf("skipped %s\n", tests[i].name);
        }
    }
    return 0;
}

#endif
