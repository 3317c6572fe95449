/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/any/tf32_hc_prenorm_gemm.cu and kernels/any/sum_slices.cu, filled by
 * src/plan/hc_prenorm.c.
 *
 * Specialisation of any_tf32_hc_prenorm_gemm:
 *   BLOCK_N   columns of one CTA, a multiple of 8
 *   STAGES    blocks of k in shared memory
 * of any_sum_slices:
 *   THREADS   of a CTA */
#ifndef DG_KERNEL_ARGS_TF32_HC_PRENORM_GEMM_H
#define DG_KERNEL_ARGS_TF32_HC_PRENORM_GEMM_H

#include "args/types.h"

typedef struct dg_any_tf32_hc_prenorm_gemm_args {
    const void *a;  /* [m, k] bf16, k fastest; rows begin on multiples of 16 bytes */
    const float *b; /* [n, k] f32, k fastest; likewise */
    float *d;       /* [splits, m, n] f32, n fastest */
    float *sqr_sum; /* [splits, m] f32, m fastest */
    int64_t m, n, k, splits;
    int64_t a_stride, b_stride, d_stride; /* values from row to row */
    int64_t d_split_stride, sqr_sum_split_stride;
} dg_any_tf32_hc_prenorm_gemm_args_t;

/* Tile, threads, and dynamic shared memory: of a, rows of 128 bytes; of b, rows of 256 and 32
 * between them, so that eight rows read side by side lie in all banks. */
#define DG_HC_PRENORM_BLOCK_M 64
#define DG_HC_PRENORM_THREADS 128
#define DG_HC_PRENORM_B_PITCH 288
#define DG_HC_PRENORM_STAGE_BYTES(block_n)                                                         \
    (DG_HC_PRENORM_BLOCK_M * 128 + (block_n)*DG_HC_PRENORM_B_PITCH)
#define DG_HC_PRENORM_SHARED_BYTES(block_n, stages) ((stages)*DG_HC_PRENORM_STAGE_BYTES(block_n))

/* The sums of slices that the product left in workspace, dense. */
typedef struct dg_any_sum_slices_args {
    const float *d_slices;       /* [splits, m, n] f32 */
    const float *sqr_sum_slices; /* [splits, m] f32 */
    float *d;                    /* [m, n] f32, n fastest */
    float *sqr_sum;              /* [m] f32 */
    int64_t m, n, splits, d_stride;
} dg_any_sum_slices_args_t;

DG_STATIC_ASSERT(sizeof(dg_any_tf32_hc_prenorm_gemm_args_t) == 104, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_sum_slices_args_t) == 64, "host and device must agree");

#endif
