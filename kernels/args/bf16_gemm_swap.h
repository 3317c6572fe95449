/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/sm90/bf16_gemm_swap.cu, filled by src/cuda/run_sm90_bf16_gemm_swap.c, and
 * the macros that make one specialisation of it. Included by both sides.
 *
 *   BLOCK_M  rows of a in a tile, a multiple of 16 up to 128
 *   BLOCK_N  rows of b in a tile, 64 for each warpgroup
 *   STAGES   depth of the ring, in blocks of 64 k
 *
 * How many CTAs share the k of a tile is a run-time argument: the size of the cluster. */
#ifndef DG_KERNEL_ARGS_BF16_GEMM_SWAP_H
#define DG_KERNEL_ARGS_BF16_GEMM_SWAP_H

#include "args/output.h"
#include "args/sm90.h"

typedef struct dg_sm90_bf16_gemm_swap_args {
    dg_tensor_map_t a;    /* [m, k] bf16, k fastest; box [64 k, BLOCK_M], 128-byte swizzle */
    dg_tensor_map_t b;    /* [n, k] bf16, k fastest; box [64 k, BLOCK_N], 128-byte swizzle */
    dg_output_args_t out; /* lists and strides unused */
    int32_t m, n;
    int32_t tiles_m;  /* ceil(m / BLOCK_M): the tiles of the same rows of b are neighbours */
    int32_t k_blocks; /* ceil(k / 64) */
    int32_t splits; /* 1 .. DG_SM90_BF16_GEMM_SWAP_SPLITS: CTAs of a cluster; each takes k_blocks /
                       * splits, rounded down or up */
    int32_t reserved;
} dg_sm90_bf16_gemm_swap_args_t;

#define DG_SM90_BF16_GEMM_SWAP_SPLITS 8

/* Dynamic shared memory of a specialisation: ring and barriers. */
#define DG_SM90_BF16_GEMM_SWAP_SHARED_BYTES(block_m, block_n, stages)                              \
    ((stages) * (((block_m) + (block_n)) * 128 + 16))

#endif
