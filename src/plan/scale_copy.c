/* SPDX-License-Identifier: MIT
 *
 * See scale_copy.h.
 */
#include "plan/scale_copy.h"

#include "base/integer.h"
#include "model/tensor.h"
#include "plan/cost.h"
#include "plan/group_source.h"

enum { THREADS = 256, CTAS_PER_SM = 8 };

static dg_plan_stage_t make_stage(
    int32_t kernel, double work, const dg_machine_t *machine, uint32_t shared_bytes) {
    return (dg_plan_stage_t){
        .specialisation = {.kernel = kernel, .values = {THREADS}},
        .grid = dg_unit_grid(work, CTAS_PER_SM * machine->sms),
        .threads = THREADS,
        .cluster = 1,
        .shared_bytes = shared_bytes,
    };
}

void dg_plan_scale_copy(const dg_scale_convert_args_t *args, int64_t blocks, int32_t psum_alignment,
    const dg_machine_t *machine, dg_plan_stage_t *stage, dg_any_scale_copy_args_t *copy) {
    const dg_tensor_t *src = &args->src, *dst = &args->dst;
    const int32_t row = dst->rank - 2;
    *copy = (dg_any_scale_copy_args_t){
        .src = src->data,
        .dst = dst->data,
        .matrices = row == 0 ? 1 : dst->shape[0],
        .rows = dst->shape[row],
        .blocks = blocks,
        .repeat = args->repeat_mn > 0 ? args->repeat_mn : 1,
        .groups = dg_describe_groups(&args->groups, dst->shape[row], psum_alignment),
        .src_dtype = (int32_t)src->dtype,
        .dst_dtype = (int32_t)dst->dtype,
    };
    for (int32_t i = 0; i < 3; i++) {
        copy->src_stride[i] = dg_tensor_stride(src, row - 1 + i);
        copy->dst_stride[i] = dg_tensor_stride(dst, row - 1 + i);
    }
    const double pieces = (double)copy->matrices *
                          (double)dg_ceil_div(copy->rows, DG_SCALE_COPY_ROWS) *
                          (double)dg_ceil_div(dst->shape[row + 1], DG_SCALE_COPY_COLUMNS);
    *stage =
        make_stage(DG_KERNEL_ANY_SCALE_COPY, pieces, machine, DG_SCALE_COPY_SHARED_BYTES(THREADS));
}

void dg_plan_scale_words(const dg_scale_pack_k_grouped_args_t *args, int64_t tokens,
    int32_t psum_alignment, const dg_machine_t *machine, dg_plan_stage_t *stage,
    dg_any_cast_args_t *pack) {
    const dg_tensor_t *src = &args->src, *dst = &args->dst;
    *pack = (dg_any_cast_args_t){
        .extent = {1, 1, tokens, dst->shape[1]},
        .side[0] = {.scale = src->data,
            .scale_stride = {0, 0, dg_tensor_stride(src, 0), dg_tensor_stride(src, 1)},
            .gran = {1, 1, args->gran_k, 1},
            .scale_rows = src->shape[0],
            .word_axis = -1},
        .side[1] = {.scale = dst->data,
            .scale_stride = {0, 0, dg_tensor_stride(dst, 0), dg_tensor_stride(dst, 1)},
            .gran = {1, 1, args->gran_k, 1},
            .scale_rows = dst->shape[0],
            .word_axis = 2},
        .groups = dg_describe_groups(&args->groups, tokens, psum_alignment),
        .sides = 2,
    };
    *stage = make_stage(
        DG_KERNEL_ANY_SCALE_WORDS, (double)dst->shape[0], machine, DG_CAST_WALK_BYTES(THREADS));
}
