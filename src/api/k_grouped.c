/* SPDX-License-Identifier: MIT
 *
 * K-grouped GEMM, the entry points: arguments are checked and become a dg_k_grouped_problem_t, which
 * the backend of the tensors' device computes. See deep_gemm/grouped.h.
 */
#include <inttypes.h>

#include "api/context.h"
#include "api/device_values.h"
#include "api/gpu.h"
#include "api/products.h"
#include "base/error.h"
#include "cpu/k_grouped.h"
#include "deep_gemm/grouped.h"
#include "model/arguments.h"
#include "model/groups.h"
#include "model/k_operand.h"
#include "model/operand.h"
#include "model/output_list.h"

enum { INPUT_COUNT = 8 };

static dg_status_t check_groups(const dg_k_grouped_gemm_args_t *args,
    const dg_context_options_t *options, dg_k_grouped_problem_t *problem) {
    const bool flat = args->a.form == DG_K_FLAT || args->b.form == DG_K_FLAT;
    problem->groups = args->groups;
    if (args->groups.alignment == 0) problem->groups.alignment = options->mk_alignment;
    DG_TRY(
        dg_check_groups(&args->groups, "groups", DG_GROUP_FORMS_ALONG_ROWS, &problem->group_count));
    DG_REQUIRE(!flat || args->groups.form == DG_GROUPS_SIZES, DG_STATUS_BAD_ENUM, "groups", ".form",
        "%s with a FLAT operand, expected SIZES: FLAT groups lie back to back; pass sizes",
        dg_group_form_string(args->groups.form));
    return DG_STATUS_OK;
}

/* Outputs as one tensor: [G, m, n] or their sum [m, n]. */
static dg_status_t check_tensor_output(
    const dg_k_grouped_gemm_args_t *args, dg_k_grouped_problem_t *problem) {
    const dg_tensor_t *d = &args->d;
    const int32_t rank = problem->sum ? 2 : 3;
    DG_REQUIRE(args->d_list == NULL, DG_STATUS_BAD_VALUE, "d_list", "",
        "given although output is %s, expected NULL; set output to DG_K_OUTPUT_LIST to use it",
        problem->sum ? "SUM" : "STACK");
    DG_REQUIRE(args->c_list == NULL, DG_STATUS_BAD_VALUE, "c_list", "",
        "given although output is %s, expected NULL; set output to DG_K_OUTPUT_LIST to use it",
        problem->sum ? "SUM" : "STACK");
    DG_TRY(dg_check_result(d, rank));
    DG_REQUIRE(problem->sum || d->shape[0] == problem->group_count, DG_STATUS_BAD_SHAPE, "d", "",
        "shape %s, expected %" PRId64 " slices along the first axis, one for each group; pass "
        "[groups, m, n]",
        dg_format_list(d->shape, 3).bytes, problem->group_count);
    problem->m = d->shape[rank - 2];
    problem->n = d->shape[rank - 1];
    return dg_check_accumulator(&args->c, d, &problem->out);
}

/* Outputs as a list of addresses. */
static dg_status_t check_listed_output(
    const dg_k_grouped_gemm_args_t *args, dg_k_grouped_problem_t *problem) {
    static const dg_tensor_t no_accumulator = DG_NO_TENSOR;
    dg_tensor_t d = args->d;
    const dg_output_list_t list = {&d, args->d_list, args->c_list, problem->group_count};
    DG_REQUIRE(d.data == NULL, DG_STATUS_BAD_VALUE, "d", "",
        "data is %p although output is LIST, expected NULL: the addresses are those of d_list; "
        "set data to NULL",
        d.data);
    DG_REQUIRE(!dg_tensor_given(&args->c), DG_STATUS_BAD_VALUE, "c", "",
        "given although output is LIST, expected DG_NO_TENSOR; pass the addresses in c_list");
    d.data = &d; /* any address: that of each entry is checked with the list */
    DG_TRY(dg_check_result(&d, 2));
    DG_TRY(dg_check_output_list(&list));
    problem->m = d.shape[0];
    problem->n = d.shape[1];
    DG_TRY(dg_check_accumulator(&no_accumulator, &d, &problem->out));
    problem->out.d = NULL;
    problem->out.c_row_stride = problem->out.row_stride;
    problem->d_list = args->d_list;
    problem->c_list = args->c_list;
    return DG_STATUS_OK;
}

static dg_status_t check_output(
    const dg_k_grouped_gemm_args_t *args, dg_k_grouped_problem_t *problem) {
    problem->sum = args->output == DG_K_OUTPUT_SUM;
    switch (args->output) {
    case DG_K_OUTPUT_STACK:
    case DG_K_OUTPUT_SUM: return check_tensor_output(args, problem);
    case DG_K_OUTPUT_LIST: return check_listed_output(args, problem);
    }
    return dg_fail(DG_STATUS_BAD_ENUM, "output", "",
        "%d, expected DG_K_OUTPUT_STACK (0), DG_K_OUTPUT_LIST (1) or DG_K_OUTPUT_SUM (2)",
        (int)args->output);
}

static dg_status_t check_operands(
    const dg_k_grouped_gemm_args_t *args, dg_k_grouped_problem_t *problem) {
    dg_token_count_t tokens_a, tokens_b;
    DG_TRY(dg_check_k_operand(&args->a, "a", "m", problem->m, &problem->a, &tokens_a));
    DG_TRY(dg_check_k_operand(&args->b, "b", "n", problem->n, &problem->b, &tokens_b));
    DG_TRY(dg_check_operand_types(args->a.data.dtype, args->b.data.dtype));
    DG_TRY(dg_match_tokens(&tokens_a, &tokens_b, args->num_tokens, &problem->tokens));
    DG_TRY(dg_check_k_operand_scale(&args->a, "a", problem->m, &problem->a));
    return dg_check_k_operand_scale(&args->b, "b", problem->n, &problem->b);
}

static dg_status_t check_apart(const dg_k_grouped_gemm_args_t *args,
    const dg_k_grouped_problem_t *problem, const dg_input_t *inputs, int count) {
    const dg_output_list_t list = {&args->d, args->d_list, args->c_list, problem->group_count};
    return args->output == DG_K_OUTPUT_LIST ? dg_check_list_apart(&list, inputs, count)
                                            : dg_check_apart(&args->d, "d", inputs, count);
}

dg_status_t dg_check_k_grouped_gemm(const dg_k_grouped_gemm_args_t *args,
    const dg_context_options_t *options, dg_k_grouped_problem_t *problem) {
    const dg_input_t inputs[INPUT_COUNT] = {
        {&args->a.data, "a", ".data"}, {&args->a.scale, "a", ".scale"},
        {&args->a.rows, "a", ".rows"}, {&args->b.data, "b", ".data"},
        {&args->b.scale, "b", ".scale"}, {&args->b.rows, "b", ".rows"},
        {&args->groups.values, "groups", ".values"},
        {&args->c, "c", ""}, /* last: it alone may be d */
    };
    *problem = (dg_k_grouped_problem_t){0};
    DG_TRY(dg_check_devices(&args->d, "d", inputs, INPUT_COUNT));
    DG_TRY(check_groups(args, options, problem));
    DG_TRY(check_output(args, problem));
    DG_TRY(check_operands(args, problem));
    return check_apart(args, problem, inputs, INPUT_COUNT - 1);
}

static dg_status_t run(
    dg_call_t *call, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *launch) {
    dg_k_grouped_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_k_grouped_gemm_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(dg_check_k_grouped_gemm(args, &call->options, &problem));
    if (problem.m == 0 || problem.n == 0) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA) {
        const dg_gpu_product_t product = {.k_grouped = &problem, .ordinal = args->d.device.id};
        DG_TRY(dg_check_k_grouped_values(call, launch, product.ordinal, &problem));
        return dg_gpu_multiply(call, &product, launch);
    }
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_k_grouped(pool, &problem, &call->options);
}

dg_status_t dg_k_grouped_gemm(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_k_grouped_gemm", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(
    const dg_call_t *call, const dg_k_grouped_gemm_args_t *args, size_t *bytes) {
    dg_k_grouped_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_k_grouped_gemm_args_t"));
    DG_TRY(dg_check_size(bytes));
    DG_TRY(dg_check_k_grouped_gemm(args, &call->options, &problem));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || problem.m == 0 || problem.n == 0)
        return DG_STATUS_OK;
    const dg_gpu_product_t product = {.k_grouped = &problem, .ordinal = args->d.device.id};
    return dg_gpu_workspace(call, &product, bytes);
}

dg_status_t dg_k_grouped_gemm_workspace(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_k_grouped_gemm_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
