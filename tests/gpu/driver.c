/* SPDX-License-Identifier: MIT
 *
 * Implementation of driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gpu_calls_t gpu;
static CUdevice device;

#define TEXT(name) TEXT_EXPANDED(name)
#define TEXT_EXPANDED(name) #name

void gpu_check(CUresult result, const char *call, const char *file, int line) {
    const char *reason = "unknown error";
    if (result == CUDA_SUCCESS) return;
    gpu.cuGetErrorString_call(result, &reason);
    printf("%s:%d: %s: %s\n", file, line, call, reason);
    exit(1);
}

/* cuda.h maps names to their current version (cuMemAlloc to cuMemAlloc_v2): TEXT expands that. */
static bool load_calls(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("skipped: %s\n", dlerror());
        return false;
    }
#define LOAD(name)                                                                                 \
    *(void **)&gpu.name##_call = dlsym(library, TEXT(name));                                       \
    if (!gpu.name##_call) {                                                                        \
        printf("skipped: the driver has no %s\n", TEXT(name));                                     \
        return false;                                                                              \
    }
    GPU_CALLS(LOAD)
#undef LOAD
    return true;
}

bool gpu_open(void) {
    CUcontext context;
    if (!load_calls()) return false;
    if (gpu.cuInit_call(0) != CUDA_SUCCESS || gpu.cuDeviceGet_call(&device, 0) != CUDA_SUCCESS) {
        printf("skipped: no CUDA device\n");
        return false;
    }
    if (gpu_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) != 9) {
        printf("skipped: the device is not an sm_90\n");
        return false;
    }
    CHECK_GPU(gpu.cuDevicePrimaryCtxRetain_call(&context, device));
    CHECK_GPU(gpu.cuCtxSetCurrent_call(context));
    return true;
}

int gpu_attribute(CUdevice_attribute attribute) {
    int value = 0;
    CHECK_GPU(gpu.cuDeviceGetAttribute_call(&value, attribute, device));
    return value;
}

/* "580.159.04", from "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  date"; or empty. */
static void read_driver_version(char *text, size_t size) {
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    text[0] = 0;
    if (!file) return;
    if (fgets(line, sizeof line, file))
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"))
            if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.')) {
                snprintf(text, size, "%s", word);
                break;
            }
    fclose(file);
}

void gpu_describe(char *text, size_t size) {
    char name[128] = "", driver[64];
    int version = 0;
    read_driver_version(driver, sizeof driver);
    CHECK_GPU(gpu.cuDeviceGetName_call(name, sizeof name, device));
    CHECK_GPU(gpu.cuDriverGetVersion_call(&version));
    snprintf(
        text, size, "%s, driver %s, CUDA %d.%d", name, driver, version / 1000, version % 1000 / 10);
}

CUdeviceptr gpu_allocate(size_t bytes) {
    CUdeviceptr p = 0;
    CHECK_GPU(gpu.cuMemAlloc_call(&p, bytes));
    return p;
}

CUdeviceptr gpu_upload(const void *data, size_t bytes) {
    const CUdeviceptr p = gpu_allocate(bytes);
    CHECK_GPU(gpu.cuMemcpyHtoD_call(p, data, bytes));
    return p;
}

void gpu_download(void *data, CUdeviceptr from, size_t bytes) {
    CHECK_GPU(gpu.cuMemcpyDtoH_call(data, from, bytes));
}

CUfunction gpu_load(const char *cubin, const char *kernel, size_t shared_bytes) {
    static CUmodule module;
    static char loaded[1024];
    CUfunction function;
    /* The last one is kept: under compute-sanitizer, which rewrites a module as it is loaded, loading
     * the conformance programs again for each case takes minutes. */
    if (strcmp(loaded, cubin) != 0) {
        CHECK_GPU(gpu.cuModuleLoad_call(&module, cubin));
        snprintf(loaded, sizeof loaded, "%s", cubin);
    }
    CHECK_GPU(gpu.cuModuleGetFunction_call(&function, module, kernel));
    CHECK_GPU(gpu.cuFuncSetAttribute_call(
        function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes));
    return function;
}

void gpu_launch(CUfunction kernel, unsigned grid, unsigned block, unsigned cluster,
    size_t shared_bytes, void *args) {
    CUlaunchAttribute attribute;
    CUlaunchConfig config;
    void *parameters[1] = {args};
    memset(&attribute, 0, sizeof attribute);
    memset(&config, 0, sizeof config);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = cluster;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.gridDimX = grid;
    config.blockDimX = block;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = (unsigned)shared_bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK_GPU(gpu.cuLaunchKernelEx_call(&config, kernel, parameters, NULL));
}

CUtensorMap gpu_encode_map(CUtensorMapDataType type, unsigned rank, CUdeviceptr base,
    const cuuint64_t *extents, const cuuint64_t *pitches, const cuuint32_t *box,
    unsigned swizzle_bytes) {
    CUtensorMap map;
    const cuuint32_t element_strides[3] = {1, 1, 1};
    const CUtensorMapSwizzle swizzle = swizzle_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                       : swizzle_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                       : swizzle_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                             : CU_TENSOR_MAP_SWIZZLE_NONE;
    /* The driver takes the address as a pointer although it is one of the device. */
    CHECK_GPU(gpu.cuTensorMapEncodeTiled_call(&map, type, rank, (void *)(uintptr_t)base, extents,
        pitches, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}
