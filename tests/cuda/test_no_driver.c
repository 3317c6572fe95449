/* SPDX-License-Identifier: MIT
 *
 * A machine without a driver: asking for a GPU says so and what to install; nothing else changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/device.h"

static void asking_for_a_gpu_says_what_to_install(void **state) {
    (void)state;
    dg_cuda_device_t *device;
    int32_t count = 77;
    assert_int_equal(dg_cuda_open(0, &device), DG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(dg_last_error(), "no CUDA driver: /nowhere/libcuda.so.1"));
    assert_non_null(strstr(dg_last_error(), "NVIDIA driver 580"));
    assert_int_equal(dg_cuda_count(&count), DG_STATUS_UNSUPPORTED);
    assert_int_equal(count, 0);
    assert_int_equal(dg_cuda_driver_version(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(asking_for_a_gpu_says_what_to_install)};
    return cmocka_run_group_tests_name("no_driver", tests, NULL, NULL);
}
