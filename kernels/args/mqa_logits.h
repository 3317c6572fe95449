/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/sm90/fp8_mqa_logits.cu, kernels/any/mqa_logits.cu and
 * kernels/any/mqa_schedule.cu, filled by the host and read by the kernels. Included by both sides.
 * The words are those of src/model/mqa_logits.h: requests have `next` queries each, tokens lie in
 * pages, one tensor of tokens is one page.
 *
 * Specialisation of sm90_fp8_mqa_logits:
 *   DIM     of a row as it lies in shared memory: 32, 64 or 128 bytes; the tensor's may be smaller
 *   HEADS   of a query as they lie in shared memory: 8, 16, 32, 64 or 128; the tensor may have fewer
 *   STAGES  of the ring, in blocks of DG_MQA_BLOCK tokens
 * of any_mqa_logits and any_mqa_schedule:
 *   THREADS of a CTA; for logits as many as tokens of a block */
#ifndef DG_KERNEL_ARGS_MQA_LOGITS_H
#define DG_KERNEL_ARGS_MQA_LOGITS_H

#include "args/types.h"

/* Tokens of a block: 64 for each of two math warpgroups. Columns of wgmma: the heads of as many
 * queries as fit, which are a group. */
#define DG_MQA_BLOCK 128
#define DG_MQA_COLUMNS 128

/* What every kernel of this family is asked for, but for q and the values of the tokens. */
typedef struct dg_mqa_problem {
    const void *weights; /* [requests * next, heads] f32 or bf16 */
    int64_t weights_row_stride, weights_head_stride;
    const uint8_t *scales; /* [pages, page_tokens] f32 or i32, strides in bytes; NULL: each is 1 */
    int64_t page_stride, scale_stride;
    const int32_t *table; /* [requests, table_columns]; NULL: page 0 holds the tokens of all */
    int64_t table_request_stride, table_column_stride;
    const int32_t *indices; /* [requests], or NULL */
    int64_t indices_stride;
    const int32_t *starts; /* [next], or NULL: 0 */
    int64_t starts_stride;
    const int32_t *ends; /* [requests, next] */
    int64_t ends_request_stride, ends_query_stride;
    void *logits;                /* [requests * next, columns] f32 or bf16 */
    int64_t row_stride, columns; /* elements */
    int64_t capacity;            /* tokens that a request can have */
    int32_t requests, next, heads, pages;
    int32_t page_tokens; /* of a table */
    int32_t bf16_weights, bf16_logits, compressed, clean;
    int32_t reserved;
} dg_mqa_problem_t;

typedef struct dg_sm90_mqa_logits_args {
    dg_tensor_map_t q;  /* [requests * next, heads, dim] e4m3, dim fastest; box [DIM, HEADS,
                         * DG_MQA_COLUMNS / HEADS], swizzle DIM */
    dg_tensor_map_t kv; /* [pages, page_tokens, dim] e4m3, dim fastest; box [DIM, box_tokens, 1],
                         * swizzle DIM */
    dg_mqa_problem_t problem; /* scales are f32; page_tokens is a multiple of box_tokens */
    int32_t box_tokens;       /* a multiple of 8 that divides DG_MQA_BLOCK */
    int32_t reserved[13];     /* up to a multiple of 64 */
} dg_sm90_mqa_logits_args_t;

/* Codes [.., dim] of q or of the tokens, strides in bytes. */
typedef struct dg_mqa_codes {
    const uint8_t *data;
    int64_t outer_stride, middle_stride,
        row_stride; /* q: request, query, head; tokens: page, token */
    int32_t fp4;    /* 1: e2m1, two a byte, and factors for 32 values each; 0: e4m3 */
    int32_t reserved;
} dg_mqa_codes_t;

typedef struct dg_any_mqa_logits_args {
    dg_mqa_problem_t problem;
    dg_mqa_codes_t q, tokens;
    const uint32_t *q_scale; /* fp4: [requests, next, heads] words of four UE8M0; else NULL */
    int64_t q_scale_request_stride, q_scale_query_stride, q_scale_head_stride;
    int64_t dim;
} dg_any_mqa_logits_args_t;

typedef struct dg_any_mqa_schedule_args {
    const int32_t *lens; /* [requests, next] */
    int64_t request_stride, query_stride;
    int32_t *schedule; /* [parts + 1, 2] */
    int64_t row_stride;
    int64_t requests, next, parts, split; /* split: tokens of a unit */
} dg_any_mqa_schedule_args_t;

/* Dynamic shared memory: stages of tokens with their scales, two groups of queries, what each warp
 * has counted, barriers. */
#define DG_SM90_MQA_LOGITS_THREADS 384
#define DG_MQA_SCALE_BYTES (DG_MQA_BLOCK * 4 + 16)
#define DG_SM90_MQA_LOGITS_SHARED_BYTES(dim, stages)                                               \
    ((stages) * (DG_MQA_BLOCK * (dim) + DG_MQA_SCALE_BYTES + 16) + 2 * DG_MQA_COLUMNS * (dim) +    \
        DG_SM90_MQA_LOGITS_THREADS / 32 * 8 + 16 + 4 * 8)

/* any_mqa_logits: values of 32 heads by 32 k of a query, and dot products of 32 heads. */
#define DG_ANY_MQA_HEADS 32
#define DG_ANY_MQA_SHARED_BYTES (DG_ANY_MQA_HEADS * 32 * 4 + DG_ANY_MQA_HEADS * DG_MQA_BLOCK * 4)

DG_STATIC_ASSERT(sizeof(dg_sm90_mqa_logits_args_t) == 512, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_mqa_problem_t) == 200, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_mqa_logits_args_t) == 320, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_mqa_schedule_args_t) == 72, "host and device must agree");

#endif
