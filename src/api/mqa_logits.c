/* SPDX-License-Identifier: MIT
 *
 * MQA logits of tokens in one tensor, the entry point: arguments are checked and become a
 * dg_mqa_logits_problem_t, which the backend of the tensors' device computes. See
 * deep_gemm/mqa_logits.h; paged_mqa_logits.c is its sibling.
 */
#include "deep_gemm/mqa_logits.h"

#include "api/context.h"
#include "api/logits.h"
#include "base/error.h"
#include "model/arguments.h"
#include "model/tensor.h"

static dg_status_t check_tokens(
    const dg_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    const dg_tensor_t *kv = &args->kv, *scale = &args->kv_scale;
    DG_TRY(dg_check_tensor(
        kv, "kv", "", DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_E2M1X2), 2));
    const int64_t length = problem->queries.dim / (kv->dtype == DG_DTYPE_E2M1X2 ? 2 : 1);
    const int64_t shape[2] = {kv->shape[0], length};
    DG_TRY(dg_check_shape(kv, "kv", "", shape,
        "a row of q's dim for each token, two values a byte in e2m1x2; pass a tensor of that "
        "shape"));
    DG_REQUIRE(dg_logits_dim(kv->dtype, length) == problem->queries.dim, DG_STATUS_BAD_SHAPE, "q",
        "", "an odd dim beside kv of e2m1x2, expected an even one; pad dim with a zero");
    DG_REQUIRE(kv->dtype == DG_DTYPE_E4M3 || problem->queries.dim <= 128, DG_STATUS_BAD_SHAPE, "kv",
        "",
        "more than 64 bytes along the last axis: a row of e2m1x2 has four factors for 32 "
        "values each; pass e4m3 for a larger dim");
    DG_TRY(dg_check_logits_unit_stride(kv, "kv"));
    problem->tokens = (dg_logits_tokens_t){.codes = kv->data,
        .dtype = kv->dtype,
        .pages = 1,
        .page_tokens = kv->shape[0],
        .token_stride = dg_tensor_stride(kv, 0)};
    DG_REQUIRE(dg_tensor_given(scale) || kv->dtype == DG_DTYPE_E4M3, DG_STATUS_BAD_SCALE,
        "kv_scale", "",
        "no tensor beside kv of e2m1x2, expected i32: four UE8M0 factors for each token; pass the "
        "factors of the cast that made kv");
    if (!dg_tensor_given(scale)) return DG_STATUS_OK;
    const dg_dtype_t dtype = kv->dtype == DG_DTYPE_E4M3 ? DG_DTYPE_F32 : DG_DTYPE_I32;
    DG_TRY(dg_check_tensor(scale, "kv_scale", "", DG_DTYPE_BIT(dtype), 1));
    DG_TRY(dg_check_shape(scale, "kv_scale", "", kv->shape, "one for each token of kv"));
    problem->tokens.scales = scale->data;
    problem->tokens.scale_stride = dg_tensor_stride(scale, 0) * dg_dtype_size(dtype);
    return DG_STATUS_OK;
}

static dg_status_t check_ranges(
    const dg_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    static const char rule[] = "one for each query of q; pass a tensor of that shape";
    const int64_t *shape = args->q.shape;
    if (dg_tensor_given(&args->starts)) {
        DG_TRY(dg_check_logits_list(&args->starts, "starts", 1, shape, rule));
        problem->starts = args->starts.data;
        problem->starts_stride = dg_tensor_stride(&args->starts, 0);
    }
    DG_TRY(dg_check_logits_list(&args->ends, "ends", 1, shape, rule));
    problem->ends = args->ends.data;
    problem->ends_query_stride = dg_tensor_stride(&args->ends, 0);
    DG_TRY(dg_check_logits_switch(args->compressed, "compressed"));
    problem->compressed = args->compressed == DG_ON;
    return DG_STATUS_OK;
}

static dg_status_t check(const dg_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    const dg_input_t inputs[] = {{&args->q, "q", ""}, {&args->q_scale, "q_scale", ""},
        {&args->kv, "kv", ""}, {&args->kv_scale, "kv_scale", ""}, {&args->weights, "weights", ""},
        {&args->starts, "starts", ""}, {&args->ends, "ends", ""}};
    const int count = sizeof inputs / sizeof *inputs;
    *problem = (dg_mqa_logits_problem_t){.logits = NULL};
    DG_TRY(dg_check_devices(&args->logits, "logits", inputs, count));
    DG_TRY(dg_check_logits_queries(&args->q, &args->q_scale, &args->weights, 3, &problem->queries));
    DG_TRY(check_tokens(args, problem));
    DG_TRY(check_ranges(args, problem));
    DG_TRY(dg_check_logits_output(&args->logits, args->clean, problem));
    DG_REQUIRE(problem->compressed || problem->columns == problem->tokens.page_tokens,
        DG_STATUS_BAD_SHAPE, "logits", "",
        "%lld columns, expected %lld: one for each token of kv; pass a tensor of that shape, or "
        "set compressed",
        (long long)problem->columns, (long long)problem->tokens.page_tokens);
    return dg_check_apart(&args->logits, "logits", inputs, count);
}

static dg_status_t run(
    dg_call_t *call, const dg_mqa_logits_args_t *args, const dg_launch_t *launch) {
    dg_mqa_logits_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_mqa_logits_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check(args, &problem));
    return dg_compute_logits(call, &problem, args->logits.device, launch);
}

dg_status_t dg_mqa_logits(
    dg_context_t *ctx, const dg_mqa_logits_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_mqa_logits", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}
