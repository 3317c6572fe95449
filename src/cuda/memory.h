/* SPDX-License-Identifier: MIT
 *
 * Memory, streams and events of a device, each function one call of the driver in a context of that
 * device. Called by src/api/device.c and src/api/stream.c.
 */
#ifndef DG_CUDA_MEMORY_H
#define DG_CUDA_MEMORY_H

#include "cuda/device.h"

dg_status_t dg_cuda_alloc(dg_cuda_device_t *device, size_t bytes, void **memory);
dg_status_t dg_cuda_free(dg_cuda_device_t *device, void *memory);

/* Either address may be one of the host, or of another device. */
dg_status_t dg_cuda_copy(
    dg_cuda_device_t *device, void *to, const void *from, size_t bytes, void *stream);
dg_status_t dg_cuda_memset(
    dg_cuda_device_t *device, void *memory, uint8_t value, size_t bytes, void *stream);

dg_status_t dg_cuda_synchronize(dg_cuda_device_t *device);
dg_status_t dg_cuda_create_stream(dg_cuda_device_t *device, void **stream);
dg_status_t dg_cuda_destroy_stream(dg_cuda_device_t *device, void *stream);
dg_status_t dg_cuda_synchronize_stream(dg_cuda_device_t *device, void *stream);

dg_status_t dg_cuda_create_event(dg_cuda_device_t *device, void **event);
dg_status_t dg_cuda_destroy_event(dg_cuda_device_t *device, void *event);
dg_status_t dg_cuda_record_event(dg_cuda_device_t *device, void *event, void *stream);
/* Waits for `end`. */
dg_status_t dg_cuda_elapsed(dg_cuda_device_t *device, void *begin, void *end, float *ms);

#endif
