/* SPDX-License-Identifier: MIT
 *
 * Devices are described once, whatever number of threads asks; contexts of callers are used, others
 * put aside and given back.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/device.h"
#include "cuda/driver.h"
#include "fake_driver.h"

enum { THREADS = 8 };

static fake_controls_t controls;
static fake_driver_t *fake;

typedef struct opening_t {
    pthread_barrier_t *start;
    dg_cuda_device_t *device;
    dg_status_t status;
} opening_t;

static void *open_device(void *argument) {
    opening_t *opening = argument;
    pthread_barrier_wait(opening->start);
    opening->status = dg_cuda_open(1, &opening->device);
    return NULL;
}

/* Runs first: the driver itself is opened by the race too. A device that is open stays so: the order
 * of these tests matters. */
static void threads_open_one_device_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    opening_t openings[THREADS];
    reset_fake_driver(fake);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        openings[i] = (opening_t){&start, NULL, DG_STATUS_INTERNAL};
        assert_int_equal(pthread_create(&threads[i], NULL, open_device, &openings[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(openings[i].status, DG_STATUS_OK);
        assert_non_null(openings[i].device);
        assert_ptr_equal(openings[i].device, openings[0].device);
    }
    assert_int_equal(fake->calls[FAKE_cuInit], 1);
    assert_int_equal(fake->calls[FAKE_cuDeviceGetName], 1);
    assert_int_equal(fake->calls[FAKE_cuDevicePrimaryCtxRetain], 0);
    pthread_barrier_destroy(&start);
}

/* Speeds are the table's, counts the driver's. */
static void facts_are_the_drivers(void **state) {
    (void)state;
    dg_cuda_device_t *whole, *slice, *unknown, *old;
    reset_fake_driver(fake);
    assert_int_equal(dg_cuda_open(1, &whole), DG_STATUS_OK);
    const dg_machine_t *machine = dg_cuda_machine(whole);
    assert_string_equal(machine->name, "H200");
    assert_int_equal(machine->clusters_of_2, 66);
    fake->device_count = 4; /* devices that were not open before */
    fake->sms = 33;         /* a slice of a GPU has the name of the whole */
    fake->name = "NVIDIA H200 MIG 2g.35gb";
    fake->result[FAKE_cuDeviceTotalMem] = DG_CU_INVALID_VALUE;
    assert_int_equal(dg_cuda_open(0, &slice), DG_STATUS_DRIVER);
    fake->result[FAKE_cuDeviceTotalMem] = 0;
    assert_int_equal(dg_cuda_open(0, &slice), DG_STATUS_OK);
    const dg_machine_t *part = dg_cuda_machine(slice);
    assert_int_equal(part->sms, 33);
    assert_int_equal(part->shared_bytes, 232448);
    assert_int_equal(part->architecture, 90);
    assert_int_equal(part->clusters_of_2, 16);
    assert_true(part->clock_mhz == machine->clock_mhz && part->launch_us == machine->launch_us);
    assert_int_equal(dg_cuda_ordinal(slice), 0);
    assert_string_equal(dg_cuda_facts(slice).name, "NVIDIA H200 MIG 2g.35gb");
    assert_true(dg_cuda_facts(slice).memory == (uint64_t)150 << 30);
    assert_int_equal(dg_cuda_facts(slice).major, 9);
    fake->name = "NVIDIA X999";
    fake->sms = 200;
    assert_int_equal(dg_cuda_open(2, &unknown), DG_STATUS_OK);
    assert_string_equal(dg_cuda_machine(unknown)->name, "NVIDIA X999");
    assert_int_equal(dg_cuda_machine(unknown)->sms, 200);
    assert_int_equal(dg_cuda_machine(unknown)->clusters_of_2, 100);
    assert_true(dg_cuda_machine(unknown)->clock_mhz > 0);
    fake->major = 7;
    assert_int_equal(dg_cuda_open(3, &old), DG_STATUS_OK);
    assert_int_equal(dg_cuda_machine(old)->architecture, 70);
    assert_int_equal(dg_cuda_machine(old)->clusters_of_2, 0);
    assert_int_equal(dg_cuda_driver_version(), 13000);
}

static void ordinals_that_do_not_exist_are_refused(void **state) {
    (void)state;
    const int32_t wrong[] = {-1, 2, 127, 128, INT32_MAX, INT32_MIN};
    reset_fake_driver(fake);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        dg_cuda_device_t *device;
        assert_int_equal(dg_cuda_open(wrong[i], &device), DG_STATUS_BAD_DEVICE);
        assert_non_null(strstr(dg_last_error(), "expected 0 to 1: the driver shows 2 GPUs"));
    }
}

static void contexts_are_put_aside_and_given_back(void **state) {
    (void)state;
    const struct {
        int32_t current; /* device of the caller's context; -1: none */
        int pushes;
    } cases[] = {{-1, 1}, {0, 1}, {1, 0}};
    dg_cuda_device_t *device;
    assert_int_equal(dg_cuda_open(1, &device), DG_STATUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dg_cuda_scope_t scope;
        reset_fake_driver(fake);
        controls.set_context(cases[i].current);
        const int32_t depth = controls.depth();
        assert_int_equal(dg_cuda_enter(device, &scope), DG_STATUS_OK);
        assert_int_equal(controls.depth(), depth + cases[i].pushes);
        if (cases[i].current < 0)
            assert_int_equal(fake->calls[FAKE_cuCtxGetDevice], 0); /* an error */
        assert_int_equal(fake->calls[FAKE_cuCtxPushCurrent], cases[i].pushes);
        dg_cuda_leave(&scope);
        assert_int_equal(controls.depth(), depth);
        assert_int_equal(fake->calls[FAKE_cuCtxPopCurrent], cases[i].pushes);
    }
    assert_int_equal(fake->retained[1], 1);
    assert_int_equal(fake->retained[0], 0);
}

static void a_context_that_cannot_be_had_changes_nothing(void **state) {
    (void)state;
    dg_cuda_device_t *device;
    dg_cuda_scope_t scope;
    assert_int_equal(dg_cuda_open(0, &device), DG_STATUS_OK);
    reset_fake_driver(fake);
    controls.set_context(-1);
    fake->result[FAKE_cuDevicePrimaryCtxRetain] = DG_CU_OUT_OF_MEMORY;
    assert_int_equal(dg_cuda_enter(device, &scope), DG_STATUS_OUT_OF_MEMORY);
    assert_int_equal(controls.depth(), 0);
    dg_cuda_leave(&scope);
    assert_int_equal(fake->calls[FAKE_cuCtxPopCurrent], 0);
}

int main(void) {
    controls = open_fake_driver();
    fake = controls.driver;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_open_one_device_once),
        cmocka_unit_test(ordinals_that_do_not_exist_are_refused),
        cmocka_unit_test(facts_are_the_drivers),
        cmocka_unit_test(contexts_are_put_aside_and_given_back),
        cmocka_unit_test(a_context_that_cannot_be_had_changes_nothing),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
