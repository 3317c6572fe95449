/* SPDX-License-Identifier: MIT
 *
 * The public functions of deep_gemm/device.h: memory, copies, streams and events on the CPU and on
 * two devices of the fake driver, whose memory is memory of the host, so that what they move can be
 * looked at; and what they refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "fake_driver.h"

enum { BYTES = 1000 };

static const dg_device_t cpu = {DG_DEVICE_CPU, 0}, gpu = {DG_DEVICE_CUDA, 0},
                         other = {DG_DEVICE_CUDA, 1};
static fake_controls_t controls;
static fake_driver_t *fake;

static int set_up(void **state) {
    (void)state;
    reset_fake_driver(fake);
    controls.set_context(-1);
    return 0;
}

static void devices_are_counted_and_described(void **state) {
    (void)state;
    int32_t count = 0;
    dg_device_info_t info = DG_DEVICE_INFO_INIT;
    assert_int_equal(dg_device_count(&count), DG_STATUS_OK);
    assert_int_equal(count, 2);
    assert_int_equal(dg_device_get_info(other, &info), DG_STATUS_OK);
    assert_string_equal(info.name, "NVIDIA H200");
    assert_true(info.major == 9 && info.minor == 0 && info.num_sms == 132);
    assert_true(info.shared_bytes == 232448 && info.memory_bytes == INT64_C(150) << 30);
    assert_int_equal(info.driver_version, 13000);
    assert_int_equal(fake->retained[1], 0); /* facts need no context */
    assert_int_equal(dg_device_get_info(cpu, &info), DG_STATUS_BAD_DEVICE);
    info.struct_size = 7;
    assert_int_equal(dg_device_get_info(gpu, &info), DG_STATUS_BAD_STRUCT_SIZE);
}

static void sms_of_the_first_gpu(void **state) {
    (void)state;
    int32_t sms = 0;
    assert_int_equal(dg_get_num_sms(NULL, &sms), DG_STATUS_OK);
    assert_int_equal(sms, 132);
    assert_int_equal(dg_set_num_sms(NULL, 7), DG_STATUS_OK);
    assert_int_equal(dg_get_num_sms(NULL, &sms), DG_STATUS_OK);
    assert_int_equal(sms, 7);
    assert_int_equal(dg_set_num_sms(NULL, 0), DG_STATUS_OK);
    assert_int_equal(dg_get_num_sms(NULL, &sms), DG_STATUS_OK);
    assert_int_equal(sms, 132);
    assert_int_equal(fake->retained[0], 0); /* asking makes no context */
}

static void bytes_travel_from_anywhere_to_anywhere(void **state) {
    (void)state;
    const dg_device_t devices[] = {cpu, gpu, other};
    uint8_t pattern[BYTES], back[BYTES];
    for (int i = 0; i < BYTES; i++) pattern[i] = (uint8_t)(i * 31 + 7);
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            void *a, *b, *stream;
            assert_int_equal(dg_device_alloc(devices[from], BYTES, &a), DG_STATUS_OK);
            assert_int_equal(dg_device_alloc(devices[to], BYTES, &b), DG_STATUS_OK);
            assert_true((uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0);
            assert_int_equal(dg_stream_create(devices[to], &stream), DG_STATUS_OK);
            assert_true((stream != NULL) == (to > 0));
            assert_int_equal(dg_device_memset(devices[to], b, 0x1EE, BYTES, stream), DG_STATUS_OK);
            assert_int_equal(((uint8_t *)b)[BYTES - 1], 0xEE);
            assert_int_equal(dg_device_copy(a, devices[from], pattern, cpu, BYTES), DG_STATUS_OK);
            assert_int_equal(
                dg_device_copy_async(b, devices[to], a, devices[from], BYTES - 1, stream),
                DG_STATUS_OK);
            assert_int_equal(dg_stream_synchronize(devices[to], stream), DG_STATUS_OK);
            assert_int_equal(dg_device_copy(back, cpu, b, devices[to], BYTES), DG_STATUS_OK);
            assert_memory_equal(back, pattern, BYTES - 1);
            assert_int_equal(back[BYTES - 1], 0xEE);
            assert_int_equal(dg_stream_destroy(devices[to], stream), DG_STATUS_OK);
            assert_int_equal(dg_device_free(devices[from], a), DG_STATUS_OK);
            assert_int_equal(dg_device_free(devices[to], b), DG_STATUS_OK);
            assert_int_equal(dg_device_synchronize(devices[to]), DG_STATUS_OK);
        }
    }
    assert_int_equal(controls.depth(), 0); /* no context was left behind */
    assert_true(fake->retained[0] == 1 && fake->retained[1] == 1);
}

static void a_copy_waits_for_its_device(void **state) {
    (void)state;
    uint8_t bytes[4] = {1, 2, 3, 4};
    void *memory;
    assert_int_equal(dg_device_alloc(gpu, 4, &memory), DG_STATUS_OK);
    assert_int_equal(dg_device_copy(memory, gpu, bytes, cpu, 4), DG_STATUS_OK);
    assert_int_equal(fake->calls[FAKE_cuStreamSynchronize], 1);
    assert_int_equal(dg_device_copy_async(memory, gpu, bytes, cpu, 4, NULL), DG_STATUS_OK);
    assert_int_equal(fake->calls[FAKE_cuStreamSynchronize], 1);
    assert_int_equal(dg_device_free(gpu, memory), DG_STATUS_OK);
}

static void nothing_is_a_valid_amount(void **state) {
    (void)state;
    void *memory = &memory;
    assert_int_equal(dg_device_alloc(gpu, 0, &memory), DG_STATUS_OK);
    assert_null(memory);
    assert_int_equal(dg_device_free(gpu, NULL), DG_STATUS_OK);
    assert_int_equal(dg_device_copy(NULL, gpu, NULL, cpu, 0), DG_STATUS_OK);
    assert_int_equal(dg_device_memset(gpu, NULL, 0, 0, NULL), DG_STATUS_OK);
    assert_int_equal(dg_stream_destroy(gpu, NULL), DG_STATUS_OK);
    assert_int_equal(dg_event_destroy(NULL), DG_STATUS_OK);
}

static void events_tell_time(void **state) {
    (void)state;
    const dg_device_t devices[] = {cpu, gpu};
    for (int i = 0; i < 2; i++) {
        dg_event_t *begin, *end;
        float us = -1;
        assert_int_equal(dg_event_create(devices[i], &begin), DG_STATUS_OK);
        assert_int_equal(dg_event_create(devices[i], &end), DG_STATUS_OK);
        assert_int_equal(dg_event_record(begin, NULL), DG_STATUS_OK);
        assert_int_equal(dg_event_record(end, NULL), DG_STATUS_OK);
        assert_int_equal(dg_event_elapsed(begin, end, &us), DG_STATUS_OK);
        if (i == 0) assert_true(us >= 0 && us < 1e6F);
        if (i == 1) assert_true(us > 999 && us < 1001); /* the fake's clock ticks in ms */
        assert_int_equal(dg_event_destroy(begin), DG_STATUS_OK);
        assert_int_equal(dg_event_destroy(end), DG_STATUS_OK);
    }
    assert_int_equal(fake->calls[FAKE_cuEventSynchronize], 1);
}

static void refuse(dg_status_t status, dg_status_t expected, const char *text) {
    assert_int_equal(status, expected);
    assert_non_null(strstr(dg_last_error(), text));
    assert_int_equal(controls.depth(), 0);
}

static void what_is_wrong_is_refused(void **state) {
    (void)state;
    const dg_device_t missing = {DG_DEVICE_CUDA, 9}, none = {DG_DEVICE_NONE, 0};
    uint8_t bytes[4];
    void *memory;
    dg_event_t *here, *there;
    float us;
    refuse(dg_device_count(NULL), DG_STATUS_NULL_POINTER, "dg_device_count: count: NULL");
    refuse(dg_device_alloc(gpu, 1, NULL), DG_STATUS_NULL_POINTER, "memory: NULL");
    refuse(dg_device_alloc(missing, 1, &memory), DG_STATUS_BAD_DEVICE, "expected 0 to 1");
    refuse(dg_device_alloc(none, 1, &memory), DG_STATUS_BAD_DEVICE, "device: type 0");
    refuse(dg_device_alloc(cpu, SIZE_MAX, &memory), DG_STATUS_OUT_OF_MEMORY, "free some");
    refuse(dg_device_copy(bytes, cpu, bytes, none, 4), DG_STATUS_BAD_DEVICE, "src_device: type 0");
    refuse(dg_device_copy(NULL, gpu, bytes, cpu, 4), DG_STATUS_NULL_POINTER, "dst: NULL");
    refuse(dg_device_copy(bytes, cpu, NULL, gpu, 4), DG_STATUS_NULL_POINTER, "src: NULL");
    refuse(dg_device_memset(gpu, NULL, 0, 4, NULL), DG_STATUS_NULL_POINTER, "memory: NULL");
    refuse(dg_stream_create(gpu, NULL), DG_STATUS_NULL_POINTER, "stream: NULL");
    refuse(dg_event_create(gpu, NULL), DG_STATUS_NULL_POINTER, "event: NULL");
    refuse(dg_event_record(NULL, NULL), DG_STATUS_NULL_POINTER, "event: NULL");
    assert_int_equal(dg_event_create(gpu, &here), DG_STATUS_OK);
    assert_int_equal(dg_event_create(other, &there), DG_STATUS_OK);
    refuse(dg_event_elapsed(here, there, &us), DG_STATUS_BAD_DEVICE, "another device");
    refuse(dg_event_elapsed(NULL, there, &us), DG_STATUS_NULL_POINTER, "begin: NULL");
    refuse(dg_event_elapsed(here, here, NULL), DG_STATUS_NULL_POINTER, "us: NULL");
    assert_int_equal(dg_event_destroy(here), DG_STATUS_OK);
    assert_int_equal(dg_event_destroy(there), DG_STATUS_OK);
}

static void the_drivers_failures_are_passed_on(void **state) {
    (void)state;
    void *memory = &memory;
    dg_event_t *event;
    uint8_t bytes[4];
    fake->result[FAKE_cuMemAlloc] = 2;
    refuse(dg_device_alloc(gpu, 12345, &memory), DG_STATUS_OUT_OF_MEMORY,
        "12345 bytes could not be had on NVIDIA H200 (CUDA device 0)");
    assert_null(memory);
    fake->result[FAKE_cuEventCreate] = 700;
    refuse(dg_event_create(gpu, &event), DG_STATUS_DRIVER, "cuEventCreate: CUDA_ERROR_ILLEGAL");
    assert_null(event);
    fake->result[FAKE_cuStreamSynchronize] = 700;
    refuse(dg_device_copy(bytes, cpu, bytes + 2, gpu, 2), DG_STATUS_DRIVER, "cuStreamSynchronize");
}

int main(void) {
    controls = open_fake_driver();
    fake = controls.driver;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(devices_are_counted_and_described, set_up),
        cmocka_unit_test_setup(sms_of_the_first_gpu, set_up),
        cmocka_unit_test_setup(bytes_travel_from_anywhere_to_anywhere, set_up),
        cmocka_unit_test_setup(a_copy_waits_for_its_device, set_up),
        cmocka_unit_test_setup(nothing_is_a_valid_amount, set_up),
        cmocka_unit_test_setup(events_tell_time, set_up),
        cmocka_unit_test_setup(what_is_wrong_is_refused, set_up),
        cmocka_unit_test_setup(the_drivers_failures_are_passed_on, set_up),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
