/* SPDX-License-Identifier: MIT
 *
 * Loading kernels: damaged and unfit images are told apart and leave nothing loaded; a capture that
 * is under way is not spoilt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/device.h"
#include "cuda/driver.h"
#include "fake_driver.h"

static fake_controls_t controls;
static fake_driver_t *fake;
static dg_cuda_device_t *device;
static char cubin[256];
static size_t size;

static int set_up(void **state) {
    (void)state;
    reset_fake_driver(fake);
    controls.set_context(-1);
    size = make_fake_cubin(cubin, "dg_kernel");
    return 0;
}

/* Loading fails so, and nothing stays behind. */
static void assert_refused(
    const char *symbol, size_t bytes, uint32_t shared, dg_status_t status, const char *text) {
    dg_cuda_function_t *function = NULL;
    const int libraries = fake->libraries;
    assert_int_equal(dg_cuda_load(device, cubin, bytes, symbol, shared, &function), status);
    assert_null(function);
    assert_non_null(strstr(dg_last_error(), text));
    assert_int_equal(fake->libraries, libraries);
    assert_int_equal(controls.depth(), 0);
}

static void a_kernel_is_loaded_for_its_device(void **state) {
    (void)state;
    static dg_cuda_function_t *function; /* loaded for good, as in the library */
    assert_int_equal(
        dg_cuda_load(device, cubin, size, "dg_kernel", 200000, &function), DG_STATUS_OK);
    assert_int_equal(fake->shared_bytes, 200000);
    assert_int_equal(fake->shared_device, 1);
    assert_int_equal(fake->calls[FAKE_cuKernelGetFunction], 1);
    assert_int_equal(fake->calls[FAKE_cuFuncLoad], 1);
    assert_int_equal(controls.depth(), 0);
}

static void damaged_images_do_not_reach_the_driver(void **state) {
    (void)state;
    for (size_t bytes = 0; bytes < size; bytes++) {
        assert_refused("dg_kernel", bytes, 0, DG_STATUS_IO, "clear the kernel cache");
    }
    cubin[1] = 'e';
    assert_refused("dg_kernel", size, 0, DG_STATUS_IO, "no whole cubin");
    make_fake_cubin(cubin, "dg_kernel");
    memset(cubin + 40, 0xFF, 8); /* section headers at the end of the world */
    assert_refused("dg_kernel", size, 0, DG_STATUS_IO, "no whole cubin");
    assert_int_equal(fake->calls[FAKE_cuLibraryLoadData], 0);
}

static void unfit_images_are_explained(void **state) {
    (void)state;
    assert_refused("dg_other", size, 0, DG_STATUS_IO, "no kernel dg_other");
    assert_refused("dg_kernel", size, 232449, DG_STATUS_UNSUPPORTED, "has at most 232448");
    const int32_t results[] = {
        DG_CU_NO_BINARY_FOR_GPU, DG_CU_INVALID_IMAGE, DG_CU_UNSUPPORTED_PTX_VERSION};
    for (int i = 0; i < 3; i++) {
        fake->result[FAKE_cuLibraryLoadData] = results[i];
        assert_refused("dg_kernel", size, 0, DG_STATUS_UNSUPPORTED,
            "the driver (CUDA 13.0) cannot load this kernel on NVIDIA H200 (compute capability 9.0)");
        assert_non_null(strstr(dg_last_error(), "580"));
        fake->result[FAKE_cuLibraryLoadData] = 0;
        fake->result[FAKE_cuKernelGetFunction] = results[i];
        assert_refused("dg_kernel", size, 0, DG_STATUS_UNSUPPORTED, "cannot load this kernel");
        fake->result[FAKE_cuKernelGetFunction] = 0;
    }
}

static void each_call_that_fails_is_named(void **state) {
    (void)state;
    const struct {
        fake_call_t call;
        const char *name;
    } calls[] = {{FAKE_cuLibraryLoadData, "cuLibraryLoadData"},
        {FAKE_cuKernelSetAttribute, "cuKernelSetAttribute"}, {FAKE_cuFuncLoad, "cuFuncLoad"},
        {FAKE_cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake->result[calls[i].call] = DG_CU_OUT_OF_MEMORY;
        assert_refused("dg_kernel", size, 0, DG_STATUS_OUT_OF_MEMORY, calls[i].name);
        fake->result[calls[i].call] = 0;
    }
}

static void a_capture_is_not_spoilt(void **state) {
    (void)state;
    static dg_cuda_function_t *function;
    int stream;
    fake->capturing = true;
    assert_true(dg_cuda_capturing(device, &stream));
    assert_int_equal(dg_cuda_load(device, cubin, size, "dg_kernel", 0, &function), DG_STATUS_OK);
    assert_false(fake->capture_spoiled);
    /* The thread's own mode is back: the same load outside would now be forbidden. */
    int32_t mode = DG_CU_CAPTURE_MODE_RELAXED;
    const dg_driver_t *driver;
    assert_int_equal(dg_driver_open(&driver), DG_STATUS_OK);
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    assert_int_equal(mode, 0);
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    fake->result[FAKE_cuFuncLoad] = DG_CU_OUT_OF_MEMORY; /* it also comes back after a failure */
    assert_refused("dg_kernel", size, 0, DG_STATUS_OUT_OF_MEMORY, "cuFuncLoad");
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    assert_int_equal(mode, 0);
}

static void doubt_counts_as_capture(void **state) {
    (void)state;
    int stream;
    assert_false(dg_cuda_capturing(device, &stream));
    assert_false(dg_cuda_capturing(device, NULL));
    fake->result[FAKE_cuStreamIsCapturing] = 906;
    assert_true(dg_cuda_capturing(device, NULL));
    assert_int_equal(controls.depth(), 0);
}

int main(void) {
    controls = open_fake_driver();
    fake = controls.driver;
    if (dg_cuda_open(1, &device) != DG_STATUS_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_kernel_is_loaded_for_its_device, set_up),
        cmocka_unit_test_setup(damaged_images_do_not_reach_the_driver, set_up),
        cmocka_unit_test_setup(unfit_images_are_explained, set_up),
        cmocka_unit_test_setup(each_call_that_fails_is_named, set_up),
        cmocka_unit_test_setup(a_capture_is_not_spoilt, set_up),
        cmocka_unit_test_setup(doubt_counts_as_capture, set_up),
    };
    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
