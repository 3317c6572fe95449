/* SPDX-License-Identifier: MIT
 *
 * What the arguments of the Hopper kernels have in common, filled from a problem: tensor maps of a
 * and b, the tiles of d, d itself with c. Called by the run_sm90_*.c files; calls tensor_map.c.
 */
#ifndef DG_CUDA_SM90_ARGS_H
#define DG_CUDA_SM90_ARGS_H

#include "cuda/run.h"
#include "kernels/args/sm90.h"

/* An operand [matrices, mn, k] as TMA reads it: 128 bytes of the contiguous axis at a time, swizzled. */
typedef struct dg_sm90_operand_t {
    const char *name; /* "a", "b" */
    dg_dtype_t dtype; /* E4M3, BF16 */
    const dg_side_t *side;
    int64_t matrices; /* 0: the map has no axis of matrices */
    int64_t mn, k;
    bool mn_contiguous;
    int32_t mn_rows; /* of a box if k is contiguous */
    int32_t k_rows;  /* of a box if mn is contiguous */
} dg_sm90_operand_t;

dg_status_t dg_sm90_encode_operand(const dg_sm90_operand_t *operand, dg_tensor_map_t *map);

/* CTAs of a cluster side by side. Those in m share b and load a part of it each, those in n share a. */
typedef struct dg_sm90_cluster_t {
    int32_t m, n;
} dg_sm90_cluster_t;

/* share: DG_SHARE_A, DG_SHARE_B or neither. */
dg_sm90_cluster_t dg_sm90_cluster(int32_t share);

/* All but the lists of groups, which the stages in front of the kernel make. block_m, block_n: what a
 * cluster covers. */
dg_sm90_tiles_t dg_sm90_describe_tiles(const dg_cuda_run_t *run, int32_t block_m, int32_t block_n);

/* All but the lists of d and c, and the map. */
dg_sm90_output_t dg_sm90_describe_output(const dg_output_t *out, const dg_work_t *work);

#endif
