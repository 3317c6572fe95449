/* SPDX-License-Identifier: MIT
 *
 * Puts the emulator under MQA logits: the linker sends the library's calls of the driver here
 * (--wrap), and the tests' calls of the public functions, whose tensors then say CUDA. So a case
 * of tests/family/logits.h judges the emulated kernels. Every tensor is registered with the
 * emulator: an access beside it is a fault. Schedules of threads change from launch to launch.
 */
#include "backend.h"

#include <stdbool.h>

#include "../any_gemm/backend.h"
#include "base/error.h"
#include "cuda/run_cast.h"
#include "cuda/tensor_map.h"
#include "deep_gemm/mqa_logits.h"
#include "jit/jit.h"
#include "model/span.h"
#include "model/tensor.h"

int32_t emulated_sms = 2, emulated_launches, emulated_kernel;

#define WRAP(name, ...) dg_status_t __wrap_##name(__VA_ARGS__), __real_##name(__VA_ARGS__)

WRAP(dg_cuda_open, int32_t ordinal, dg_cuda_device_t **device);
WRAP(dg_cuda_enter, dg_cuda_device_t *device, dg_cuda_scope_t *scope);
void __wrap_dg_cuda_leave(const dg_cuda_scope_t *scope);
const dg_machine_t *__wrap_dg_cuda_machine(const dg_cuda_device_t *device);
WRAP(dg_jit_function, dg_cuda_device_t *device, const dg_specialisation_t *specialisation,
    uint32_t shared_bytes, void *stream, dg_cuda_function_t **function);
WRAP(dg_cuda_run_stage, dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order, const void *args);
WRAP(dg_cuda_encode_map, const dg_map_shape_t *shape, dg_tensor_map_t *map);
WRAP(dg_mqa_logits, dg_context_t *ctx, const dg_mqa_logits_args_t *args, const dg_launch_t *launch);
WRAP(dg_paged_mqa_logits, dg_context_t *ctx, const dg_paged_mqa_logits_args_t *args,
    const dg_launch_t *launch);
WRAP(dg_paged_mqa_logits_schedule, dg_context_t *ctx,
    const dg_paged_mqa_logits_schedule_args_t *args, const dg_launch_t *launch);

dg_status_t __wrap_dg_cuda_enter(dg_cuda_device_t *device, dg_cuda_scope_t *scope) {
    (void)device, (void)scope;
    return DG_STATUS_OK;
}
void __wrap_dg_cuda_leave(const dg_cuda_scope_t *scope) {
    (void)scope;
}

dg_status_t __wrap_dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device) {
    (void)ordinal;
    *device = NULL;
    return DG_STATUS_OK;
}

const dg_machine_t *__wrap_dg_cuda_machine(const dg_cuda_device_t *device) {
    static dg_machine_t machine = {.name = "emulated", .architecture = 90};
    (void)device;
    machine.sms = emulated_sms;
    return &machine;
}

dg_status_t __wrap_dg_jit_function(dg_cuda_device_t *device,
    const dg_specialisation_t *specialisation, uint32_t shared_bytes, void *stream,
    dg_cuda_function_t **function) {
    (void)device, (void)specialisation, (void)shared_bytes, (void)stream;
    *function = NULL;
    return DG_STATUS_OK;
}

dg_status_t __wrap_dg_cuda_run_stage(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order, const void *args) {
    const dg_kernel_t *kernel = dg_find_kernel(stage->specialisation.kernel);
    (void)device, (void)function, (void)order;
    emulated_kernel = stage->specialisation.kernel;
    const char *wrong = emulate_launch(kernel->name, kernel->fields, stage->specialisation.values,
        kernel->field_count, stage->grid, stage->threads, stage->cluster, stage->shared_bytes, args,
        (uint32_t)emulated_launches++);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, kernel->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

dg_status_t __wrap_dg_cuda_encode_map(const dg_map_shape_t *shape, dg_tensor_map_t *map) {
    uint64_t extents[5], strides[5];
    uint32_t box[5];
    for (int32_t i = 0; i < shape->rank; i++) {
        extents[i] = (uint64_t)shape->extent[i];
        box[i] = (uint32_t)shape->box[i];
        if (i > 0) strides[i - 1] = (uint64_t)(shape->extent[i] > 1 ? shape->stride[i] : 16);
    }
    const char *wrong =
        emulate_map(shape->data, shape->rank, extents, strides, box, 1, shape->swizzle_bytes, map);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, shape->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

/* ---- the public functions. tensors: [count], the last one is the output */

static void move_all(dg_tensor_t *const *tensors, int count) {
    for (int i = 0; i < count; i++) {
        const dg_span_t span = dg_tensor_span(tensors[i]);
        if (!dg_tensor_given(tensors[i])) continue;
        tensors[i]->device.type = DG_DEVICE_CUDA;
        if (span.begin < span.end)
            emulate_memory((const void *)span.begin, span.end - span.begin, i < count - 1);
    }
}

static void forget_all(dg_tensor_t *const *tensors, int count) {
    for (int i = 0; i < count; i++) {
        const dg_span_t span = dg_tensor_span(tensors[i]);
        if (span.begin < span.end) forget_memory((const void *)span.begin);
    }
}

dg_status_t __wrap_dg_mqa_logits(
    dg_context_t *ctx, const dg_mqa_logits_args_t *args, const dg_launch_t *launch) {
    dg_mqa_logits_args_t gpu = *args;
    dg_tensor_t *const tensors[] = {&gpu.q, &gpu.q_scale, &gpu.kv, &gpu.kv_scale, &gpu.weights,
        &gpu.starts, &gpu.ends, &gpu.logits};
    move_all(tensors, 8);
    const dg_status_t status = __real_dg_mqa_logits(ctx, &gpu, launch);
    forget_all(tensors, 8);
    return status;
}

dg_status_t __wrap_dg_paged_mqa_logits(
    dg_context_t *ctx, const dg_paged_mqa_logits_args_t *args, const dg_launch_t *launch) {
    dg_paged_mqa_logits_args_t gpu = *args;
    dg_tensor_t *const tensors[] = {&gpu.q, &gpu.q_scale, &gpu.kv_cache, &gpu.weights,
        &gpu.context_lens, &gpu.block_table, &gpu.indices, &gpu.schedule, &gpu.logits};
    move_all(tensors, 9);
    const dg_status_t status = __real_dg_paged_mqa_logits(ctx, &gpu, launch);
    forget_all(tensors, 9);
    return status;
}

dg_status_t __wrap_dg_paged_mqa_logits_schedule(
    dg_context_t *ctx, const dg_paged_mqa_logits_schedule_args_t *args, const dg_launch_t *launch) {
    dg_paged_mqa_logits_schedule_args_t gpu = *args;
    dg_tensor_t *const tensors[] = {&gpu.context_lens, &gpu.schedule};
    move_all(tensors, 2);
    const dg_status_t status = __real_dg_paged_mqa_logits_schedule(ctx, &gpu, launch);
    forget_all(tensors, 2);
    return status;
}
