/* SPDX-License-Identifier: MIT
 *
 * See fake_driver.h. Names and results are the driver's own; types are the library's twins of them
 * (src/cuda/driver.h), so that a wrong declaration there is a wrong call here.
 */
#include "fake_driver.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_DEPTH 8

enum { INVALID_DEVICE = 101 };

static fake_driver_t fake = {
    .version = 13000, .device_count = 2, .name = "NVIDIA H200", .sms = 132, .major = 9};
static int contexts[FAKE_DEVICES]; /* addresses only: context of device d is contexts + d */
static _Thread_local int32_t stack[MAX_DEPTH], depth;
static _Thread_local int32_t capture_mode; /* 0: global */
static bool initialised;

EXPORT fake_driver_t *fake_driver(void);
EXPORT void fake_set_context(int32_t device);
EXPORT int32_t fake_depth(void);
EXPORT int32_t fake_capture_mode(void);
EXPORT dg_cu_result_t cuDriverGetVersion(int32_t *version);
EXPORT dg_cu_result_t cuGetProcAddress_v2(
    const char *name, void **address, int32_t version, uint64_t flags, int32_t *found);

fake_driver_t *fake_driver(void) {
    return &fake;
}

void fake_set_context(int32_t device) {
    depth = device < 0 ? 0 : 1;
    stack[0] = device;
}

int32_t fake_depth(void) {
    return depth;
}

int32_t fake_capture_mode(void) {
    return capture_mode;
}

/* Counts a call and leaves it if the test wants it to fail. */
#define ENTER(name)                                                                                \
    do {                                                                                           \
        atomic_fetch_add(&fake.calls[FAKE_##name], 1);                                             \
        if (fake.result[FAKE_##name] != 0) return fake.result[FAKE_##name];                        \
    } while (0)
#define NEED(condition, result)                                                                    \
    do {                                                                                           \
        if (!(condition)) return (result);                                                         \
    } while (0)
#define NEED_CONTEXT() NEED(depth > 0, DG_CU_INVALID_CONTEXT)

static dg_cu_result_t cuInit(uint32_t flags) {
    ENTER(cuInit);
    NEED(flags == 0, DG_CU_INVALID_VALUE);
    NEED(fake.device_count > 0, DG_CU_NO_DEVICE);
    initialised = true;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuGetErrorName(dg_cu_result_t result, const char **name) {
    ENTER(cuGetErrorName);
    *name = result == DG_CU_INVALID_VALUE     ? "CUDA_ERROR_INVALID_VALUE"
            : result == DG_CU_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == DG_CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                              : NULL;
    return *name != NULL ? DG_CU_SUCCESS : DG_CU_INVALID_VALUE;
}

static dg_cu_result_t cuGetErrorString(dg_cu_result_t result, const char **text) {
    ENTER(cuGetErrorString);
    *text = result == DG_CU_INVALID_VALUE ? "invalid argument" : NULL;
    return *text != NULL ? DG_CU_SUCCESS : DG_CU_INVALID_VALUE;
}

static dg_cu_result_t cuDeviceGetCount(int32_t *count) {
    ENTER(cuDeviceGetCount);
    NEED(initialised, DG_CU_NOT_INITIALIZED);
    *count = fake.device_count;
    return DG_CU_SUCCESS;
}

/* A handle is no ordinal: 100 + ordinal, so that a mix-up shows. */
static dg_cu_result_t cuDeviceGet(dg_cu_device_t *device, int32_t ordinal) {
    ENTER(cuDeviceGet);
    NEED(ordinal >= 0 && ordinal < fake.device_count, INVALID_DEVICE);
    *device = 100 + ordinal;
    return DG_CU_SUCCESS;
}

static bool is_device(dg_cu_device_t device) {
    return device >= 100 && device < 100 + fake.device_count;
}

static dg_cu_result_t cuDeviceGetName(char *name, int32_t size, dg_cu_device_t device) {
    ENTER(cuDeviceGetName);
    NEED(is_device(device) && size > (int32_t)strlen(fake.name), DG_CU_INVALID_VALUE);
    strcpy(name, fake.name);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuDeviceGetAttribute(
    int32_t *value, int32_t attribute, dg_cu_device_t device) {
    ENTER(cuDeviceGetAttribute);
    NEED(is_device(device), INVALID_DEVICE);
    switch (attribute) {
    case DG_CU_DEVICE_SMS: *value = fake.sms; break;
    case DG_CU_DEVICE_MAJOR: *value = fake.major; break;
    case DG_CU_DEVICE_MINOR: *value = 0; break;
    case DG_CU_DEVICE_SHARED_BYTES: *value = 232448; break;
    default: return DG_CU_INVALID_VALUE;
    }
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuDeviceTotalMem(size_t *bytes, dg_cu_device_t device) {
    ENTER(cuDeviceTotalMem);
    NEED(is_device(device), INVALID_DEVICE);
    *bytes = (size_t)150 << 30;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuDevicePrimaryCtxRetain(dg_cu_context_t *context, dg_cu_device_t device) {
    ENTER(cuDevicePrimaryCtxRetain);
    NEED(is_device(device), INVALID_DEVICE);
    atomic_fetch_add(&fake.retained[device - 100], 1);
    *context = (dg_cu_context_t)(void *)(contexts + (device - 100));
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuCtxGetCurrent(dg_cu_context_t *context) {
    ENTER(cuCtxGetCurrent);
    *context = depth > 0 ? (dg_cu_context_t)(void *)(contexts + stack[depth - 1]) : NULL;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuCtxGetDevice(dg_cu_device_t *device) {
    ENTER(cuCtxGetDevice);
    NEED_CONTEXT();
    *device = 100 + stack[depth - 1];
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuCtxPushCurrent(dg_cu_context_t context) {
    ENTER(cuCtxPushCurrent);
    NEED(depth < MAX_DEPTH, DG_CU_INVALID_VALUE);
    stack[depth++] = (int32_t)((int *)(void *)context - contexts);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuCtxPopCurrent(dg_cu_context_t *context) {
    ENTER(cuCtxPopCurrent);
    NEED_CONTEXT();
    *context = (dg_cu_context_t)(void *)(contexts + stack[--depth]);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuCtxSynchronize(void) {
    ENTER(cuCtxSynchronize);
    NEED_CONTEXT();
    return DG_CU_SUCCESS;
}

/* What a capture in global mode forbids. */
static bool spoils_capture(void) {
    if (!fake.capturing || capture_mode == DG_CU_CAPTURE_MODE_RELAXED) return false;
    atomic_store(&fake.capture_spoiled, true);
    return true;
}

/* A library is a copy of its image, and has the kernels whose names stand somewhere in it. */
typedef struct fake_library_t {
    char kernel[128]; /* the last one asked for: a kernel's handle is the library's */
    size_t bytes;
    char image[];
} fake_library_t;

/* Of PTX, a text, or of an ELF file, which ends with its section headers. */
static size_t image_bytes(const char *image) {
    if (image[0] == '.') return strlen(image) + 1;
    uint64_t headers;
    uint16_t size, count;
    memcpy(&headers, image + 40, sizeof headers);
    memcpy(&size, image + 58, sizeof size);
    memcpy(&count, image + 60, sizeof count);
    return headers + (size_t)size * count;
}

static dg_cu_result_t cuLibraryLoadData(dg_cu_library_t *library, const void *image,
    void *jit_options, void *jit_values, uint32_t jit_count, void *options, void *values,
    uint32_t count) {
    ENTER(cuLibraryLoadData);
    (void)jit_options, (void)jit_values, (void)options, (void)values;
    NEED(jit_count == 0 && count == 0, DG_CU_INVALID_VALUE);
    NEED(!spoils_capture(), DG_CU_STREAM_CAPTURE_UNSUPPORTED);
    NEED(
        memcmp(image, "\177ELF", 4) == 0 || memcmp(image, ".version", 8) == 0, DG_CU_INVALID_IMAGE);
    const size_t bytes = image_bytes(image);
    fake_library_t *loaded = calloc(1, sizeof *loaded + bytes);
    NEED(loaded != NULL, DG_CU_OUT_OF_MEMORY);
    loaded->bytes = bytes;
    memcpy(loaded->image, image, bytes);
    *library = (dg_cu_library_t)(void *)loaded;
    atomic_fetch_add(&fake.libraries, 1);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuLibraryUnload(dg_cu_library_t library) {
    ENTER(cuLibraryUnload);
    free(library);
    atomic_fetch_sub(&fake.libraries, 1);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuLibraryGetKernel(
    dg_cu_kernel_t *kernel, dg_cu_library_t library, const char *name) {
    ENTER(cuLibraryGetKernel);
    fake_library_t *loaded = (fake_library_t *)(void *)library;
    const size_t length = strlen(name);
    NEED(length < sizeof loaded->kernel, DG_CU_NOT_FOUND);
    strcpy(loaded->kernel, name);
    /* with its final zero: a whole word */
    if (loaded->image[0] == '.') {
        NEED(strstr(loaded->image, name), DG_CU_NOT_FOUND);
    } else {
        NEED(memmem(loaded->image, loaded->bytes, name, length + 1), DG_CU_NOT_FOUND);
    }
    *kernel = (dg_cu_kernel_t)(void *)library;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuKernelSetAttribute(
    int32_t attribute, int32_t value, dg_cu_kernel_t kernel, dg_cu_device_t device) {
    ENTER(cuKernelSetAttribute);
    NEED(kernel != NULL && attribute == DG_CU_FUNCTION_DYNAMIC_SHARED_BYTES && is_device(device),
        DG_CU_INVALID_VALUE);
    fake.shared_bytes = value;
    fake.shared_device = device - 100;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuKernelGetFunction(dg_cu_function_t *function, dg_cu_kernel_t kernel) {
    ENTER(cuKernelGetFunction);
    NEED_CONTEXT();
    NEED(!spoils_capture(), DG_CU_STREAM_CAPTURE_UNSUPPORTED);
    *function = (dg_cu_function_t)(void *)kernel;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuFuncLoad(dg_cu_function_t function) {
    ENTER(cuFuncLoad);
    NEED(function != NULL, DG_CU_INVALID_HANDLE);
    NEED(!spoils_capture(), DG_CU_STREAM_CAPTURE_UNSUPPORTED);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuLaunchKernelEx(
    const dg_cu_launch_config_t *config, dg_cu_kernel_t kernel, void **parameters, void **extra) {
    ENTER(cuLaunchKernelEx);
    NEED_CONTEXT();
    NEED(kernel != NULL && extra == NULL && config->attribute_count <= 4, DG_CU_INVALID_VALUE);
    fake_launch_t *launch = &fake.launch;
    memset(launch, 0, sizeof *launch);
    memcpy(launch->grid, config->grid, sizeof launch->grid);
    memcpy(launch->block, config->block, sizeof launch->block);
    launch->shared_bytes = config->shared_bytes;
    launch->stream = config->stream;
    launch->attribute_count = config->attribute_count;
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        launch->attribute_id[i] = config->attributes[i].id;
        memcpy(launch->attribute_value[i], &config->attributes[i].value, 12);
    }
    launch->kernel = ((const fake_library_t *)(const void *)kernel)->kernel;
    if (parameters != NULL) memcpy(launch->parameter, parameters[0], sizeof launch->parameter);
    launch->device = stack[depth - 1];
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuTensorMapEncodeTiled(void *map, int32_t type, uint32_t rank,
    const void *address, const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
    const uint32_t *steps, int32_t interleave, int32_t swizzle, int32_t promotion, int32_t fill) {
    ENTER(cuTensorMapEncodeTiled);
    NEED_CONTEXT();
    NEED((uintptr_t)map % 64 == 0 && rank >= 1 && rank <= 5, DG_CU_INVALID_VALUE);
    fake_map_t *seen = &fake.map;
    memset(seen, 0, sizeof *seen);
    *seen = (fake_map_t){.type = type,
        .interleave = interleave,
        .swizzle = swizzle,
        .promotion = promotion,
        .fill = fill,
        .rank = rank,
        .address = address};
    memcpy(seen->extents, extents, rank * sizeof *extents);
    memcpy(seen->strides, strides, (rank - 1) * sizeof *strides);
    memcpy(seen->box, box, rank * sizeof *box);
    memcpy(seen->steps, steps, rank * sizeof *steps);
    memset(map, 0xAB, 128);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuThreadExchangeStreamCaptureMode(int32_t *mode) {
    ENTER(cuThreadExchangeStreamCaptureMode);
    const int32_t old = capture_mode;
    capture_mode = *mode;
    *mode = old;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuStreamIsCapturing(dg_cu_stream_t stream, int32_t *status) {
    ENTER(cuStreamIsCapturing);
    NEED_CONTEXT();
    *status = fake.capturing && stream != NULL;
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuStreamCreate(dg_cu_stream_t *stream, uint32_t flags) {
    ENTER(cuStreamCreate);
    NEED_CONTEXT();
    NEED(flags <= 1, DG_CU_INVALID_VALUE);
    *stream = malloc(1);
    return *stream != NULL ? DG_CU_SUCCESS : DG_CU_OUT_OF_MEMORY;
}

static dg_cu_result_t cuStreamDestroy(dg_cu_stream_t stream) {
    ENTER(cuStreamDestroy);
    NEED_CONTEXT();
    free(stream);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuStreamSynchronize(dg_cu_stream_t stream) {
    ENTER(cuStreamSynchronize);
    (void)stream;
    NEED_CONTEXT();
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuEventCreate(dg_cu_event_t *event, uint32_t flags) {
    ENTER(cuEventCreate);
    NEED_CONTEXT();
    NEED(flags == 0, DG_CU_INVALID_VALUE);
    *event = calloc(1, sizeof(int));
    return *event != NULL ? DG_CU_SUCCESS : DG_CU_OUT_OF_MEMORY;
}

static dg_cu_result_t cuEventDestroy(dg_cu_event_t event) {
    ENTER(cuEventDestroy);
    NEED_CONTEXT();
    free(event);
    return DG_CU_SUCCESS;
}

/* An event holds the number of its recording: "time" goes on by 1 ms with each. */
static dg_cu_result_t cuEventRecord(dg_cu_event_t event, dg_cu_stream_t stream) {
    ENTER(cuEventRecord);
    (void)stream;
    NEED_CONTEXT();
    *(int *)(void *)event = atomic_load(&fake.calls[FAKE_cuEventRecord]);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuEventSynchronize(dg_cu_event_t event) {
    ENTER(cuEventSynchronize);
    NEED_CONTEXT();
    NEED(event != NULL, DG_CU_INVALID_HANDLE);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuEventElapsedTime(float *ms, dg_cu_event_t begin, dg_cu_event_t end) {
    ENTER(cuEventElapsedTime);
    NEED_CONTEXT();
    *ms = (float)(*(int *)(void *)end - *(int *)(void *)begin);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuMemAlloc(dg_cu_address_t *address, size_t bytes) {
    ENTER(cuMemAlloc);
    NEED_CONTEXT();
    NEED(bytes > 0, DG_CU_INVALID_VALUE);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    *address = (dg_cu_address_t)(uintptr_t)memory;
    return memory != NULL ? DG_CU_SUCCESS : DG_CU_OUT_OF_MEMORY;
}

static dg_cu_result_t cuMemFree(dg_cu_address_t address) {
    ENTER(cuMemFree);
    NEED_CONTEXT();
    free((void *)(uintptr_t)address);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuMemcpyAsync(
    dg_cu_address_t to, dg_cu_address_t from, size_t bytes, dg_cu_stream_t stream) {
    ENTER(cuMemcpyAsync);
    (void)stream;
    NEED_CONTEXT();
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return DG_CU_SUCCESS;
}

static dg_cu_result_t cuMemsetD8Async(
    dg_cu_address_t address, uint8_t value, size_t bytes, dg_cu_stream_t stream) {
    ENTER(cuMemsetD8Async);
    (void)stream;
    NEED_CONTEXT();
    memset((void *)(uintptr_t)address, value, bytes);
    return DG_CU_SUCCESS;
}

dg_cu_result_t cuDriverGetVersion(int32_t *version) {
    *version = fake.version;
    return DG_CU_SUCCESS;
}

dg_cu_result_t cuGetProcAddress_v2(
    const char *name, void **address, int32_t version, uint64_t flags, int32_t *found) {
    *address = NULL;
    *found = 1;
    NEED(flags == 1 && version <= fake.version, DG_CU_NOT_FOUND);
    NEED(fake.missing == NULL || strcmp(name, fake.missing) != 0, DG_CU_NOT_FOUND);
#define ANSWER(call)                                                                               \
    if (strcmp(name, #call) == 0) {                                                                \
        void (*function)(void) = (void (*)(void))call;                                             \
        memcpy(address, &function, sizeof function);                                               \
        *found = 0;                                                                                \
        return DG_CU_SUCCESS;                                                                      \
    }
    FAKE_CALLS(ANSWER)
#undef ANSWER
    return DG_CU_NOT_FOUND;
}
