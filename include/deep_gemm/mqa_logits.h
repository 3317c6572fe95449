/* SPDX-License-Identifier: MIT
 *
 * MQA logits: scores of queries against the tokens of a cache, as the indexer of sparse attention
 * wants them. All heads of a query share one key a token, and add up to one score:
 *
 *     logits[i, j] = scale[j] * sum over h of  weights[i, h] * relu(q[i, h] . kv[j])
 *
 * for the tokens j in the range of query i. Tokens lie in one tensor (dg_mqa_logits) or in pages
 * (dg_paged_mqa_logits).
 *
 * Values and factors
 *     q and kv hold E4M3 or E2M1X2 codes along dim, which is contiguous. E4M3 has a factor for each
 *     token, the scale of the formula, and none for q. E2M1X2 has factors on both sides, a word of
 *     four UE8M0 for each row (I32, the lowest byte for the first 32 values, so dim <= 128), which
 *     multiply the values before the product; scale[j] is then 1.
 *
 * Ranges
 *     A range is cut to the tokens there are and to the columns of logits; it may then be empty.
 *     No token outside a query's range has an influence on its row, and on the CPU none outside of
 *     all ranges is read. Elements of logits without a token of the range are -inf where the call
 *     cleans, and otherwise stay as they were. Nothing between the rows of logits is written.
 *
 * Arithmetic
 *     Dot products, relu, weights and the sum over heads are FP32, heads in increasing order, the
 *     factor of the token last; the result is rounded once to the type of logits. A product that is
 *     NaN stays NaN. On the CPU an element depends on its query and its token alone: the same bits
 *     for any number of queries, tokens and threads, in one tensor or in pages.
 *
 * Any number of queries, heads, tokens and columns, 0 included. q, kv, weights and lists may have
 * any strides but for the contiguous dim, logits rows of any stride.
 *
 * CUDA tensors: on launch->stream; nothing is waited for, and nothing is allocated. Fast on a
 * Hopper GPU where q and kv are E4M3, heads are 1..128, dim is up to 128, addresses and strides of
 * both are multiples of 16 bytes, pages have a multiple of 8 tokens, and the queries of all
 * requests lie at even distances; there the sum over heads has another order than on the CPU, and
 * the tensor core keeps about 14 bits of a dot product. Everything else runs on a general kernel
 * that is many times slower. The same inputs give the same bits. More than 2^30 queries, columns
 * or tokens are UNSUPPORTED. Tokens outside of all ranges may be read, in the tensor or page they
 * lie in, to no effect.
 */
#ifndef DEEP_GEMM_MQA_LOGITS_H
#define DEEP_GEMM_MQA_LOGITS_H

#include "deep_gemm/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_mqa_logits_args_t {
    size_t struct_size;     /* sizeof(dg_mqa_logits_args_t), set by DG_MQA_LOGITS_ARGS_INIT */
    dg_tensor_t q;          /* [s, h, dim] E4M3 or [s, h, dim / 2] E2M1X2 */
    dg_tensor_t q_scale;    /* [s, h] I32 for E2M1X2; E4M3 has none */
    dg_tensor_t kv;         /* [tokens, dim] E4M3 or [tokens, dim / 2] E2M1X2 */
    dg_tensor_t kv_scale;   /* [tokens]: I32 for E2M1X2; F32 for E4M3, optional: every scale is 1 */
    dg_tensor_t weights;    /* [s, h] F32 or BF16 */
    dg_tensor_t starts;     /* [s] I32: first token of each query's range; optional: 0 */
    dg_tensor_t ends;       /* [s] I32: past its last token */
    dg_switch_t compressed; /* DG_ON: column c is token c of the query's range; otherwise token c */
    dg_switch_t clean;      /* DG_OFF: elements without a token of the range stay as they were */
    dg_tensor_t logits; /* output F32 or BF16, last stride 1: [s, tokens], compressed [s, any] */
} dg_mqa_logits_args_t;

#define DG_MQA_LOGITS_ARGS_INIT                                                                    \
    {                                                                                              \
        sizeof(dg_mqa_logits_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR,      \
            DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_DEFAULT, DG_DEFAULT, DG_NO_TENSOR         \
    }

/* Computes logits. Example, each of s queries looking at the tokens up to its own:
 *
 *     dg_mqa_logits_args_t args = DG_MQA_LOGITS_ARGS_INIT;
 *     args.q = dg_tensor_3d(q, DG_DTYPE_E4M3, s, 64, 128);
 *     args.kv = dg_tensor_2d(kv, DG_DTYPE_E4M3, tokens, 128);
 *     args.kv_scale = dg_tensor_1d(kv_scale, DG_DTYPE_F32, tokens);
 *     args.weights = dg_tensor_2d(weights, DG_DTYPE_F32, s, 64);
 *     args.ends = dg_tensor_1d(ends, DG_DTYPE_I32, s);
 *     args.logits = dg_tensor_2d(logits, DG_DTYPE_F32, s, tokens);
 *     dg_status_t status = dg_mqa_logits(NULL, &args, NULL);
 *
 * Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_ENUM, BAD_DTYPE, BAD_RANK, BAD_SHAPE,
 * BAD_STRIDE, MISALIGNED, OVERLAP, BAD_SCALE, BAD_DEVICE, UNSUPPORTED, OUT_OF_MEMORY. */
DG_API dg_status_t dg_mqa_logits(
    dg_context_t *ctx, const dg_mqa_logits_args_t *args, const dg_launch_t *launch);

/* The same for b requests of `next` queries each, whose tokens lie in pages of a cache. A page
 * holds the codes of all its tokens, one after the other, and then their factors, 4 bytes each:
 *
 *     page bytes:  [page, dim] E4M3, [page] F32    or    [page, dim / 2] E2M1X2, [page] I32
 *
 * so kv_cache, which counts bytes, says page and dim: [pages, page, 1, dim + 4]. Token j of request
 * r is token j % page of the page block_table[r, j / page]; if that is no page of the cache, or
 * j / page no column of the table, the token counts as outside the range. */
typedef struct dg_paged_mqa_logits_args_t {
    size_t struct_size;       /* sizeof(dg_paged_mqa_logits_args_t), set by its initialiser */
    dg_tensor_t q;            /* [b, next, h, dim] E4M3 or [b, next, h, dim / 2] E2M1X2 */
    dg_tensor_t q_scale;      /* [b, next, h] I32 for E2M1X2; E4M3 has none */
    dg_tensor_t kv_cache;     /* [pages, page, 1, dim + 4] U8, for E2M1X2 [.., dim / 2 + 4]; strides
                               * [any, last extent, any, 1] */
    dg_tensor_t weights;      /* [b * next, h] F32 or BF16 */
    dg_tensor_t context_lens; /* [b, next] I32: tokens that each query looks at, from the first of
                               * its request on; [b] where next is 1 */
    dg_tensor_t block_table;  /* [b, any] I32 */
    dg_tensor_t indices;      /* optional [b] I32, where next is 1: equal neighbours are queries of
                               * one request, whose row of block_table is that of the first */
    dg_tensor_t schedule;     /* optional [any, 2] I32, of dg_paged_mqa_logits_schedule */
    dg_switch_t clean;        /* DG_OFF: elements without a token of the range stay as they were */
    dg_tensor_t logits;       /* output [b * next, any] F32 or BF16, last stride 1 */
} dg_paged_mqa_logits_args_t;

#define DG_PAGED_MQA_LOGITS_ARGS_INIT                                                              \
    {                                                                                              \
        sizeof(dg_paged_mqa_logits_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR,              \
            DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_DEFAULT,      \
            DG_NO_TENSOR                                                                           \
    }

/* Computes logits. Errors: those of dg_mqa_logits. */
DG_API dg_status_t dg_paged_mqa_logits(
    dg_context_t *ctx, const dg_paged_mqa_logits_args_t *args, const dg_launch_t *launch);

/* Tokens in a unit of a schedule. */
#define DG_MQA_LOGITS_SPLIT 256

/* How paged logits are shared among `parts` workers (SMs): the tokens of every request are cut into
 * units of DG_MQA_LOGITS_SPLIT, the units of all requests stand in a row, and each worker takes as
 * many of them as any other, the first ones perhaps one more. Row w of schedule is (request, unit
 * of the request) where worker w begins, the last row the end: (b, 0). A request has the units that
 * its longest query asks for. No result depends on a schedule; it is a hint of where to begin. */
typedef struct dg_paged_mqa_logits_schedule_args_t {
    size_t struct_size;       /* sizeof(dg_paged_mqa_logits_schedule_args_t) */
    dg_tensor_t context_lens; /* [b, next] or [b] I32 */
    dg_tensor_t schedule;     /* output [parts + 1, 2] I32, parts >= 1, last stride 1 */
} dg_paged_mqa_logits_schedule_args_t;

#define DG_PAGED_MQA_LOGITS_SCHEDULE_ARGS_INIT                                                     \
    { sizeof(dg_paged_mqa_logits_schedule_args_t), DG_NO_TENSOR, DG_NO_TENSOR }

/* Fills schedule. Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_DTYPE, BAD_RANK,
 * BAD_SHAPE, BAD_STRIDE, MISALIGNED, OVERLAP, BAD_DEVICE, UNSUPPORTED. */
DG_API dg_status_t dg_paged_mqa_logits_schedule(
    dg_context_t *ctx, const dg_paged_mqa_logits_schedule_args_t *args, const dg_launch_t *launch);

#ifdef __cplusplus
}
#endif
#endif
