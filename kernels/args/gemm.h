/* SPDX-License-Identifier: MIT
 *
 * Parameters of the dense GEMM kernels, filled by the host and read by the kernel of the same name.
 * Also the list of macros that make one specialisation of it. Included by both sides, and by the
 * emulator's tests. */
#ifndef DG_KERNEL_ARGS_GEMM_H
#define DG_KERNEL_ARGS_GEMM_H

#include "args/types.h"

/* kernels/sm90/fp8_gemm_block.cu: d = a x b with 1 x 128 scales on a and 128 x 128 scales on b.
 *
 * Specialisation, all by #define in front of the text:
 *   BLOCK_M, BLOCK_N  tile of one CTA; BLOCK_M a multiple of 64 * MATH_GROUPS, BLOCK_N of STORE_N
 *   STAGES            depth of the ring, in blocks of 128 k
 *   MATH_GROUPS       warpgroups that multiply: 1, 2 or 3
 *   SHARE             DG_SHARE_*: what a cluster of two CTAs loads once
 *   STORE_N           columns of an output chunk, 64 or 32
 *   STORE_BUFFERS     chunks of a warp in flight; 0: no TMA, elements are stored one by one. That is
 *                     for d whose n or row pitch is not a multiple of 16 bytes, or whose address
 *                     is not: a TMA store would write up to 14 bytes beyond the end of a row
 *   UNROLL_K          K blocks per turn of the loop: 4 is best from k = 1024 on, 1 for k = 512 */
#define DG_SHARE_NONE 0 /* no cluster */
#define DG_SHARE_B 1    /* two neighbours in m, which read the same b */
#define DG_SHARE_A 2    /* two neighbours in n, which read the same a */

typedef struct dg_sm90_fp8_gemm_block_args {
    dg_tensor_map_t a;       /* [m, k] e4m3, k fastest; box [128 k, BLOCK_M] (half with DG_SHARE_A),
                              * 128-byte swizzle */
    dg_tensor_map_t b;       /* [n, k] e4m3, k fastest; box [128 k, BLOCK_N] (half with DG_SHARE_B),
                              * 128-byte swizzle */
    dg_tensor_map_t scale_a; /* [k / 128, m] f32, m fastest; box [BLOCK_M, 1], no swizzle */
    dg_tensor_map_t d;       /* [m, n] bf16, n fastest; box [STORE_N, 16], swizzle of 2 * STORE_N;
                              * unused if STORE_BUFFERS is 0 */
    const float *scale_b;    /* [ceil(n / 128), k_blocks] f32, k fastest */
    int32_t scale_b_rows;    /* ceil(n / 128) */
    int32_t k_blocks;        /* ceil(k / 128) */
    int32_t tiles_m;         /* tiles in m and n, rounded up, in units of what a cluster covers; */
    int32_t tiles_n;         /* at most 65535 CTA tiles each way */
    int32_t band;            /* raster: tiles are walked in bands of this many tiles in m */
    int32_t m, n;            /* these and the rest: only for STORE_BUFFERS 0 */
    int32_t reserved;
    uint16_t *d_elements; /* [m, n] bf16, n fastest */
    int64_t d_pitch;      /* elements from row to row of it */
} dg_sm90_fp8_gemm_block_args_t;

/* Dynamic shared memory of a specialisation: ring, output chunks, scale slots, barriers. */
#define DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(                                                       \
    block_m, block_n, stages, math_groups, store_n, store_buffers)                                 \
    ((stages) * ((block_m) + (block_n)) * 128 +                                                    \
        (math_groups)*4 * (store_buffers)*16 * (store_n)*2 + 2 * (stages) * ((block_m)*4 + 32) +   \
        (stages)*16)

DG_STATIC_ASSERT(sizeof(dg_sm90_fp8_gemm_block_args_t) == 576, "host and device must agree");

#endif
