/* SPDX-License-Identifier: MIT
 *
 * What a warm call of the library costs on the host, beside what the driver itself takes to launch
 * an empty kernel of the same grid, block, cluster, shared memory and parameters:
 *
 *     host_overhead [ROUNDS]
 *
 * Prints nanoseconds per call, the median of ROUNDS (200) rounds in turns of each, and their
 * difference: the library's own share. Needs a GPU; exits with 77, for "skipped", without one.
 *
 * The library is linked statically and its launches pass through __wrap_dg_cuda_launch below, which
 * notes the last one, so that the empty kernel is launched in the same way. Rounds are shorter than
 * the driver's queue and end with a wait: a full queue would make every launch as slow as the GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/device_state.h"
#include "deep_gemm/deep_gemm.h"
#include "kernels/args/gemm.h"

enum { CALLS = 200, MAX_ROUNDS = 10000, SKIPPED = 77 };
enum { M = 128, N = 4096, K = 512 };
#define PARAMETER_BYTES sizeof(dg_sm90_fp8_gemm_block_args_t)

static const dg_device_t gpu = {DG_DEVICE_CUDA, 0};

dg_status_t __real_dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch);
dg_status_t __wrap_dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch);

static dg_cuda_launch_t last; /* args points to a dead frame: not to be used */
static int launches;

dg_status_t __wrap_dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch) {
    last = *launch;
    launches++;
    return __real_dg_cuda_launch(device, launch);
}

static void need(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    fprintf(stderr, "host_overhead: %s\n", dg_last_error());
    exit(1);
}

static void need_driver(const dg_driver_t *driver, dg_cu_result_t result, const char *call) {
    if (result != DG_CU_SUCCESS) need(dg_driver_fail(driver, result, call));
}

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static dg_tensor_t make_tensor(dg_dtype_t dtype, int64_t rows, int64_t columns) {
    void *memory;
    const size_t bytes = (size_t)(rows * columns * dg_dtype_size(dtype));
    need(dg_device_alloc(gpu, bytes, &memory));
    need(dg_device_memset(gpu, memory, 0, bytes, NULL));
    dg_tensor_t tensor = dg_tensor_2d(memory, dtype, rows, columns);
    tensor.device = gpu;
    return tensor;
}

static dg_operand_t make_operand(int64_t rows, int32_t gran_mn) {
    return (dg_operand_t){.data = make_tensor(DG_DTYPE_E4M3, rows, K),
        .scale = make_tensor(DG_DTYPE_F32, (rows + gran_mn - 1) / gran_mn, K / 128),
        .gran_mn = gran_mn,
        .gran_k = 128};
}

/* A kernel that takes a parameter and returns, in PTX: the driver compiles it. */
static dg_cu_kernel_t load_empty_kernel(const dg_cuda_device_t *device) {
    const dg_driver_t *driver = device->driver;
    dg_cu_library_t library;
    dg_cu_kernel_t kernel;
    char ptx[256];
    snprintf(ptx, sizeof ptx,
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry empty(.param .align 64 .b8 parameter[%zu]) { ret; }\n",
        PARAMETER_BYTES);
    need_driver(driver, driver->cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0),
        "cuLibraryLoadData");
    need_driver(
        driver, driver->cuLibraryGetKernel(&kernel, library, "empty"), "cuLibraryGetKernel");
    need_driver(driver,
        driver->cuKernelSetAttribute(DG_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
            (int32_t)last.shared_bytes, kernel, device->handle),
        "cuKernelSetAttribute");
    return kernel;
}

static double time_calls(const dg_gemm_args_t *args, const dg_launch_t *launch) {
    const double begin = nanoseconds();
    for (int i = 0; i < CALLS; i++) need(dg_gemm(NULL, args, launch));
    const double end = nanoseconds();
    need(dg_device_synchronize(gpu));
    return (end - begin) / CALLS;
}

/* As many launches as a call of the library makes, straight to the driver. */
static double time_launches(const dg_driver_t *driver, dg_cu_kernel_t kernel, int per_call) {
    static _Alignas(64) char parameter[PARAMETER_BYTES];
    void *parameters[] = {parameter};
    dg_cu_launch_attribute_t cluster = {
        .id = DG_CU_LAUNCH_CLUSTER, .value.cluster = {last.cluster, 1, 1}};
    const dg_cu_launch_config_t config = {.grid = {last.grid, 1, 1},
        .block = {last.threads, 1, 1},
        .shared_bytes = last.shared_bytes,
        .attributes = &cluster,
        .attribute_count = last.cluster > 1};
    const double begin = nanoseconds();
    for (int i = 0; i < CALLS * per_call; i++)
        need_driver(driver, driver->cuLaunchKernelEx(&config, kernel, parameters, NULL),
            "cuLaunchKernelEx");
    const double end = nanoseconds();
    need(dg_device_synchronize(gpu));
    return (end - begin) / CALLS;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void measure(dg_cuda_device_t *device, int rounds) {
    static double calls[MAX_ROUNDS], by_kernel[MAX_ROUNDS], by_function[MAX_ROUNDS];
    const dg_driver_t *driver = device->driver;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    dg_launch_t launch = DG_LAUNCH_INIT;
    args.a = make_operand(M, 1);
    args.b = make_operand(N, 128);
    args.d = make_tensor(DG_DTYPE_BF16, M, N);
    need(dg_gemm_workspace(NULL, &args, &launch.workspace_size));
    need(dg_device_alloc(gpu, launch.workspace_size, &launch.workspace));
    need(dg_gemm(NULL, &args, &launch));
    const int per_call = launches;
    const dg_cu_kernel_t kernel = load_empty_kernel(device);
    dg_cu_function_t function; /* the handle that is good in one context alone */
    need_driver(driver, driver->cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
    for (int i = -10; i < rounds; i++) { /* the first ten warm up */
        const int at = i < 0 ? 0 : i;
        calls[at] = time_calls(&args, &launch);
        by_kernel[at] = time_launches(driver, kernel, per_call);
        by_function[at] = time_launches(driver, (dg_cu_kernel_t)(void *)function, per_call);
    }
    const double call = median(calls, rounds), empty = median(by_kernel, rounds);
    printf(
        "%s, driver for CUDA %d.%d; dg_gemm FP8 %d x %d x %d: %d launch(es) of %s, grid %u, block "
        "%u, cluster %u, %u bytes of shared memory\n",
        device->name, driver->version / 1000, driver->version % 1000 / 10, M, N, K, per_call,
        last.function->symbol, last.grid, last.threads, last.cluster, last.shared_bytes);
    printf("dg_gemm, warm        %8.0f ns a call (least %.0f)\n", call, calls[0]);
    printf("driver, empty kernel %8.0f ns a call (least %.0f; by CUfunction %.0f)\n", empty,
        by_kernel[0], median(by_function, rounds));
    printf("the library's share  %8.0f ns\n", call - empty);
}

int main(int argc, char **argv) {
    int32_t count;
    dg_cuda_device_t *device;
    dg_cuda_scope_t scope;
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: host_overhead [ROUNDS], 1 to %d\n", MAX_ROUNDS);
        return 2;
    }
    if (dg_device_count(&count) != DG_STATUS_OK) {
        printf("skipped: %s\n", dg_last_error());
        return SKIPPED;
    }
    need(dg_cuda_open(gpu.id, &device));
    need(dg_cuda_enter(device, &scope)); /* one context for all, as a program that uses CUDA has */
    measure(device, rounds);
    dg_cuda_leave(&scope);
    return 0;
}
