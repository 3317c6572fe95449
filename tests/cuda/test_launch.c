/* SPDX-License-Identifier: MIT
 *
 * A launch arrives as it was meant: extents, attributes, parameter, stream; and says what it was if
 * the driver refuses it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "fake_driver.h"

static fake_controls_t controls;
static fake_driver_t *fake;
static dg_cuda_device_t *device;
static dg_cuda_function_t *function;
static uint8_t parameter[64];

static int set_up(void **state) {
    char cubin[256];
    (void)state;
    reset_fake_driver(fake);
    controls.set_context(0);
    for (int i = 0; i < 64; i++) parameter[i] = (uint8_t)(i * 37 + 5);
    if (function != NULL) return 0;
    const size_t size = make_fake_cubin(cubin, "dg_kernel");
    return dg_cuda_load(device, cubin, size, "dg_kernel", 1024, &function) != DG_STATUS_OK;
}

static void every_attribute_arrives(void **state) {
    (void)state;
    int stream;
    const struct {
        uint32_t cluster;
        bool pdl;
        uint32_t count;
        int32_t ids[2];
    } cases[] = {{0, false, 0, {0}}, {1, false, 0, {0}}, {2, false, 1, {DG_CU_LAUNCH_CLUSTER}},
        {1, true, 1, {DG_CU_LAUNCH_PDL}}, {4, true, 2, {DG_CU_LAUNCH_CLUSTER, DG_CU_LAUNCH_PDL}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const dg_cuda_launch_t launch = {.function = function,
            .grid = 132,
            .threads = 384,
            .cluster = cases[i].cluster,
            .shared_bytes = 200000,
            .pdl = cases[i].pdl,
            .stream = &stream,
            .args = parameter};
        assert_int_equal(dg_cuda_launch(device, &launch), DG_STATUS_OK);
        const fake_launch_t *seen = &fake->launch;
        assert_true(seen->grid[0] == 132 && seen->grid[1] == 1 && seen->grid[2] == 1);
        assert_true(seen->block[0] == 384 && seen->block[1] == 1 && seen->block[2] == 1);
        assert_int_equal(seen->shared_bytes, 200000);
        assert_ptr_equal(seen->stream, &stream);
        assert_memory_equal(seen->parameter, parameter, sizeof parameter);
        assert_string_equal(seen->kernel, "dg_kernel");
        assert_int_equal(seen->device, 0);
        assert_int_equal(seen->attribute_count, cases[i].count);
        for (uint32_t j = 0; j < cases[i].count; j++) {
            const uint32_t *value = seen->attribute_value[j];
            const bool cluster = cases[i].ids[j] == DG_CU_LAUNCH_CLUSTER;
            assert_int_equal(seen->attribute_id[j], cases[i].ids[j]);
            assert_int_equal(value[0], cluster ? cases[i].cluster : 1);
            if (cluster) assert_true(value[1] == 1 && value[2] == 1);
        }
    }
}

static void a_refused_launch_is_described(void **state) {
    (void)state;
    const dg_cuda_launch_t launch = {.function = function,
        .grid = 131,
        .threads = 384,
        .cluster = 2,
        .shared_bytes = 9,
        .pdl = true,
        .stream = NULL,
        .args = parameter};
    fake->result[FAKE_cuLaunchKernelEx] = DG_CU_INVALID_VALUE;
    dg_enter_function("dg_gemm");
    assert_int_equal(dg_cuda_launch(device, &launch), DG_STATUS_DRIVER);
    assert_non_null(
        strstr(dg_last_error(), "dg_gemm: cuLaunchKernelEx of dg_kernel (grid 131, block "
                                "384, cluster 2, shared memory 9, stream "));
    assert_non_null(strstr(dg_last_error(),
        "dependent) on CUDA device 0: CUDA_ERROR_INVALID_VALUE (1), invalid argument"));
}

int main(void) {
    controls = open_fake_driver();
    fake = controls.driver;
    if (dg_cuda_open(0, &device) != DG_STATUS_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_attribute_arrives, set_up),
        cmocka_unit_test_setup(a_refused_launch_is_described, set_up),
    };
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
