/* SPDX-License-Identifier: MIT
 *
 * See run_mqa_logits.h.
 */
#include "cuda/run_mqa_logits.h"

#include "base/error.h"
#include "cuda/tensor_map.h"
#include "plan/mqa_logits.h"

static dg_status_t encode_queries(
    const dg_logits_queries_t *queries, int32_t dim, int32_t heads, dg_tensor_map_t *map) {
    const dg_map_shape_t shape = {.data = queries->q,
        .dtype = DG_DTYPE_E4M3,
        .rank = 3,
        .extent = {queries->dim, queries->heads, queries->requests * queries->next},
        .stride = {1, queries->head_stride, dg_mqa_query_stride(queries)},
        .box = {dim, heads, DG_MQA_COLUMNS / heads},
        .swizzle_bytes = dim,
        .name = "q"};
    return dg_cuda_encode_map(&shape, map);
}

static dg_status_t encode_tokens(const dg_logits_queries_t *queries,
    const dg_logits_tokens_t *tokens, int32_t dim, dg_tensor_map_t *map) {
    const dg_map_shape_t shape = {.data = tokens->codes,
        .dtype = DG_DTYPE_E4M3,
        .rank = 3,
        .extent = {queries->dim, tokens->page_tokens, tokens->pages},
        .stride = {1, tokens->token_stride, tokens->page_stride},
        .box = {dim, dg_mqa_box_tokens(tokens), 1},
        .swizzle_bytes = dim,
        .name = tokens->table != NULL ? "kv_cache" : "kv"};
    return dg_cuda_encode_map(&shape, map);
}

static dg_mqa_problem_t describe(const dg_mqa_logits_problem_t *problem) {
    const dg_logits_queries_t *queries = &problem->queries;
    const dg_logits_tokens_t *tokens = &problem->tokens;
    return (dg_mqa_problem_t){.weights = queries->weights,
        .weights_row_stride = queries->weights_row_stride,
        .weights_head_stride = queries->weights_head_stride,
        .scales = tokens->scales,
        .page_stride = tokens->page_stride,
        .scale_stride = tokens->scale_stride,
        .table = tokens->table,
        .table_request_stride = tokens->table_request_stride,
        .table_column_stride = tokens->table_column_stride,
        .indices = tokens->indices,
        .indices_stride = tokens->indices_stride,
        .starts = problem->starts,
        .starts_stride = problem->starts_stride,
        .ends = problem->ends,
        .ends_request_stride = problem->ends_request_stride,
        .ends_query_stride = problem->ends_query_stride,
        .logits = problem->logits,
        .row_stride = problem->row_stride,
        .columns = problem->columns,
        .capacity = dg_mqa_capacity(tokens),
        .requests = (int32_t)queries->requests,
        .next = (int32_t)queries->next,
        .heads = (int32_t)queries->heads,
        .pages = (int32_t)tokens->pages,
        .page_tokens = (int32_t)tokens->page_tokens,
        .bf16_weights = queries->weights_dtype == DG_DTYPE_BF16,
        .bf16_logits = problem->logits_dtype == DG_DTYPE_BF16,
        .compressed = problem->compressed,
        .clean = problem->clean};
}

static dg_any_mqa_logits_args_t describe_any(const dg_mqa_logits_problem_t *problem) {
    const dg_logits_queries_t *queries = &problem->queries;
    const dg_logits_tokens_t *tokens = &problem->tokens;
    return (dg_any_mqa_logits_args_t){.problem = describe(problem),
        .q = {.data = queries->q,
            .outer_stride = queries->request_stride,
            .middle_stride = queries->query_stride,
            .row_stride = queries->head_stride,
            .fp4 = queries->dtype == DG_DTYPE_E2M1X2},
        .tokens = {.data = tokens->codes,
            .middle_stride = tokens->page_stride,
            .row_stride = tokens->token_stride,
            .fp4 = tokens->dtype == DG_DTYPE_E2M1X2},
        .q_scale = queries->scale,
        .q_scale_request_stride = queries->scale_request_stride,
        .q_scale_query_stride = queries->scale_query_stride,
        .q_scale_head_stride = queries->scale_head_stride,
        .dim = queries->dim};
}

static dg_status_t describe_sm90(const dg_mqa_logits_problem_t *problem,
    const dg_specialisation_t *specialisation, dg_sm90_mqa_logits_args_t *args) {
    const dg_logits_queries_t *queries = &problem->queries;
    const int32_t dim = specialisation->values[0], heads = specialisation->values[1];
    *args = (dg_sm90_mqa_logits_args_t){
        .problem = describe(problem), .box_tokens = dg_mqa_box_tokens(&problem->tokens)};
    DG_TRY(encode_queries(queries, dim, heads, &args->q));
    args->kv = args->q; /* without tokens nobody reads it, but it has to be a map */
    if (args->problem.capacity == 0) return DG_STATUS_OK;
    return encode_tokens(queries, &problem->tokens, dim, &args->kv);
}

dg_status_t dg_cuda_run_mqa_logits(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order,
    const dg_mqa_logits_problem_t *problem) {
    if (stage->specialisation.kernel == DG_KERNEL_ANY_MQA_LOGITS) {
        const dg_any_mqa_logits_args_t any = describe_any(problem);
        return dg_cuda_run_stage(device, stage, function, order, &any);
    }
    dg_sm90_mqa_logits_args_t args;
    dg_cuda_scope_t scope; /* maps are made in a context of the device */
    DG_TRY(dg_cuda_enter(device, &scope));
    dg_status_t status = describe_sm90(problem, &stage->specialisation, &args);
    if (status == DG_STATUS_OK) status = dg_cuda_run_stage(device, stage, function, order, &args);
    dg_cuda_leave(&scope);
    return status;
}
