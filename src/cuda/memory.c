/* SPDX-License-Identifier: MIT
 *
 * See memory.h.
 */
#include "cuda/memory.h"

#include "base/error.h"
#include "cuda/device_state.h"

/* Leaves the function with what the driver says to name(arguments...) in a context of the device. */
#define RETURN_CALL(device, name, ...)                                                             \
    do {                                                                                           \
        dg_cuda_scope_t scope;                                                                     \
        DG_TRY(dg_cuda_enter((device), &scope));                                                   \
        const dg_cu_result_t result = (device)->driver->name(__VA_ARGS__);                         \
        dg_cuda_leave(&scope);                                                                     \
        if (result == DG_CU_SUCCESS) return DG_STATUS_OK;                                          \
        return dg_driver_fail((device)->driver, result, #name);                                    \
    } while (0)

static dg_cu_address_t address_of(const void *memory) {
    return (dg_cu_address_t)(uintptr_t)memory;
}

static dg_status_t allocate(dg_cuda_device_t *device, size_t bytes, dg_cu_address_t *address) {
    RETURN_CALL(device, cuMemAlloc, address, bytes);
}

dg_status_t dg_cuda_alloc(dg_cuda_device_t *device, size_t bytes, void **memory) {
    dg_cu_address_t address = 0;
    const dg_status_t status = allocate(device, bytes, &address);
    if (status == DG_STATUS_OUT_OF_MEMORY) {
        return dg_fail(status, "bytes", "",
            "%zu bytes could not be had on %s (CUDA device %d); free some", bytes, device->name,
            device->ordinal);
    }
    if (status == DG_STATUS_OK) *memory = (void *)(uintptr_t)address;
    return status;
}

dg_status_t dg_cuda_free(dg_cuda_device_t *device, void *memory) {
    RETURN_CALL(device, cuMemFree, address_of(memory));
}

dg_status_t dg_cuda_copy(
    dg_cuda_device_t *device, void *to, const void *from, size_t bytes, void *stream) {
    RETURN_CALL(device, cuMemcpyAsync, address_of(to), address_of(from), bytes, stream);
}

dg_status_t dg_cuda_memset(
    dg_cuda_device_t *device, void *memory, uint8_t value, size_t bytes, void *stream) {
    RETURN_CALL(device, cuMemsetD8Async, address_of(memory), value, bytes, stream);
}

dg_status_t dg_cuda_synchronize(dg_cuda_device_t *device) {
    RETURN_CALL(device, cuCtxSynchronize);
}

dg_status_t dg_cuda_create_stream(dg_cuda_device_t *device, void **stream) {
    RETURN_CALL(device, cuStreamCreate, (dg_cu_stream_t *)stream, DG_CU_STREAM_NON_BLOCKING);
}

dg_status_t dg_cuda_destroy_stream(dg_cuda_device_t *device, void *stream) {
    RETURN_CALL(device, cuStreamDestroy, stream);
}

dg_status_t dg_cuda_synchronize_stream(dg_cuda_device_t *device, void *stream) {
    RETURN_CALL(device, cuStreamSynchronize, stream);
}

dg_status_t dg_cuda_create_event(dg_cuda_device_t *device, void **event) {
    RETURN_CALL(device, cuEventCreate, (dg_cu_event_t *)event, DG_CU_EVENT_DEFAULT);
}

dg_status_t dg_cuda_destroy_event(dg_cuda_device_t *device, void *event) {
    RETURN_CALL(device, cuEventDestroy, event);
}

dg_status_t dg_cuda_record_event(dg_cuda_device_t *device, void *event, void *stream) {
    RETURN_CALL(device, cuEventRecord, event, stream);
}

static dg_status_t wait_for(dg_cuda_device_t *device, void *event) {
    RETURN_CALL(device, cuEventSynchronize, event);
}

dg_status_t dg_cuda_elapsed(dg_cuda_device_t *device, void *begin, void *end, float *ms) {
    DG_TRY(wait_for(device, end));
    RETURN_CALL(device, cuEventElapsedTime, ms, begin, end);
}
