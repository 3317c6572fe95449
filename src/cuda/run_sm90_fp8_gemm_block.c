/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/fp8_gemm_block.cu: makes the tensor maps and fills the arguments from a
 * dense or M-grouped problem. Called by run.c; calls group_stages.c and tensor_map.c.
 */
#include "plan/sm90_fp8_gemm_block.h"

#include "base/error.h"
#include "base/integer.h"
#include "cuda/group_stages.h"
#include "cuda/sm90_args.h"
#include "cuda/tensor_map.h"
#include "kernels/args/gemm.h"

/* What dense and M-grouped problems have in common. slabs: matrices of a and d */
typedef struct block_problem_t {
    const dg_side_t *a, *b;
    const dg_output_t *out;
    int64_t slabs, groups;
} block_problem_t;

static block_problem_t find_problem(const dg_cuda_run_t *run) {
    const dg_m_grouped_problem_t *grouped = run->m_grouped;
    if (run->work->family == DG_FAMILY_GEMM)
        return (block_problem_t){&run->gemm->a, &run->gemm->b, &run->gemm->out, 1, 1};
    const bool masked = grouped->groups.form == DG_GROUPS_MASKED;
    return (block_problem_t){&grouped->a, &grouped->b, &grouped->out,
        masked ? grouped->group_count : 1, grouped->group_count};
}

static dg_status_t fill_scales(const block_problem_t *problem,
    const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work,
    dg_sm90_fp8_gemm_block_args_t *args) {
    const dg_factors_t *a = &problem->a->scale, *b = &problem->b->scale;
    const int32_t box = DG_SM90_FP8_GEMM_BLOCK_SCALE_BOX(f->block_m, f->schedule);
    args->scale_a_values = a->data;
    args->scale_a_slab_stride = a->group_stride;
    args->scale_a_m_stride = a->mn_stride;
    args->scale_a_k_stride = a->k_stride;
    args->scale_b = b->data;
    args->scale_b_group_stride = b->group_stride;
    args->scale_b_n_stride = b->mn_stride;
    args->scale_b_k_stride = b->k_stride;
    args->scale_b_rows = (int32_t)dg_ceil_div(work->n, 128);
    args->scale_a_by_tma = dg_sm90_fp8_gemm_block_scales_by_tma(work);
    if (!args->scale_a_by_tma) return DG_STATUS_OK;
    return dg_cuda_encode_map(&(dg_map_shape_t){.data = a->data,
                                  .dtype = DG_DTYPE_F32,
                                  .rank = work->family == DG_FAMILY_GEMM ? 2 : 3,
                                  .extent = {work->m, dg_ceil_div(work->k, 128), problem->slabs},
                                  .stride = {1, a->k_stride, a->group_stride},
                                  .box = {box, 1, 1},
                                  .name = "a.scale"},
        &args->scale_a);
}

static dg_status_t fill_output(const block_problem_t *problem,
    const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work, dg_sm90_output_t *args) {
    const dg_output_t *out = problem->out;
    *args = dg_sm90_describe_output(out, work);
    args->by_tma = dg_sm90_fp8_gemm_block_stores_by_tma(work);
    if (!args->by_tma) return DG_STATUS_OK;
    return dg_cuda_encode_map(&(dg_map_shape_t){.data = out->d,
                                  .dtype = out->dtype,
                                  .rank = 3,
                                  .extent = {work->n, work->m, problem->slabs},
                                  .stride = {1, out->row_stride, out->group_stride},
                                  .box = {f->store_n, f->store_rows, 1},
                                  .swizzle_bytes = f->store_n * (f->out_f32 ? 4 : 2),
                                  .name = "d"},
        &args->map);
}

dg_status_t dg_cuda_run_sm90_fp8_gemm_block(const dg_cuda_run_t *run) {
    const dg_work_t *work = run->work;
    const int32_t last = run->plan->stage_count - 1;
    const dg_sm90_fp8_gemm_block_fields_t f =
        dg_sm90_fp8_gemm_block_fields(&run->plan->stage[last].specialisation);
    const dg_sm90_cluster_t cluster = dg_sm90_cluster(f.share);
    const block_problem_t problem = find_problem(run);
    const bool dense = work->family == DG_FAMILY_GEMM; /* its maps have no axis of matrices */
    const dg_sm90_operand_t a = {.name = "a",
        .dtype = DG_DTYPE_E4M3,
        .side = problem.a,
        .matrices = dense ? 0 : problem.slabs,
        .mn = work->m,
        .k = work->k,
        .mn_rows = f.block_m / cluster.n};
    const dg_sm90_operand_t b = {.name = "b",
        .dtype = DG_DTYPE_E4M3,
        .side = problem.b,
        .matrices = dense ? 0 : problem.groups,
        .mn = work->n,
        .k = work->k,
        .mn_rows = f.block_n / cluster.m};
    dg_group_lists_t lists;
    dg_sm90_fp8_gemm_block_args_t args = {
        .tiles = dg_sm90_describe_tiles(run, f.block_m * cluster.m, f.block_n * cluster.n)};
    DG_TRY(dg_sm90_encode_operand(&a, &args.a));
    DG_TRY(dg_sm90_encode_operand(&b, &args.b));
    DG_TRY(fill_scales(&problem, &f, work, &args));
    DG_TRY(fill_output(&problem, &f, work, &args.out));
    DG_TRY(dg_cuda_run_group_stages(run, f.block_m * cluster.m, &lists));
    args.tiles.row_tiles = lists.tiles;
    return dg_cuda_launch_stage(run, last, &args);
}
