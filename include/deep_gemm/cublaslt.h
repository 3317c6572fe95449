/* SPDX-License-Identifier: MIT
 *
 * Dense products without scale factors through cuBLASLt, NVIDIA's own library: what dg_gemm can be
 * compared with, and a product for types it does not take.
 *
 *     d[i, j] = c[i, j] + sum over k of  a[i, k] * b[j, k]
 *
 * Operands
 *     As for dg_gemm: a is logically [m, k], b [n, k], one stride of each is 1, and transposed views
 *     spell NN, TN and TT. a and b have one type, BF16, F16, F32 or E4M3; d and c are BF16 or F32.
 *
 * On a GPU
 *     libcublasLt is opened when the first such product comes, never linked: the file that the
 *     environment variable DG_CUBLASLT names, else the one this process has loaded (a framework's),
 *     else the toolkit's or that of the Python package nvidia-cublas. It runs the algorithm that it
 *     recommends itself, of those that split no k or add up the parts in FP32, on at most
 *     dg_set_num_sms SMs, with at most 32 MiB of workspace, which the caller provides as for every
 *     other product. FP32 operands are rounded to TF32; FP8 sums are not the fast, inexact ones.
 *     Types, layouts and extents are those that cuBLASLt has an algorithm for (FP8: both operands
 *     k-major, k and n multiples of 16; F16 and F32: d is F32); others are UNSUPPORTED.
 *     Which bits come out, and whether a row's bits depend on m, is up to cuBLASLt.
 *
 * On the CPU
 *     cuBLASLt is not there: the CPU backend computes, any types of the above with any strides,
 *     exact products summed in FP32 as for dg_gemm.
 *
 * Extents
 *     Any m, n, k >= 0. m = 0 or n = 0: nothing to do. k = 0: d = c, or zeros without c.
 */
#ifndef DEEP_GEMM_CUBLASLT_H
#define DEEP_GEMM_CUBLASLT_H

#include "deep_gemm/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_cublaslt_gemm_args_t {
    size_t struct_size; /* sizeof(dg_cublaslt_gemm_args_t), set by DG_CUBLASLT_GEMM_ARGS_INIT */
    dg_tensor_t a;      /* [m, k] BF16, F16, F32 or E4M3; one stride is 1. On a GPU lines lie apart:
                         * the other stride is at least the extent of the contiguous axis */
    dg_tensor_t b;      /* [n, k] of a's type, likewise */
    dg_tensor_t c;      /* optional [m, n], d's type, last stride 1; may be d itself (same address
                         * and strides), must not overlap it otherwise; rows lie apart on a GPU */
    dg_tensor_t d;      /* output [m, n] BF16 or F32, last stride 1, row stride >= n */
    void *handle; /* cublasLtHandle_t or cublasHandle_t of d's device and of the library that is
                         * used, to work with; NULL: the library makes one for each device */
} dg_cublaslt_gemm_args_t;

#define DG_CUBLASLT_GEMM_ARGS_INIT                                                                 \
    { sizeof(dg_cublaslt_gemm_args_t), DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, DG_NO_TENSOR, 0 }

/* Computes d. Example:
 *
 *     dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
 *     args.a = dg_tensor_2d(a, DG_DTYPE_BF16, m, k);
 *     args.b = dg_tensor_2d(b, DG_DTYPE_BF16, n, k);
 *     args.d = dg_tensor_2d(d, DG_DTYPE_BF16, m, n);
 *     dg_status_t status = dg_cublaslt_gemm(NULL, &args, NULL);
 *
 * Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_DTYPE, BAD_RANK, BAD_SHAPE, BAD_STRIDE,
 * MISALIGNED, OVERLAP, BAD_DEVICE, UNSUPPORTED (no libcublasLt, or no algorithm in it),
 * SMALL_WORKSPACE, OUT_OF_MEMORY, DRIVER. */
DG_API dg_status_t dg_cublaslt_gemm(
    dg_context_t *ctx, const dg_cublaslt_gemm_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_cublaslt_gemm wants for these arguments, at most 32 MiB (0 on the CPU).
 * Checks them as that does, but reads no tensor memory. */
DG_API dg_status_t dg_cublaslt_gemm_workspace(
    dg_context_t *ctx, const dg_cublaslt_gemm_args_t *args, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
