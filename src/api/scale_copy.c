/* SPDX-License-Identifier: MIT
 *
 * See scale_copy.h.
 */
#include "api/scale_copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/gpu_cast.h"
#include "base/error.h"
#include "base/integer.h"
#include "model/arguments.h"
#include "model/distinct.h"
#include "model/tensor.h"

/* Columns that hold `blocks` factors. */
static int64_t columns_of(dg_dtype_t dtype, int64_t blocks) {
    return dtype == DG_DTYPE_I32 ? dg_ceil_div(blocks, 4) : blocks;
}

/* Factors that the last axis can hold. */
static int64_t capacity(const dg_tensor_t *tensor) {
    const int64_t columns = tensor->shape[tensor->rank - 1];
    if (tensor->dtype != DG_DTYPE_I32) return columns;
    return columns > INT64_MAX / 4 ? INT64_MAX : 4 * columns;
}

static dg_status_t check_factors(const dg_tensor_t *tensor, const char *name) {
    DG_REQUIRE(!dg_tensor_given(tensor) || tensor->rank == 2 || tensor->rank == 3,
        DG_STATUS_BAD_RANK, name, "",
        "rank %d, expected 2, [mn, k blocks], or 3, with the groups in front; add or drop an axis",
        tensor->rank);
    return dg_check_tensor(tensor, name, "",
        DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_E8M0) | DG_DTYPE_BIT(DG_DTYPE_I32),
        dg_tensor_given(tensor) ? tensor->rank : 2);
}

static dg_status_t check_shapes(const dg_scale_convert_args_t *args, const dg_copy_names_t *names,
    int64_t repeat, int64_t *blocks) {
    const dg_tensor_t *src = &args->src, *dst = &args->dst;
    const int32_t rank = dst->rank, row = rank - 2;
    DG_REQUIRE(src->rank == rank, DG_STATUS_BAD_RANK, names->src, "",
        "rank %d, expected %d, as %s has; add or drop the axis of groups", src->rank, rank,
        names->dst);
    DG_REQUIRE(args->k_blocks >= 0, DG_STATUS_BAD_VALUE, "k_blocks", "",
        "%" PRId64 ", expected the number of blocks along k, or 0 to take it from the shapes",
        args->k_blocks);
    const int64_t common = capacity(src) < capacity(dst) ? capacity(src) : capacity(dst);
    *blocks = args->k_blocks > 0 ? args->k_blocks : common;
    int64_t wanted[DG_MAX_RANK] = {0, 0, 0, 0};
    memcpy(wanted, dst->shape, sizeof wanted);
    wanted[rank - 1] = columns_of(dst->dtype, *blocks);
    DG_TRY(dg_check_shape(dst, names->dst, "", wanted,
        "one column for each block along k, or for four of them in i32; pass a tensor of that "
        "shape"));
    wanted[row] = dg_ceil_div(dst->shape[row], repeat);
    wanted[rank - 1] = columns_of(src->dtype, *blocks);
    return dg_check_shape(src, names->src, "", wanted,
        "one row for each repeat_mn rows of the output and one column for each block along k, or "
        "for four of them in i32; pass a tensor of that shape, or change repeat_mn or k_blocks");
}

static dg_status_t describe(
    dg_scale_copy_t *copy, const dg_scale_convert_args_t *args, int64_t repeat, int64_t blocks) {
    const dg_tensor_t *src = &args->src, *dst = &args->dst;
    const int32_t row = dst->rank - 2;
    const bool empty = dg_tensor_elements(dst) == 0;
    *copy = (dg_scale_copy_t){.src_dtype = src->dtype,
        .dst_dtype = dst->dtype,
        .src_row_stride = dg_tensor_stride(src, row),
        .src_k_stride = dg_tensor_stride(src, row + 1),
        .dst_row_stride = dg_tensor_stride(dst, row),
        .dst_k_stride = dg_tensor_stride(dst, row + 1),
        .rows = dst->shape[row],
        .repeat = repeat,
        .matrix_count = empty      ? 0
                        : row == 0 ? 1
                                   : dst->shape[0]};
    if (empty) return DG_STATUS_OK;
    const size_t count = (size_t)copy->matrix_count;
    copy->matrices =
        count <= SIZE_MAX / sizeof *copy->matrices ? malloc(count * sizeof *copy->matrices) : NULL;
    DG_REQUIRE(copy->matrices != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for the places of %zu groups; free some", count);
    const int64_t src_step = dg_tensor_stride(src, row - 1) * dg_dtype_size(src->dtype);
    const int64_t dst_step = dg_tensor_stride(dst, row - 1) * dg_dtype_size(dst->dtype);
    for (int64_t g = 0; g < copy->matrix_count; ++g) {
        copy->matrices[g] = (dg_scale_matrix_t){
            (const char *)src->data + g * src_step, (char *)dst->data + g * dst_step, blocks};
    }
    return DG_STATUS_OK;
}

dg_status_t dg_prepare_convert(dg_call_copy_t *prepared, const dg_call_t *call,
    const dg_scale_convert_args_t *args, const dg_copy_names_t *names) {
    const dg_group_forms_t forms =
        DG_GROUP_FORM_BIT(DG_GROUPS_NONE) | DG_GROUP_FORM_BIT(DG_GROUPS_PSUM);
    DG_REQUIRE(args->repeat_mn >= 0, DG_STATUS_BAD_VALUE, "repeat_mn", "",
        "%d, expected the rows that share a row of factors, at least 1, or 0 for 1",
        args->repeat_mn);
    const int64_t repeat = args->repeat_mn > 0 ? args->repeat_mn : 1;
    int64_t blocks = 0;
    DG_TRY(check_factors(&args->src, names->src));
    DG_TRY(check_factors(&args->dst, names->dst));
    DG_TRY(check_shapes(args, names, repeat, &blocks));
    DG_TRY(dg_check_distinct(&args->dst, names->dst, ""));
    const bool grouped = args->groups.form != DG_GROUPS_NONE;
    DG_REQUIRE(!grouped || args->dst.rank == 2, DG_STATUS_BAD_RANK, names->dst, "",
        "rank %d, expected 2: PSUM groups are rows of one matrix; drop the axis of groups",
        args->dst.rank);
    const dg_input_t inputs[] = {
        {&args->src, names->src, ""}, {&args->groups.values, names->groups, ".values"}};
    DG_TRY(dg_check_devices(&args->dst, names->dst, inputs, 2));
    DG_TRY(dg_check_apart(&args->dst, names->dst, inputs, 2));
    if (args->dst.device.type == DG_DEVICE_CUDA) {
        int64_t count;
        DG_TRY(dg_check_groups(&args->groups, names->groups, forms, &count));
        prepared->on_gpu = dg_tensor_elements(&args->dst) > 0;
        prepared->convert = *args;
        prepared->blocks = blocks;
        return DG_STATUS_OK;
    }
    DG_TRY(dg_read_groups(&prepared->groups, call, &args->groups, names->groups, forms,
        args->dst.shape[args->dst.rank - 2]));
    DG_TRY(describe(&prepared->copy, args, repeat, blocks));
    prepared->copy.grouped = grouped;
    prepared->copy.ranges = prepared->groups.ranges;
    prepared->copy.range_count = prepared->groups.count;
    return DG_STATUS_OK;
}

dg_status_t dg_check_copy_values(
    const dg_call_copy_t *prepared, const dg_copy_names_t *names, int32_t rank) {
    dg_scale_fault_t fault;
    if (dg_cpu_check_scale_copy(&prepared->copy, &fault)) return DG_STATUS_OK;
    const int64_t index[3] = {fault.matrix, fault.row, fault.block};
    return dg_fail(DG_STATUS_BAD_SCALE, names->src, "",
        "element %s is %.9g, expected a power of two from 2^-127 to 2^127, or zero: UE8M0 holds an "
        "exponent alone; quantise with power_of_two, or keep the factors f32",
        dg_format_list(index + 3 - rank, rank).bytes, (double)fault.value);
}

dg_status_t dg_run_copy(
    dg_call_t *call, const dg_call_copy_t *prepared, const dg_launch_t *launch) {
    if (prepared->on_gpu)
        return dg_gpu_scale_convert(call, &prepared->convert, prepared->blocks, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    if (prepared->copy.matrix_count == 0) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_copy_scales(pool, &prepared->copy);
}

void dg_release_copy(dg_call_copy_t *prepared) {
    free(prepared->copy.matrices);
    dg_release_groups(&prepared->groups);
}
