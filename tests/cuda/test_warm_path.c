/* SPDX-License-Identifier: MIT
 *
 * The steps of a call that finds everything warm ask for no memory, take no lock, read no environment
 * and format no text. test_warm_call.c says the same of whole calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counters.h"
#include "cuda/device.h"
#include "cuda/tensor_map.h"
#include "fake_driver.h"

static fake_controls_t controls;
static _Alignas(64) uint8_t parameter[64], memory[256];

/* One call, as the api layer makes it. */
static void call(dg_cuda_function_t *function) {
    const dg_map_shape_t shape = {.data = memory,
        .dtype = DG_DTYPE_BF16,
        .rank = 2,
        .extent = {64, 64},
        .stride = {1, 64},
        .box = {64, 64},
        .swizzle_bytes = 128,
        .name = "a"};
    dg_cuda_device_t *device;
    dg_cuda_scope_t scope;
    dg_tensor_map_t map;
    assert_int_equal(dg_cuda_open(1, &device), DG_STATUS_OK);
    assert_int_equal(dg_cuda_enter(device, &scope), DG_STATUS_OK);
    assert_int_equal(dg_cuda_encode_map(&shape, &map), DG_STATUS_OK);
    assert_int_equal(dg_cuda_launch(device, &(dg_cuda_launch_t){.function = function,
                                                .grid = 132,
                                                .threads = 384,
                                                .cluster = 2,
                                                .pdl = true,
                                                .args = parameter}),
        DG_STATUS_OK);
    dg_cuda_leave(&scope);
}

static void a_warm_call_costs_nothing_but_driver_calls(void **state) {
    (void)state;
    char cubin[256];
    dg_cuda_device_t *device;
    static dg_cuda_function_t *function; /* loaded for good, as in the library */
    const size_t size = make_fake_cubin(cubin, "dg_kernel");
    assert_int_equal(dg_cuda_open(1, &device), DG_STATUS_OK);
    assert_int_equal(dg_cuda_load(device, cubin, size, "dg_kernel", 0, &function), DG_STATUS_OK);
    assert_true(
        counters.requests > 0 && counters.locks > 0 && counters.lookups > 0); /* they count */
    for (int32_t context = -1; context <= 1; context++) { /* none, another device's, this one's */
        controls.set_context(context);
        call(function);
        counters = (counters_t){0};
        const int launches = controls.driver->calls[FAKE_cuLaunchKernelEx];
        for (int i = 0; i < 100; i++) call(function);
        assert_int_equal(controls.driver->calls[FAKE_cuLaunchKernelEx], launches + 100);
        assert_int_equal(counters.requests, 0);
        assert_int_equal(counters.locks, 0);
        assert_int_equal(counters.lookups, 0);
        assert_int_equal(counters.texts, 0);
    }
}

int main(void) {
    controls = open_fake_driver();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_call_costs_nothing_but_driver_calls),
    };
    return cmocka_run_group_tests_name("warm_path", tests, NULL, NULL);
}
