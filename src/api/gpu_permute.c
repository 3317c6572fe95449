/* SPDX-License-Identifier: MIT
 *
 * See gpu_permute.h.
 */
#include "api/gpu_permute.h"

#include "api/gpu_target.h"
#include "base/error.h"
#include "plan/permute.h"

dg_status_t dg_gpu_route_tokens(const dg_call_t *call, const dg_route_tokens_args_t *args,
    int32_t alignment, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stages[2];
    dg_any_route_tokens_args_t route;
    dg_cuda_function_t *functions[2];
    DG_TRY(dg_open_gpu_target(call, args->ids.device.id, launch, &target));
    dg_plan_route_tokens(args, alignment, target.machine, stages, &route);
    for (int i = 0; i < 2; i++) /* both are there before the first is launched */
        DG_TRY(dg_find_stage_function(&target, &stages[i], &functions[i]));
    for (int i = 0; i < 2 && !target.only_prepares; i++)
        DG_TRY(dg_cuda_run_stage(target.device, &stages[i], functions[i], &target.order, &route));
    return DG_STATUS_OK;
}

dg_status_t dg_gpu_permute_rows(
    const dg_call_t *call, const dg_permute_rows_args_t *args, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stage;
    dg_any_permute_rows_args_t permute;
    DG_TRY(dg_open_gpu_target(call, args->out.device.id, launch, &target));
    dg_plan_permute_rows(args, target.machine, &stage, &permute);
    return dg_run_gpu_stage(&target, &stage, &permute);
}

dg_status_t dg_gpu_unpermute_rows(
    const dg_call_t *call, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stage;
    dg_any_sum_rows_args_t sum;
    DG_TRY(dg_open_gpu_target(call, args->out.device.id, launch, &target));
    dg_plan_unpermute_rows(args, target.machine, &stage, &sum);
    return dg_run_gpu_stage(&target, &stage, &sum);
}

dg_status_t dg_gpu_dot_rows(
    const dg_call_t *call, const dg_dot_rows_args_t *args, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stage;
    dg_any_sum_rows_args_t dot;
    DG_TRY(dg_open_gpu_target(call, args->out.device.id, launch, &target));
    dg_plan_dot_rows(args, target.machine, &stage, &dot);
    return dg_run_gpu_stage(&target, &stage, &dot);
}
