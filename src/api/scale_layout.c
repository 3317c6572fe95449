/* SPDX-License-Identifier: MIT
 *
 * Layouts of scale factors, the entry points that copy one tensor into another: general conversion
 * and the packing of K-grouped factors. See deep_gemm/scale_layout.h. Both become a dg_scale_copy_t
 * (scale_copy.h), a K group being a matrix of its own whose rows are channels.
 */
#include "deep_gemm/scale_layout.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/device_values.h"
#include "api/gpu_cast.h"
#include "api/scale_copy.h"
#include "base/error.h"
#include "base/integer.h"
#include "model/arguments.h"
#include "model/distinct.h"
#include "model/tensor.h"

int64_t dg_tma_aligned_size(int64_t x, int64_t element_size) {
    const bool known = element_size == 1 || element_size == 2 || element_size == 4 ||
                       element_size == 8 || element_size == 16;
    if (x < 0 || !known) return -1;
    const int64_t unit = 16 / element_size;
    return x > INT64_MAX - (unit - 1) ? -1 : (x + unit - 1) / unit * unit;
}

dg_tensor_t dg_scale_mn_major(
    const void *data, dg_dtype_t dtype, int64_t groups, int64_t mn, int64_t kb) {
    const int64_t pitch = dg_tma_aligned_size(mn, 4);
    dg_tensor_t tensor =
        groups > 0 ? dg_tensor_3d(data, dtype, groups, mn, kb) : dg_tensor_2d(data, dtype, mn, kb);
    tensor.stride[tensor.rank - 1] = pitch;
    tensor.stride[tensor.rank - 2] = 1;
    if (groups > 0) tensor.stride[0] = (int64_t)((uint64_t)pitch * (uint64_t)kb);
    return tensor;
}

static dg_status_t convert(dg_call_t *call, const dg_scale_convert_args_t *args,
    const dg_launch_t *launch, dg_call_copy_t *prepared) {
    const dg_copy_names_t names = {"src", "dst", "groups"};
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_scale_convert_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(dg_prepare_convert(prepared, call, args, &names));
    DG_TRY(dg_check_copy_values(prepared, &names, args->src.rank));
    return dg_run_copy(call, prepared, launch);
}

dg_status_t dg_scale_convert(
    dg_context_t *ctx, const dg_scale_convert_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    dg_call_copy_t prepared = {.groups = {NULL, 0}};
    DG_TRY(dg_begin_call(&call, "dg_scale_convert", ctx));
    const dg_status_t status = convert(&call, args, launch, &prepared);
    dg_release_copy(&prepared);
    return dg_end_call(&call, status);
}

static dg_status_t check_k_grouped(const dg_scale_pack_k_grouped_args_t *args) {
    const dg_tensor_t *src = &args->src, *dst = &args->dst;
    DG_REQUIRE(args->gran_k == 32 || args->gran_k == 128, DG_STATUS_BAD_VALUE, "gran_k", "",
        "%d, expected 32 or 128: the tokens that one factor covers", args->gran_k);
    DG_TRY(dg_check_tensor(src, "src", "", DG_DTYPE_BIT(DG_DTYPE_F32), 2));
    DG_TRY(dg_check_tensor(dst, "dst", "", DG_DTYPE_BIT(DG_DTYPE_I32), 2));
    DG_REQUIRE(src->shape[1] == dst->shape[1], DG_STATUS_BAD_SHAPE, "dst", "",
        "%" PRId64 " columns, expected %" PRId64 " as src has: one for each channel; pass a tensor "
        "of that width",
        dst->shape[1], src->shape[1]);
    DG_TRY(dg_check_distinct(dst, "dst", ""));
    const dg_input_t inputs[] = {{src, "src", ""}, {&args->groups.values, "groups", ".values"}};
    DG_TRY(dg_check_devices(dst, "dst", inputs, 2));
    return dg_check_apart(dst, "dst", inputs, 2);
}

/* Each group's rows of factors and words follow those of the group before. Under CLAMP, groups
 * end with the tensors. */
static dg_status_t place_groups(
    dg_call_copy_t *prepared, const dg_call_t *call, const dg_scale_pack_k_grouped_args_t *args) {
    const bool clamp = call->options.group_values == DG_GROUP_VALUES_CLAMP;
    const int64_t src_rows = args->src.shape[0], dst_rows = args->dst.shape[0];
    const int64_t src_step = dg_tensor_stride(&args->src, 0);
    const int64_t dst_step = dg_tensor_stride(&args->dst, 0);
    int64_t row = 0, word = 0;
    for (int64_t g = 0; g < prepared->groups.count; ++g) {
        const dg_group_range_t *range = &prepared->groups.ranges[g];
        int64_t blocks = dg_ceil_div(range->end - range->begin, args->gran_k);
        DG_REQUIRE(clamp || blocks <= src_rows - row, DG_STATUS_BAD_SCALE, "src", "",
            "%" PRId64 " rows, but group %" PRId64 " of %" PRId64 " tokens takes %" PRId64
            " rows of factors from row %" PRId64 " on; pass the factors of all groups",
            src_rows, g, range->end - range->begin, blocks, row);
        DG_REQUIRE(clamp || dg_ceil_div(blocks, 4) <= dst_rows - word, DG_STATUS_BAD_SHAPE, "dst",
            "",
            "%" PRId64 " rows, but group %" PRId64 " of %" PRId64 " tokens takes %" PRId64
            " rows of words from row %" PRId64 " on; dg_k_grouped_scale_rows() tells how many "
            "are needed",
            dst_rows, g, range->end - range->begin, dg_ceil_div(blocks, 4), word);
        if (blocks > src_rows - row) blocks = src_rows - row;
        if (dg_ceil_div(blocks, 4) > dst_rows - word) blocks = 4 * (dst_rows - word);
        prepared->copy.matrices[g] =
            (dg_scale_matrix_t){(const float *)args->src.data + row * src_step,
                (int32_t *)args->dst.data + word * dst_step, blocks};
        row += blocks;
        word += dg_ceil_div(blocks, 4);
    }
    return DG_STATUS_OK;
}

static dg_status_t describe_k_grouped(
    dg_call_copy_t *prepared, const dg_call_t *call, const dg_scale_pack_k_grouped_args_t *args) {
    const dg_tensor_t *src = &args->src, *dst = &args->dst;
    const int64_t count = prepared->groups.count;
    prepared->copy = (dg_scale_copy_t){.src_dtype = DG_DTYPE_F32,
        .dst_dtype = DG_DTYPE_I32,
        .src_row_stride = dg_tensor_stride(src, 1),
        .src_k_stride = dg_tensor_stride(src, 0),
        .dst_row_stride = dg_tensor_stride(dst, 1),
        .dst_k_stride = dg_tensor_stride(dst, 0),
        .rows = dst->shape[1],
        .repeat = 1,
        .matrix_count = count};
    if (count == 0) return DG_STATUS_OK;
    prepared->copy.matrices = calloc((size_t)count, sizeof *prepared->copy.matrices);
    DG_REQUIRE(prepared->copy.matrices != NULL, DG_STATUS_OUT_OF_MEMORY, "groups", "",
        "no memory for the places of %" PRId64 " groups; free some", count);
    return place_groups(prepared, call, args);
}

/* The element is named by its place in src: the row its group begins at, and on from there. */
static dg_status_t check_k_grouped_values(
    const dg_call_copy_t *prepared, const dg_scale_pack_k_grouped_args_t *args) {
    const dg_scale_matrix_t *matrices = prepared->copy.matrices;
    dg_scale_fault_t fault;
    if (matrices == NULL || dg_cpu_check_scale_copy(&prepared->copy, &fault)) return DG_STATUS_OK;
    int64_t row = fault.block;
    for (int64_t g = 0; g < fault.matrix; ++g) row += matrices[g].k_blocks;
    return dg_fail(DG_STATUS_BAD_SCALE, "src", "",
        "element [%" PRId64 ", %" PRId64 "] (group %" PRId64 ", gran_k %d) is %.9g, expected a "
        "power of two from 2^-127 to 2^127, or zero: UE8M0 holds an exponent alone; quantise with "
        "power_of_two, or keep the factors f32",
        row, fault.row, fault.matrix, args->gran_k, (double)fault.value);
}

static dg_status_t pack_k_grouped(dg_call_t *call, const dg_scale_pack_k_grouped_args_t *args,
    const dg_launch_t *launch, dg_call_copy_t *prepared) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_scale_pack_k_grouped_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check_k_grouped(args));
    /* How many tokens there are, nobody said: the factors bound the groups, not a number of rows. */
    DG_TRY(dg_read_groups_anywhere(&prepared->groups, call, launch, &args->groups, "groups",
        DG_GROUP_FORMS_ALONG_ROWS, INT64_MAX / 2));
    DG_TRY(describe_k_grouped(prepared, call, args));
    if (args->dst.device.type == DG_DEVICE_CUDA) {
        const bool on_device = dg_groups_on_device(&args->groups);
        const bool empty =
            args->dst.shape[1] == 0 ||
            (on_device && (args->dst.shape[0] == 0 || args->groups.values.shape[0] == 0));
        return empty ? DG_STATUS_OK
                     : dg_gpu_scale_pack_k_grouped(call, args, &prepared->groups, launch);
    }
    DG_TRY(check_k_grouped_values(prepared, args));
    return dg_run_copy(call, prepared, launch);
}

dg_status_t dg_scale_pack_k_grouped(
    dg_context_t *ctx, const dg_scale_pack_k_grouped_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    dg_call_copy_t prepared = {.groups = {NULL, 0}};
    DG_TRY(dg_begin_call(&call, "dg_scale_pack_k_grouped", ctx));
    const dg_status_t status = pack_k_grouped(&call, args, launch, &prepared);
    dg_release_copy(&prepared);
    return dg_end_call(&call, status);
}
