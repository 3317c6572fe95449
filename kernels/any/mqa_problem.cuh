/* SPDX-License-Identifier: MIT
 *
 * What a problem of MQA logits says: the tokens of a query, where a token lies, where a logit goes.
 * Included by kernels/sm90/fp8_mqa_logits.cu and kernels/any/mqa_logits.cu. */
#pragma once
#include "args/mqa_logits.h"
#include "device/convert.cuh"
#include "device/global.cuh"

#define NOTHING 0xFF800000u /* bits of -inf: the logit of no token */

/* Tokens [begin, end) of a query; begin == end: none. */
typedef struct range {
    int begin, end;
} range_t;

DEVICE int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Of query `query` of a request; none if it has no such query. */
DEVICE range_t find_range(const dg_mqa_problem_t *args, int64_t request, int query) {
    if (query >= args->next) return {0, 0};
    const int32_t *end_at =
        args->ends + request * args->ends_request_stride + query * args->ends_query_stride;
    int64_t begin = 0, end = (int32_t)ld_global_u32(end_at);
    if (args->starts) begin = (int32_t)ld_global_u32(args->starts + query * args->starts_stride);
    if (begin < 0) begin = 0;
    end = smaller(end, args->capacity);
    end = smaller(end, args->compressed ? begin + args->columns : args->columns);
    return end > begin ? range_t{(int)begin, (int)end} : range_t{0, 0};
}

/* The request's row of the table, NULL if there is no table. */
DEVICE const int32_t *find_table(const dg_mqa_problem_t *args, int64_t request) {
    if (!args->table) return nullptr;
    const int32_t *index = args->indices;
    if (index) {
        const uint32_t own = ld_global_u32(index + request * args->indices_stride);
        while (request > 0 && ld_global_u32(index + (request - 1) * args->indices_stride) == own)
            request--;
    }
    return args->table + request * args->table_request_stride;
}

/* Where a token lies; page -1: nowhere. */
typedef struct place_of_token {
    int page, row;
} place_of_token_t;

DEVICE place_of_token_t find_token(
    const dg_mqa_problem_t *args, const int32_t *table, int token, int end) {
    if (token >= end) return {-1, 0};
    if (!table) return {0, token};
    const int page =
        (int)ld_global_u32(table + token / args->page_tokens * args->table_column_stride);
    return {page < args->pages ? page : -1, token % args->page_tokens};
}

DEVICE void store_logit(const dg_mqa_problem_t *args, int64_t row, int column, float value) {
    const int64_t at = row * args->row_stride + column;
    if (args->bf16_logits)
        st_global_u16((uint16_t *)args->logits + at, (uint16_t)pack_bf16(value, 0.f));
    else
        st_global_f32((float *)args->logits + at, value);
}

/* weights[row, head] */
DEVICE float load_weight(const dg_mqa_problem_t *args, int64_t row, int head) {
    const int64_t at = row * args->weights_row_stride + head * args->weights_head_stride;
    if (!args->bf16_weights) return ld_global_f32((const float *)args->weights + at);
    return f32_from_bits((uint32_t)ld_global_u16((const uint16_t *)args->weights + at) << 16);
}
