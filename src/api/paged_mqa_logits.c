/* SPDX-License-Identifier: MIT
 *
 * MQA logits of tokens in pages, and their schedule: the entry points. Arguments are checked and
 * become a dg_mqa_logits_problem_t, as those of mqa_logits.c do. See deep_gemm/mqa_logits.h.
 */
#include <inttypes.h>

#include "api/context.h"
#include "api/gpu_logits.h"
#include "api/logits.h"
#include "base/error.h"
#include "base/text.h"
#include "cpu/mqa_logits.h"
#include "deep_gemm/mqa_logits.h"
#include "model/arguments.h"
#include "model/tensor.h"

static dg_status_t check_cache(
    const dg_paged_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    const dg_tensor_t *cache = &args->kv_cache;
    const int64_t row = args->q.shape[3], bytes = row + (int64_t)sizeof(float);
    DG_TRY(dg_check_tensor(cache, "kv_cache", "", DG_DTYPE_BIT(DG_DTYPE_U8), 4));
    const int64_t shape[4] = {cache->shape[0], cache->shape[1], 1, bytes};
    DG_TRY(dg_check_shape(cache, "kv_cache", "", shape,
        "[pages, tokens of a page, 1, bytes of a token], of which it has as many as a row of q and "
        "4 of its factor; pass a view of that shape"));
    const bool dense = (cache->shape[1] <= 1 || cache->stride[1] == bytes) && cache->stride[3] == 1;
    DG_REQUIRE(dense || dg_tensor_elements(cache) == 0, DG_STATUS_BAD_STRIDE, "kv_cache", "",
        "strides %s, expected %" PRId64 " along axis 1 and 1 along axis 3: a page is one piece of "
        "memory; only pages may lie apart",
        dg_format_list(cache->stride, 4).bytes, bytes);
    const uint8_t *codes = cache->data;
    const bool empty = dg_tensor_elements(cache) == 0;
    problem->tokens = (dg_logits_tokens_t){.codes = codes,
        .scales = empty ? NULL : codes + cache->shape[1] * row,
        .dtype = args->q.dtype,
        .pages = cache->shape[0],
        .page_tokens = cache->shape[1],
        .page_stride = dg_tensor_stride(cache, 0),
        .token_stride = row,
        .scale_stride = sizeof(float)};
    return DG_STATUS_OK;
}

static dg_status_t check_table(
    const dg_paged_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    dg_logits_tokens_t *tokens = &problem->tokens;
    const dg_tensor_t *table = &args->block_table;
    DG_TRY(dg_check_tensor(table, "block_table", "", DG_DTYPE_BIT(DG_DTYPE_I32), 2));
    const int64_t shape[2] = {problem->queries.requests, table->shape[1]};
    DG_TRY(dg_check_shape(table, "block_table", "", shape,
        "a row of pages for each request of q; pass a tensor of that shape"));
    static const int32_t no_page = -1;
    const bool empty = dg_tensor_elements(table) == 0;
    tokens->table = empty ? &no_page : table->data; /* NULL would mean: no pages at all */
    tokens->table_columns = table->shape[1];
    tokens->table_request_stride = dg_tensor_stride(table, 0);
    tokens->table_column_stride = dg_tensor_stride(table, 1);
    if (!dg_tensor_given(&args->indices)) return DG_STATUS_OK;
    DG_REQUIRE(problem->queries.next == 1, DG_STATUS_BAD_SHAPE, "indices", "",
        "given beside %" PRId64 " queries a request, expected 1: with indices every query is a "
        "request of its own; pass q as [queries, 1, heads, dim]",
        problem->queries.next);
    DG_TRY(dg_check_logits_list(&args->indices, "indices", 1, args->q.shape,
        "one for each query of q; pass a tensor of that shape"));
    tokens->indices = args->indices.data;
    tokens->indices_stride = dg_tensor_stride(&args->indices, 0);
    return DG_STATUS_OK;
}

/* [requests, next], or [requests] where next is 1; next -1: whatever it has. */
static dg_status_t check_lens(const dg_tensor_t *lens, int64_t requests, int64_t next) {
    const bool flat = lens->rank == 1 && (next == 1 || next < 0);
    const int64_t shape[2] = {requests, next < 0 && !flat ? lens->shape[1] : next};
    return dg_check_logits_list(lens, "context_lens", flat ? 1 : 2, shape,
        "a length for each query of each request; pass a tensor of that shape");
}

static dg_status_t check_lists(
    const dg_paged_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    const dg_tensor_t *lens = &args->context_lens;
    DG_TRY(check_lens(lens, problem->queries.requests, problem->queries.next));
    problem->ends = lens->data;
    problem->ends_request_stride = dg_tensor_stride(lens, 0);
    problem->ends_query_stride = lens->rank == 2 ? dg_tensor_stride(lens, 1) : 0;
    if (!dg_tensor_given(&args->schedule)) return DG_STATUS_OK;
    DG_TRY(dg_check_tensor(&args->schedule, "schedule", "", DG_DTYPE_BIT(DG_DTYPE_I32), 2));
    const int64_t shape[2] = {args->schedule.shape[0], 2};
    return dg_check_shape(&args->schedule, "schedule", "", shape,
        "a request and a unit of it for each worker, and the end; pass what "
        "dg_paged_mqa_logits_schedule wrote, or none");
}

static dg_status_t check(const dg_paged_mqa_logits_args_t *args, dg_mqa_logits_problem_t *problem) {
    const dg_input_t inputs[] = {{&args->q, "q", ""}, {&args->q_scale, "q_scale", ""},
        {&args->kv_cache, "kv_cache", ""}, {&args->weights, "weights", ""},
        {&args->context_lens, "context_lens", ""}, {&args->block_table, "block_table", ""},
        {&args->indices, "indices", ""}, {&args->schedule, "schedule", ""}};
    const int count = sizeof inputs / sizeof *inputs;
    *problem = (dg_mqa_logits_problem_t){.logits = NULL};
    DG_TRY(dg_check_devices(&args->logits, "logits", inputs, count));
    DG_TRY(dg_check_logits_queries(&args->q, &args->q_scale, &args->weights, 4, &problem->queries));
    DG_TRY(check_cache(args, problem));
    DG_TRY(check_table(args, problem));
    DG_TRY(check_lists(args, problem));
    DG_TRY(dg_check_logits_output(&args->logits, args->clean, problem));
    return dg_check_apart(&args->logits, "logits", inputs, count);
}

static dg_status_t run(
    dg_call_t *call, const dg_paged_mqa_logits_args_t *args, const dg_launch_t *launch) {
    dg_mqa_logits_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_paged_mqa_logits_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check(args, &problem));
    return dg_compute_logits(call, &problem, args->logits.device, launch);
}

dg_status_t dg_paged_mqa_logits(
    dg_context_t *ctx, const dg_paged_mqa_logits_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_paged_mqa_logits", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t run_schedule(const dg_call_t *call,
    const dg_paged_mqa_logits_schedule_args_t *args, const dg_launch_t *launch) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_paged_mqa_logits_schedule_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    const dg_tensor_t *lens = &args->context_lens, *out = &args->schedule;
    const dg_input_t inputs[] = {{lens, "context_lens", ""}};
    DG_TRY(dg_check_devices(out, "schedule", inputs, 1));
    DG_TRY(dg_check_tensor(out, "schedule", "", DG_DTYPE_BIT(DG_DTYPE_I32), 2));
    DG_REQUIRE(out->shape[0] >= 2 && out->shape[1] == 2, DG_STATUS_BAD_SHAPE, "schedule", "",
        "shape %s, expected [workers + 1, 2] for at least one worker; pass a tensor of that shape",
        dg_format_list(out->shape, 2).bytes);
    DG_TRY(dg_check_output_rows(out, "schedule", ""));
    DG_TRY(check_lens(lens, lens->shape[0], -1));
    DG_REQUIRE(lens->shape[0] <= INT32_MAX, DG_STATUS_BAD_SHAPE, "context_lens", "",
        "%" PRId64 " requests, expected at most %d, as 32 bits count; split the batch",
        lens->shape[0], INT32_MAX);
    DG_TRY(dg_check_apart(out, "schedule", inputs, 1));
    const bool flat = lens->rank == 1;
    const dg_any_mqa_schedule_args_t work = {.lens = lens->data,
        .request_stride = dg_tensor_stride(lens, 0),
        .query_stride = flat ? 0 : dg_tensor_stride(lens, 1),
        .schedule = out->data,
        .row_stride = dg_tensor_stride(out, 0),
        .requests = lens->shape[0],
        .next = flat ? 1 : lens->shape[1],
        .parts = out->shape[0] - 1,
        .split = DG_MQA_LOGITS_SPLIT};
    if (out->device.type == DG_DEVICE_CUDA)
        return dg_gpu_logits_schedule(call, &work, out->device.id, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_mqa_logits_schedule(work.lens, work.requests, work.next, work.request_stride,
        work.query_stride, work.parts, work.row_stride, work.schedule);
    return DG_STATUS_OK;
}

dg_status_t dg_paged_mqa_logits_schedule(
    dg_context_t *ctx, const dg_paged_mqa_logits_schedule_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_paged_mqa_logits_schedule", ctx));
    return dg_end_call(&call, run_schedule(&call, args, launch));
}
