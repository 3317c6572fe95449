/* SPDX-License-Identifier: MIT
 *
 * See gpu_cast.h.
 */
#include "api/gpu_cast.h"

#include "api/gpu_target.h"
#include "base/error.h"
#include "base/integer.h"
#include "model/quantized.h"
#include "model/tensor.h"
#include "plan/cast.h"
#include "plan/scale_copy.h"

/* All kernels are there before the first is launched. */
static dg_status_t run_launches(const dg_gpu_target_t *target, const dg_cast_launches_t *launches) {
    dg_cuda_function_t *functions[DG_MAX_CAST_LAUNCHES];
    for (int32_t i = 0; i < launches->count; i++)
        DG_TRY(dg_find_stage_function(target, &launches->launch[i].stage, &functions[i]));
    for (int32_t i = 0; i < launches->count && !target->only_prepares; i++) {
        const dg_cast_launch_t *one = &launches->launch[i];
        DG_TRY(dg_cuda_run_stage(
            target->device, &one->stage, functions[i], &target->order, &one->args));
    }
    return DG_STATUS_OK;
}

/* ---- groups that the host knows: a call for each, on a part of the tensors */

static void *address_of_row(const dg_tensor_t *tensor, int64_t row) {
    return (char *)tensor->data + row * dg_tensor_stride(tensor, 0) * dg_dtype_size(tensor->dtype);
}

static dg_tensor_t rows_of(const dg_tensor_t *tensor, int64_t begin, int64_t end) {
    dg_tensor_t part = *tensor;
    part.data = address_of_row(tensor, begin);
    part.shape[0] = end - begin;
    return part;
}

static dg_status_t check_rows_of_bytes(const dg_quantized_t *q, const dg_tensor_t *x) {
    DG_REQUIRE(q->data.dtype != DG_DTYPE_E2M1X2 || q->data.shape[0] == x->shape[0],
        DG_STATUS_UNSUPPORTED, "groups", ".values",
        "none, only host_sizes, but codes of two rows share a byte; pass the sizes in device memory");
    return DG_STATUS_OK;
}

/* The part of a group; *scale_row: its first row of factors, moved on to the next group's. */
static dg_quantized_t quantized_of(const dg_quantized_t *q, const dg_tensor_t *x,
    const dg_group_range_t *range, int64_t *scale_row) {
    const int64_t rows = range->end - range->begin, first = *scale_row;
    const int64_t gran = q->gran[0] > 0 ? q->gran[0] : rows > 0 ? rows : 1;
    const bool words = q->scale.dtype == DG_DTYPE_I32 && dg_quantized_k_axis(q, x->rank) == 0;
    int64_t used = dg_ceil_div(rows, gran);
    if (words) used = dg_ceil_div(used, 4);
    dg_quantized_t part = *q;
    part.data = rows_of(&q->data, range->begin, range->end);
    *scale_row += used;
    part.scale = dg_quantized_by_row(q, x->rank) ? rows_of(&q->scale, range->begin, range->end)
                                                 : rows_of(&q->scale, first, first + used);
    return part;
}

static dg_status_t quantize_groups(
    const dg_gpu_target_t *target, const dg_quantize_args_t *args, const dg_call_groups_t *groups) {
    const int outputs = dg_tensor_given(&args->out[1].data) ? 2 : 1;
    int64_t scale_row[2] = {0, 0};
    for (int s = 0; s < outputs; s++) DG_TRY(check_rows_of_bytes(&args->out[s], &args->x));
    for (int64_t g = 0; g < groups->count; g++) {
        const dg_group_range_t *range = &groups->ranges[g];
        dg_quantize_args_t part = *args;
        dg_cast_launches_t launches;
        part.groups = (dg_groups_t)DG_NO_GROUPS;
        part.x = rows_of(&args->x, range->begin, range->end);
        for (int s = 0; s < outputs; s++)
            part.out[s] = quantized_of(&args->out[s], &args->x, range, &scale_row[s]);
        if (part.x.shape[0] == 0) continue;
        dg_plan_quantize(&part, target->psum_alignment, target->machine, &launches);
        DG_TRY(run_launches(target, &launches));
    }
    return DG_STATUS_OK;
}

dg_status_t dg_gpu_quantize(const dg_call_t *call, const dg_quantize_args_t *args,
    const dg_call_groups_t *groups, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_cast_launches_t launches;
    DG_TRY(dg_open_gpu_target(call, args->x.device.id, launch, &target));
    if (args->groups.form != DG_GROUPS_NONE && !dg_groups_on_device(&args->groups))
        return quantize_groups(&target, args, groups);
    dg_plan_quantize(args, target.psum_alignment, target.machine, &launches);
    return run_launches(&target, &launches);
}

static dg_status_t dequantize_groups(const dg_gpu_target_t *target,
    const dg_dequantize_args_t *args, const dg_call_groups_t *groups) {
    int64_t scale_row = 0;
    DG_TRY(check_rows_of_bytes(&args->q, &args->x));
    for (int64_t g = 0; g < groups->count; g++) {
        const dg_group_range_t *range = &groups->ranges[g];
        dg_dequantize_args_t part = *args;
        dg_cast_launches_t launches;
        part.groups = (dg_groups_t)DG_NO_GROUPS;
        part.x = rows_of(&args->x, range->begin, range->end);
        part.q = quantized_of(&args->q, &args->x, range, &scale_row);
        if (part.x.shape[0] == 0) continue;
        dg_plan_dequantize(&part, target->psum_alignment, target->machine, &launches);
        DG_TRY(run_launches(target, &launches));
    }
    return DG_STATUS_OK;
}

dg_status_t dg_gpu_dequantize(const dg_call_t *call, const dg_dequantize_args_t *args,
    const dg_call_groups_t *groups, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_cast_launches_t launches;
    DG_TRY(dg_open_gpu_target(call, args->x.device.id, launch, &target));
    if (args->groups.form != DG_GROUPS_NONE && !dg_groups_on_device(&args->groups))
        return dequantize_groups(&target, args, groups);
    dg_plan_dequantize(args, target.psum_alignment, target.machine, &launches);
    return run_launches(&target, &launches);
}

/* ---- layouts of factors */

dg_status_t dg_gpu_scale_convert(const dg_call_t *call, const dg_scale_convert_args_t *args,
    int64_t blocks, const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stage;
    dg_any_scale_copy_args_t copy;
    DG_TRY(dg_open_gpu_target(call, args->dst.device.id, launch, &target));
    dg_plan_scale_copy(args, blocks, target.psum_alignment, target.machine, &stage, &copy);
    return dg_run_gpu_stage(&target, &stage, &copy);
}

static dg_status_t pack_groups(const dg_gpu_target_t *target,
    const dg_scale_pack_k_grouped_args_t *args, const dg_call_groups_t *groups) {
    int64_t row = 0, word = 0;
    for (int64_t g = 0; g < groups->count; g++) {
        const int64_t tokens = groups->ranges[g].end - groups->ranges[g].begin;
        const int64_t blocks = dg_ceil_div(tokens, args->gran_k), words = dg_ceil_div(blocks, 4);
        dg_scale_pack_k_grouped_args_t part = *args;
        dg_plan_stage_t stage;
        dg_any_cast_args_t pack;
        part.groups = (dg_groups_t)DG_NO_GROUPS;
        part.src = rows_of(&args->src, row, row + blocks);
        part.dst = rows_of(&args->dst, word, word + words);
        row += blocks;
        word += words;
        if (blocks == 0) continue;
        dg_plan_scale_words(&part, tokens, target->psum_alignment, target->machine, &stage, &pack);
        DG_TRY(dg_run_gpu_stage(target, &stage, &pack));
    }
    return DG_STATUS_OK;
}

dg_status_t dg_gpu_scale_pack_k_grouped(const dg_call_t *call,
    const dg_scale_pack_k_grouped_args_t *args, const dg_call_groups_t *groups,
    const dg_launch_t *launch) {
    dg_gpu_target_t target;
    dg_plan_stage_t stage;
    dg_any_cast_args_t pack;
    DG_TRY(dg_open_gpu_target(call, args->dst.device.id, launch, &target));
    if (!dg_groups_on_device(&args->groups)) return pack_groups(&target, args, groups);
    dg_plan_scale_words(args, INT64_MAX / 4, target.psum_alignment, target.machine, &stage, &pack);
    return dg_run_gpu_stage(&target, &stage, &pack);
}
