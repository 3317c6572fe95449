/* SPDX-License-Identifier: MIT
 *
 * Loaded kernels: each is compiled and loaded once for a device however many threads ask; a failure
 * is not remembered; nothing is compiled during a capture, and asking then spoils nothing.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "fake_device.h"
#include "jit/jit.h"
#include "scene.h"

enum { THREADS = 16, KERNELS = 5 };

#define RUN(body, ...)                                                                             \
    do {                                                                                           \
        const char *const variables[] = {__VA_ARGS__, NULL};                                       \
        clear_scene();                                                                             \
        assert_true(in_child((body), variables));                                                  \
    } while (0)

static void compile_once_and_load_once(void) {
    dg_cuda_device_t *device = fake_device(0, 90);
    const dg_specialisation_t one = some_specialisation(1), two = some_specialisation(2);
    dg_cuda_function_t *first = NULL, *again = NULL, *other = NULL;
    CHECK(dg_jit_function(device, &one, 1000, NULL, &first) == DG_STATUS_OK);
    CHECK(dg_jit_function(device, &one, 1000, NULL, &again) == DG_STATUS_OK);
    CHECK(dg_jit_function(device, &two, 2000, NULL, &other) == DG_STATUS_OK);
    CHECK(first == again && first != other && fake_loads() == 2);
    CHECK(strcmp(first->symbol, "dg_sm90_fp8_gemm_block") == 0);
    CHECK(first->shared_bytes == 1000 && other->shared_bytes == 2000);
    CHECK(strncmp(first->start, "cubin #define BLOCK_M 1001 #define BLOCK_N 2001 ", 48) == 0);
    CHECK(strncmp(other->start, "cubin #define BLOCK_M 1002 #define BLOCK_N 2002 ", 48) == 0);
}

static void same_kernel_is_kept(void **state) {
    (void)state;
    RUN(compile_once_and_load_once, FAKE_COMPILER);
    assert_int_equal(compilations(), 2);
}

static void ask_for_more_shared_memory(void) {
    dg_cuda_device_t *device = fake_device(0, 90);
    const dg_specialisation_t one = some_specialisation(1);
    dg_cuda_function_t *small = NULL, *large = NULL, *again = NULL;
    CHECK(dg_jit_function(device, &one, 1000, NULL, &small) == DG_STATUS_OK);
    CHECK(dg_jit_function(device, &one, 5000, NULL, &large) == DG_STATUS_OK);
    CHECK(dg_jit_function(device, &one, 1000, NULL, &again) == DG_STATUS_OK);
    CHECK(large->shared_bytes == 5000 && again->shared_bytes >= 1000);
    CHECK(fake_loads() == 2);
}

static void more_shared_memory_loads_anew(void **state) {
    (void)state;
    RUN(ask_for_more_shared_memory, FAKE_COMPILER);
}

static void ask_on_two_devices(void) {
    dg_cuda_device_t *zero = fake_device(0, 90), *one = fake_device(1, 90);
    const dg_specialisation_t spec = some_specialisation(1);
    dg_cuda_function_t *f = NULL, *g = NULL;
    CHECK(dg_jit_function(zero, &spec, 0, NULL, &f) == DG_STATUS_OK);
    CHECK(dg_jit_function(one, &spec, 0, NULL, &g) == DG_STATUS_OK);
    CHECK(f != g && fake_loads() == 2);
    CHECK(dg_jit_function(fake_device(2, 80), &spec, 0, NULL, &g) == DG_STATUS_UNSUPPORTED);
    CHECK(strstr(dg_last_error(), "architecture 90, the device has 80") != NULL);
    CHECK(dg_jit_function(fake_device(99, 90), &spec, 0, NULL, &g) == DG_STATUS_BAD_DEVICE);
}

static void devices_have_kernels_of_their_own(void **state) {
    (void)state;
    RUN(ask_on_two_devices, FAKE_COMPILER);
}

typedef struct worker_t {
    dg_cuda_device_t *device;
    pthread_barrier_t *start;
    dg_cuda_function_t *functions[KERNELS];
    dg_status_t worst;
    int offset;
} worker_t;

static void *ask_for_all(void *argument) {
    worker_t *worker = argument;
    pthread_barrier_wait(worker->start);
    for (int i = 0; i < KERNELS; i++) {
        const int which = (i + worker->offset) % KERNELS;
        const dg_specialisation_t spec = some_specialisation(which);
        const dg_status_t status =
            dg_jit_function(worker->device, &spec, 64, NULL, &worker->functions[which]);
        if (status != DG_STATUS_OK) worker->worst = status;
    }
    return NULL;
}

static void race_for_kernels(void) {
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    dg_cuda_device_t *device = fake_device(0, 90);
    worker_t workers[THREADS] = {0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.device = device, .start = &start, .offset = i};
        CHECK(pthread_create(&threads[i], NULL, ask_for_all, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(workers[i].worst == DG_STATUS_OK);
        CHECK(memcmp(workers[i].functions, workers[0].functions, sizeof workers[0].functions) == 0);
    }
    CHECK(fake_loads() == KERNELS);
}

static void threads_share_one_compilation(void **state) {
    (void)state;
    RUN(race_for_kernels, FAKE_COMPILER, "FAKE_NVCC=sleep 0.2");
    assert_int_equal(compilations(), KERNELS);
}

static void ask_while_capturing(void) {
    dg_cuda_device_t *device = fake_device(0, 90);
    const dg_specialisation_t spec = some_specialisation(1);
    dg_cuda_function_t *function = NULL, *warm = NULL;
    int capturing, other; /* streams */
    fake_capture(&capturing);
    CHECK(dg_jit_function(device, &spec, 0, &capturing, &function) == DG_STATUS_NOT_COMPILED);
    CHECK(strstr(dg_last_error(), "sm90_fp8_gemm_block BLOCK_M=1001 ") != NULL);
    CHECK(access("compilations", F_OK) != 0 && fake_loads() == 0);
    CHECK(dg_jit_function(device, &spec, 0, &other, &function) == DG_STATUS_OK);
    CHECK(dg_jit_function(device, &spec, 0, &capturing, &warm) == DG_STATUS_OK && warm == function);
}

static void nothing_is_compiled_during_a_capture(void **state) {
    (void)state;
    RUN(ask_while_capturing, FAKE_COMPILER);
    assert_int_equal(compilations(), 1);
}

/* Ways that were tried in vain are no errors of a call that succeeds. */
static void compile_after_an_error(void) {
    dg_fail(DG_STATUS_BAD_VALUE, "m", "", "an error of before");
    CHECK(ask_for(1) == DG_STATUS_OK);
    CHECK(strstr(dg_last_error(), "an error of before") != NULL);
    CHECK(strcmp(dg_last_error_argument(), "m") == 0);
}

static void success_leaves_the_last_error_alone(void **state) {
    (void)state;
    RUN(compile_after_an_error, FAKE_COMPILER, "HOME=/proc/nowhere");
    assert_int_equal(compilations(), 1);
}

static void fail_then_succeed(void) {
    dg_cuda_device_t *device = fake_device(0, 90);
    const dg_specialisation_t spec = some_specialisation(1);
    dg_cuda_function_t *function = NULL;
    CHECK(dg_jit_function(device, &spec, 0, NULL, &function) == DG_STATUS_COMPILER);
    CHECK(strstr(dg_last_error(), "kernel.cu(7): error: no such thing") != NULL);
    setenv("FAKE_NVCC", "", 1);
    CHECK(dg_jit_function(device, &spec, 0, NULL, &function) == DG_STATUS_OK);
}

static void a_failure_is_not_remembered(void **state) {
    (void)state;
    RUN(fail_then_succeed, FAKE_COMPILER, "FAKE_NVCC=fail");
}

static void refuse_first_load(void) {
    dg_cuda_device_t *device = fake_device(0, 90);
    const dg_specialisation_t spec = some_specialisation(1);
    dg_cuda_function_t *function = NULL;
    fake_refuse_loads(100, DG_STATUS_DRIVER);
    CHECK(dg_jit_function(device, &spec, 0, NULL, &function) == DG_STATUS_DRIVER);
    fake_refuse_loads(0, DG_STATUS_OK);
    CHECK(dg_jit_function(device, &spec, 0, NULL, &function) == DG_STATUS_OK);
}

static void a_refusal_of_the_driver_is_told(void **state) {
    (void)state;
    RUN(refuse_first_load, FAKE_COMPILER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_kernel_is_kept),
        cmocka_unit_test(more_shared_memory_loads_anew),
        cmocka_unit_test(devices_have_kernels_of_their_own),
        cmocka_unit_test(threads_share_one_compilation),
        cmocka_unit_test(nothing_is_compiled_during_a_capture),
        cmocka_unit_test(success_leaves_the_last_error_alone),
        cmocka_unit_test(a_failure_is_not_remembered),
        cmocka_unit_test(a_refusal_of_the_driver_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
