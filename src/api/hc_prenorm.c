/* SPDX-License-Identifier: MIT
 *
 * The product in front of a hyper-connection's norm, the entry points: arguments are checked and
 * become a dg_hc_prenorm_problem_t, which the backend of the tensors' device computes. See
 * deep_gemm/hyper_connection.h.
 */
#include <inttypes.h>

#include "api/context.h"
#include "api/gpu_hc_prenorm.h"
#include "base/error.h"
#include "cpu/hc_prenorm.h"
#include "deep_gemm/hyper_connection.h"
#include "model/arguments.h"
#include "model/tensor.h"

/* [rows, k], k fastest. Rows that repeat or overlap are read like any others. */
static dg_status_t check_input(const dg_tensor_t *tensor, const char *name, dg_dtype_t dtype) {
    DG_TRY(dg_check_tensor(tensor, name, "", DG_DTYPE_BIT(dtype), 2));
    DG_REQUIRE(tensor->shape[1] == 1 || tensor->stride[1] == 1 || dg_tensor_elements(tensor) == 0,
        DG_STATUS_BAD_STRIDE, name, "",
        "stride %" PRId64 " along k, expected 1: rows are read along k; copy the tensor",
        tensor->stride[1]);
    return DG_STATUS_OK;
}

/* An output whose last axes are `shape` [rank - sliced], and which has one more in front if sliced.
 * */
static dg_status_t check_output(const dg_tensor_t *tensor, const char *name, bool sliced,
    int64_t splits, const int64_t *shape, int32_t rank) {
    int64_t expected[3] = {splits};
    const int32_t first = sliced ? 1 : 0;
    for (int32_t i = 0; i < rank; i++) expected[first + i] = shape[i];
    DG_TRY(dg_check_tensor(tensor, name, "", DG_DTYPE_BIT(DG_DTYPE_F32), first + rank));
    DG_TRY(dg_check_shape(tensor, name, "", expected,
        "d is [m, n] and sqr_sum [m], or both have an axis of splits in front; a is [m, k], b is "
        "[n, k]"));
    return dg_check_output_rows(tensor, name, "");
}

static dg_status_t check(
    const dg_tf32_hc_prenorm_gemm_args_t *args, dg_hc_prenorm_problem_t *problem) {
    const dg_tensor_t *a = &args->a, *b = &args->b, *d = &args->d, *sums = &args->sqr_sum;
    const dg_input_t inputs[] = {{a, "a", ""}, {b, "b", ""}, {sums, "sqr_sum", ""}};
    DG_TRY(dg_check_devices(d, "d", inputs, 3));
    DG_TRY(check_input(a, "a", DG_DTYPE_BF16));
    DG_TRY(check_input(b, "b", DG_DTYPE_F32));
    DG_REQUIRE(a->shape[1] == b->shape[1], DG_STATUS_BAD_SHAPE, "b", "",
        "k = %" PRId64 ", but a has k = %" PRId64 ": both are summed over the same k; pass [n, k]",
        b->shape[1], a->shape[1]);
    DG_REQUIRE(d->rank == 2 || d->rank == 3, DG_STATUS_BAD_RANK, "d", "",
        "rank %d, expected 2, [m, n], or 3, [splits, m, n]", d->rank);
    const bool sliced = d->rank == 3;
    const int64_t splits = sliced ? d->shape[0] : 1, shape[2] = {a->shape[0], b->shape[0]};
    DG_REQUIRE(splits >= 1, DG_STATUS_BAD_SHAPE, "d", "",
        "%" PRId64 " splits, expected at least 1; pass [splits, m, n]", splits);
    DG_TRY(check_output(d, "d", sliced, splits, shape, 2));
    DG_TRY(check_output(sums, "sqr_sum", sliced, splits, shape, 1));
    DG_TRY(dg_check_apart(d, "d", inputs, 3));
    DG_TRY(dg_check_apart(sums, "sqr_sum", inputs, 2));
    *problem = (dg_hc_prenorm_problem_t){
        .m = shape[0],
        .n = shape[1],
        .k = a->shape[1],
        .splits = splits,
        .sliced = sliced,
        .a = a->data,
        .b = b->data,
        .d = d->data,
        .sqr_sum = sums->data,
        .a_stride = dg_tensor_stride(a, 0),
        .b_stride = dg_tensor_stride(b, 0),
        .d_stride = dg_tensor_stride(d, d->rank - 2),
        .d_split_stride = dg_tensor_stride(d, d->rank - 3),
        .sqr_sum_split_stride = dg_tensor_stride(sums, sums->rank - 2),
    };
    return DG_STATUS_OK;
}

static dg_status_t run(
    dg_call_t *call, const dg_tf32_hc_prenorm_gemm_args_t *args, const dg_launch_t *launch) {
    dg_hc_prenorm_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_tf32_hc_prenorm_gemm_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check(args, &problem));
    if (problem.m == 0) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA)
        return dg_gpu_hc_prenorm(call, &problem, args->d.device.id, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_hc_prenorm(pool, &problem);
}

dg_status_t dg_tf32_hc_prenorm_gemm(
    dg_context_t *ctx, const dg_tf32_hc_prenorm_gemm_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_tf32_hc_prenorm_gemm", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(
    const dg_call_t *call, const dg_tf32_hc_prenorm_gemm_args_t *args, size_t *bytes) {
    dg_hc_prenorm_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_tf32_hc_prenorm_gemm_args_t"));
    DG_TRY(dg_check_size(bytes));
    DG_TRY(check(args, &problem));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || problem.m == 0) return DG_STATUS_OK;
    return dg_gpu_hc_prenorm_workspace(call, &problem, args->d.device.id, bytes);
}

dg_status_t dg_tf32_hc_prenorm_gemm_workspace(
    dg_context_t *ctx, const dg_tf32_hc_prenorm_gemm_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_tf32_hc_prenorm_gemm_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
