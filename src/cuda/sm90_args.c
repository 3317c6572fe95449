/* SPDX-License-Identifier: MIT
 *
 * See sm90_args.h.
 */
#include "cuda/sm90_args.h"

#include "base/integer.h"
#include "cuda/tensor_map.h"

enum { BOX_BYTES = 128, K_BLOCK = 128 };

dg_status_t dg_sm90_encode_operand(const dg_sm90_operand_t *operand, dg_tensor_map_t *map) {
    const bool turned = operand->mn_contiguous;
    const dg_side_t *side = operand->side;
    const dg_map_shape_t shape = {.data = side->data,
        .dtype = operand->dtype,
        .rank = operand->matrices > 0 ? 3 : 2,
        .extent = {turned ? operand->mn : operand->k, turned ? operand->k : operand->mn,
            operand->matrices},
        .stride = {1, turned ? side->k_stride : side->mn_stride, side->group_stride},
        .box = {operand->dtype == DG_DTYPE_BF16 ? BOX_BYTES / 2 : BOX_BYTES,
            turned ? operand->k_rows : operand->mn_rows, 1},
        .swizzle_bytes = BOX_BYTES,
        .name = operand->name};
    return dg_cuda_encode_map(&shape, map);
}

dg_sm90_cluster_t dg_sm90_cluster(int32_t share) {
    return (dg_sm90_cluster_t){share == DG_SHARE_B ? 2 : 1, share == DG_SHARE_A ? 2 : 1};
}

dg_sm90_tiles_t dg_sm90_describe_tiles(const dg_cuda_run_t *run, int32_t block_m, int32_t block_n) {
    const dg_work_t *work = run->work;
    return (dg_sm90_tiles_t){.m = (int32_t)work->m,
        .n = (int32_t)work->n,
        .tiles_m = (int32_t)dg_ceil_div(work->m, block_m),
        .tiles_n = (int32_t)dg_ceil_div(work->n, block_n),
        .band = run->plan->band,
        .k_blocks = (int32_t)dg_ceil_div(work->k, K_BLOCK),
        .group_count = work->group_count,
        .slabs = work->group_form == DG_GROUPS_MASKED,
        .sum = run->k_grouped != NULL && run->k_grouped->sum};
}

dg_sm90_output_t dg_sm90_describe_output(const dg_output_t *out, const dg_work_t *work) {
    return (dg_sm90_output_t){.d = out->d,
        .c = out->c,
        .pitch = out->row_stride,
        .slab_stride = out->group_stride,
        .c_pitch = out->c_row_stride,
        .c_slab_stride = out->c_group_stride,
        .alignment = work->d_alignment,
        .c_alignment = work->c_alignment};
}
