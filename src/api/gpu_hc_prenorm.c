/* SPDX-License-Identifier: MIT
 *
 * See gpu_hc_prenorm.h.
 */
#include "api/gpu_hc_prenorm.h"

#include <inttypes.h>

#include "api/gpu.h"
#include "api/gpu_target.h"
#include "base/error.h"
#include "plan/hc_prenorm.h"

/* Rows are copied 16 bytes at a time. */
static dg_status_t check_rows(
    const void *data, int64_t stride, int64_t value_bytes, const char *name) {
    DG_REQUIRE((uintptr_t)data % 16 == 0, DG_STATUS_MISALIGNED, name, "",
        "address %p, expected a multiple of 16 on a GPU; move the tensor", data);
    DG_REQUIRE(stride * value_bytes % 16 == 0, DG_STATUS_BAD_STRIDE, name, "",
        "stride %" PRId64 " from row to row, expected a multiple of %" PRId64
        " on a GPU, 16 bytes; pad the rows",
        stride, 16 / value_bytes);
    return DG_STATUS_OK;
}

static dg_status_t make_plan(const dg_call_t *call, const dg_hc_prenorm_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch, dg_gpu_target_t *target,
    dg_hc_prenorm_plan_t *plan) {
    const dg_plan_options_t options = {.num_sms = call->options.num_sms,
        .batch_invariant = call->options.batch_invariant == DG_ON};
    DG_TRY(check_rows(problem->a, problem->a_stride, 2, "a"));
    DG_TRY(check_rows(problem->b, problem->b_stride, 4, "b"));
    DG_TRY(dg_open_gpu_target(call, ordinal, launch, target));
    dg_plan_hc_prenorm(problem, target->machine, &options, plan);
    return DG_STATUS_OK;
}

dg_status_t dg_gpu_hc_prenorm(const dg_call_t *call, const dg_hc_prenorm_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_hc_prenorm_plan_t plan;
    dg_launch_t own;
    DG_TRY(make_plan(call, problem, ordinal, launch, &target, &plan));
    DG_TRY(dg_gpu_take_workspace(call, launch, plan.workspace, &own));
    const bool sums = plan.workspace > 0;
    dg_cuda_function_t *product, *sum = NULL; /* both are there before the first is launched */
    DG_TRY(dg_find_stage_function(&target, &plan.product, &product));
    if (sums) DG_TRY(dg_find_stage_function(&target, &plan.sum, &sum));
    if (target.only_prepares) return DG_STATUS_OK;
    dg_place_hc_slices(&plan, own.workspace);
    DG_TRY(dg_cuda_run_stage(
        target.device, &plan.product, product, &target.order, &plan.product_args));
    if (!sums) return DG_STATUS_OK;
    return dg_cuda_run_stage(target.device, &plan.sum, sum, &target.order, &plan.sum_args);
}

dg_status_t dg_gpu_hc_prenorm_workspace(
    const dg_call_t *call, const dg_hc_prenorm_problem_t *problem, int32_t ordinal, size_t *bytes) {
    dg_gpu_target_t target;
    dg_hc_prenorm_plan_t plan;
    DG_TRY(make_plan(call, problem, ordinal, NULL, &target, &plan));
    *bytes = plan.workspace;
    return DG_STATUS_OK;
}
