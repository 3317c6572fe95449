/* SPDX-License-Identifier: MIT
 *
 * Tokens to experts and back: what stands around the grouped products of a mixture of experts.
 *
 * A router gives each token `topk` experts. dg_route_tokens finds the row that each pair of token and
 * expert takes when tokens are sorted by expert; dg_permute_rows copies tokens to their rows,
 * dg_unpermute_rows adds up the rows of each token, weighted. Six tokens, two experts each of three,
 * token 4 dropped by the second:
 *
 *     ids      0 2   1 0   2 1   0 1   1 -1   2 0        [tokens, topk]
 *     counts   4     4     3                             tokens of each expert
 *     ends     4     8     11                            end of each expert's rows
 *     rows     0 8   4 1   9 5   2 6   7 -1   10 3       [tokens, topk], -1: none
 *     sources  0 1 3 5 | 1 2 3 4 | 0 2 5                 the token of each row
 *
 * Rows of an expert are in the order of tokens, then of slots, so the result depends on nothing but
 * the ids. `counts` or `ends` are the groups of the products in grouped.h, and `sources` are their
 * a_rows: products that gather need no permuted copy.
 *
 *     y = sum over s of w[t, s] f(x[t])        forward: permute, products, unpermute with weights
 *     dx, df                                    backward of permute is unpermute without weights,
 *                                               backward of unpermute is permute with weights
 *     dw[t, s] = dy[t] . f[rows[t, s]]          dg_dot_rows
 */
#ifndef DEEP_GEMM_MOE_H
#define DEEP_GEMM_MOE_H

#include "deep_gemm/grouped.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How dg_route_tokens places the groups, R being the rows there are, the extent of `sources`:
 *
 *     OFFSETS  back to back. R = tokens * topk is always enough
 *     PSUM     each begins on a multiple of `alignment`. R = tokens * topk + G (alignment - 1) is
 *              always enough
 *     MASKED   group g has the rows [g max_m, (g + 1) max_m), max_m = R / G: a tensor [G, max_m, ..]
 *
 * What finds no room below R, or past max_m rows of its group, is dropped: its row is -1. `counts`
 * tells how many each group would have had, `ends` where its rows do end. */
typedef struct dg_route_tokens_args_t {
    size_t struct_size;
    dg_tensor_t ids; /* [tokens, topk] I32 or I64, any strides: the group of each slot; negative:
                           * dropped */
    dg_group_form_t form; /* OFFSETS, PSUM or MASKED */
    int32_t alignment;    /* PSUM: 0 = the context's mk_alignment */
    dg_tensor_t counts;   /* output [G] I32: slots of each group (SIZES, MASKED) */
    dg_tensor_t ends;     /* output [G] I32: past the last row of each group (OFFSETS, PSUM); of an
                           * empty group where it would begin */
    dg_tensor_t rows;     /* output [tokens, topk] I32: the row of each slot, -1 if it has none */
    dg_tensor_t sources;  /* output [R] I32: the token of each row, -1 outside the groups */
    dg_tensor_t groups;   /* optional output [R] I32: the group of each row, -1 outside (INDEX) */
} dg_route_tokens_args_t;

#define DG_ROUTE_TOKENS_ARGS_INIT                                                                  \
    {                                                                                              \
        sizeof(dg_route_tokens_args_t), DG_NO_TENSOR, DG_GROUPS_OFFSETS, 0, DG_NO_TENSOR,          \
            DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR                                 \
    }

/* Sorts the slots of tokens by group.
 *
 *     dg_route_tokens_args_t route = DG_ROUTE_TOKENS_ARGS_INIT;
 *     route.ids = dg_tensor_2d(ids, DG_DTYPE_I64, tokens, topk);
 *     route.counts = dg_tensor_1d(counts, DG_DTYPE_I32, experts);
 *     route.ends = dg_tensor_1d(ends, DG_DTYPE_I32, experts);
 *     route.rows = dg_tensor_2d(rows, DG_DTYPE_I32, tokens, topk);
 *     route.sources = dg_tensor_1d(sources, DG_DTYPE_I32, tokens * topk);
 *     dg_status_t status = dg_route_tokens(NULL, &route, NULL);
 *
 * An id of G or more is refused on the CPU (BAD_VALUE) unless the context says
 * DG_GROUP_VALUES_CLAMP; then, and on a GPU without check_device, its slot is dropped. Needs no workspace. Tokens *
 * topk and R are below 2^31. Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_ENUM, BAD_DTYPE,
 * BAD_RANK, BAD_SHAPE, BAD_STRIDE, MISALIGNED, OVERLAP, BAD_VALUE, BAD_DEVICE. */
DG_API dg_status_t dg_route_tokens(
    dg_context_t *ctx, const dg_route_tokens_args_t *args, const dg_launch_t *launch);

typedef struct dg_permute_rows_args_t {
    size_t struct_size;
    dg_tensor_t x;       /* [tokens, n], any type and strides: values, or their factors */
    dg_tensor_t rows;    /* [tokens, topk] I32, of dg_route_tokens */
    dg_tensor_t weights; /* optional [tokens, topk] F32; x is then BF16 or F32 */
    dg_tensor_t sources; /* optional [R] I32: rows whose source is negative become zeros. Left out:
                          * rows that no slot has stay what they were */
    dg_tensor_t out;     /* output [R, n] of x's type, any strides without overlap */
} dg_permute_rows_args_t;

#define DG_PERMUTE_ROWS_ARGS_INIT                                                                  \
    {                                                                                              \
        sizeof(dg_permute_rows_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR,    \
            DG_NO_TENSOR                                                                           \
    }

/* out[rows[t, s]] = x[t], times weights[t, s] in FP32, rounded once. Each row may stand in `rows` only
 * once. A negative row is none; one of R or more is treated as an id of G or more is (dg_route_tokens). FP8 operands are two calls: values, and factors in
 * whatever order they are, out being in the order that the product shall read:
 *
 *     permute.x = dg_tensor_2d(sx, DG_DTYPE_F32, tokens, blocks);
 *     permute.out = dg_scale_mn_major(sout, DG_DTYPE_F32, 0, rows, blocks);
 *
 * Errors: as dg_route_tokens. */
DG_API dg_status_t dg_permute_rows(
    dg_context_t *ctx, const dg_permute_rows_args_t *args, const dg_launch_t *launch);

typedef struct dg_unpermute_rows_args_t {
    size_t struct_size;
    dg_tensor_t x;       /* [R, n] BF16 or F32, any strides */
    dg_tensor_t rows;    /* [tokens, topk] I32 */
    dg_tensor_t weights; /* optional [tokens, topk] F32; left out: all 1 */
    dg_tensor_t out;     /* output [tokens, n] BF16 or F32, any strides without overlap */
} dg_unpermute_rows_args_t;

#define DG_UNPERMUTE_ROWS_ARGS_INIT                                                                \
    { sizeof(dg_unpermute_rows_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR }

/* out[t] = sum over s of weights[t, s] * x[rows[t, s]], in FP32 and in the order of s: each product is
 * rounded, then added to the sum, which begins at +0; the last sum is rounded to out's type. Slots
 * without a row add nothing, whatever their weight is; rows of x that no slot names are never read.
 * Errors: as dg_route_tokens. */
DG_API dg_status_t dg_unpermute_rows(
    dg_context_t *ctx, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch);

typedef struct dg_dot_rows_args_t {
    size_t struct_size;
    dg_tensor_t a;    /* [tokens, n] BF16 or F32, any strides: the gradient of unpermute's out */
    dg_tensor_t b;    /* [R, n] BF16 or F32, any strides: unpermute's x */
    dg_tensor_t rows; /* [tokens, topk] I32 */
    dg_tensor_t out;  /* output [tokens, topk] F32, any strides without overlap */
} dg_dot_rows_args_t;

#define DG_DOT_ROWS_ARGS_INIT                                                                      \
    { sizeof(dg_dot_rows_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR }

/* out[t, s] = sum over i of a[t, i] b[rows[t, s], i] in FP32; 0 for slots without a row. The order is
 * fixed: element i belongs to partial sum i mod 256, in each of which products are rounded and added
 * one by one from +0, and the partial sums are added in pairs: 4 apart, 2, 1, then 128, 64, 32, 16,
 * 8. Errors: as dg_route_tokens. */
DG_API dg_status_t dg_dot_rows(
    dg_context_t *ctx, const dg_dot_rows_args_t *args, const dg_launch_t *launch);

#ifdef __cplusplus
}
#endif
#endif
