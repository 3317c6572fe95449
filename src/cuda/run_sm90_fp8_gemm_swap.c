/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/fp8_gemm_swap.cu: makes the tensor maps of a and b and fills the
 * arguments from a dense or M-grouped problem. Called by run.c; calls group_stages.c, tensor_map.c.
 */
#include "plan/sm90_fp8_gemm_swap.h"

#include "base/error.h"
#include "base/integer.h"
#include "cuda/group_stages.h"
#include "cuda/tensor_map.h"
#include "kernels/args/swap.h"

/* side: [matrices, mn, k]; rows: of a box */
static dg_status_t encode_operand(const dg_side_t *side, const char *name, int64_t matrices,
    int64_t mn, int64_t k, int32_t rows, dg_tensor_map_t *map) {
    return dg_cuda_encode_map(&(dg_map_shape_t){.data = side->data,
                                  .dtype = DG_DTYPE_E4M3,
                                  .rank = 3,
                                  .extent = {k, mn, matrices},
                                  .stride = {1, side->mn_stride, side->group_stride},
                                  .box = {128, rows, 1},
                                  .swizzle_bytes = 128,
                                  .name = name},
        map);
}

dg_status_t dg_cuda_run_sm90_fp8_gemm_swap(const dg_cuda_run_t *run) {
    const dg_plan_t *plan = run->plan;
    const dg_work_t *work = run->work;
    const int32_t last = plan->stage_count - 1;
    const dg_plan_stage_t *stage = &plan->stage[last];
    const dg_sm90_fp8_gemm_swap_fields_t f = dg_sm90_fp8_gemm_swap_fields(&stage->specialisation);
    const dg_m_grouped_problem_t *grouped = run->m_grouped;
    const dg_side_t *a = grouped != NULL ? &grouped->a : &run->gemm->a;
    const dg_side_t *b = grouped != NULL ? &grouped->b : &run->gemm->b;
    const dg_output_t *out = grouped != NULL ? &grouped->out : &run->gemm->out;
    const bool masked = work->group_form == DG_GROUPS_MASKED;
    dg_group_lists_t lists;
    dg_sm90_fp8_gemm_swap_args_t args = {.out = {.d = out->d,
                                             .c = out->c,
                                             .pitch = out->row_stride,
                                             .slab_stride = out->group_stride,
                                             .c_pitch = out->c_row_stride,
                                             .c_slab_stride = out->c_group_stride,
                                             .alignment = work->d_alignment},
        .tiles = {.m = (int32_t)work->m,
            .n = (int32_t)work->n,
            .tiles_m = (int32_t)dg_ceil_div(work->m, f.block_m),
            .tiles_n = (int32_t)dg_ceil_div(work->n, f.block_n),
            .band = plan->band,
            .k_blocks = (int32_t)dg_ceil_div(work->k, 128),
            .slabs = masked},
        .scale_a = a->scale.data,
        .scale_a_slab_stride = a->scale.group_stride,
        .scale_a_m_stride = a->scale.mn_stride,
        .scale_a_k_stride = a->scale.k_stride,
        .scale_b = b->scale.data,
        .scale_b_group_stride = b->scale.group_stride,
        .scale_b_n_stride = b->scale.mn_stride,
        .scale_b_k_stride = b->scale.k_stride,
        .out_f32 = out->dtype == DG_DTYPE_F32};
    DG_TRY(encode_operand(
        a, "a", masked ? work->group_count : 1, work->m, work->k, f.block_m, &args.a));
    DG_TRY(encode_operand(b, "b", work->group_count, work->n, work->k, f.block_n, &args.b));
    DG_TRY(dg_cuda_run_group_stages(run, f.block_m, &lists));
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
