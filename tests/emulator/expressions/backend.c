/* SPDX-License-Identifier: MIT
 *
 * Puts the emulator under the products beside the GEMM families: contractions, gaps in heads, the
 * product in front of a hyper-connection's norm. The linker sends the library's calls of the driver
 * here (--wrap), and the tests' calls of the public functions. Each of these is computed on the CPU
 * first; if that succeeds, outputs are put back to what they were, and the same call on tensors
 * that say CUDA goes through the library's own path to the emulated kernels. What they leave is
 * what the test judges. So the tests of tests/api test the kernels when they are linked with this.
 *
 * Every tensor and the workspace is registered with the emulator, an access beside it is a fault.
 * ONE_OF: of so many calls one is emulated, the others are left to the CPU.
 */
#include <stdlib.h>
#include <string.h>

#include "../any_gemm/backend.h"
#include "base/error.h"
#include "cuda/run.h"
#include "cuda/run_cast.h"
#include "cuda/tensor_map.h"
#include "deep_gemm/deep_gemm.h"
#include "jit/jit.h"
#include "model/span.h"
#include "model/tensor.h"

enum { MOST_TENSORS = 8, SMS = 2 };

emulated_machine_t emulated_machine = {.sms = SMS};

/* ---- the driver's place */

dg_status_t __wrap_dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device);
const dg_machine_t *__wrap_dg_cuda_machine(const dg_cuda_device_t *device);
dg_status_t __wrap_dg_jit_function(dg_cuda_device_t *device,
    const dg_specialisation_t *specialisation, uint32_t shared_bytes, void *stream,
    dg_cuda_function_t **function);
dg_status_t __wrap_dg_cuda_enter(dg_cuda_device_t *device, dg_cuda_scope_t *scope);
void __wrap_dg_cuda_leave(const dg_cuda_scope_t *scope);
dg_status_t __wrap_dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch);
dg_status_t __wrap_dg_cuda_encode_map(const dg_map_shape_t *shape, dg_tensor_map_t *map);

dg_status_t __wrap_dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device) {
    (void)ordinal;
    *device = NULL;
    return DG_STATUS_OK;
}

const dg_machine_t *__wrap_dg_cuda_machine(const dg_cuda_device_t *device) {
    static const dg_machine_t machine = {.name = "emulated",
        .architecture = ARCHITECTURE,
        .sms = SMS,
        .shared_bytes = 232448,
        .clusters_of_2 = SMS / 2,
        .clock_mhz = 1500,
        .idle_clock_mhz = 1900,
        .memory_bytes_per_us = 1e6f,
        .launch_us = 2};
    (void)device;
    return &machine;
}

/* A function is its specialisation, which outlives the launch: it lies in the caller's plan. */
dg_status_t __wrap_dg_jit_function(dg_cuda_device_t *device,
    const dg_specialisation_t *specialisation, uint32_t shared_bytes, void *stream,
    dg_cuda_function_t **function) {
    (void)device, (void)shared_bytes, (void)stream;
    *function = (dg_cuda_function_t *)(uintptr_t)specialisation;
    return DG_STATUS_OK;
}

dg_status_t __wrap_dg_cuda_enter(dg_cuda_device_t *device, dg_cuda_scope_t *scope) {
    (void)device, (void)scope;
    return DG_STATUS_OK;
}

void __wrap_dg_cuda_leave(const dg_cuda_scope_t *scope) {
    (void)scope;
}

dg_status_t __wrap_dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch) {
    const dg_specialisation_t *specialisation = (const void *)launch->function;
    const dg_kernel_t *kernel = dg_find_kernel(specialisation->kernel);
    (void)device;
    const char *wrong = emulate_launch(kernel->name, kernel->fields, specialisation->values,
        kernel->field_count, launch->grid, launch->threads, launch->cluster, launch->shared_bytes,
        launch->args, emulated_machine.schedule++);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, kernel->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

dg_status_t __wrap_dg_cuda_encode_map(const dg_map_shape_t *shape, dg_tensor_map_t *map) {
    const int64_t size = dg_dtype_size(shape->dtype);
    uint64_t extents[5], strides[5];
    uint32_t box[5];
    for (int32_t i = 0; i < shape->rank; i++) {
        extents[i] = (uint64_t)shape->extent[i];
        box[i] = (uint32_t)shape->box[i];
        if (i > 0) strides[i - 1] = (uint64_t)(shape->extent[i] > 1 ? shape->stride[i] * size : 16);
    }
    const char *wrong = emulate_map(
        shape->data, shape->rank, extents, strides, box, (int32_t)size, shape->swizzle_bytes, map);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, shape->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

/* ---- workspace */

static void *allocate(void *user, size_t bytes) {
    void **workspace = user;
    if (*workspace != NULL) return NULL; /* a call asks once */
    *workspace = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*workspace == NULL) return NULL;
    memset(*workspace, 0xFF, bytes);
    emulate_memory(*workspace, bytes, 0);
    return *workspace;
}

static dg_launch_t make_launch(void **workspace) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    *workspace = NULL;
    launch.allocate = allocate;
    launch.allocate_user = workspace;
    return launch;
}

static void free_workspace(void *workspace) {
    if (workspace == NULL) return;
    forget_memory(workspace);
    free(workspace);
}

/* ---- a call's tensors: outputs before it, and what the emulator may touch */

typedef struct rerun_t {
    dg_span_t span[MOST_TENSORS];
    unsigned char *before[MOST_TENSORS]; /* NULL: an input */
    int count;
} rerun_t;

static void add(rerun_t *rerun, const dg_tensor_t *tensor, int written) {
    const dg_span_t span = dg_tensor_span(tensor);
    if (span.begin == span.end) return;
    const size_t bytes = span.end - span.begin;
    rerun->span[rerun->count] = span;
    rerun->before[rerun->count] = written ? malloc(bytes) : NULL;
    if (written) memcpy(rerun->before[rerun->count], (const void *)span.begin, bytes);
    rerun->count++;
}

/* Takes back what the CPU wrote, and lets the emulator in. Outputs come last: c may be d. */
static void take_back(const rerun_t *rerun) {
    for (int i = 0; i < rerun->count; i++) {
        void *begin = (void *)rerun->span[i].begin;
        const size_t bytes = rerun->span[i].end - rerun->span[i].begin;
        if (rerun->before[i] != NULL) memcpy(begin, rerun->before[i], bytes);
        emulate_memory(begin, bytes, rerun->before[i] == NULL);
    }
}

static void release(const rerun_t *rerun) {
    for (int i = 0; i < rerun->count; i++) {
        forget_memory((const void *)rerun->span[i].begin);
        free(rerun->before[i]);
    }
}

/* Whether the CPU's result is to stay. */
static int is_skipped(const rerun_t *rerun, dg_status_t status) {
    static unsigned calls;
    if (status == DG_STATUS_OK && calls++ % ONE_OF == 0) return 0;
    for (int i = 0; i < rerun->count; i++) free(rerun->before[i]);
    return 1;
}

static dg_tensor_t on_gpu(dg_tensor_t tensor) {
    if (dg_tensor_given(&tensor)) tensor.device.type = DG_DEVICE_CUDA;
    return tensor;
}

static void move_operand(dg_operand_t *operand) {
    operand->data = on_gpu(operand->data);
    operand->scale = on_gpu(operand->scale);
}

/* ---- the public functions. Wrong calls are the library's alone: nothing of their tensors is read.
 * */

#define REAL(name, args_t)                                                                         \
    dg_status_t __real_##name(dg_context_t *ctx, const args_t *args, const dg_launch_t *launch);   \
    dg_status_t __wrap_##name(dg_context_t *ctx, const args_t *args, const dg_launch_t *launch)

REAL(dg_einsum, dg_einsum_args_t);
REAL(dg_gemm_skip_head_mid, dg_gemm_skip_head_mid_args_t);
REAL(dg_tf32_hc_prenorm_gemm, dg_tf32_hc_prenorm_gemm_args_t);

dg_status_t __wrap_dg_einsum(
    dg_context_t *ctx, const dg_einsum_args_t *args, const dg_launch_t *launch) {
    dg_einsum_args_t gpu = *args;
    rerun_t rerun = {.count = 0};
    void *workspace;
    size_t bytes;
    if (dg_einsum_workspace(ctx, args, &bytes) != DG_STATUS_OK)
        return __real_dg_einsum(ctx, args, launch);
    if (args->d.data != NULL) add(&rerun, &args->d, 1);
    const dg_status_t status = __real_dg_einsum(ctx, args, launch);
    if (is_skipped(&rerun, status)) return status;
    rerun_t all = {.count = 0};
    add(&all, &args->a.data, 0), add(&all, &args->a.scale, 0);
    add(&all, &args->b.data, 0), add(&all, &args->b.scale, 0);
    if (args->c.data != args->d.data) add(&all, &args->c, 0);
    for (int i = 0; i < rerun.count; i++, all.count++) {
        all.span[all.count] = rerun.span[i];
        all.before[all.count] = rerun.before[i];
    }
    move_operand(&gpu.a), move_operand(&gpu.b);
    gpu.c = on_gpu(gpu.c), gpu.d = on_gpu(gpu.d);
    take_back(&all);
    const dg_launch_t own = make_launch(&workspace);
    const dg_status_t again = __real_dg_einsum(ctx, &gpu, &own);
    free_workspace(workspace);
    release(&all);
    return again;
}

dg_status_t __wrap_dg_gemm_skip_head_mid(
    dg_context_t *ctx, const dg_gemm_skip_head_mid_args_t *args, const dg_launch_t *launch) {
    dg_gemm_skip_head_mid_args_t gpu = *args;
    rerun_t rerun = {.count = 0};
    void *workspace;
    size_t bytes;
    if (dg_gemm_skip_head_mid_workspace(ctx, args, &bytes) != DG_STATUS_OK)
        return __real_dg_gemm_skip_head_mid(ctx, args, launch);
    add(&rerun, &args->d, 1);
    const dg_status_t status = __real_dg_gemm_skip_head_mid(ctx, args, launch);
    if (is_skipped(&rerun, status)) return status;
    add(&rerun, &args->a.data, 0), add(&rerun, &args->a.scale, 0);
    add(&rerun, &args->b.data, 0), add(&rerun, &args->b.scale, 0);
    move_operand(&gpu.a), move_operand(&gpu.b);
    gpu.d = on_gpu(gpu.d);
    take_back(&rerun);
    const dg_launch_t own = make_launch(&workspace);
    const dg_status_t again = __real_dg_gemm_skip_head_mid(ctx, &gpu, &own);
    free_workspace(workspace);
    release(&rerun);
    return again;
}

dg_status_t __wrap_dg_tf32_hc_prenorm_gemm(
    dg_context_t *ctx, const dg_tf32_hc_prenorm_gemm_args_t *args, const dg_launch_t *launch) {
    dg_tf32_hc_prenorm_gemm_args_t gpu = *args;
    rerun_t rerun = {.count = 0};
    void *workspace;
    size_t bytes;
    if (dg_tf32_hc_prenorm_gemm_workspace(ctx, args, &bytes) != DG_STATUS_OK)
        return __real_dg_tf32_hc_prenorm_gemm(ctx, args, launch);
    add(&rerun, &args->d, 1), add(&rerun, &args->sqr_sum, 1);
    const dg_status_t status = __real_dg_tf32_hc_prenorm_gemm(ctx, args, launch);
    if (is_skipped(&rerun, status)) return status;
    add(&rerun, &args->a, 0), add(&rerun, &args->b, 0);
    gpu.a = on_gpu(gpu.a), gpu.b = on_gpu(gpu.b);
    gpu.d = on_gpu(gpu.d), gpu.sqr_sum = on_gpu(gpu.sqr_sum);
    take_back(&rerun);
    const dg_launch_t own = make_launch(&workspace);
    const dg_status_t again = __real_dg_tf32_hc_prenorm_gemm(ctx, &gpu, &own);
    free_workspace(workspace);
    release(&rerun);
    return again;
}
