/* SPDX-License-Identifier: MIT
 *
 * The few CUDA driver calls that the GPU tests need, found with dlopen, so that the programs start
 * (and skip) on machines without a GPU. A failing call ends the program: these are tests. */
#ifndef DG_TESTS_GPU_DRIVER_H
#define DG_TESTS_GPU_DRIVER_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_SKIPPED 77 /* what CTest takes for "skipped" */

#define GPU_CALLS(X)                                                                               \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuModuleLoad)                                                                                \
    X(cuModuleGetFunction)                                                                         \
    X(cuFuncSetAttribute)                                                                          \
    X(cuLaunchKernelEx)                                                                            \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuMemsetD8Async)                                                                             \
    X(cuTensorMapEncodeTiled)                                                                      \
    X(cuEventCreate)                                                                               \
    X(cuEventRecord)                                                                               \
    X(cuEventElapsedTime)                                                                          \
    X(cuGetErrorString)

typedef struct gpu_calls {
#define GPU_DECLARE(name) __typeof__(name) *name##_call;
    GPU_CALLS(GPU_DECLARE)
#undef GPU_DECLARE
} gpu_calls_t;

extern gpu_calls_t gpu;

/* CHECK_GPU(gpu.cuInit_call(0)): prints and ends the program if the call fails. */
void gpu_check(CUresult result, const char *call, const char *file, int line);
#define CHECK_GPU(call) gpu_check(call, #call, __FILE__, __LINE__)

/* Makes device 0 current. False, with a reason printed, if there is no driver or no sm_90 device.
 * */
bool gpu_open(void);
int gpu_attribute(CUdevice_attribute attribute);
void gpu_describe(char *text, size_t size); /* "NVIDIA H200, driver 580.1, CUDA 13.0" */

CUdeviceptr gpu_allocate(size_t bytes);
CUdeviceptr gpu_upload(const void *data, size_t bytes);
void gpu_download(void *data, CUdeviceptr from, size_t bytes);
CUfunction gpu_load(const char *cubin, const char *kernel, size_t shared_bytes);
void gpu_launch(CUfunction kernel, unsigned grid, unsigned block, unsigned cluster,
    size_t shared_bytes, void *args);

/* A map of 2 or 3 dimensions; extents, box: [rank] fastest first; pitches: [rank - 1] bytes */
CUtensorMap gpu_encode_map(CUtensorMapDataType type, unsigned rank, CUdeviceptr base,
    const cuuint64_t *extents, const cuuint64_t *pitches, const cuuint32_t *box,
    unsigned swizzle_bytes);

#endif
