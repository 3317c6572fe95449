/* SPDX-License-Identifier: MIT
 *
 * A CUDA driver of paper: a shared library that stands where libcuda.so.1 is expected (environment
 * variable DG_CUDA_DRIVER), keeps the rules that the library has to keep, and records what it was
 * asked. Memory of its devices is memory of the host; kernels do nothing. Tests reach its controls
 * through fake_driver().
 */
#ifndef DG_TESTS_CUDA_FAKE_DRIVER_H
#define DG_TESTS_CUDA_FAKE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_DEVICES 4
#define FAKE_CALLS(CALL)                                                                           \
    CALL(cuInit)                                                                                   \
    CALL(cuGetErrorName)                                                                           \
    CALL(cuGetErrorString)                                                                         \
    CALL(cuDeviceGetCount)                                                                         \
    CALL(cuDeviceGet)                                                                              \
    CALL(cuDeviceGetName)                                                                          \
    CALL(cuDeviceGetAttribute)                                                                     \
    CALL(cuDeviceTotalMem)                                                                         \
    CALL(cuDevicePrimaryCtxRetain)                                                                 \
    CALL(cuCtxGetCurrent)                                                                          \
    CALL(cuCtxGetDevice)                                                                           \
    CALL(cuCtxPushCurrent)                                                                         \
    CALL(cuCtxPopCurrent)                                                                          \
    CALL(cuCtxSynchronize)                                                                         \
    CALL(cuLibraryLoadData)                                                                        \
    CALL(cuLibraryUnload)                                                                          \
    CALL(cuLibraryGetKernel)                                                                       \
    CALL(cuKernelSetAttribute)                                                                     \
    CALL(cuKernelGetFunction)                                                                      \
    CALL(cuFuncLoad)                                                                               \
    CALL(cuLaunchKernelEx)                                                                         \
    CALL(cuTensorMapEncodeTiled)                                                                   \
    CALL(cuThreadExchangeStreamCaptureMode)                                                        \
    CALL(cuStreamIsCapturing)                                                                      \
    CALL(cuStreamCreate)                                                                           \
    CALL(cuStreamDestroy)                                                                          \
    CALL(cuStreamSynchronize)                                                                      \
    CALL(cuEventCreate)                                                                            \
    CALL(cuEventDestroy)                                                                           \
    CALL(cuEventRecord)                                                                            \
    CALL(cuEventSynchronize)                                                                       \
    CALL(cuEventElapsedTime)                                                                       \
    CALL(cuMemAlloc)                                                                               \
    CALL(cuMemFree)                                                                                \
    CALL(cuMemcpyAsync)                                                                            \
    CALL(cuMemsetD8Async)

typedef enum fake_call_t {
#define FAKE_NUMBER(name) FAKE_##name,
    FAKE_CALLS(FAKE_NUMBER)
#undef FAKE_NUMBER
        FAKE_CALL_COUNT
} fake_call_t;

/* A launch as it arrived. */
typedef struct fake_launch_t {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    uint32_t attribute_count;
    int32_t attribute_id[4];
    uint32_t attribute_value[4][3];
    const char *kernel; /* name */
    uint8_t parameter[64];
    int32_t device; /* of the context that was current */
} fake_launch_t;

/* A tensor map as it was asked for. */
typedef struct fake_map_t {
    int32_t type, interleave, swizzle, promotion, fill;
    uint32_t rank;
    const void *address;
    uint64_t extents[5], strides[4];
    uint32_t box[5], steps[5];
} fake_map_t;

typedef struct fake_driver_t {
    /* Set by tests. */
    int32_t version;      /* 13000 */
    int32_t device_count; /* 2 */
    const char *name;     /* of every device */
    int32_t sms;          /* 132 */
    int32_t major;        /* compute capability, 9 */
    const char *missing;  /* a function that the driver lacks; NULL: none */
    int32_t
        result[FAKE_CALL_COUNT]; /* what a call answers instead of doing anything; 0: it works */
    bool capturing; /* some stream captures, in global mode: loading is forbidden unless the
                            * thread's mode is relaxed; a load then spoils the capture */
    /* What happened. */
    atomic_int calls[FAKE_CALL_COUNT];
    atomic_bool capture_spoiled;
    atomic_int retained[FAKE_DEVICES], libraries; /* libraries: loaded and not unloaded */
    int32_t shared_bytes, shared_device;          /* last cuKernelSetAttribute */
    fake_launch_t launch;                         /* last one */
    fake_map_t map;                               /* last one */
} fake_driver_t;

/* Exported by the fake library. */
typedef fake_driver_t *fake_driver_fn(void);
/* Makes a context of the device, or none (-1), the only one of this thread, as a caller's own. */
typedef void fake_set_context_fn(int32_t device);
typedef int32_t fake_depth_fn(void);        /* contexts on this thread's stack */
typedef int32_t fake_capture_mode_fn(void); /* CUstreamCaptureMode of this thread */

/* The controls, by dlopen of $DG_CUDA_DRIVER; ends the program if that is not the fake. */
typedef struct fake_controls_t {
    fake_driver_t *driver;
    fake_set_context_fn *set_context;
    fake_depth_fn *depth;
    fake_capture_mode_fn *capture_mode;
} fake_controls_t;
fake_controls_t open_fake_driver(void);
void reset_fake_driver(fake_driver_t *driver); /* as it was at the start */

/* Writes what the fake takes for a cubin with one kernel; returns its size, at most 256. */
size_t make_fake_cubin(char cubin[256], const char *kernel);

#endif
