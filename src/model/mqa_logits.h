/* SPDX-License-Identifier: MIT
 *
 * A call for MQA logits after checking: what the api layer (mqa_logits.c, paged_mqa_logits.c)
 * hands to a backend. Tokens in one tensor are one page without a table, and all queries those of
 * one request, so that one problem serves both families. The values of ranges, lengths and tables
 * stay where they are, since a GPU reads them on the device; the inline functions below say what
 * they mean.
 */
#ifndef DG_MODEL_MQA_LOGITS_H
#define DG_MODEL_MQA_LOGITS_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/context.h"

/* Query t of request r is row r * next + t of weights and logits. Strides count elements, those of
 * q bytes, from one request, query or head to the next. */
typedef struct dg_logits_queries_t {
    int64_t requests, next, heads, dim;
    const uint8_t *q; /* [requests, next, heads, dim] */
    dg_dtype_t dtype; /* E4M3 or E2M1X2 */
    int64_t request_stride, query_stride, head_stride;
    const uint32_t *scale; /* E2M1X2: [requests, next, heads] words of four UE8M0; else NULL */
    int64_t scale_request_stride, scale_query_stride, scale_head_stride;
    const void *weights; /* [requests * next, heads] */
    dg_dtype_t weights_dtype;
    int64_t weights_row_stride, weights_head_stride;
} dg_logits_queries_t;

/* Strides count bytes. */
typedef struct dg_logits_tokens_t {
    const uint8_t *codes; /* [pages, page_tokens, dim] */
    const uint8_t
        *scales;      /* [pages, page_tokens] F32 or I32, at any address; NULL: every one is 1 */
    dg_dtype_t dtype; /* E4M3 or E2M1X2 */
    int64_t pages, page_tokens;
    int64_t page_stride, token_stride, scale_stride;
    const int32_t *table; /* [requests, table_columns]; NULL: page 0 holds the tokens of all */
    int64_t table_columns, table_request_stride, table_column_stride; /* elements */
    const int32_t *indices; /* [requests], or NULL: each request has its own row of the table */
    int64_t indices_stride;
} dg_logits_tokens_t;

typedef struct dg_mqa_logits_problem_t {
    dg_logits_queries_t queries;
    dg_logits_tokens_t tokens;
    const int32_t *starts; /* [next], or NULL: 0 */
    const int32_t *ends;   /* [requests, next] */
    int64_t starts_stride; /* one tensor alone has starts: requests is 1 */
    int64_t ends_request_stride, ends_query_stride;
    bool compressed, clean;
    void *logits; /* [requests * next, columns] */
    dg_dtype_t logits_dtype;
    int64_t columns, row_stride;
} dg_mqa_logits_problem_t;

/* The tokens [begin, end) of a query, which stand in logits from `column` on; begin <= end. */
typedef struct dg_logits_range_t {
    int64_t begin, end, column;
} dg_logits_range_t;

/* Check and translate what both families have: q [.., heads, dim] of `rank` axes with its factors
 * and weights, the two switches, and the output. logits: checked for itself and against the rows of
 * queries; its columns are the caller's to check. */
dg_status_t dg_check_logits_queries(const dg_tensor_t *q, const dg_tensor_t *q_scale,
    const dg_tensor_t *weights, int32_t rank, dg_logits_queries_t *queries);
dg_status_t dg_check_logits_output(
    const dg_tensor_t *logits, dg_switch_t clean, dg_mqa_logits_problem_t *problem);
dg_status_t dg_check_logits_switch(dg_switch_t value, const char *name);

/* Refuses a tensor whose last axis is not contiguous. */
dg_status_t dg_check_logits_unit_stride(const dg_tensor_t *tensor, const char *name);

/* Refuses `tensor` unless it is I32 of `rank` axes and `shape`; `rule` ends the message. */
dg_status_t dg_check_logits_list(const dg_tensor_t *tensor, const char *name, int32_t rank,
    const int64_t *shape, const char *rule);

/* Values in a row of `length` elements. */
static inline int64_t dg_logits_dim(dg_dtype_t dtype, int64_t length) {
    return dtype == DG_DTYPE_E2M1X2 ? 2 * length : length;
}

/* Tokens that a request can have. */
static inline int64_t dg_logits_capacity(const dg_logits_tokens_t *tokens) {
    int64_t capacity;
    if (tokens->table == NULL) return tokens->page_tokens;
    const bool huge = __builtin_mul_overflow(tokens->table_columns, tokens->page_tokens, &capacity);
    return huge ? INT64_MAX : capacity;
}

static inline dg_logits_range_t dg_logits_range(
    const dg_mqa_logits_problem_t *problem, int64_t request, int64_t query) {
    const int64_t capacity = dg_logits_capacity(&problem->tokens);
    int64_t begin = problem->starts == NULL ? 0 : problem->starts[query * problem->starts_stride];
    int64_t end =
        problem->ends[request * problem->ends_request_stride + query * problem->ends_query_stride];
    if (begin < 0) begin = 0;
    if (end > capacity) end = capacity;
    const int64_t column = problem->compressed ? 0 : begin;
    const int64_t room = problem->columns > column ? problem->columns - column : 0;
    if (end - begin > room) end = begin + room;
    return (dg_logits_range_t){begin, end > begin ? end : begin, column};
}

/* The row of the table that `request` reads. */
static inline int64_t dg_logits_table_row(const dg_logits_tokens_t *tokens, int64_t request) {
    const int32_t *indices = tokens->indices;
    const int64_t stride = tokens->indices_stride;
    if (indices == NULL) return request;
    while (request > 0 && indices[(request - 1) * stride] == indices[request * stride]) --request;
    return request;
}

#endif
