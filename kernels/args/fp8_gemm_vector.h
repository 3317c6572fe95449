/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/sm90/fp8_gemm_vector.cu: d = c + a b^T for E4M3 with a factor for every row, or
 * 128 rows, of a and of b, and 128 k; dense, for groups along m, or for groups along k (weight
 * gradients). Included by the kernel and by the host code that fills them.
 *
 * Specialisation:
 *   BLOCK_M, BLOCK_N  tile of one CTA. A_MN: BLOCK_M a multiple of 128; B_MN: BLOCK_N is 128
 *   STAGES            depth of the ring, in blocks of 128 k
 *   MATH_GROUPS       warpgroups that multiply: 1, 2 or 3
 *   SHARE             DG_SHARE_*: what a cluster of two CTAs loads once
 *   A_MN, B_MN        1: the operand is [k, mn], mn fastest; 0: [mn, k], k fastest
 *   SCHEDULE          DG_SCHEDULE_*; M_GROUPED: A_MN is 0
 *   OUT_F32           1: c and d are F32, 0: BF16
 *   UNROLL_K          K blocks per turn of the loop */
#ifndef DG_KERNEL_ARGS_FP8_GEMM_VECTOR_H
#define DG_KERNEL_ARGS_FP8_GEMM_VECTOR_H

#include "args/sm90.h"

/* How factors are stored. */
#define DG_FACTORS_F32 0
#define DG_FACTORS_E8M0 1   /* a byte, 2^(byte - 127) */
#define DG_FACTORS_E8M0X4 2 /* words of four such bytes along k, the first lowest */

/* Factors of one operand, [matrix, rows, mn] in any order: a row of them, or of words, for 128 (512) k. */
typedef struct dg_sm90_vector_scale {
    const void *data;      /* NULL: every factor is 1 */
    int64_t mn_stride;     /* bytes, all three */
    int64_t k_stride;      /* from one row to the next */
    int64_t matrix_stride; /* M-grouped: from a group, or a slab of a, to the next; else 0 */
    int32_t form;          /* DG_FACTORS_* */
    int32_t mn_shift;      /* a factor covers 1 << mn_shift of mn */
} dg_sm90_vector_scale_t;

typedef struct dg_sm90_fp8_gemm_vector_args {
    /* The operands, 128-byte swizzle. k fastest: box [128 k, BLOCK_M or BLOCK_N], half the rows of
     * what is shared. mn fastest: box [128 mn, 128 k], b with DG_SHARE_B [128 n, 64 k]. M-grouped: a
     * third axis, of slabs for a and of groups for b. For FLAT operands unused. */
    dg_tensor_map_t a;
    dg_tensor_map_t b;
    dg_sm90_output_t out;
    dg_sm90_tiles_t tiles;
    dg_sm90_vector_scale_t scale_a, scale_b;
    const dg_tensor_map_t
        *flat_a; /* [group_count] maps of a FLAT operand's groups, [mn, k_g]; NULL: */
    const dg_tensor_map_t *flat_b; /* not FLAT */
    /* K-grouped with k fastest, for groups that TMA cannot fetch (sm90/gather.cuh): the operands
     * [m or n, tokens], bytes from row to row; FLAT: those of a group are its tokens */
    const uint8_t *data_a, *data_b;
    int64_t pitch_a, pitch_b;
} dg_sm90_fp8_gemm_vector_args_t;

/* Dynamic shared memory: ring, output chunks, factors, tiles, barriers. */
#define DG_SM90_FP8_GEMM_VECTOR_SHARED_BYTES(block_m, block_n, stages, math_groups)                \
    ((stages) * ((block_m) + (block_n)) * 128 + (math_groups)*4 * 2048 +                           \
        2 * (stages) * ((block_m) + (block_n)) * 4 + (stages)*24 + 192)

/* ---- kernels/sm90/flat_maps.cu, "sm90_flat_maps": a tensor map for each group of FLAT operands. */
typedef struct dg_sm90_flat_operand {
    dg_tensor_map_t map;   /* template: the right box and number of rows, any address and k */
    const uint8_t *data;   /* [mn * tokens] e4m3, 16-byte aligned */
    dg_tensor_map_t *maps; /* [group_count], 64-byte aligned; NULL: the operand is not FLAT */
    int64_t mn;            /* rows of a group's matrix */
    int64_t reserved[5];
} dg_sm90_flat_operand_t;

typedef struct dg_sm90_flat_maps_args {
    dg_sm90_flat_operand_t a, b;
    const dg_k_segment_t *segments; /* [group_count] */
    int64_t group_count;
    int64_t reserved[6];
} dg_sm90_flat_maps_args_t;

#define DG_SM90_FLAT_MAPS_SHARED_BYTES(threads) ((threads) / 32 * 128)

DG_STATIC_ASSERT(sizeof(dg_sm90_fp8_gemm_vector_args_t) == 704, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_sm90_flat_maps_args_t) == 448, "host and device must agree");

#endif
