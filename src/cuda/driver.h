/* SPDX-License-Identifier: MIT
 *
 * The CUDA driver as a table of functions. libcuda is opened with dlopen at first use and asked for
 * each function through cuGetProcAddress, so that the library builds without CUDA headers and loads
 * on machines without a GPU. The types and numbers below are those of the driver's stable C ABI and
 * keep its names behind a prefix. Used by the files of src/cuda alone.
 */
#ifndef DG_CUDA_DRIVER_H
#define DG_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"

typedef int32_t dg_cu_result_t; /* CUresult */
typedef int32_t dg_cu_device_t; /* CUdevice */
typedef uint64_t dg_cu_address_t;
typedef struct CUctx_st *dg_cu_context_t;
typedef struct CUstream_st *dg_cu_stream_t;
typedef struct CUevent_st *dg_cu_event_t;
typedef struct CUlib_st *dg_cu_library_t;
typedef struct CUkern_st *dg_cu_kernel_t;
typedef struct CUfunc_st *dg_cu_function_t;

enum { /* results that the library tells apart; the driver itself has names for all */
    DG_CU_SUCCESS = 0,
    DG_CU_INVALID_VALUE = 1,
    DG_CU_OUT_OF_MEMORY = 2,
    DG_CU_NOT_INITIALIZED = 3,
    DG_CU_DEINITIALIZED = 4,
    DG_CU_NO_DEVICE = 100,
    DG_CU_INVALID_IMAGE = 200,
    DG_CU_INVALID_CONTEXT = 201,
    DG_CU_NO_BINARY_FOR_GPU = 209,
    DG_CU_UNSUPPORTED_PTX_VERSION = 222,
    DG_CU_INVALID_HANDLE = 400,
    DG_CU_NOT_FOUND = 500,
    DG_CU_ILLEGAL_ADDRESS = 700,
    DG_CU_LAUNCH_FAILED = 719,
    DG_CU_SYSTEM_NOT_READY = 802,
    DG_CU_SYSTEM_DRIVER_MISMATCH = 803,
    DG_CU_STREAM_CAPTURE_UNSUPPORTED = 900,
    DG_CU_STREAM_CAPTURE_WRONG_THREAD = 908
};

enum { /* CUdevice_attribute */
    DG_CU_DEVICE_SMS = 16,
    DG_CU_DEVICE_MAJOR = 75,
    DG_CU_DEVICE_MINOR = 76,
    DG_CU_DEVICE_SHARED_BYTES = 97 /* of one CTA, when it opts in */
};

enum { DG_CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8 };                  /* CUfunction_attribute */
enum { DG_CU_CAPTURE_MODE_RELAXED = 2 };                           /* CUstreamCaptureMode */
enum { DG_CU_CAPTURE_STATUS_NONE = 0 };                            /* CUstreamCaptureStatus */
enum { DG_CU_PROC_ADDRESS_LEGACY_STREAM = 1 };                     /* stream NULL: the device's */
enum { DG_CU_LAUNCH_CLUSTER = 4, DG_CU_LAUNCH_PDL = 6 };           /* CUlaunchAttributeID */
enum { DG_CU_STREAM_NON_BLOCKING = 1, DG_CU_EVENT_DEFAULT = 0 };   /* flags */
enum { DG_CU_TENSOR_MAP_L2_256B = 3, DG_CU_TENSOR_MAP_PLAIN = 0 }; /* promotion; interleave, fill */

enum { /* CUtensorMapDataType */
    DG_CU_TENSOR_MAP_U8 = 0,
    DG_CU_TENSOR_MAP_I32 = 3,
    DG_CU_TENSOR_MAP_F32 = 7,
    DG_CU_TENSOR_MAP_BF16 = 9
};

typedef struct dg_cu_launch_attribute_t { /* CUlaunchAttribute */
    int32_t id;
    int32_t pad;
    union {
        struct {
            uint32_t x, y, z;
        } cluster;
        int32_t pdl;
        uint64_t words[8];
    } value;
} dg_cu_launch_attribute_t;

typedef struct dg_cu_launch_config_t { /* CUlaunchConfig */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    dg_cu_stream_t stream;
    dg_cu_launch_attribute_t *attributes;
    uint32_t attribute_count;
} dg_cu_launch_config_t;

_Static_assert(sizeof(dg_cu_launch_attribute_t) == 72, "as the driver has it");
_Static_assert(sizeof(void *) != 8 || sizeof(dg_cu_launch_config_t) == 56, "as the driver has it");

/* CALL(name, version, parameters): what the library asks for, each in the form it had in that CUDA
 * version. All of it exists since 12.0, the oldest driver that can be used. */
#define DG_DRIVER_CALLS(CALL)                                                                      \
    CALL(cuInit, 2000, (uint32_t flags))                                                           \
    CALL(cuGetErrorName, 6000, (dg_cu_result_t result, const char **name))                         \
    CALL(cuGetErrorString, 6000, (dg_cu_result_t result, const char **text))                       \
    CALL(cuDeviceGetCount, 2000, (int32_t * count))                                                \
    CALL(cuDeviceGet, 2000, (dg_cu_device_t * device, int32_t ordinal))                            \
    CALL(cuDeviceGetName, 2000, (char *name, int32_t size, dg_cu_device_t device))                 \
    CALL(cuDeviceGetAttribute, 2000, (int32_t * value, int32_t attribute, dg_cu_device_t device))  \
    CALL(cuDeviceTotalMem, 3020, (size_t * bytes, dg_cu_device_t device))                          \
    CALL(cuDevicePrimaryCtxRetain, 7000, (dg_cu_context_t * context, dg_cu_device_t device))       \
    CALL(cuCtxGetCurrent, 4000, (dg_cu_context_t * context))                                       \
    CALL(cuCtxGetDevice, 2000, (dg_cu_device_t * device))                                          \
    CALL(cuCtxPushCurrent, 4000, (dg_cu_context_t context))                                        \
    CALL(cuCtxPopCurrent, 4000, (dg_cu_context_t * context))                                       \
    CALL(cuCtxSynchronize, 2000, (void))                                                           \
    CALL(cuLibraryLoadData, 12000,                                                                 \
        (dg_cu_library_t * library, const void *image, void *jit_options, void *jit_values,        \
            uint32_t jit_count, void *options, void *values, uint32_t count))                      \
    CALL(cuLibraryUnload, 12000, (dg_cu_library_t library))                                        \
    CALL(cuLibraryGetKernel, 12000,                                                                \
        (dg_cu_kernel_t * kernel, dg_cu_library_t library, const char *name))                      \
    CALL(cuKernelSetAttribute, 12000,                                                              \
        (int32_t attribute, int32_t value, dg_cu_kernel_t kernel, dg_cu_device_t device))          \
    CALL(cuKernelGetFunction, 12000, (dg_cu_function_t * function, dg_cu_kernel_t kernel))         \
    CALL(cuLaunchKernelEx, 11060,                                                                  \
        (const dg_cu_launch_config_t *config, dg_cu_kernel_t kernel, void **parameters,            \
            void **extra))                                                                         \
    CALL(cuTensorMapEncodeTiled, 12000,                                                            \
        (void *map, int32_t type, uint32_t rank, const void *address, const uint64_t *extents,     \
            const uint64_t *strides, const uint32_t *box, const uint32_t *steps,                   \
            int32_t interleave, int32_t swizzle, int32_t promotion, int32_t fill))                 \
    CALL(cuThreadExchangeStreamCaptureMode, 10010, (int32_t * mode))                               \
    CALL(cuStreamIsCapturing, 10000, (dg_cu_stream_t stream, int32_t * status))                    \
    CALL(cuStreamCreate, 2000, (dg_cu_stream_t * stream, uint32_t flags))                          \
    CALL(cuStreamDestroy, 4000, (dg_cu_stream_t stream))                                           \
    CALL(cuStreamSynchronize, 2000, (dg_cu_stream_t stream))                                       \
    CALL(cuEventCreate, 2000, (dg_cu_event_t * event, uint32_t flags))                             \
    CALL(cuEventDestroy, 4000, (dg_cu_event_t event))                                              \
    CALL(cuEventRecord, 2000, (dg_cu_event_t event, dg_cu_stream_t stream))                        \
    CALL(cuEventSynchronize, 2000, (dg_cu_event_t event))                                          \
    CALL(cuEventElapsedTime, 2000, (float *ms, dg_cu_event_t begin, dg_cu_event_t end))            \
    CALL(cuMemAlloc, 3020, (dg_cu_address_t * address, size_t bytes))                              \
    CALL(cuMemFree, 3020, (dg_cu_address_t address))                                               \
    CALL(cuMemcpyAsync, 4000,                                                                      \
        (dg_cu_address_t to, dg_cu_address_t from, size_t bytes, dg_cu_stream_t stream))           \
    CALL(cuMemsetD8Async, 3020,                                                                    \
        (dg_cu_address_t address, uint8_t value, size_t bytes, dg_cu_stream_t stream))

typedef struct dg_driver_t {
    int32_t version; /* 13000: CUDA 13.0 */
#define DG_DECLARE_CALL(name, since, parameters) dg_cu_result_t(*name) parameters;
    DG_DRIVER_CALLS(DG_DECLARE_CALL)
#undef DG_DECLARE_CALL
    dg_cu_result_t (*cuFuncLoad)(dg_cu_function_t function); /* since 12.4; else NULL */
} dg_driver_t;

/* The driver, opened and initialised by the first call; after that one atomic load. A failure is not
 * remembered: the next call tries again. In a child of a process that had opened it, it always
 * fails, because no driver survives fork(). */
dg_status_t dg_driver_open(const dg_driver_t **driver);

/* Builds the error of a driver call that did not succeed: "<call>: <the driver's name> (<number>),
 * <the driver's text>; <what to do>". OUT_OF_MEMORY for that result, else DRIVER. */
#if defined(__GNUC__)
__attribute__((cold))
#endif
dg_status_t
dg_driver_fail(const dg_driver_t *driver, dg_cu_result_t result, const char *call);

/* DG_TRY_DRIVER(driver, cuCtxSynchronize, ()): calls, and leaves the function with an error unless
 * the driver is content. */
#define DG_TRY_DRIVER(driver, name, arguments)                                                     \
    do {                                                                                           \
        const dg_cu_result_t dg_cu_result = (driver)->name arguments;                              \
        if (dg_cu_result != DG_CU_SUCCESS) return dg_driver_fail((driver), dg_cu_result, #name);   \
    } while (0)

#endif
