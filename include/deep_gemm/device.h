/* SPDX-License-Identifier: MIT
 *
 * Devices: which GPUs there are, and what a program needs to use one with nothing but this library:
 * memory, copies, streams, events. A program that has the CUDA runtime or a framework needs none of
 * it: memory, streams and contexts of either are as good, and may be mixed with those made here.
 *
 *     const dg_device_t gpu = {DG_DEVICE_CUDA, 0}, cpu = {DG_DEVICE_CPU, 0};
 *     void *a;
 *     if (dg_device_alloc(gpu, bytes, &a) != DG_STATUS_OK) { ... dg_last_error() ... }
 *     dg_device_copy(a, gpu, host_a, cpu, bytes);
 *     args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, m, k);
 *     args.a.data.device = gpu;
 *     ... dg_gemm(NULL, &args, NULL) ... which returns before the GPU has finished
 *     dg_device_copy(host_d, cpu, d, gpu, d_bytes);         // waits for it
 *     dg_device_free(gpu, a);
 *
 * The same calls with the CPU as device work too, so that one program serves both.
 *
 * The driver (libcuda.so.1) is opened by the first call that names a CUDA device, never before, and
 * works in the caller's current CUDA context if that belongs to the device, else in the primary
 * context. A process that was forked after that cannot use CUDA and is told so. docs/gpu.md says
 * which driver is needed.
 *
 * Errors that all of them share: UNSUPPORTED (no driver that can be used, or no GPU), BAD_DEVICE (no
 * such device), NULL_POINTER, OUT_OF_MEMORY, and DRIVER with the driver's own words: among them may
 * be the failure of a kernel that ran before.
 */
#ifndef DEEP_GEMM_DEVICE_H
#define DEEP_GEMM_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"
#include "deep_gemm/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA devices of this process; ids run from 0 to *count - 1. Where there are none, *count is 0 and
 * the status says why: UNSUPPORTED, no driver or no GPU. A caller who only wants the number may
 * ignore the status. */
DG_API dg_status_t dg_device_count(int32_t *count);

typedef struct dg_device_info_t {
    size_t struct_size;     /* sizeof(dg_device_info_t), set by the initialiser */
    char name[96];          /* "NVIDIA H200" */
    int32_t major, minor;   /* compute capability: 9, 0 */
    int32_t num_sms;        /* 132 */
    int32_t shared_bytes;   /* most shared memory of one block */
    int64_t memory_bytes;   /* in all */
    int32_t driver_version; /* newest CUDA that the driver supports, 13000 for 13.0 */
    int32_t reserved;
} dg_device_info_t;

#define DG_DEVICE_INFO_INIT                                                                        \
    { sizeof(dg_device_info_t), {0}, 0, 0, 0, 0, 0, 0, 0 }

/* What the driver tells of a CUDA device. Makes no context and uses no device memory.
 * BAD_STRUCT_SIZE; BAD_DEVICE for the CPU. */
DG_API dg_status_t dg_device_get_info(dg_device_t device, dg_device_info_t *info);

/* Memory of the device, its address a multiple of 256. 0 bytes: NULL. */
DG_API dg_status_t dg_device_alloc(dg_device_t device, size_t bytes, void **memory);

/* Frees it. Waits for the device's work; NULL is allowed. */
DG_API dg_status_t dg_device_free(dg_device_t device, void *memory);

/* Copies between or within devices, after all work of the default streams, and waits until it is
 * done. The ranges must not overlap. */
DG_API dg_status_t dg_device_copy(
    void *dst, dg_device_t dst_device, const void *src, dg_device_t src_device, size_t bytes);

/* The same in a stream, without waiting: a stream of dst_device, or of src_device if dst_device is
 * the CPU; NULL: the default stream. Memory of the host must stay as it is until the stream has come
 * that far. Between CPU and CPU the copy is done when this returns. */
DG_API dg_status_t dg_device_copy_async(void *dst, dg_device_t dst_device, const void *src,
    dg_device_t src_device, size_t bytes, void *stream);

/* Sets each of `bytes` bytes to the low byte of `value`, in a stream of the device. */
DG_API dg_status_t dg_device_memset(
    dg_device_t device, void *memory, int value, size_t bytes, void *stream);

/* Waits until the device has finished all work that was given to its current context. */
DG_API dg_status_t dg_device_synchronize(dg_device_t device);

/* A stream, what dg_launch_t calls stream: a CUstream, which does not wait for the default stream.
 * On the CPU it is NULL. dg_stream_synchronize waits for all its work; stream NULL: the default
 * stream. */
DG_API dg_status_t dg_stream_create(dg_device_t device, void **stream);
DG_API dg_status_t dg_stream_destroy(dg_device_t device, void *stream);
DG_API dg_status_t dg_stream_synchronize(dg_device_t device, void *stream);

/* A moment in a stream, for measuring:
 *
 *     dg_event_record(begin, stream);
 *     ... calls in that stream ...
 *     dg_event_record(end, stream);
 *     dg_event_elapsed(begin, end, &us);
 *
 * dg_event_elapsed waits for `end`, then gives the time between the two in microseconds (resolution
 * about half of one). Both must have been recorded, on the same device: else BAD_DEVICE or DRIVER. */
typedef struct dg_event_t dg_event_t;
DG_API dg_status_t dg_event_create(dg_device_t device, dg_event_t **event);
DG_API dg_status_t dg_event_record(dg_event_t *event, void *stream);
DG_API dg_status_t dg_event_elapsed(const dg_event_t *begin, const dg_event_t *end, float *us);
DG_API dg_status_t dg_event_destroy(dg_event_t *event); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
