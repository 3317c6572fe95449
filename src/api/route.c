/* SPDX-License-Identifier: MIT
 *
 * Slots of tokens sorted by group, the entry point: arguments are checked, and the backend of the
 * tensors' device does the rest. See deep_gemm/moe.h.
 */
#include <inttypes.h>

#include "api/device_values.h"
#include "api/gpu_permute.h"
#include "base/error.h"
#include "cpu/route.h"
#include "model/arguments.h"
#include "model/distinct.h"
#include "model/tensor.h"

enum {
    I32 = DG_DTYPE_BIT(DG_DTYPE_I32),
    INTEGERS = DG_DTYPE_BIT(DG_DTYPE_I32) | DG_DTYPE_BIT(DG_DTYPE_I64)
};

static dg_status_t check_form(const dg_route_tokens_args_t *args) {
    const bool known = args->form == DG_GROUPS_OFFSETS || args->form == DG_GROUPS_PSUM ||
                       args->form == DG_GROUPS_MASKED;
    DG_REQUIRE(known, DG_STATUS_BAD_ENUM, "form", "",
        "%d, expected DG_GROUPS_OFFSETS (2), DG_GROUPS_PSUM (3) or DG_GROUPS_MASKED (6)",
        (int)args->form);
    DG_REQUIRE(args->alignment >= 0, DG_STATUS_BAD_VALUE, "alignment", "",
        "%d, expected the multiple on which groups begin, at least 1, or 0 for the context's",
        args->alignment);
    return DG_STATUS_OK;
}

/* Counts and rows are I32, so no more slots and rows than that can count. */
static dg_status_t check_extents(const dg_route_tokens_args_t *args) {
    const int64_t *ids = args->ids.shape, rows = args->sources.shape[0];
    const int64_t groups = args->counts.shape[0];
    int64_t slots;
    const bool fits = !__builtin_mul_overflow(ids[0], ids[1], &slots) && slots <= INT32_MAX &&
                      ids[0] <= INT32_MAX && ids[1] <= INT32_MAX;
    DG_REQUIRE(fits, DG_STATUS_BAD_SHAPE, "ids", "",
        "shape [%" PRId64 ", %" PRId64 "], expected fewer than 2^31 slots; split the tokens",
        ids[0], ids[1]);
    DG_REQUIRE(rows <= INT32_MAX, DG_STATUS_BAD_SHAPE, "sources", "",
        "%" PRId64 " rows, expected fewer than 2^31; split the tokens", rows);
    DG_REQUIRE(groups < INT32_MAX, DG_STATUS_BAD_SHAPE, "counts", "",
        "%" PRId64 " groups, expected fewer than 2^31 - 1", groups);
    DG_REQUIRE(args->form != DG_GROUPS_MASKED || (groups == 0 ? rows == 0 : rows % groups == 0),
        DG_STATUS_BAD_SHAPE, "sources", "",
        "%" PRId64 " rows for %" PRId64
        " groups, expected a multiple: MASKED groups have max_m rows "
        "each; pass one entry for each row of [groups, max_m]",
        rows, groups);
    DG_TRY(dg_check_shape(&args->ends, "ends", "", &groups,
        "one end for each group, as counts has; pass a tensor of that extent"));
    DG_TRY(dg_check_shape(
        &args->rows, "rows", "", ids, "one row for each slot of ids; pass a tensor of that shape"));
    if (!dg_tensor_given(&args->groups)) return DG_STATUS_OK;
    return dg_check_shape(&args->groups, "groups", "", &rows,
        "one group for each row, as sources has; pass a tensor of that extent");
}

static dg_status_t check_tensors(const dg_route_tokens_args_t *args) {
    const dg_input_t outputs[] = {{&args->counts, "counts", ""}, {&args->ends, "ends", ""},
        {&args->rows, "rows", ""}, {&args->sources, "sources", ""}, {&args->groups, "groups", ""}};
    dg_input_t others[6] = {{&args->ids, "ids", ""}};
    const int count = dg_tensor_given(&args->groups) ? 5 : 4;
    DG_TRY(dg_check_tensor(&args->ids, "ids", "", INTEGERS, 2));
    DG_TRY(dg_check_devices(&args->ids, "ids", outputs, 5));
    for (int i = 0; i < count; i++) {
        DG_TRY(dg_check_tensor(
            outputs[i].tensor, outputs[i].name, "", I32, outputs[i].tensor == &args->rows ? 2 : 1));
        DG_TRY(dg_check_distinct(outputs[i].tensor, outputs[i].name, ""));
        DG_TRY(dg_check_apart(outputs[i].tensor, outputs[i].name, others, i + 1));
        others[i + 1] = outputs[i];
    }
    return check_extents(args);
}

static dg_status_t route(
    dg_call_t *call, const dg_route_tokens_args_t *args, const dg_launch_t *launch) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_route_tokens_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check_form(args));
    DG_TRY(check_tensors(args));
    DG_TRY(dg_check_slot_values(call, launch, &args->ids, "ids", "groups", args->counts.shape[0]));
    const int32_t alignment = args->alignment > 0 ? args->alignment : call->options.mk_alignment;
    if (args->ids.device.type == DG_DEVICE_CUDA)
        return dg_gpu_route_tokens(call, args, alignment, launch);
    if (!dg_only_prepares(launch)) dg_cpu_route_tokens(args, alignment);
    return DG_STATUS_OK;
}

dg_status_t dg_route_tokens(
    dg_context_t *ctx, const dg_route_tokens_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_route_tokens", ctx));
    return dg_end_call(&call, route(&call, args, launch));
}
