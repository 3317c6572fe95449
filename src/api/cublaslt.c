/* SPDX-License-Identifier: MIT
 *
 * Products through cuBLASLt, the entry points: arguments are checked and become a dg_gemm_problem_t;
 * on a GPU that becomes the key of a product of src/cuda/cublaslt.c, on the CPU the backend of
 * dg_gemm computes it. See deep_gemm/cublaslt.h.
 */
#include "deep_gemm/cublaslt.h"

#include <inttypes.h>

#include "api/context.h"
#include "api/gpu.h"
#include "base/error.h"
#include "cpu/gemm.h"
#include "cuda/cublaslt.h"
#include "model/arguments.h"
#include "model/operand.h"

#define OPERAND_DTYPES                                                                             \
    (DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_BF16) | DG_DTYPE_BIT(DG_DTYPE_F16) |      \
        DG_DTYPE_BIT(DG_DTYPE_F32))

/* `mn`: the rows it must have, as many as d has `rows`. */
static dg_status_t check_operand(
    const dg_tensor_t *data, const char *name, const char *rows, int64_t mn, dg_side_t *side) {
    DG_TRY(dg_check_tensor(data, name, "", OPERAND_DTYPES, 2));
    DG_REQUIRE(data->shape[0] == mn, DG_STATUS_BAD_SHAPE, name, "",
        "shape [%" PRId64 ", %" PRId64 "], expected %" PRId64 " rows, as many as d has %s; pass "
        "[%s, k], a view from dg_tensor_transpose() if k comes first in memory",
        data->shape[0], data->shape[1], mn, rows, rows);
    *side = (dg_side_t){.data = data->data, .dtype = data->dtype, .gather_extent = mn};
    side->scale = (dg_factors_t){.gran_mn = 1, .gran_k = 128};
    DG_TRY(dg_value_stride(data, name, 0, -1, 1, &side->mn_stride));
    DG_TRY(dg_value_stride(data, name, 1, -1, 1, &side->k_stride));
    DG_REQUIRE(side->mn_stride == 1 || side->k_stride == 1, DG_STATUS_BAD_STRIDE, name, "",
        "strides [%" PRId64 ", %" PRId64 "], expected 1 along one axis; copy the tensor to a "
        "contiguous one",
        data->stride[0], data->stride[1]);
    return DG_STATUS_OK;
}

static dg_status_t check_operands(const dg_cublaslt_gemm_args_t *args, dg_gemm_problem_t *problem) {
    DG_TRY(check_operand(&args->a, "a", "m", problem->m, &problem->a));
    DG_TRY(check_operand(&args->b, "b", "n", problem->n, &problem->b));
    problem->k = args->a.shape[1];
    DG_REQUIRE(args->b.dtype == args->a.dtype, DG_STATUS_BAD_DTYPE, "b", "",
        "dtype %s beside a's %s, expected one type for both; convert one operand",
        dg_dtype_string(args->b.dtype), dg_dtype_string(args->a.dtype));
    DG_REQUIRE(args->b.shape[1] == problem->k, DG_STATUS_BAD_SHAPE, "b", "",
        "k = %" PRId64 ", but a has k = %" PRId64 ": both are summed over the same k; pass "
        "operands of equal k",
        args->b.shape[1], problem->k);
    return DG_STATUS_OK;
}

static dg_status_t check(const dg_cublaslt_gemm_args_t *args, dg_gemm_problem_t *problem) {
    const dg_input_t inputs[] = {
        {&args->a, "a", ""}, {&args->b, "b", ""}, {&args->c, "c", ""} /* last: it may be d */
    };
    DG_TRY(dg_check_result(&args->d, 2));
    DG_TRY(dg_check_devices(&args->d, "d", inputs, 3));
    problem->m = args->d.shape[0];
    problem->n = args->d.shape[1];
    DG_TRY(check_operands(args, problem));
    DG_TRY(dg_check_accumulator(&args->c, &args->d, &problem->out));
    return dg_check_apart(&args->d, "d", inputs, 2);
}

/* A matrix of `lines` contiguous lines of `length` for cuBLASLt, which wants each line behind the one
 * before it. A single line may have any stride. */
static dg_status_t leading_dimension(
    const char *name, int64_t lines, int64_t length, int64_t stride, int64_t *ld) {
    *ld = lines > 1 ? stride : length > 0 ? length : 1;
    DG_REQUIRE(*ld >= length, DG_STATUS_BAD_STRIDE, name, "",
        "stride %" PRId64 " between contiguous lines of %" PRId64 " elements, expected at least as "
        "much: cuBLASLt takes no lines that overlap; copy the tensor",
        stride, length);
    return DG_STATUS_OK;
}

static dg_status_t describe_operand(
    const dg_side_t *side, const char *name, int64_t mn, int64_t k, int32_t *major, int64_t *ld) {
    *major = side->k_stride != 1;
    return *major == 0 ? leading_dimension(name, mn, k, side->mn_stride, ld)
                       : leading_dimension(name, k, mn, side->k_stride, ld);
}

/* Bytes that the address is a multiple of, up to what cuBLASLt can make use of. */
static int32_t alignment_of(const void *address) {
    const uintptr_t lowest = (uintptr_t)address & (~(uintptr_t)address + 1);
    return lowest == 0 || lowest > 256 ? 256 : (int32_t)lowest;
}

static dg_status_t make_key(
    const dg_call_t *call, const dg_gemm_problem_t *problem, dg_lt_key_t *key) {
    const dg_output_t *out = &problem->out;
    *key = (dg_lt_key_t){.m = problem->m,
        .n = problem->n,
        .k = problem->k,
        .dtype = (int32_t)problem->a.dtype,
        .d_dtype = (int32_t)out->dtype,
        .num_sms = call->options.num_sms};
    DG_TRY(describe_operand(&problem->a, "a", problem->m, problem->k, &key->a_major, &key->ld_a));
    DG_TRY(describe_operand(&problem->b, "b", problem->n, problem->k, &key->b_major, &key->ld_b));
    DG_TRY(leading_dimension("d", problem->m, problem->n, out->row_stride, &key->ld_d));
    key->ld_c = key->ld_d;
    if (out->c != NULL)
        DG_TRY(leading_dimension("c", problem->m, problem->n, out->c_row_stride, &key->ld_c));
    const void *const addresses[] = {
        problem->a.data, problem->b.data, out->c != NULL ? out->c : out->d, out->d};
    for (int i = 0; i < 4; i++) key->align[i] = alignment_of(addresses[i]);
    return DG_STATUS_OK;
}

/* k = 0 has nothing to multiply: a kernel of ours copies c or stores zeros, of whatever type the
 * operands would have been. */
static dg_gemm_problem_t empty_sum(const dg_gemm_problem_t *problem) {
    dg_gemm_problem_t empty = *problem;
    empty.a.dtype = empty.b.dtype = DG_DTYPE_BF16;
    return empty;
}

static dg_status_t launch_product(const dg_call_t *call, dg_cuda_device_t *device,
    const dg_gemm_problem_t *problem, void *handle, const dg_launch_t *launch,
    dg_lt_product_t *product) {
    dg_launch_t own;
    DG_TRY(dg_gpu_take_workspace(call, launch, dg_cublaslt_workspace(product), &own));
    const dg_lt_run_t run = {.a = problem->a.data,
        .b = problem->b.data,
        .c = problem->out.c,
        .d = problem->out.d,
        .workspace = own.workspace,
        .stream = own.stream,
        .handle = handle};
    return dg_only_prepares(launch) ? DG_STATUS_OK : dg_cublaslt_run(device, product, &run);
}

static dg_status_t multiply_on_gpu(const dg_call_t *call, int32_t ordinal,
    const dg_gemm_problem_t *problem, void *handle, const dg_launch_t *launch) {
    dg_cuda_device_t *device;
    dg_lt_product_t *product;
    dg_lt_key_t key;
    if (problem->k == 0) {
        const dg_gemm_problem_t empty = empty_sum(problem);
        const dg_gpu_product_t own = {.gemm = &empty, .ordinal = ordinal};
        return dg_gpu_multiply(call, &own, launch);
    }
    DG_TRY(make_key(call, problem, &key));
    DG_TRY(dg_cuda_open(ordinal, &device));
    DG_TRY(dg_cublaslt_find(device, &key, handle, &product));
    const dg_status_t status = launch_product(call, device, problem, handle, launch, product);
    dg_cublaslt_release(product);
    return status;
}

static dg_status_t run(
    dg_call_t *call, const dg_cublaslt_gemm_args_t *args, const dg_launch_t *launch) {
    dg_gemm_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_cublaslt_gemm_args_t"));
    DG_TRY(check(args, &problem));
    DG_TRY(dg_check_launch(launch, 0));
    if (problem.m == 0 || problem.n == 0) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA)
        return multiply_on_gpu(call, args->d.device.id, &problem, args->handle, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_gemm(pool, &problem);
}

dg_status_t dg_cublaslt_gemm(
    dg_context_t *ctx, const dg_cublaslt_gemm_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_cublaslt_gemm", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(
    const dg_call_t *call, const dg_cublaslt_gemm_args_t *args, size_t *bytes) {
    dg_gemm_problem_t problem;
    dg_cuda_device_t *device;
    dg_lt_product_t *product;
    dg_lt_key_t key;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_cublaslt_gemm_args_t"));
    DG_TRY(check(args, &problem));
    DG_TRY(dg_check_size(bytes));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || problem.m == 0 || problem.n == 0)
        return DG_STATUS_OK;
    if (problem.k == 0) {
        const dg_gemm_problem_t empty = empty_sum(&problem);
        const dg_gpu_product_t own = {.gemm = &empty, .ordinal = args->d.device.id};
        return dg_gpu_workspace(call, &own, bytes);
    }
    DG_TRY(make_key(call, &problem, &key));
    DG_TRY(dg_cuda_open(args->d.device.id, &device));
    DG_TRY(dg_cublaslt_find(device, &key, args->handle, &product));
    *bytes = dg_cublaslt_workspace(product);
    dg_cublaslt_release(product);
    return DG_STATUS_OK;
}

dg_status_t dg_cublaslt_gemm_workspace(
    dg_context_t *ctx, const dg_cublaslt_gemm_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_cublaslt_gemm_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
