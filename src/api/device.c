/* SPDX-License-Identifier: MIT
 *
 * Devices, their memory and copies: the entry points of deep_gemm/device.h that need no stream of
 * their own. The CPU is served here, GPUs by src/cuda.
 */
#include "deep_gemm/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/device.h"
#include "base/error.h"
#include "cuda/memory.h"

enum { ALIGNMENT = 256 };

dg_status_t dg_open_device(dg_device_t device, const char *name, dg_cuda_device_t **gpu) {
    *gpu = NULL;
    if (device.type == DG_DEVICE_CPU) return DG_STATUS_OK;
    DG_REQUIRE(device.type == DG_DEVICE_CUDA, DG_STATUS_BAD_DEVICE, name, "",
        "type %d, expected %d (CPU) or %d (CUDA)", (int)device.type, (int)DG_DEVICE_CPU,
        (int)DG_DEVICE_CUDA);
    return dg_cuda_open(device.id, gpu);
}

static dg_status_t check_pointer(const void *pointer, const char *name) {
    DG_REQUIRE(pointer != NULL, DG_STATUS_NULL_POINTER, name, "", "NULL, expected an address");
    return DG_STATUS_OK;
}

dg_status_t dg_device_count(int32_t *count) {
    dg_enter_function("dg_device_count");
    DG_TRY(check_pointer(count, "count"));
    return dg_cuda_count(count);
}

dg_status_t dg_device_get_info(dg_device_t device, dg_device_info_t *info) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_get_info");
    DG_TRY(dg_check_args(info, sizeof *info, "info", "dg_device_info_t"));
    DG_TRY(dg_open_device(device, "device", &gpu));
    DG_REQUIRE(gpu != NULL, DG_STATUS_BAD_DEVICE, "device", "",
        "the CPU, expected a CUDA device (type %d)", (int)DG_DEVICE_CUDA);
    const dg_cuda_facts_t facts = dg_cuda_facts(gpu);
    *info = (dg_device_info_t){
        .struct_size = sizeof *info,
        .major = facts.major,
        .minor = facts.minor,
        .num_sms = dg_cuda_machine(gpu)->sms,
        .shared_bytes = dg_cuda_machine(gpu)->shared_bytes,
        .memory_bytes = (int64_t)facts.memory,
        .driver_version = dg_cuda_driver_version(),
    };
    snprintf(info->name, sizeof info->name, "%s", facts.name);
    return DG_STATUS_OK;
}

static dg_status_t allocate_host(size_t bytes, void **memory) {
    void *block = bytes <= SIZE_MAX - ALIGNMENT
                      ? aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)
                      : NULL;
    DG_REQUIRE(block != NULL, DG_STATUS_OUT_OF_MEMORY, "bytes", "",
        "no memory for %zu bytes; free some", bytes);
    *memory = block;
    return DG_STATUS_OK;
}

dg_status_t dg_device_alloc(dg_device_t device, size_t bytes, void **memory) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_alloc");
    DG_TRY(check_pointer(memory, "memory"));
    *memory = NULL;
    DG_TRY(dg_open_device(device, "device", &gpu));
    if (bytes == 0) return DG_STATUS_OK;
    return gpu != NULL ? dg_cuda_alloc(gpu, bytes, memory) : allocate_host(bytes, memory);
}

dg_status_t dg_device_free(dg_device_t device, void *memory) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_free");
    if (memory == NULL) return DG_STATUS_OK;
    DG_TRY(dg_open_device(device, "device", &gpu));
    if (gpu != NULL) return dg_cuda_free(gpu, memory);
    free(memory);
    return DG_STATUS_OK;
}

/* *gpu: the device in whose stream the copy runs; NULL if it is already done. */
static dg_status_t copy(void *dst, dg_device_t dst_device, const void *src, dg_device_t src_device,
    size_t bytes, void *stream, dg_cuda_device_t **gpu) {
    dg_cuda_device_t *from;
    DG_TRY(dg_open_device(dst_device, "dst_device", gpu));
    DG_TRY(dg_open_device(src_device, "src_device", &from));
    if (*gpu == NULL) *gpu = from;
    if (bytes == 0) return DG_STATUS_OK;
    DG_TRY(check_pointer(dst, "dst"));
    DG_TRY(check_pointer(src, "src"));
    if (*gpu != NULL) return dg_cuda_copy(*gpu, dst, src, bytes, stream);
    memcpy(dst, src, bytes);
    return DG_STATUS_OK;
}

dg_status_t dg_device_copy(
    void *dst, dg_device_t dst_device, const void *src, dg_device_t src_device, size_t bytes) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_copy");
    DG_TRY(copy(dst, dst_device, src, src_device, bytes, NULL, &gpu));
    return gpu != NULL ? dg_cuda_synchronize_stream(gpu, NULL) : DG_STATUS_OK;
}

dg_status_t dg_device_copy_async(void *dst, dg_device_t dst_device, const void *src,
    dg_device_t src_device, size_t bytes, void *stream) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_copy_async");
    return copy(dst, dst_device, src, src_device, bytes, stream, &gpu);
}

dg_status_t dg_device_memset(
    dg_device_t device, void *memory, int value, size_t bytes, void *stream) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_memset");
    DG_TRY(dg_open_device(device, "device", &gpu));
    if (bytes == 0) return DG_STATUS_OK;
    DG_TRY(check_pointer(memory, "memory"));
    if (gpu != NULL) return dg_cuda_memset(gpu, memory, (uint8_t)value, bytes, stream);
    memset(memory, value, bytes);
    return DG_STATUS_OK;
}

dg_status_t dg_device_synchronize(dg_device_t device) {
    dg_cuda_device_t *gpu;
    dg_enter_function("dg_device_synchronize");
    DG_TRY(dg_open_device(device, "device", &gpu));
    return gpu != NULL ? dg_cuda_synchronize(gpu) : DG_STATUS_OK;
}
