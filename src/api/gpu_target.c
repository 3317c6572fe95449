/* SPDX-License-Identifier: MIT
 *
 * See gpu_target.h.
 */
#include "api/gpu_target.h"

#include "base/error.h"
#include "jit/jit.h"

dg_status_t dg_open_gpu_target(
    const dg_call_t *call, int32_t ordinal, const dg_launch_t *launch, dg_gpu_target_t *target) {
    DG_TRY(dg_cuda_open(ordinal, &target->device));
    target->machine = dg_cuda_machine(target->device);
    target->order.stream = launch == NULL ? NULL : launch->stream;
    target->order.pdl = call->options.pdl == DG_ON;
    target->only_prepares = dg_only_prepares(launch);
    target->psum_alignment = call->options.mk_alignment;
    return DG_STATUS_OK;
}

dg_status_t dg_find_stage_function(
    const dg_gpu_target_t *target, const dg_plan_stage_t *stage, dg_cuda_function_t **function) {
    return dg_jit_function(target->device, &stage->specialisation, stage->shared_bytes,
        target->order.stream, function);
}

dg_status_t dg_run_gpu_stage(
    const dg_gpu_target_t *target, const dg_plan_stage_t *stage, const void *args) {
    dg_cuda_function_t *function;
    DG_TRY(dg_find_stage_function(target, stage, &function));
    if (target->only_prepares) return DG_STATUS_OK;
    return dg_cuda_run_stage(target->device, stage, function, &target->order, args);
}
