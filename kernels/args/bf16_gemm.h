/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/sm90/bf16_gemm.cu, filled by src/cuda/run_sm90_bf16_gemm.c, and the macros
 * that make one specialisation of it. Included by both sides, and by the emulator's tests.
 *
 * Specialisation, all by #define in front of the text:
 *   BLOCK_M, BLOCK_N  tile of one CTA; BLOCK_M a multiple of 64 * MATH_GROUPS, BLOCK_N of 16
 *   STAGES            depth of the ring, in blocks of 64 k
 *   MATH_GROUPS       warpgroups that multiply: 1, 2 or 3
 *   SHARE             DG_SHARE_*: what a cluster of two CTAs loads once
 *   TURNS             0: the warpgroups share a tile's rows; 1: two of them take tiles in turn, so
 *                     that one multiplies while the other stores
 *   A_MN, B_MN        1: m (n) is the fastest axis of the operand; 0: k is
 *   SCHEDULE          DG_SCHEDULE_*
 * Type of d, presence of c and alignment of rows are run-time arguments: they touch the end of a
 * tile only. */
#ifndef DG_KERNEL_ARGS_BF16_GEMM_H
#define DG_KERNEL_ARGS_BF16_GEMM_H

#include "args/output.h"
#include "args/sm90.h"

/* Maps of a and b, [matrix, mn, k] bf16, boxes of one matrix and 128-byte swizzle:
 *   k fastest:  extents [k, mn, matrices], box [64 k, tile (half of it if shared)]
 *   mn fastest: extents [mn, k, matrices], box [64 mn, 64 k], one load for each 64 of the tile
 * Dense: one matrix. M-grouped: b has one for each group, a and d only in the MASKED form.
 * K-grouped: a and b are one each, k being all tokens; d has one for each group. */
typedef struct dg_sm90_bf16_gemm_args {
    dg_tensor_map_t a, b;
    dg_output_args_t out;
    dg_sm90_tiles_t tiles; /* k_blocks is unused: the kernel counts blocks of 64 itself */
    int32_t k;             /* dense and M-grouped */
    int32_t reserved;
} dg_sm90_bf16_gemm_args_t;

/* Longer k than this goes to tiles that add up their sums in two steps: those that leave the registers
 * for it, with at most 64 sums in a thread. The tensor cores' own addition was off by 3.2e-6 of the
 * magnitude at k = 147456; if that grows evenly, 2^-20 is reached at 43000. */
#define DG_SM90_BF16_GEMM_LONG_K 32768
#define DG_SM90_BF16_GEMM_HAS_TOTALS(warp_rows, block_n) ((warp_rows) * (block_n) <= 128)

/* Dynamic shared memory of a specialisation: ring, a chunk of 2 KB for each math warp, barriers,
 * tiles. lines_n: BLOCK_N, rounded up to 64 if n is fastest in b */
#define DG_SM90_BF16_GEMM_SHARED_BYTES(block_m, lines_n, stages, math_groups)                      \
    ((stages) * ((block_m) + (lines_n)) * 128 + (math_groups)*4 * DG_OUTPUT_CHUNK_BYTES +          \
        (stages)*24 + DG_SM90_TILE_RING_BYTES)

#endif
