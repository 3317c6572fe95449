/* SPDX-License-Identifier: MIT
 *
 * Error texts: composed of function, argument and rule; cut off, never overrun; one per thread.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"

static void message_names_function_argument_and_rule(void **state) {
    (void)state;
    dg_enter_function("dg_gemm");
    assert_int_equal(dg_fail(DG_STATUS_BAD_SHAPE, "b", ".scale", "shape [%d], expected [%d]", 3, 4),
        DG_STATUS_BAD_SHAPE);
    assert_string_equal(dg_last_error(), "dg_gemm: b.scale: shape [3], expected [4]");
    assert_string_equal(dg_last_error_argument(), "b.scale");
    dg_fail(DG_STATUS_OUT_OF_MEMORY, "", "", "no memory");
    assert_string_equal(dg_last_error(), "dg_gemm: no memory");
    assert_string_equal(dg_last_error_argument(), "");
}

static void long_message_is_cut_off(void **state) {
    (void)state;
    char text[4000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dg_fail(DG_STATUS_IO, text, text, "%s", text);
    assert_true(strlen(dg_last_error()) < 2000);
    assert_true(strlen(dg_last_error_argument()) < 200);
}

static void *fail_elsewhere(void *unused) {
    dg_enter_function("elsewhere");
    dg_fail(DG_STATUS_IO, "file", "", "not there");
    return unused;
}

static void each_thread_has_its_own(void **state) {
    (void)state;
    dg_enter_function("here");
    dg_fail(DG_STATUS_BAD_VALUE, "x", "", "1");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(dg_last_error(), "here: x: 1");
}

static void every_status_has_its_name(void **state) {
    (void)state;
    assert_string_equal(dg_status_string(DG_STATUS_OK), "DG_STATUS_OK");
    assert_string_equal(dg_status_string(DG_STATUS_INTERNAL), "DG_STATUS_INTERNAL");
    for (int i = 0; i <= DG_STATUS_INTERNAL; ++i) {
        assert_memory_equal(dg_status_string((dg_status_t)i), "DG_STATUS_", 10);
        for (int j = 0; j < i; ++j) {
            assert_string_not_equal(
                dg_status_string((dg_status_t)i), dg_status_string((dg_status_t)j));
        }
    }
    assert_string_equal(dg_status_string((dg_status_t)-1), "DG_STATUS_?");
    assert_string_equal(dg_status_string((dg_status_t)(DG_STATUS_INTERNAL + 1)), "DG_STATUS_?");
}

static void texts_are_cut_off(void **state) {
    (void)state;
    dg_text_t text = {.bytes = "", .length = 0};
    for (int i = 0; i < 100; ++i) dg_append_text(&text, "%s", "0123456789");
    assert_int_equal(strlen(text.bytes), sizeof text.bytes - 1);
    const int64_t values[] = {INT64_MIN, 0, INT64_MAX};
    assert_string_equal(
        dg_format_list(values, 3).bytes, "[-9223372036854775808, 0, 9223372036854775807]");
    assert_string_equal(dg_format_list(values, 0).bytes, "[]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_names_function_argument_and_rule),
        cmocka_unit_test(long_message_is_cut_off),
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(texts_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
