/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/sm90/fp8_gemm_swap.cu, filled by the host and read by the kernel, and the
 * macros that make one specialisation of it. Included by both sides. */
#ifndef DG_KERNEL_ARGS_SWAP_H
#define DG_KERNEL_ARGS_SWAP_H

#include "args/sm90.h"

/* d = c + a x b with 1 x 128 scales on a and 128 x 128 scales on b, for few rows of a.
 *
 *   BLOCK_M, BLOCK_N  tile of one CTA: rows of a, a multiple of 16 up to 128; rows of b, 64 for each
 *                     warpgroup
 *   STAGES            depth of the ring, in blocks of 128 k
 *   MATH_GROUPS       warpgroups that multiply: 1 to 4
 *   SPLITS            1 to 8: CTAs of a cluster that share the k of a tile
 *   PER_SM            CTAs that run on an SM at a time: 1 or 2
 *   RING_SUMS         1: the sums of a tile lie in the ring, which then has more stages and waits for
 *                     them to be stored; 0: in memory of their own
 *   SCHEDULE          DG_SCHEDULE_DENSE or DG_SCHEDULE_M_GROUPED */
typedef struct dg_sm90_fp8_gemm_swap_args {
    dg_tensor_map_t a;    /* [slab, m, k] e4m3, k fastest; box [128 k, BLOCK_M, 1], swizzle 128 */
    dg_tensor_map_t b;    /* [group, n, k] e4m3, k fastest; box [128 k, BLOCK_N, 1], swizzle 128 */
    dg_sm90_output_t out; /* map, lists unused; c NULL: nothing is added */
    dg_sm90_tiles_t tiles;
    const float *scale_a; /* [slab, m, k_blocks] f32, any strides; NULL: every factor is 1 */
    int64_t scale_a_slab_stride, scale_a_m_stride, scale_a_k_stride;
    const float *scale_b; /* [group, ceil(n / 128), k_blocks] f32, any strides; NULL: likewise */
    int64_t scale_b_group_stride, scale_b_n_stride, scale_b_k_stride;
    int32_t out_f32; /* type of d and c: 1 F32, 0 BF16 */
    int32_t reserved;
} dg_sm90_fp8_gemm_swap_args_t;

/* Dynamic shared memory of a specialisation: ring, scales, sums, tiles, barriers. */
#define DG_SM90_FP8_GEMM_SWAP_SHARED_BYTES(block_m, block_n, stages, ring_sums)                    \
    ((stages) * (((block_m) + (block_n)) * 128 + (block_m)*4 + 32) +                               \
        ((ring_sums) ? 0 : (block_m) * ((block_n) + 4) * 4) + DG_SM90_TILE_RING_BYTES + 16)

DG_STATIC_ASSERT(sizeof(dg_sm90_fp8_gemm_swap_args_t) == 640, "host and device must agree");

#endif
