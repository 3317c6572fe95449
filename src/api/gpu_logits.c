/* SPDX-License-Identifier: MIT
 *
 * See gpu_logits.h.
 */
#include "api/gpu_logits.h"

#include "api/gpu_target.h"
#include "base/error.h"
#include "cuda/run_mqa_logits.h"
#include "plan/mqa_logits.h"

dg_status_t dg_gpu_logits(const dg_call_t *call, const dg_mqa_logits_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_cuda_function_t *function;
    dg_plan_stage_t stage;
    DG_TRY(dg_open_gpu_target(call, ordinal, launch, &target));
    const char *fault = dg_plan_mqa_logits(problem, target.machine, call->options.num_sms, &stage);
    DG_REQUIRE(fault == NULL, DG_STATUS_UNSUPPORTED, "", "", "%s", fault);
    DG_TRY(dg_find_stage_function(&target, &stage, &function));
    if (target.only_prepares) return DG_STATUS_OK;
    return dg_cuda_run_mqa_logits(target.device, &stage, function, &target.order, problem);
}

dg_status_t dg_gpu_logits_schedule(const dg_call_t *call, const dg_any_mqa_schedule_args_t *args,
    int32_t ordinal, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stage;
    DG_TRY(dg_open_gpu_target(call, ordinal, launch, &target));
    dg_plan_mqa_schedule(&stage);
    return dg_run_gpu_stage(&target, &stage, args);
}
