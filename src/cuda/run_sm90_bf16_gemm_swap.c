/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/bf16_gemm_swap.cu: makes the tensor maps of a and b and fills the
 * arguments from a dense problem. Called by run.c; calls tensor_map.c.
 */
#include "plan/sm90_bf16_gemm_swap.h"

#include "base/error.h"
#include "base/integer.h"
#include "cuda/run.h"
#include "cuda/tensor_map.h"
#include "kernels/args/bf16_gemm_swap.h"

/* side: [mn, k]; rows: of a box */
static dg_status_t encode_operand(const dg_side_t *side, const char *name, int64_t mn, int64_t k,
    int32_t rows, dg_tensor_map_t *map) {
    return dg_cuda_encode_map(&(dg_map_shape_t){.data = side->data,
                                  .dtype = DG_DTYPE_BF16,
                                  .rank = 2,
                                  .extent = {k, mn},
                                  .stride = {1, side->mn_stride},
                                  .box = {64, rows},
                                  .swizzle_bytes = 128,
                                  .name = name},
        map);
}

dg_status_t dg_cuda_run_sm90_bf16_gemm_swap(const dg_cuda_run_t *run) {
    const dg_work_t *work = run->work;
    const dg_gemm_problem_t *gemm = run->gemm;
    const dg_plan_stage_t *stage = &run->plan->stage[0];
    const dg_sm90_bf16_gemm_swap_fields_t f = dg_sm90_bf16_gemm_swap_fields(&stage->specialisation);
    const bool aligned = work->d_alignment >= 16 && (!work->accumulates || work->c_alignment >= 16);
    dg_sm90_bf16_gemm_swap_args_t args = {.out = {.d = gemm->out.d,
                                              .c = gemm->out.c,
                                              .d_pitch = gemm->out.row_stride,
                                              .c_pitch = gemm->out.c_row_stride,
                                              .f32 = gemm->out.dtype == DG_DTYPE_F32,
                                              .wide = aligned && work->n % 8 == 0},
        .m = (int32_t)work->m,
        .n = (int32_t)work->n,
        .tiles_m = (int32_t)dg_ceil_div(work->m, f.block_m),
        .k_blocks = (int32_t)dg_ceil_div(work->k, 64),
        .splits = run->plan->splits};
    DG_TRY(encode_operand(&gemm->a, "a", work->m, work->k, f.block_m, &args.a));
    DG_TRY(encode_operand(&gemm->b, "b", work->n, work->k, f.block_n, &args.b));
    return dg_cuda_launch(run->device, &(dg_cuda_launch_t){.function = run->functions[0],
                                           .grid = stage->grid,
                                           .threads = stage->threads,
                                           .cluster = stage->cluster,
                                           .shared_bytes = stage->shared_bytes,
                                           .pdl = run->pdl,
                                           .stream = run->stream,
                                           .args = &args});
}
