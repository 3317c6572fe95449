/* SPDX-License-Identifier: MIT
 *
 * Parameters of the dense GEMM kernels, filled by the host and read by the kernel of the same name.
 * Also the list of macros that make one specialisation of it. Included by both sides, and by the
 * emulator's tests. */
#ifndef DG_KERNEL_ARGS_GEMM_H
#define DG_KERNEL_ARGS_GEMM_H

#include "args/sm90.h"

/* kernels/sm90/fp8_gemm_block.cu: d = c + a x b with 1 x 128 scales on a and 128 x 128 scales on b,
 * dense or with rows in groups.
 *
 * Specialisation, all by #define in front of the text:
 *   BLOCK_M, BLOCK_N  tile of one CTA; BLOCK_M a multiple of 64 * MATH_GROUPS, BLOCK_N of STORE_N
 *   STAGES            depth of the ring, in blocks of 128 k
 *   MATH_GROUPS       warpgroups that multiply: 1, 2 or 3
 *   SHARE             DG_SHARE_*: what a cluster of two CTAs loads once
 *   STORE_N           columns of an output chunk: BF16 64 or 32, F32 32
 *   STORE_ROWS        its rows: 16, a store for each warp, or 64, one for a warpgroup
 *   STORE_BUFFERS     chunks in flight of each of them, at least 1
 *   UNROLL_K          K blocks per turn of the loop: 4 is best from k = 1024 on, 1 for k = 512
 *   OUT_F32           type of d and c: 1 F32, 0 BF16
 *   ADD_C             1: c is added
 *   SCHEDULE          DG_SCHEDULE_DENSE or DG_SCHEDULE_M_GROUPED
 *
 * Groups and slabs: the maps of a and b have three axes if M-grouped, else the last two. */
typedef struct dg_sm90_fp8_gemm_block_args {
    dg_tensor_map_t a; /* [slab, m, k] e4m3, k fastest; box [128 k, BLOCK_M, 1] (half with
                              * DG_SHARE_A), 128-byte swizzle */
    dg_tensor_map_t b; /* [group, n, k] e4m3, k fastest; box [128 k, BLOCK_N, 1] (half with
                              * DG_SHARE_B), 128-byte swizzle */
    dg_tensor_map_t
        scale_a; /* [slab, k / 128, m] f32, m fastest, dense without slab; no swizzle; box
                              * [DG_SM90_FP8_GEMM_BLOCK_SCALE_BOX, 1, 1]; unused unless
                              * scale_a_by_tma */
    dg_sm90_output_t out;
    dg_sm90_tiles_t tiles;
    const float *scale_a_values; /* [slab, m, k_blocks] f32, any strides; NULL: every factor is 1 */
    int64_t scale_a_slab_stride, scale_a_m_stride, scale_a_k_stride;
    const float *scale_b; /* [group, ceil(n / 128), k_blocks] f32, any strides; NULL: likewise */
    int64_t scale_b_group_stride, scale_b_n_stride, scale_b_k_stride;
    int32_t scale_b_rows;   /* ceil(n / 128) */
    int32_t scale_a_by_tma; /* 1: m fastest, 16-byte friendly: the map is used; 0: values */
} dg_sm90_fp8_gemm_block_args_t;

/* Rows of a slot for scales of a. TMA begins at a multiple of 4 rows, groups of rows anywhere: then a
 * slot has room for the rows in front. A box has at most 256 rows, and begins on 128 bytes. */
#define DG_SM90_FP8_GEMM_BLOCK_SCALE_ROWS(block_m, schedule)                                       \
    ((schedule) == DG_SCHEDULE_DENSE ? (block_m) : (block_m) == 256 ? 320 : (block_m) + 32)
#define DG_SM90_FP8_GEMM_BLOCK_SCALE_BOX(block_m, schedule)                                        \
    (DG_SM90_FP8_GEMM_BLOCK_SCALE_ROWS(block_m, schedule) >> ((schedule) && (block_m) == 256))

/* Dynamic shared memory of a specialisation: ring, output chunks, scale slots, tiles, barriers. */
#define DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(                                                       \
    block_m, block_n, stages, math_groups, store_n, store_buffers, out_f32, schedule)              \
    ((stages) * ((block_m) + (block_n)) * 128 +                                                    \
        (math_groups)*64 * (store_buffers) * (store_n) * ((out_f32) ? 4 : 2) +                     \
        (stages) * (DG_SM90_FP8_GEMM_BLOCK_SCALE_ROWS(block_m, schedule) * 4 + 32) +               \
        DG_SM90_TILE_RING_BYTES + (stages)*16)

DG_STATIC_ASSERT(sizeof(dg_sm90_fp8_gemm_block_args_t) == 768, "host and device must agree");

#endif
