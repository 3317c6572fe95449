/* SPDX-License-Identifier: MIT
 *
 * Opening the driver: each way in which it can be unfit is refused with what it is and what would be
 * fit, the next try may succeed, and a forked child is told that it cannot go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "cuda/driver.h"
#include "fake_driver.h"

static fake_driver_t *fake;

static void assert_refused(dg_status_t status, const char *text, const char *remedy) {
    const dg_driver_t *driver;
    assert_int_equal(dg_driver_open(&driver), status);
    assert_non_null(strstr(dg_last_error(), text));
    assert_non_null(strstr(dg_last_error(), remedy));
}

static void old_drivers_are_told_which_is_new_enough(void **state) {
    (void)state;
    reset_fake_driver(fake);
    fake->version = 11080;
    assert_refused(DG_STATUS_UNSUPPORTED, "supports CUDA 11.8, expected 12.0", "driver 580");
    fake->version = 12040;
    fake->missing = "cuLibraryLoadData";
    assert_refused(
        DG_STATUS_UNSUPPORTED, "(CUDA 12.4) has no function cuLibraryLoadData", "driver 580");
    assert_int_equal(fake->calls[FAKE_cuInit], 0);
}

static void machines_without_a_usable_gpu_are_told_why(void **state) {
    (void)state;
    reset_fake_driver(fake);
    fake->device_count = 0;
    assert_refused(DG_STATUS_UNSUPPORTED, "finds no GPU", "CUDA_VISIBLE_DEVICES");
    reset_fake_driver(fake);
    fake->result[FAKE_cuInit] = DG_CU_SYSTEM_DRIVER_MISMATCH;
    assert_refused(DG_STATUS_DRIVER, "cuInit: unknown error (803)", "restart the machine");
    fake->result[FAKE_cuInit] = DG_CU_NOT_INITIALIZED;
    assert_refused(DG_STATUS_DRIVER, "cuInit", "exec, not fork");
}

static void a_good_driver_opens_after_bad_ones_and_once(void **state) {
    (void)state;
    const dg_driver_t *driver, *again;
    reset_fake_driver(fake);
    assert_int_equal(dg_driver_open(&driver), DG_STATUS_OK);
    assert_int_equal(dg_driver_open(&again), DG_STATUS_OK);
    assert_ptr_equal(driver, again);
    assert_int_equal(driver->version, 13000);
    assert_int_equal(fake->calls[FAKE_cuInit], 1);
    assert_non_null(driver->cuFuncLoad);
}

static void results_become_texts(void **state) {
    (void)state;
    const dg_driver_t *driver;
    assert_int_equal(dg_driver_open(&driver), DG_STATUS_OK);
    dg_enter_function("dg_gemm");
    assert_int_equal(dg_driver_fail(driver, DG_CU_INVALID_VALUE, "cuX"), DG_STATUS_DRIVER);
    assert_string_equal(dg_last_error(),
        "dg_gemm: cuX: CUDA_ERROR_INVALID_VALUE (1), invalid argument; see the driver's "
        "documentation of this call");
    assert_int_equal(dg_driver_fail(driver, DG_CU_OUT_OF_MEMORY, "cuX"), DG_STATUS_OUT_OF_MEMORY);
    assert_non_null(strstr(dg_last_error(), "free device memory"));
    assert_int_equal(dg_driver_fail(driver, DG_CU_ILLEGAL_ADDRESS, "cuX"), DG_STATUS_DRIVER);
    assert_non_null(strstr(dg_last_error(), "ran before this call"));
    assert_int_equal(dg_driver_fail(driver, 906, "cuX"), DG_STATUS_DRIVER);
    assert_non_null(strstr(dg_last_error(), "before the capture begins"));
    assert_int_equal(dg_driver_fail(driver, 12345, "cuX"), DG_STATUS_DRIVER);
    assert_non_null(strstr(dg_last_error(), "unknown error (12345)"));
}

/* What a child sees: 0 if it is refused, with a text that names the remedy. */
static int child_of_a_user_of_cuda(void) {
    const dg_driver_t *driver;
    if (dg_driver_open(&driver) != DG_STATUS_DRIVER) return 1;
    return strstr(dg_last_error(), "forked") && strstr(dg_last_error(), "spawn") ? 0 : 2;
}

static void a_forked_child_is_told(void **state) {
    (void)state;
    const dg_driver_t *driver;
    int status = 0;
    assert_int_equal(dg_driver_open(&driver), DG_STATUS_OK);
    const pid_t child = fork();
    if (child == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0) _exit(child_of_a_user_of_cuda());
        waitpid(grandchild, &status, 0);
        _exit(status != 0 ? 3 : child_of_a_user_of_cuda());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(dg_driver_open(&driver), DG_STATUS_OK);
}

int main(void) {
    fake = open_fake_driver().driver;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_drivers_are_told_which_is_new_enough),
        cmocka_unit_test(machines_without_a_usable_gpu_are_told_why),
        cmocka_unit_test(a_good_driver_opens_after_bad_ones_and_once),
        cmocka_unit_test(results_become_texts),
        cmocka_unit_test(a_forked_child_is_told),
    };
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
