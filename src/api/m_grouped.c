/* SPDX-License-Identifier: MIT
 *
 * M-grouped GEMM, the entry points: arguments are checked and become a dg_m_grouped_problem_t, which
 * the backend of the tensors' device computes. See deep_gemm/grouped.h.
 */
#include <inttypes.h>

#include "api/context.h"
#include "api/device_values.h"
#include "api/gpu.h"
#include "api/products.h"
#include "base/error.h"
#include "cpu/m_grouped.h"
#include "deep_gemm/grouped.h"
#include "model/arguments.h"
#include "model/groups.h"
#include "model/operand.h"

static const dg_group_forms_t forms =
    DG_GROUP_FORMS_ALONG_ROWS | DG_GROUP_FORM_BIT(DG_GROUPS_INDEX) |
    DG_GROUP_FORM_BIT(DG_GROUPS_BLOCK_INDEX) | DG_GROUP_FORM_BIT(DG_GROUPS_MASKED);

static dg_status_t check_hints(const dg_m_grouped_gemm_args_t *args) {
    DG_REQUIRE((unsigned)args->zero_padding <= DG_OFF, DG_STATUS_BAD_ENUM, "zero_padding", "",
        "%d, expected DG_DEFAULT (0), DG_ON (1) or DG_OFF (2)", (int)args->zero_padding);
    DG_REQUIRE(args->expected_m >= 0, DG_STATUS_BAD_VALUE, "expected_m", "",
        "%d, expected the rows of a usual group, or 0 for unknown", args->expected_m);
    return DG_STATUS_OK;
}

/* Groups over the rows of d: fills the problem's extents but k, and its groups. */
static dg_status_t check_groups(const dg_m_grouped_gemm_args_t *args,
    const dg_context_options_t *options, dg_m_grouped_problem_t *problem) {
    const dg_groups_t *groups = &args->groups;
    const dg_tensor_t *d = &args->d;
    int64_t count;
    DG_TRY(dg_check_groups(groups, "groups", forms, &count));
    const bool stacked = groups->form == DG_GROUPS_MASKED;
    const bool indexed = groups->form == DG_GROUPS_INDEX || groups->form == DG_GROUPS_BLOCK_INDEX;
    DG_TRY(dg_check_result(d, stacked ? 3 : 2));
    problem->rows = d->shape[stacked ? 1 : 0];
    problem->n = d->shape[stacked ? 2 : 1];
    const int64_t matrices = args->b.data.shape[0] > 0 ? args->b.data.shape[0] : 0;
    problem->group_count = indexed ? matrices : count;
    problem->groups = *groups;
    if (groups->alignment == 0) problem->groups.alignment = options->mk_alignment;
    problem->zero_padding = args->zero_padding != DG_OFF;
    problem->expected_m = args->expected_m;
    DG_REQUIRE(!indexed || count == problem->rows, DG_STATUS_BAD_SHAPE, "groups", ".values",
        "shape [%" PRId64 "], expected [%" PRId64 "]: %s has an entry for each row of d; pass as "
        "many",
        count, problem->rows, dg_group_form_string(groups->form));
    DG_REQUIRE(!stacked || d->shape[0] == count, DG_STATUS_BAD_SHAPE, "d", "",
        "shape %s, expected %" PRId64 " groups along the first axis, as groups.values has; pass "
        "[groups, max_m, n]",
        dg_format_list(d->shape, 3).bytes, count);
    return DG_STATUS_OK;
}

static dg_status_t check_operands(
    const dg_m_grouped_gemm_args_t *args, dg_m_grouped_problem_t *problem) {
    const bool stacked = problem->groups.form == DG_GROUPS_MASKED;
    const bool gathered = dg_tensor_given(&args->a_rows);
    const dg_operand_rule_t rule_a = {"a", "m", stacked ? problem->group_count : DG_NO_AXIS,
        gathered ? DG_ANY_EXTENT : problem->rows, true};
    const dg_operand_rule_t rule_b = {"b", "n", problem->group_count, problem->n, false};
    DG_REQUIRE(!gathered || !stacked, DG_STATUS_BAD_VALUE, "a_rows", "",
        "given with MASKED groups, whose rows are not gathered; leave it at DG_NO_TENSOR");
    if (gathered) DG_TRY(dg_check_row_list(&args->a_rows, "a_rows", "", problem->rows));
    problem->a_rows = args->a_rows;
    return dg_check_operand_pair(
        &args->a, &rule_a, &problem->a, &args->b, &rule_b, &problem->b, &problem->k);
}

dg_status_t dg_check_m_grouped_gemm(const dg_m_grouped_gemm_args_t *args,
    const dg_context_options_t *options, dg_m_grouped_problem_t *problem) {
    const dg_input_t inputs[] = {
        {&args->a.data, "a", ".data"}, {&args->a.scale, "a", ".scale"},
        {&args->b.data, "b", ".data"}, {&args->b.scale, "b", ".scale"},
        {&args->groups.values, "groups", ".values"}, {&args->a_rows, "a_rows", ""},
        {&args->c, "c", ""}, /* last: it alone may be d */
    };
    const int count = sizeof inputs / sizeof *inputs;
    DG_TRY(dg_check_devices(&args->d, "d", inputs, count));
    DG_TRY(check_hints(args));
    DG_TRY(check_groups(args, options, problem));
    DG_TRY(check_operands(args, problem));
    DG_TRY(dg_check_accumulator(&args->c, &args->d, &problem->out));
    return dg_check_apart(&args->d, "d", inputs, count - 1);
}

static dg_gpu_product_t gpu_product(
    const dg_m_grouped_gemm_args_t *args, const dg_m_grouped_problem_t *problem) {
    return (dg_gpu_product_t){.m_grouped = problem, .ordinal = args->d.device.id};
}

static dg_status_t run(
    dg_call_t *call, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *launch) {
    dg_m_grouped_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_m_grouped_gemm_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(dg_check_m_grouped_gemm(args, &call->options, &problem));
    if (problem.rows == 0 || problem.n == 0) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA) {
        const dg_gpu_product_t product = gpu_product(args, &problem);
        DG_TRY(dg_check_m_grouped_values(call, launch, product.ordinal, &problem));
        return dg_gpu_multiply(call, &product, launch);
    }
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_m_grouped(pool, &problem, &call->options);
}

dg_status_t dg_m_grouped_gemm(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_m_grouped_gemm", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(
    const dg_call_t *call, const dg_m_grouped_gemm_args_t *args, size_t *bytes) {
    dg_m_grouped_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_m_grouped_gemm_args_t"));
    DG_TRY(dg_check_size(bytes));
    DG_TRY(dg_check_m_grouped_gemm(args, &call->options, &problem));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || problem.rows == 0 || problem.n == 0)
        return DG_STATUS_OK;
    const dg_gpu_product_t product = gpu_product(args, &problem);
    return dg_gpu_workspace(call, &product, bytes);
}

dg_status_t dg_m_grouped_gemm_workspace(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_m_grouped_gemm_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
