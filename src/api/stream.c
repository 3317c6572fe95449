/* SPDX-License-Identifier: MIT
 *
 * Streams and events: entry points of deep_gemm/device.h. On the CPU, where a call is finished when
 * it returns, a stream is NULL and an event a reading of the clock.
 */
#include <stdlib.h>
#include <time.h>

#include "api/device.h"
#include "base/error.h"
#include "cuda/memory.h"
#include "deep_gemm/device.h"

struct dg_event_t {
    dg_cuda_device_t *gpu; /* NULL: the CPU */
    void *event;           /* CUevent */
    double us;             /* CPU: when it was recorded */
};

dg_status_t dg_stream_create(dg_device_t device, void **stream) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_stream_create");
    DG_REQUIRE(stream != NULL, DG_STATUS_NULL_POINTER, "stream", "",
        "NULL, expected the address of a pointer to fill");
    *stream = NULL;
    DG_TRY(dg_open_device(device, "device", &gpu));
    return gpu != NULL ? dg_cuda_create_stream(gpu, stream) : DG_STATUS_OK;
}

dg_status_t dg_stream_destroy(dg_device_t device, void *stream) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_stream_destroy");
    if (stream == NULL) return DG_STATUS_OK;
    DG_TRY(dg_open_device(device, "device", &gpu));
    return gpu != NULL ? dg_cuda_destroy_stream(gpu, stream) : DG_STATUS_OK;
}

dg_status_t dg_stream_synchronize(dg_device_t device, void *stream) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_stream_synchronize");
    DG_TRY(dg_open_device(device, "device", &gpu));
    return gpu != NULL ? dg_cuda_synchronize_stream(gpu, stream) : DG_STATUS_OK;
}

static dg_status_t check_event(const dg_event_t *event, const char *name) {
    DG_REQUIRE(event != NULL, DG_STATUS_NULL_POINTER, name, "",
        "NULL, expected an event of dg_event_create()");
    return DG_STATUS_OK;
}

dg_status_t dg_event_create(dg_device_t device, dg_event_t **event) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_event_create");
    DG_REQUIRE(event != NULL, DG_STATUS_NULL_POINTER, "event", "",
        "NULL, expected the address of a dg_event_t pointer to fill");
    *event = NULL;
    DG_TRY(dg_open_device(device, "device", &gpu));
    dg_event_t *made = calloc(1, sizeof *made);
    DG_REQUIRE(made != NULL, DG_STATUS_OUT_OF_MEMORY, "event", "", "no memory for it; free some");
    made->gpu = gpu;
    const dg_status_t status = gpu != NULL ? dg_cuda_create_event(gpu, &made->event) : DG_STATUS_OK;
    if (status == DG_STATUS_OK) {
        *event = made;
    } else {
        free(made);
    }
    return status;
}

dg_status_t dg_event_destroy(dg_event_t *event) {
    dg_enter_function("dg_event_destroy");
    if (event == NULL) return DG_STATUS_OK;
    const dg_status_t status =
        event->gpu != NULL ? dg_cuda_destroy_event(event->gpu, event->event) : DG_STATUS_OK;
    free(event);
    return status;
}

dg_status_t dg_event_record(dg_event_t *event, void *stream) {
    struct timespec now;
    dg_enter_function("dg_event_record");
    DG_TRY(check_event(event, "event"));
    if (event->gpu != NULL) return dg_cuda_record_event(event->gpu, event->event, stream);
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->us = 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
    return DG_STATUS_OK;
}

dg_status_t dg_event_elapsed(const dg_event_t *begin, const dg_event_t *end, float *us) {
    dg_enter_function("dg_event_elapsed");
    DG_TRY(check_event(begin, "begin"));
    DG_TRY(check_event(end, "end"));
    DG_REQUIRE(us != NULL, DG_STATUS_NULL_POINTER, "us", "",
        "NULL, expected the address of a float to fill");
    DG_REQUIRE(begin->gpu == end->gpu, DG_STATUS_BAD_DEVICE, "end", "",
        "made for another device than begin; record both on one device");
    if (begin->gpu == NULL) {
        *us = (float)(end->us - begin->us);
        return DG_STATUS_OK;
    }
    float ms = 0.0F;
    DG_TRY(dg_cuda_elapsed(begin->gpu, begin->event, end->event, &ms));
    *us = 1000.0F * ms;
    return DG_STATUS_OK;
}
