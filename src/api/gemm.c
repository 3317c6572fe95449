/* SPDX-License-Identifier: MIT
 *
 * Dense GEMM, the entry points: arguments are checked and become a dg_gemm_problem_t, which the
 * backend of the tensors' device computes. See deep_gemm/gemm.h.
 */
#include "deep_gemm/gemm.h"

#include "api/context.h"
#include "api/gpu.h"
#include "api/products.h"
#include "base/error.h"
#include "cpu/gemm.h"
#include "model/arguments.h"
#include "model/operand.h"

static dg_status_t check_operands(const dg_gemm_args_t *args, dg_gemm_problem_t *problem) {
    const dg_operand_rule_t rule_a = {"a", "m", DG_NO_AXIS, problem->m, false};
    const dg_operand_rule_t rule_b = {"b", "n", DG_NO_AXIS, problem->n, false};
    return dg_check_operand_pair(
        &args->a, &rule_a, &problem->a, &args->b, &rule_b, &problem->b, &problem->k);
}

dg_status_t dg_check_gemm(const dg_gemm_args_t *args, dg_gemm_problem_t *problem) {
    const dg_input_t inputs[] = {
        {&args->a.data, "a", ".data"}, {&args->a.scale, "a", ".scale"},
        {&args->b.data, "b", ".data"}, {&args->b.scale, "b", ".scale"},
        {&args->c, "c", ""}, /* last: it alone may be d */
    };
    const int count = sizeof inputs / sizeof *inputs;
    DG_TRY(dg_check_result(&args->d, 2));
    DG_TRY(dg_check_devices(&args->d, "d", inputs, count));
    problem->m = args->d.shape[0];
    problem->n = args->d.shape[1];
    DG_TRY(check_operands(args, problem));
    DG_TRY(dg_check_accumulator(&args->c, &args->d, &problem->out));
    return dg_check_apart(&args->d, "d", inputs, count - 1);
}

static dg_status_t run(dg_call_t *call, const dg_gemm_args_t *args, const dg_launch_t *launch) {
    dg_gemm_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_gemm_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(dg_check_gemm(args, &problem));
    if (problem.m == 0 || problem.n == 0) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA) {
        const dg_gpu_product_t product = {.gemm = &problem, .ordinal = args->d.device.id};
        return dg_gpu_multiply(call, &product, launch);
    }
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_gemm(pool, &problem);
}

dg_status_t dg_gemm(dg_context_t *ctx, const dg_gemm_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_gemm", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(const dg_call_t *call, const dg_gemm_args_t *args, size_t *bytes) {
    dg_gemm_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_gemm_args_t"));
    DG_TRY(dg_check_size(bytes));
    DG_TRY(dg_check_gemm(args, &problem));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || problem.m == 0 || problem.n == 0)
        return DG_STATUS_OK;
    const dg_gpu_product_t product = {.gemm = &problem, .ordinal = args->d.device.id};
    return dg_gpu_workspace(call, &product, bytes);
}

dg_status_t dg_gemm_workspace(dg_context_t *ctx, const dg_gemm_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_gemm_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
