/* SPDX-License-Identifier: MIT
 *
 * Where the results of a GEMM kernel go: the part of its arguments that kernels/sm90/output.cuh
 * reads. */
#ifndef DG_KERNEL_ARGS_OUTPUT_H
#define DG_KERNEL_ARGS_OUTPUT_H

#include "args/types.h"

/* Shared memory that each math warp needs for it. */
#define DG_OUTPUT_CHUNK_BYTES 2048

typedef struct dg_output_args {
    void *d;                    /* [groups, m, n] bf16 or f32, n fastest */
    const void *c;              /* the same type and shape; null: nothing is added */
    void *const *d_list;        /* [groups] addresses instead of d; null: d */
    const void *const *c_list;  /* [groups] addresses instead of c */
    int64_t d_pitch, c_pitch;   /* elements from row to row */
    int64_t d_stride, c_stride; /* elements from matrix to matrix */
    int32_t f32;                /* 1: f32, 0: bf16 */
    int32_t wide;               /* 1: n is a multiple of 8, and every row of d and c starts on a
                                  * multiple of 16 bytes */
} dg_output_args_t;

#endif
