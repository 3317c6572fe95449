/* SPDX-License-Identifier: MIT
 *
 * See backend.h. src/api is compiled once more for these tests with two names exchanged: the public
 * functions are called api_gemm and so on there, so that memory can be registered around them, and
 * where they hand a checked problem to the CPU they call emulated_gemm and so on.
 */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"
#include "base/error.h"
#include "cpu/gemm.h"
#include "cpu/k_grouped.h"
#include "cpu/m_grouped.h"
#include "cuda/run.h"
#include "cuda/tensor_map.h"
#include "deep_gemm/deep_gemm.h"
#include "model/span.h"
#include "model/tensor.h"

emulated_machine_t emulated_machine = {.sms = 2};
int32_t emulated_calls[DG_KERNEL_COUNT];

/* ---- the driver's place */

dg_status_t dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch) {
    (void)device;
    const dg_specialisation_t *specialisation = (const void *)launch->function;
    const dg_kernel_t *kernel = dg_find_kernel(specialisation->kernel);
    const char *wrong = emulate_launch(kernel->name, kernel->fields, specialisation->values,
        kernel->field_count, launch->grid, launch->threads, launch->cluster, launch->shared_bytes,
        launch->args, emulated_machine.schedule);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, kernel->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

/* Beside dg_cuda_launch() in src/cuda/launch.c, which must not be linked. */
bool dg_cuda_capturing(dg_cuda_device_t *device, void *stream) {
    (void)device, (void)stream;
    return false;
}

dg_status_t dg_cuda_encode_map(const dg_map_shape_t *shape, dg_tensor_map_t *map) {
    const int64_t size = dg_dtype_size(shape->dtype);
    uint64_t extents[5], strides[5];
    uint32_t box[5];
    for (int32_t i = 0; i < shape->rank; i++) {
        extents[i] = (uint64_t)shape->extent[i];
        box[i] = (uint32_t)shape->box[i];
        /* as the library does: an axis of extent 1 has any stride */
        if (i > 0) strides[i - 1] = (uint64_t)(shape->extent[i] > 1 ? shape->stride[i] * size : 16);
    }
    const char *wrong = emulate_map(
        shape->data, shape->rank, extents, strides, box, (int32_t)size, shape->swizzle_bytes, map);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, shape->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

/* ---- the place of src/api/gpu.c */

static const dg_machine_t machine = {.name = "emulated",
    .architecture = 90,
    .shared_bytes = 232448,
    .clusters_of_2 = 66,
    .clock_mhz = 1500,
    .idle_clock_mhz = 1900,
    .memory_bytes_per_us = 1e6f,
    .launch_us = 2};

/* Which file launches a plan; dg_cuda_run() would ask for a device. */
static dg_status_t launch_plan(const dg_cuda_run_t *run) {
    if (run->plan->kernel == DG_KERNEL_SM90_FP8_GEMM_BLOCK)
        return dg_cuda_run_sm90_fp8_gemm_block(run);
    if (run->plan->kernel == DG_KERNEL_SM90_FP8_GEMM_SWAP)
        return dg_cuda_run_sm90_fp8_gemm_swap(run);
    if (run->plan->kernel == DG_KERNEL_SM90_BF16_GEMM) return dg_cuda_run_sm90_bf16_gemm(run);
    if (run->plan->kernel == DG_KERNEL_SM90_BF16_GEMM_SWAP)
        return dg_cuda_run_sm90_bf16_gemm_swap(run);
    if (run->plan->kernel == DG_KERNEL_SM90_FP8_GEMM_VECTOR)
        return dg_cuda_run_sm90_fp8_gemm_vector(run);
    return dg_cuda_run_any_gemm(run);
}

/* The plan of the next call. */
static dg_status_t make_plan(const dg_work_t *work, dg_plan_t *plan) {
    dg_machine_t here = machine;
    const dg_specialisation_t tile = {.kernel = DG_KERNEL_ANY_GEMM,
        .values = {emulated_machine.block, emulated_machine.block, work->a.dtype == DG_DTYPE_BF16}};
    const dg_specialisation_t *only = emulated_machine.only;
    if (only == NULL && emulated_machine.block > 0) only = &tile;
    const dg_plan_options_t options = {.only = only,
        .num_sms = emulated_machine.num_sms,
        .block_m_multiple = emulated_machine.block_m_multiple,
        .block_n_multiple = emulated_machine.block_n_multiple,
        .batch_invariant = emulated_machine.batch_invariant != 0};
    const int32_t kernel = only != NULL ? only->kernel : DG_KERNEL_ANY_GEMM;
    here.sms = emulated_machine.sms;
    if (emulated_machine.planned) {
        here.clusters_of_2 = here.sms / 2;
        return dg_make_plan(work, &here, &options, plan);
    }
    DG_REQUIRE(dg_kernel_planner(kernel, &here)(work, &here, &options, plan), DG_STATUS_INTERNAL,
        "", "", "no plan: %s; every work has one", plan->refusal);
    return DG_STATUS_OK;
}

static dg_status_t compute(dg_cuda_run_t *run) {
    dg_plan_t plan = {0};
    DG_TRY(make_plan(run->work, &plan));
    if (emulated_machine.splits > 0) {
        const uint32_t splits = (uint32_t)emulated_machine.splits;
        plan.stage[0].grid = plan.stage[0].grid / (uint32_t)plan.splits * splits;
        plan.stage[0].cluster = splits;
        plan.splits = emulated_machine.splits;
    }
    emulated_calls[plan.kernel]++;
    run->plan = &plan;
    for (int32_t i = 0; i < plan.stage_count; i++) {
        run->functions[i] = (dg_cuda_function_t *)(void *)&plan.stage[i].specialisation;
    }
    run->workspace = aligned_alloc(256, plan.workspace + 256);
    memset(run->workspace, 0xFF, plan.workspace + 256);
    if (plan.workspace > 0) emulate_memory(run->workspace, plan.workspace, 0);
    const dg_status_t status = launch_plan(run);
    if (plan.workspace > 0) forget_memory(run->workspace);
    free(run->workspace);
    return status;
}

dg_status_t emulated_gemm(dg_cpu_pool_t *pool, const dg_gemm_problem_t *problem) {
    dg_work_t work;
    if (emulated_machine.sms == 0) return dg_cpu_gemm(pool, problem);
    dg_gemm_work(problem, &work);
    return compute(&(dg_cuda_run_t){.work = &work, .gemm = problem});
}

dg_status_t emulated_m_grouped(dg_cpu_pool_t *pool, const dg_m_grouped_problem_t *problem,
    const dg_context_options_t *options) {
    dg_work_t work;
    if (emulated_machine.sms == 0) return dg_cpu_m_grouped(pool, problem, options);
    dg_m_grouped_gemm_work(problem, &work);
    return compute(&(dg_cuda_run_t){.work = &work, .m_grouped = problem});
}

dg_status_t emulated_k_grouped(dg_cpu_pool_t *pool, const dg_k_grouped_problem_t *problem,
    const dg_context_options_t *options) {
    dg_work_t work;
    if (emulated_machine.sms == 0) return dg_cpu_k_grouped(pool, problem, options);
    dg_k_grouped_gemm_work(problem, &work);
    return compute(&(dg_cuda_run_t){.work = &work, .k_grouped = problem});
}

/* Tensors of these tests say CPU, so that src/api never comes here. */
dg_status_t dg_gpu_multiply(
    const dg_call_t *call, const dg_gpu_product_t *product, const dg_launch_t *launch) {
    (void)call, (void)product, (void)launch;
    return dg_fail(DG_STATUS_INTERNAL, "", "", "no GPU here; pass CPU tensors");
}

dg_status_t dg_gpu_workspace(
    const dg_call_t *call, const dg_gpu_product_t *product, size_t *bytes) {
    (void)bytes;
    return dg_gpu_multiply(call, product, NULL);
}

/* ---- the public functions */

dg_status_t api_gemm(dg_context_t *ctx, const dg_gemm_args_t *args, const dg_launch_t *launch);
dg_status_t api_m_grouped_gemm(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *launch);
dg_status_t api_k_grouped_gemm(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *launch);

#define MOST_MEMORY 2100 /* LIST: an output and a c for each group */

/* Memory registered for one call. */
typedef struct memory_t {
    const void *begin[MOST_MEMORY];
    int count;
} memory_t;

static void add_memory(memory_t *memory, const dg_tensor_t *tensor, int read_only) {
    const dg_span_t span = dg_tensor_span(tensor);
    if (span.begin == span.end || memory->count == MOST_MEMORY) return;
    emulate_memory((const void *)span.begin, span.end - span.begin, read_only);
    memory->begin[memory->count++] = (const void *)span.begin;
}

/* Outputs last: what is registered later under the same address counts. */
static void add_result(memory_t *memory, const dg_tensor_t *c, const dg_tensor_t *d) {
    add_memory(memory, c, 1);
    add_memory(memory, d, 0);
}

static void add_list(memory_t *memory, const dg_k_grouped_gemm_args_t *args) {
    const dg_groups_t *groups = &args->groups;
    const int64_t count =
        dg_tensor_given(&groups->values) ? groups->values.shape[0] : groups->host_count;
    dg_tensor_t one = args->d;
    for (int64_t g = 0; g < count && args->c_list != NULL; g++) {
        one.data = (void *)(uintptr_t)args->c_list[g];
        add_memory(memory, &one, 1);
    }
    for (int64_t g = 0; g < count; g++) {
        one.data = args->d_list[g];
        add_memory(memory, &one, 0);
    }
}

static dg_status_t forget(const memory_t *memory, dg_status_t status) {
    for (int i = 0; i < memory->count; i++) forget_memory(memory->begin[i]);
    return status;
}

static void add_operand(memory_t *memory, const dg_tensor_t *data, const dg_tensor_t *scale) {
    add_memory(memory, data, 1);
    add_memory(memory, scale, 1);
}

dg_status_t dg_gemm(dg_context_t *ctx, const dg_gemm_args_t *args, const dg_launch_t *launch) {
    memory_t memory = {.count = 0};
    add_operand(&memory, &args->a.data, &args->a.scale);
    add_operand(&memory, &args->b.data, &args->b.scale);
    add_result(&memory, &args->c, &args->d);
    return forget(&memory, api_gemm(ctx, args, launch));
}

dg_status_t dg_m_grouped_gemm(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *launch) {
    memory_t memory = {.count = 0};
    add_operand(&memory, &args->a.data, &args->a.scale);
    add_operand(&memory, &args->b.data, &args->b.scale);
    add_operand(&memory, &args->groups.values, &args->a_rows);
    add_result(&memory, &args->c, &args->d);
    return forget(&memory, api_m_grouped_gemm(ctx, args, launch));
}

dg_status_t dg_k_grouped_gemm(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *launch) {
    memory_t memory = {.count = 0};
    add_operand(&memory, &args->a.data, &args->a.scale);
    add_operand(&memory, &args->b.data, &args->b.scale);
    add_operand(&memory, &args->a.rows, &args->b.rows);
    add_memory(&memory, &args->groups.values, 1);
    if (args->output == DG_K_OUTPUT_LIST)
        add_list(&memory, args);
    else
        add_result(&memory, &args->c, &args->d);
    return forget(&memory, api_k_grouped_gemm(ctx, args, launch));
}
