/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/fp8_gemm_swap.cu: makes the tensor maps of a and b and fills the
 * arguments from a dense or M-grouped problem. Called by run.c; calls group_stages.c and sm90_args.c.
 */
#include "plan/sm90_fp8_gemm_swap.h"

#include "base/error.h"
#include "cuda/group_stages.h"
#include "cuda/sm90_args.h"
#include "kernels/args/swap.h"

dg_status_t dg_cuda_run_sm90_fp8_gemm_swap(const dg_cuda_run_t *run) {
    const dg_work_t *work = run->work;
    const int32_t last = run->plan->stage_count - 1;
    const dg_sm90_fp8_gemm_swap_fields_t f =
        dg_sm90_fp8_gemm_swap_fields(&run->plan->stage[last].specialisation);
    const dg_m_grouped_problem_t *grouped = run->m_grouped;
    const dg_side_t *a = grouped != NULL ? &grouped->a : &run->gemm->a;
    const dg_side_t *b = grouped != NULL ? &grouped->b : &run->gemm->b;
    const dg_output_t *out = grouped != NULL ? &grouped->out : &run->gemm->out;
    const bool masked = work->group_form == DG_GROUPS_MASKED;
    dg_group_lists_t lists;
    dg_sm90_fp8_gemm_swap_args_t args = {.out = dg_sm90_describe_output(out, work),
        .tiles = dg_sm90_describe_tiles(run, f.block_m, f.block_n),
        .scale_a = a->scale.data,
        .scale_a_slab_stride = a->scale.group_stride,
        .scale_a_m_stride = a->scale.mn_stride,
        .scale_a_k_stride = a->scale.k_stride,
        .scale_b = b->scale.data,
        .scale_b_group_stride = b->scale.group_stride,
        .scale_b_n_stride = b->scale.mn_stride,
        .scale_b_k_stride = b->scale.k_stride,
        .out_f32 = out->dtype == DG_DTYPE_F32};
    const dg_sm90_operand_t operand_a = {.name = "a",
        .dtype = DG_DTYPE_E4M3,
        .side = a,
        .matrices = masked ? work->group_count : 1,
        .mn = work->m,
        .k = work->k,
        .mn_rows = f.block_m};
    const dg_sm90_operand_t operand_b = {.name = "b",
        .dtype = DG_DTYPE_E4M3,
        .side = b,
        .matrices = work->group_count,
        .mn = work->n,
        .k = work->k,
        .mn_rows = f.block_n};
    DG_TRY(dg_sm90_encode_operand(&operand_a, &args.a));
    DG_TRY(dg_sm90_encode_operand(&operand_b, &args.b));
    DG_TRY(dg_cuda_run_group_stages(run, f.block_m, &lists));
    args.tiles.row_tiles = lists.tiles;
    return dg_cuda_launch_stage(run, last, &args);
}
