/* SPDX-License-Identifier: MIT
 *
 * Dense GEMM:  d = c + a b^T  with FP8, FP4 or BF16 operands and FP32 accumulation.
 *
 *     d[i, j] = c[i, j] + sum over k of  sa(i, k) a[i, k]  *  sb(j, k) b[j, k]
 *
 * Operands
 *     a is logically [m, k] and b is [n, k]. Both may lie in memory either way round: strides say
 *     which axis is contiguous, and one of the two must be (stride 1). So the four usual forms are
 *         NT   a [m, k] rows, b [n, k] rows       a, b
 *         NN   a [m, k] rows, b stored [k, n]     a, dg_tensor_transpose(b)
 *         TN   a stored [k, m], b stored [k, n]   dg_tensor_transpose(a), dg_tensor_transpose(b)
 *         TT   a stored [k, m], b [n, k] rows     dg_tensor_transpose(a), b
 *     Element types: any pair of E4M3 and E2M1X2, or BF16 with BF16. An E2M1X2 tensor counts bytes,
 *     two values each, packed along the contiguous axis: [m, k / 2], or [m / 2, k] if that is m.
 *     (Which of the two it is follows from d, which tells m and n.)
 *
 * Scale factors
 *     One factor covers gran_mn x gran_k values of its operand; see dg_operand_t. FP32 factors are
 *     used exactly as they are; packed UE8M0 ones (I32, or E8M0 bytes) are powers of two by type.
 *     Without a scale tensor every factor is 1. FP4 operands need factors, BF16 takes none.
 *
 * Arithmetic
 *     Products are summed in FP32 inside each block of 128 k (32 where a granularity is 32), then
 *     multiplied by sa * sb and added up in FP32, blocks in increasing order. The result, plus c in
 *     FP32, is rounded once to d's type. On the CPU a row of d depends on nothing but its own row
 *     of a and c: the same bits for any m, any number of threads and any processor.
 *
 * Extents
 *     Any m, n, k >= 0. m = 0 or n = 0: nothing to do. k = 0: d = c, or zeros without c.
 */
#ifndef DEEP_GEMM_GEMM_H
#define DEEP_GEMM_GEMM_H

#include "deep_gemm/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a product, [mn, k] where mn is m or n, with its scale factors. */
typedef struct dg_operand_t {
    dg_tensor_t data;  /* [mn, k] E4M3 or BF16, [mn, k/2] or [mn/2, k] E2M1X2; one stride is 1 */
    dg_tensor_t scale; /* [ceil(mn / gran_mn), ceil(k / gran_k)] F32 or E8M0,
                        * [ceil(mn / gran_mn), ceil(k / (4 gran_k))] I32 (UE8M0 x 4 along k); any
                        * strides, the MN-major aligned layout of scale_layout.h is fastest on GPUs.
                        * DG_NO_TENSOR: every factor is 1 */
    int32_t gran_mn;   /* rows that one factor covers: 1 or 128, or any positive number */
    int32_t gran_k;    /* values along k that one factor covers: 32 or 128 */
} dg_operand_t;

#define DG_NO_OPERAND                                                                              \
    { DG_NO_TENSOR, DG_NO_TENSOR, 0, 0 }

typedef struct dg_gemm_args_t {
    size_t struct_size; /* sizeof(dg_gemm_args_t), set by DG_GEMM_ARGS_INIT */
    dg_operand_t a;     /* [m, k] */
    dg_operand_t b;     /* [n, k] */
    dg_tensor_t c;      /* optional [m, n], d's type, last stride 1; may be d itself (same address
                         * and strides), must not overlap it otherwise */
    dg_tensor_t d;      /* output [m, n] BF16 or F32, last stride 1, row stride >= n */
} dg_gemm_args_t;

#define DG_GEMM_ARGS_INIT                                                                          \
    { sizeof(dg_gemm_args_t), DG_NO_OPERAND, DG_NO_OPERAND, DG_NO_TENSOR, DG_NO_TENSOR }

/* Computes d. Example, FP8 with 1 x 128 factors for activations and 128 x 128 for weights:
 *
 *     dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
 *     args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, m, k);
 *     args.a.scale = dg_tensor_2d(sa, DG_DTYPE_F32, m, (k + 127) / 128);
 *     args.a.gran_mn = 1, args.a.gran_k = 128;
 *     args.b.data = dg_tensor_2d(b, DG_DTYPE_E4M3, n, k);
 *     args.b.scale = dg_tensor_2d(sb, DG_DTYPE_F32, (n + 127) / 128, (k + 127) / 128);
 *     args.b.gran_mn = 128, args.b.gran_k = 128;
 *     args.d = dg_tensor_2d(d, DG_DTYPE_BF16, m, n);
 *     dg_status_t status = dg_gemm(NULL, &args, NULL);
 *
 * Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_DTYPE, BAD_RANK, BAD_SHAPE, BAD_STRIDE,
 * MISALIGNED, OVERLAP, BAD_SCALE, BAD_VALUE (granularity), BAD_DEVICE, UNSUPPORTED,
 * SMALL_WORKSPACE, OUT_OF_MEMORY. */
DG_API dg_status_t dg_gemm(
    dg_context_t *ctx, const dg_gemm_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_gemm wants for these arguments (0 on the CPU). Checks them as dg_gemm
 * does, but reads no tensor memory. */
DG_API dg_status_t dg_gemm_workspace(dg_context_t *ctx, const dg_gemm_args_t *args, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
