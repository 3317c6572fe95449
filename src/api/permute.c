/* SPDX-License-Identifier: MIT
 *
 * Rows of tokens to rows of groups and back, the entry points: arguments are checked, and the backend
 * of the tensors' device does the rest. See deep_gemm/moe.h.
 */
#include <inttypes.h>

#include "api/device_values.h"
#include "api/gpu_permute.h"
#include "base/error.h"
#include "cpu/permute.h"
#include "model/arguments.h"
#include "model/distinct.h"
#include "model/tensor.h"

enum {
    I32 = DG_DTYPE_BIT(DG_DTYPE_I32),
    F32 = DG_DTYPE_BIT(DG_DTYPE_F32),
    REALS = DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_BF16)
};

/* What is copied as it is. */
static const dg_dtype_set_t any_dtype = ~DG_DTYPE_BIT(DG_DTYPE_NONE);

/* `rows` belong to `tokens`; weights, if given, are one for each of their entries. */
static dg_status_t check_slots(
    const dg_tensor_t *rows, const dg_tensor_t *weights, int64_t tokens) {
    DG_TRY(dg_check_tensor(rows, "rows", "", I32, 2));
    DG_REQUIRE(rows->shape[0] == tokens, DG_STATUS_BAD_SHAPE, "rows", "",
        "%" PRId64 " tokens, expected %" PRId64 ": a line of slots for each token; pass the rows "
        "that dg_route_tokens found for these tokens",
        rows->shape[0], tokens);
    if (weights == NULL || !dg_tensor_given(weights)) return DG_STATUS_OK;
    DG_TRY(dg_check_tensor(weights, "weights", "", F32, 2));
    return dg_check_shape(weights, "weights", "", rows->shape,
        "one weight for each slot of rows; pass a tensor of that shape");
}

/* As many columns as `other`, called `name`, has. */
static dg_status_t check_columns(
    const dg_tensor_t *tensor, const char *own, const dg_tensor_t *other, const char *name) {
    DG_REQUIRE(tensor->shape[1] == other->shape[1], DG_STATUS_BAD_SHAPE, own, "",
        "%" PRId64 " columns, expected %" PRId64 " as %s has; pass a tensor of that width",
        tensor->shape[1], other->shape[1], name);
    return DG_STATUS_OK;
}

/* The output has a place for each element, apart from what is read. */
static dg_status_t check_output(const dg_tensor_t *out, const dg_input_t *inputs, int count) {
    DG_TRY(dg_check_distinct(out, "out", ""));
    return dg_check_apart(out, "out", inputs, count);
}

static dg_status_t check_values(
    const dg_call_t *call, const dg_launch_t *launch, const dg_tensor_t *rows, int64_t limit) {
    return dg_check_slot_values(call, launch, rows, "rows", "rows", limit);
}

/* ---- permute */

static dg_status_t check_permute(
    const dg_call_t *call, const dg_permute_rows_args_t *args, const dg_launch_t *launch) {
    const dg_input_t inputs[] = {{&args->x, "x", ""}, {&args->rows, "rows", ""},
        {&args->weights, "weights", ""}, {&args->sources, "sources", ""}};
    DG_TRY(dg_check_devices(&args->out, "out", inputs, 4));
    DG_TRY(
        dg_check_tensor(&args->x, "x", "", dg_tensor_given(&args->weights) ? REALS : any_dtype, 2));
    DG_TRY(dg_check_tensor(&args->out, "out", "", DG_DTYPE_BIT(args->x.dtype), 2));
    DG_TRY(check_columns(&args->out, "out", &args->x, "x"));
    DG_TRY(check_slots(&args->rows, &args->weights, args->x.shape[0]));
    if (dg_tensor_given(&args->sources)) {
        DG_TRY(dg_check_tensor(&args->sources, "sources", "", I32, 1));
        DG_TRY(dg_check_shape(&args->sources, "sources", "", args->out.shape,
            "one source for each row of out; pass those that dg_route_tokens found"));
    }
    DG_TRY(check_output(&args->out, inputs, 4));
    return check_values(call, launch, &args->rows, args->out.shape[0]);
}

static dg_status_t permute(
    dg_call_t *call, const dg_permute_rows_args_t *args, const dg_launch_t *launch) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_permute_rows_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check_permute(call, args, launch));
    if (dg_tensor_elements(&args->out) == 0) return DG_STATUS_OK;
    if (args->out.device.type == DG_DEVICE_CUDA) return dg_gpu_permute_rows(call, args, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_permute_rows(pool, args);
}

dg_status_t dg_permute_rows(
    dg_context_t *ctx, const dg_permute_rows_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_permute_rows", ctx));
    return dg_end_call(&call, permute(&call, args, launch));
}

/* ---- unpermute */

static dg_status_t check_unpermute(
    const dg_call_t *call, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch) {
    const dg_input_t inputs[] = {
        {&args->x, "x", ""}, {&args->rows, "rows", ""}, {&args->weights, "weights", ""}};
    DG_TRY(dg_check_devices(&args->out, "out", inputs, 3));
    DG_TRY(dg_check_tensor(&args->x, "x", "", REALS, 2));
    DG_TRY(dg_check_tensor(&args->out, "out", "", REALS, 2));
    DG_TRY(check_columns(&args->out, "out", &args->x, "x"));
    DG_TRY(check_slots(&args->rows, &args->weights, args->out.shape[0]));
    DG_TRY(check_output(&args->out, inputs, 3));
    return check_values(call, launch, &args->rows, args->x.shape[0]);
}

static dg_status_t unpermute(
    dg_call_t *call, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_unpermute_rows_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check_unpermute(call, args, launch));
    if (dg_tensor_elements(&args->out) == 0) return DG_STATUS_OK;
    if (args->out.device.type == DG_DEVICE_CUDA) return dg_gpu_unpermute_rows(call, args, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_unpermute_rows(pool, args);
}

dg_status_t dg_unpermute_rows(
    dg_context_t *ctx, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_unpermute_rows", ctx));
    return dg_end_call(&call, unpermute(&call, args, launch));
}

/* ---- dot */

static dg_status_t check_dot(
    const dg_call_t *call, const dg_dot_rows_args_t *args, const dg_launch_t *launch) {
    const dg_input_t inputs[] = {
        {&args->a, "a", ""}, {&args->b, "b", ""}, {&args->rows, "rows", ""}};
    DG_TRY(dg_check_devices(&args->out, "out", inputs, 3));
    DG_TRY(dg_check_tensor(&args->a, "a", "", REALS, 2));
    DG_TRY(dg_check_tensor(&args->b, "b", "", REALS, 2));
    DG_TRY(dg_check_tensor(&args->out, "out", "", F32, 2));
    DG_TRY(check_columns(&args->b, "b", &args->a, "a"));
    DG_TRY(check_slots(&args->rows, NULL, args->a.shape[0]));
    DG_TRY(dg_check_shape(&args->out, "out", "", args->rows.shape,
        "one product for each slot of rows; pass a tensor of that shape"));
    DG_TRY(check_output(&args->out, inputs, 3));
    return check_values(call, launch, &args->rows, args->b.shape[0]);
}

static dg_status_t dot(dg_call_t *call, const dg_dot_rows_args_t *args, const dg_launch_t *launch) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_dot_rows_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check_dot(call, args, launch));
    if (dg_tensor_elements(&args->out) == 0) return DG_STATUS_OK;
    if (args->out.device.type == DG_DEVICE_CUDA) return dg_gpu_dot_rows(call, args, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_dot_rows(pool, args);
}

dg_status_t dg_dot_rows(
    dg_context_t *ctx, const dg_dot_rows_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_dot_rows", ctx));
    return dg_end_call(&call, dot(&call, args, launch));
}
