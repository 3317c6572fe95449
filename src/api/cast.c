/* SPDX-License-Identifier: MIT
 *
 * Quantisation, the entry points: arguments are checked, groups are read, and the backend of the
 * tensors' device does the rest. See deep_gemm/cast.h; the arithmetic is in cpu/quantize.c.
 */
#include "deep_gemm/cast.h"

#include "api/context.h"
#include "api/device_values.h"
#include "api/gpu_cast.h"
#include "api/quantized.h"
#include "base/error.h"
#include "cpu/cast.h"
#include "model/arguments.h"
#include "model/distinct.h"
#include "model/tensor.h"

enum { GROUP_FORMS = DG_GROUP_FORM_BIT(DG_GROUPS_NONE) | DG_GROUP_FORMS_ALONG_ROWS };

/* x has any rank from 1 to 4, so the check is against its own. */
static dg_status_t check_x(const dg_tensor_t *x, const dg_groups_t *groups) {
    DG_REQUIRE(!dg_tensor_given(x) || (x->rank >= 1 && x->rank <= DG_MAX_RANK), DG_STATUS_BAD_RANK,
        "x", "", "rank %d, expected 1 to %d; add an axis or merge some", x->rank, DG_MAX_RANK);
    DG_TRY(dg_check_tensor(x, "x", "", DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_BF16),
        dg_tensor_given(x) ? x->rank : 2));
    DG_REQUIRE(groups->form == DG_GROUPS_NONE || x->rank == 2, DG_STATUS_BAD_RANK, "x", "",
        "rank %d, expected 2: groups are rows of a matrix; pass [tokens, channels], or no groups",
        x->rank);
    return DG_STATUS_OK;
}

static dg_status_t read_groups(dg_call_groups_t *read, const dg_call_t *call,
    const dg_launch_t *launch, const dg_groups_t *groups, const dg_tensor_t *x) {
    return dg_read_groups_anywhere(read, call, launch, groups, "groups", GROUP_FORMS, x->shape[0]);
}

static bool nothing_to_do(const dg_tensor_t *x, const dg_groups_t *groups) {
    const dg_tensor_t *values = &groups->values;
    return dg_tensor_elements(x) == 0 || (dg_tensor_given(values) && values->shape[0] == 0);
}

/* Each output lies apart from x, from the groups and from the outputs before it. */
static dg_status_t check_outputs(
    const dg_quantize_args_t *args, int count, const dg_call_groups_t *groups) {
    static const char *const names[2] = {"out[0]", "out[1]"};
    static const char *const data_names[2] = {"out[0].data", "out[1].data"};
    static const char *const scale_names[2] = {"out[0].scale", "out[1].scale"};
    const bool grouped = args->groups.form != DG_GROUPS_NONE;
    dg_input_t others[6] = {{&args->x, "x", ""}, {&args->groups.values, "groups", ".values"}};
    int known = 2;
    for (int i = 0; i < count; ++i) {
        const dg_quantized_t *out = &args->out[i];
        DG_TRY(dg_check_quantized_output(out, names[i], &args->x, grouped, groups));
        DG_TRY(dg_check_apart(&out->data, data_names[i], others, known));
        others[known++] = (dg_input_t){&out->data, names[i], ".data"};
        DG_TRY(dg_check_apart(&out->scale, scale_names[i], others, known));
        others[known++] = (dg_input_t){&out->scale, names[i], ".scale"};
    }
    return DG_STATUS_OK;
}

static dg_status_t quantize(dg_call_t *call, const dg_quantize_args_t *args,
    const dg_launch_t *launch, dg_call_groups_t *groups) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_quantize_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    const dg_input_t beside_x[] = {{&args->out[0].data, "out[0]", ".data"},
        {&args->out[0].scale, "out[0]", ".scale"}, {&args->out[1].data, "out[1]", ".data"},
        {&args->out[1].scale, "out[1]", ".scale"}, {&args->groups.values, "groups", ".values"}};
    DG_TRY(check_x(&args->x, &args->groups));
    DG_TRY(dg_check_devices(&args->x, "x", beside_x, 5));
    DG_TRY(read_groups(groups, call, launch, &args->groups, &args->x));
    const bool second = dg_tensor_given(&args->out[1].data);
    DG_REQUIRE(second || !dg_tensor_given(&args->out[1].scale), DG_STATUS_NULL_POINTER, "out[1]",
        ".data", "no tensor although out[1].scale is given; pass both or neither");
    DG_TRY(check_outputs(args, second ? 2 : 1, groups));
    if (nothing_to_do(&args->x, &args->groups)) return DG_STATUS_OK;
    if (args->x.device.type == DG_DEVICE_CUDA) return dg_gpu_quantize(call, args, groups, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_quantize(pool, args, groups->ranges, groups->count);
}

dg_status_t dg_quantize(
    dg_context_t *ctx, const dg_quantize_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    dg_call_groups_t groups = {NULL, 0};
    DG_TRY(dg_begin_call(&call, "dg_quantize", ctx));
    const dg_status_t status = quantize(&call, args, launch, &groups);
    dg_release_groups(&groups);
    return dg_end_call(&call, status);
}

static dg_status_t dequantize(dg_call_t *call, const dg_dequantize_args_t *args,
    const dg_launch_t *launch, dg_call_groups_t *groups) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_dequantize_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    const dg_input_t inputs[] = {{&args->q.data, "q", ".data"}, {&args->q.scale, "q", ".scale"},
        {&args->groups.values, "groups", ".values"}};
    DG_TRY(check_x(&args->x, &args->groups));
    DG_TRY(dg_check_devices(&args->x, "x", inputs, 3));
    DG_TRY(read_groups(groups, call, launch, &args->groups, &args->x));
    const bool grouped = args->groups.form != DG_GROUPS_NONE;
    DG_TRY(dg_check_quantized(&args->q, "q", &args->x, grouped, groups));
    DG_TRY(dg_check_distinct(&args->x, "x", ""));
    DG_TRY(dg_check_apart(&args->x, "x", inputs, 3));
    if (nothing_to_do(&args->x, &args->groups)) return DG_STATUS_OK;
    if (args->x.device.type == DG_DEVICE_CUDA) return dg_gpu_dequantize(call, args, groups, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_dequantize(pool, args, groups->ranges, groups->count);
}

dg_status_t dg_dequantize(
    dg_context_t *ctx, const dg_dequantize_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    dg_call_groups_t groups = {NULL, 0};
    DG_TRY(dg_begin_call(&call, "dg_dequantize", ctx));
    const dg_status_t status = dequantize(&call, args, launch, &groups);
    dg_release_groups(&groups);
    return dg_end_call(&call, status);
}

int64_t dg_k_grouped_scale_rows(
    const int64_t *sizes, int64_t count, int32_t gran_k, int32_t packed) {
    if (gran_k < 1 || count < 0 || (sizes == NULL && count > 0)) return -1;
    const int64_t rows_per_factor = packed != 0 ? 4 * (int64_t)gran_k : gran_k;
    int64_t rows = 0;
    for (int64_t g = 0; g < count; ++g) {
        if (sizes[g] <= 0) continue;
        if (__builtin_add_overflow(rows, (sizes[g] - 1) / rows_per_factor + 1, &rows)) return -1;
    }
    return rows;
}
