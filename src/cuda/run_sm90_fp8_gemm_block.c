/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/fp8_gemm_block.cu: makes the tensor maps and fills the arguments from a
 * dense or M-grouped problem. Called by run.c; calls group_stages.c and tensor_map.c.
 */
#include "plan/sm90_fp8_gemm_block.h"

#include "base/error.h"
#include "base/integer.h"
#include "cuda/group_stages.h"
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
    if (grouped == NULL)
        return (block_problem_t){&run->gemm->a, &run->gemm->b, &run->gemm->out, 1, 1};
    const bool masked = grouped->groups.form == DG_GROUPS_MASKED;
    return (block_problem_t){&grouped->a, &grouped->b, &grouped->out,
        masked ? grouped->group_count : 1, grouped->group_count};
}

/* side: [matrices, mn, k]; rows: of a box. Dense maps have no axis of matrices. */
static dg_status_t encode_operand(const dg_side_t *side, const char *name, const dg_cuda_run_t *run,
    int64_t matrices, int64_t mn, int32_t rows, dg_tensor_map_t *map) {
    return dg_cuda_encode_map(&(dg_map_shape_t){.data = side->data,
                                  .dtype = DG_DTYPE_E4M3,
                                  .rank = run->gemm != NULL ? 2 : 3,
                                  .extent = {run->work->k, mn, matrices},
                                  .stride = {1, side->mn_stride, side->group_stride},
                                  .box = {128, rows, 1},
                                  .swizzle_bytes = 128,
                                  .name = name},
        map);
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
    args->d = out->d;
    args->c = out->c;
    args->pitch = out->row_stride;
    args->slab_stride = out->group_stride;
    args->c_pitch = out->c_row_stride;
    args->c_slab_stride = out->c_group_stride;
    args->alignment = work->d_alignment;
    args->c_alignment = work->c_alignment;
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
    const dg_plan_t *plan = run->plan;
    const dg_work_t *work = run->work;
    const int32_t last = plan->stage_count - 1;
    const dg_plan_stage_t *stage = &plan->stage[last];
    const dg_sm90_fp8_gemm_block_fields_t f = dg_sm90_fp8_gemm_block_fields(&stage->specialisation);
    const int32_t cluster_m = f.share == DG_SHARE_B ? 2 : 1;
    const int32_t cluster_n = f.share == DG_SHARE_A ? 2 : 1;
    const block_problem_t problem = find_problem(run);
    dg_group_lists_t lists;
    dg_sm90_fp8_gemm_block_args_t args = {
        .tiles = {.m = (int32_t)work->m,
            .n = (int32_t)work->n,
            .tiles_m = (int32_t)dg_ceil_div(work->m, f.block_m * cluster_m),
            .tiles_n = (int32_t)dg_ceil_div(work->n, f.block_n * cluster_n),
            .band = plan->band,
            .k_blocks = (int32_t)dg_ceil_div(work->k, 128),
            .slabs = work->group_form == DG_GROUPS_MASKED}};
    DG_TRY(encode_operand(
        problem.a, "a", run, problem.slabs, work->m, f.block_m / cluster_n, &args.a));
    DG_TRY(encode_operand(
        problem.b, "b", run, problem.groups, work->n, f.block_n / cluster_m, &args.b));
    DG_TRY(fill_scales(&problem, &f, work, &args));
    DG_TRY(fill_output(&problem, &f, work, &args.out));
    DG_TRY(dg_cuda_run_group_stages(run, f.block_m * cluster_m, &lists));
    args.tiles.row_tiles = lists.tiles;
    return dg_cuda_launch(run->device, &(dg_cuda_launch_t){.function = run->functions[last],
                                           .grid = stage->grid,
                                           .threads = stage->threads,
                                           .cluster = stage->cluster,
                                           .shared_bytes = stage->shared_bytes,
                                           .pdl = run->pdl,
                                           .stream = run->stream,
                                           .args = &args});
}
