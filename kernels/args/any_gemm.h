/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/any/gemm.cu, the GEMM that takes everything the API takes, and the macros
 * that make one specialisation of it. Filled by src/cuda/run_any_gemm.c.
 *
 * Specialisation:
 *   BLOCK_M, BLOCK_N  tile of one CTA: 128 x 128 with 256 threads, or 64 x 64 with 128
 *   WIDE              1: both operands are BF16; 0: each is E4M3 or E2M1X2 */
#ifndef DG_KERNEL_ARGS_ANY_GEMM_H
#define DG_KERNEL_ARGS_ANY_GEMM_H

#include "args/group_tiles.h"
#include "args/types.h"

/* Element types; the numbers are those of dg_dtype_t. */
#define DG_CODE_NONE 0
#define DG_CODE_E4M3 1
#define DG_CODE_E2M1X2 2
#define DG_CODE_E8M0 3
#define DG_CODE_BF16 4
#define DG_CODE_F32 5
#define DG_CODE_I32 6

/* A list of rows to gather; entries outside [0, limit) are no row. */
typedef struct dg_any_list {
    const void *data; /* int32 or int64, NULL: no list, entry i is i */
    int64_t stride;   /* elements from one entry to the next */
    int64_t limit;
    int32_t wide; /* 1: int64 */
    int32_t reserved;
} dg_any_list_t;

/* One side, [group, mn, k]: one of mn_stride and k_stride is 1. FLAT sides have k_stride 1, and the
 * other two follow from each segment. */
typedef struct dg_any_side {
    const void *data;
    int64_t group_stride, mn_stride, k_stride; /* values; E2M1X2: codes of 4 bits */
    const void *scale;                         /* NULL: every factor is 1 */
    int64_t scale_group_stride, scale_mn_stride, scale_k_stride; /* factors; I32: words */
    dg_any_list_t rows;   /* M-grouped, a alone: along mn; K-grouped: along k */
    int32_t dtype;        /* E4M3, E2M1X2, BF16 */
    int32_t scale_dtype;  /* F32, E8M0, I32 */
    int32_t gran_mn;      /* rows that a factor covers */
    int32_t gran_k;       /* 32 or 128 */
    int32_t k_contiguous; /* 1: k_stride is 1 */
    int32_t flat;
} dg_any_side_t;

typedef struct dg_any_gemm_args {
    dg_any_side_t a, b;
    int64_t m, n, k;                /* m: rows of d (of a group's matrix); k: dense and M-grouped */
    int64_t groups;                 /* K-grouped: segments */
    const dg_group_tiles_t *tiles;  /* M-grouped: of BLOCK_M rows at most; else NULL */
    const dg_k_segment_t *segments; /* K-grouped: [groups]; else NULL */
    void *d;                        /* [group, m, n] n fastest */
    const void *c;                  /* NULL: nothing is added; may be d */
    void *const *d_list;            /* K-grouped LIST: [groups] addresses of d, else NULL */
    const void *const *c_list;      /* the same of c, or NULL */
    int64_t d_group_stride, d_row_stride, c_group_stride, c_row_stride; /* elements */
    int32_t d_dtype;   /* of d and c: BF16 or F32 */
    int32_t stacked_a; /* 1: a, c and d have a matrix for each group (MASKED) */
    int32_t sum;       /* K-grouped: one d, the sum over all segments */
    int32_t block_k;   /* values of k that are summed before factors: 128, or 32 */
    int32_t band;      /* raster: tiles are walked in bands of this many in m */
    int32_t reserved;
} dg_any_gemm_args_t;

/* Values of k that are in shared memory at a time. */
#define DG_ANY_GEMM_SLAB 64

/* Threads, and dynamic shared memory of a specialisation: two buffers of operands and of factors,
 * gathered rows. */
#define DG_ANY_GEMM_THREADS(block_m) ((block_m)*2)
#define DG_ANY_GEMM_SHARED_BYTES(block_m, block_n)                                                 \
    (2 * ((block_m) + (block_n)) * (DG_ANY_GEMM_SLAB * 2 + 2 * 4) + (block_m)*4)

DG_STATIC_ASSERT(sizeof(dg_any_gemm_args_t) == 376, "host and device must agree");

#endif
