/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/any/gemm.cu: fills its arguments from the problem of any family.
 */
#include "base/error.h"
#include "cuda/group_stages.h"
#include "kernels/args/any_gemm.h"
#include "model/tensor.h"

static dg_any_list_t describe_list(const dg_tensor_t *rows, int64_t limit) {
    return (dg_any_list_t){
        .data = rows->data,
        .stride = dg_tensor_stride(rows, 0),
        .limit = limit,
        .wide = rows->dtype == DG_DTYPE_I64,
    };
}

static dg_any_side_t describe_side(const dg_side_t *side) {
    const dg_factors_t *scale = &side->scale;
    return (dg_any_side_t){
        .data = side->data,
        .group_stride = side->group_stride,
        .mn_stride = side->mn_stride,
        .k_stride = side->k_stride,
        .scale = scale->data,
        .scale_group_stride = scale->group_stride,
        .scale_mn_stride = scale->mn_stride,
        .scale_k_stride = scale->k_stride,
        .dtype = (int32_t)side->dtype,
        .scale_dtype = (int32_t)scale->dtype,
        .gran_mn = scale->gran_mn,
        .gran_k = scale->gran_k,
        .k_contiguous = side->k_stride == 1,
    };
}

static dg_any_side_t describe_k_side(const dg_k_side_t *side) {
    dg_any_side_t described = describe_side(&side->side);
    described.flat = side->flat;
    described.rows = describe_list(&side->rows, side->side.gather_extent);
    return described;
}

static void describe_output(const dg_output_t *out, dg_any_gemm_args_t *args) {
    args->d = out->d;
    args->c = out->c;
    args->d_dtype = (int32_t)out->dtype;
    args->d_group_stride = out->group_stride;
    args->d_row_stride = out->row_stride;
    args->c_group_stride = out->c_group_stride;
    args->c_row_stride = out->c_row_stride;
}

static void describe_gemm(const dg_gemm_problem_t *problem, dg_any_gemm_args_t *args) {
    args->a = describe_side(&problem->a);
    args->b = describe_side(&problem->b);
    args->m = problem->m;
    args->n = problem->n;
    args->k = problem->k;
    describe_output(&problem->out, args);
}

static void describe_m_grouped(const dg_m_grouped_problem_t *problem, dg_any_gemm_args_t *args) {
    args->a = describe_side(&problem->a);
    args->b = describe_side(&problem->b);
    args->a.rows = describe_list(&problem->a_rows, problem->a.gather_extent);
    args->m = problem->rows;
    args->n = problem->n;
    args->k = problem->k;
    args->stacked_a = problem->groups.form == DG_GROUPS_MASKED;
    describe_output(&problem->out, args);
}

static void describe_k_grouped(const dg_k_grouped_problem_t *problem, dg_any_gemm_args_t *args) {
    args->a = describe_k_side(&problem->a);
    args->b = describe_k_side(&problem->b);
    args->m = problem->m;
    args->n = problem->n;
    args->groups = problem->group_count;
    args->sum = problem->sum;
    describe_output(&problem->out, args);
}

dg_status_t dg_cuda_run_any_gemm(const dg_cuda_run_t *run) {
    const dg_plan_t *plan = run->plan;
    const int32_t last = plan->stage_count - 1;
    dg_any_gemm_args_t args = {.band = plan->band};
    dg_group_lists_t lists;
    DG_TRY(dg_cuda_run_group_stages(run, plan->block_m, &lists));
    if (run->gemm != NULL) describe_gemm(run->gemm, &args);
    if (run->m_grouped != NULL) describe_m_grouped(run->m_grouped, &args);
    if (run->k_grouped != NULL) describe_k_grouped(run->k_grouped, &args);
    const bool fine = (args.a.scale != NULL && args.a.gran_k == 32) ||
                      (args.b.scale != NULL && args.b.gran_k == 32);
    args.block_k = fine ? 32 : 128;
    args.tiles = lists.tiles;
    args.segments = lists.segments;
    args.d_list = lists.d_list;
    args.c_list = lists.c_list;
    return dg_cuda_launch_stage(run, last, &args);
}
