/* SPDX-License-Identifier: MIT
 *
 * See gpu_logits.h.
 */
#include "api/gpu_logits.h"

#include "base/error.h"
#include "cuda/run_mqa_logits.h"
#include "jit/jit.h"
#include "plan/mqa_logits.h"

static dg_cuda_order_t order_of(const dg_call_t *call, const dg_launch_t *launch) {
    return (dg_cuda_order_t){
        .stream = launch == NULL ? NULL : launch->stream, .pdl = call->options.pdl == DG_ON};
}

dg_status_t dg_gpu_logits(const dg_call_t *call, const dg_mqa_logits_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch) {
    const dg_cuda_order_t order = order_of(call, launch);
    dg_cuda_device_t *device;
    dg_cuda_function_t *function;
    dg_plan_stage_t stage;
    DG_TRY(dg_cuda_open(ordinal, &device));
    const char *fault =
        dg_plan_mqa_logits(problem, dg_cuda_machine(device), call->options.num_sms, &stage);
    DG_REQUIRE(fault == NULL, DG_STATUS_UNSUPPORTED, "", "", "%s", fault);
    DG_TRY(dg_jit_function(
        device, &stage.specialisation, stage.shared_bytes, order.stream, &function));
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    return dg_cuda_run_mqa_logits(device, &stage, function, &order, problem);
}

dg_status_t dg_gpu_logits_schedule(const dg_call_t *call, const dg_any_mqa_schedule_args_t *args,
    int32_t ordinal, const dg_launch_t *launch) {
    const dg_cuda_order_t order = order_of(call, launch);
    dg_cuda_device_t *device;
    dg_cuda_function_t *function;
    dg_plan_stage_t stage;
    DG_TRY(dg_cuda_open(ordinal, &device));
    dg_plan_mqa_schedule(&stage);
    DG_TRY(dg_jit_function(
        device, &stage.specialisation, stage.shared_bytes, order.stream, &function));
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    return dg_cuda_run_stage(device, &stage, function, &order, args);
}
