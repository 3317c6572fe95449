/* SPDX-License-Identifier: MIT
 *
 * The product in front of a hyper-connection's norm: activations times a few FP32 columns, and the
 * sum of squares of each row of activations, from one pass over them.
 *
 *     d[i, j]    = sum over k of a[i, k] tf32(b[j, k])
 *     sqr_sum[i] = sum over k of a[i, k]^2
 *
 * so that rsqrt(sqr_sum / k) can be applied to d afterwards. a is read at the speed of memory; n is
 * a few dozen at most.
 */
#ifndef DEEP_GEMM_HYPER_CONNECTION_H
#define DEEP_GEMM_HYPER_CONNECTION_H

#include "deep_gemm/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Splits. With d [splits, m, n] and sqr_sum [splits, m], k is dealt out in blocks of 64 (the last
 * one may be shorter), contiguously, the first splits getting one more block where the number does
 * not divide; slice s holds the sums over its own blocks, zeros if it has none, and adding up the
 * slices is the caller's. With d [m, n] and sqr_sum [m] the library splits as it likes and adds up
 * in order. */
typedef struct dg_tf32_hc_prenorm_gemm_args_t {
    size_t struct_size;  /* sizeof(dg_tf32_hc_prenorm_gemm_args_t) */
    dg_tensor_t a;       /* [m, k] BF16, k fastest (stride 1), rows any stride */
    dg_tensor_t b;       /* [n, k] F32, k fastest, rows any stride */
    dg_tensor_t d;       /* output [m, n] or [splits, m, n] F32, last stride 1 */
    dg_tensor_t sqr_sum; /* output [m] or [splits, m] F32, last stride 1; as many axes less one */
} dg_tf32_hc_prenorm_gemm_args_t;

#define DG_TF32_HC_PRENORM_GEMM_ARGS_INIT                                                          \
    {                                                                                              \
        sizeof(dg_tf32_hc_prenorm_gemm_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR,          \
            DG_NO_TENSOR                                                                           \
    }

/* Computes d and sqr_sum. b is used as TF32, as tensor cores read FP32: the lower 13 bits of a
 * value count as zero. Products and sums are FP32, in an order that depends on extents and the
 * device alone, so the same call gives the same bits. On a GPU rows of a and b begin on multiples
 * of 16 bytes. m = 0: nothing to do. n = 0: sqr_sum alone. k = 0: zeros. The CPU splits a value of b
 * in two, so that an infinity of a may come out as NaN there.
 *
 * Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_DTYPE, BAD_RANK, BAD_SHAPE, BAD_STRIDE,
 * MISALIGNED, OVERLAP, BAD_DEVICE, UNSUPPORTED, SMALL_WORKSPACE, OUT_OF_MEMORY. */
DG_API dg_status_t dg_tf32_hc_prenorm_gemm(
    dg_context_t *ctx, const dg_tf32_hc_prenorm_gemm_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_tf32_hc_prenorm_gemm wants (0 on the CPU). */
DG_API dg_status_t dg_tf32_hc_prenorm_gemm_workspace(
    dg_context_t *ctx, const dg_tf32_hc_prenorm_gemm_args_t *args, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
