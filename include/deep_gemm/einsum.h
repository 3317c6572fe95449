/* SPDX-License-Identifier: MIT
 *
 * The small set of contractions that models call by their letters: batches of products whose batch
 * index stands in the middle of a tensor, and the sum of a batch of products.
 *
 *     BMK_BNK_MN     d[m, n]    = c + sum over b, k of a[b, m, k] b[b, n, k]
 *     BHR_HDR_BHD    d[b, h, d] = c + sum over r of    a[b, h, r] b[h, d, r]
 *     BHD_HDR_BHR    d[b, h, r] = c + sum over d of    a[b, h, d] b[h, d, r]
 *     BHD_BHR_HDR    d[h, d, r] = c + sum over b of    a[b, h, d] b[b, h, r]
 *
 * The last three are one product for each head h, read and written where the heads lie: nothing is
 * copied or transposed.
 */
#ifndef DEEP_GEMM_EINSUM_H
#define DEEP_GEMM_EINSUM_H

#include "deep_gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dg_einsum_expression_t {
    DG_EINSUM_NONE = 0,
    DG_EINSUM_BMK_BNK_MN = 1, /* BF16 alone */
    DG_EINSUM_BHR_HDR_BHD =
        2, /* down into the latent space of each head, and the forward product */
    DG_EINSUM_BHD_HDR_BHR = 3, /* back out of it, and the data gradient */
    DG_EINSUM_BHD_BHR_HDR = 4  /* the weight gradient */
} dg_einsum_expression_t;

/* Operands have E4M3 or BF16 data, both the same. Of the two axes of an operand that are not h, one
 * is contiguous (stride 1); all other strides are free, so that a slice of a wider tensor is taken
 * as it is. BMK_BNK_MN takes contiguous operands alone: k of all products lies end to end.
 *
 * Factors of E4M3 have the axes of their operand in the same order. The summed axis counts blocks
 * of gran_k (I32: of 4 gran_k), the other one blocks of gran_mn, h stays as it is:
 *     BHR_HDR_BHD    a.scale [b, h, ceil(r / 128)]    b.scale [h, ceil(d / 128), ceil(r / 128)]
 *     BHD_BHR_HDR    a.scale [ceil(b / 128), h, d]    b.scale [ceil(b / 128), h, r] */
typedef struct dg_einsum_args_t {
    size_t struct_size; /* sizeof(dg_einsum_args_t) */
    dg_einsum_expression_t expression;
    dg_operand_t a, b;
    dg_tensor_t c; /* optional, d's type and shape, last stride 1; may be d itself */
    dg_tensor_t d; /* output, BF16 or F32, last stride 1, no two elements in one place */
} dg_einsum_args_t;

#define DG_EINSUM_ARGS_INIT                                                                        \
    {                                                                                              \
        sizeof(dg_einsum_args_t), DG_EINSUM_NONE, DG_NO_OPERAND, DG_NO_OPERAND, DG_NO_TENSOR,      \
            DG_NO_TENSOR                                                                           \
    }

/* Computes d, with the arithmetic of gemm.h: FP32 sums in a fixed order and one rounding to d's
 * type, the sum over b of BMK_BNK_MN included. The same call gives the same bits. Where an extent
 * of d is 0 there is nothing to do; where nothing is summed d = c, or zeros without c.
 *
 * Example, each head of q taken through its own weights, BF16:
 *
 *     dg_einsum_args_t args = DG_EINSUM_ARGS_INIT;
 *     args.expression = DG_EINSUM_BHR_HDR_BHD;
 *     args.a.data = dg_tensor_3d(q, DG_DTYPE_BF16, tokens, heads, r);
 *     args.b.data = dg_tensor_3d(w, DG_DTYPE_BF16, heads, d, r);
 *     args.d = dg_tensor_3d(out, DG_DTYPE_BF16, tokens, heads, d);
 *     dg_status_t status = dg_einsum(NULL, &args, NULL);
 *
 * Errors: as dg_gemm, and BAD_ENUM (expression). */
DG_API dg_status_t dg_einsum(
    dg_context_t *ctx, const dg_einsum_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_einsum wants (0 on the CPU). */
DG_API dg_status_t dg_einsum_workspace(
    dg_context_t *ctx, const dg_einsum_args_t *args, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
