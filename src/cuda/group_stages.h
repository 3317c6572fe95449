/* SPDX-License-Identifier: MIT
 *
 * Launches the stages that stand in front of a grouped GEMM in its plan. Called by the run file of
 * every grouped kernel, before it launches its own stage.
 */
#ifndef DG_CUDA_GROUP_STAGES_H
#define DG_CUDA_GROUP_STAGES_H

#include "cuda/run.h"
#include "kernels/args/group_tiles.h"
#include "plan/group_stages.h"

/* What the GEMM kernel is given, device addresses; NULL where the call has none. */
typedef struct dg_group_lists_t {
    const dg_group_tiles_t *tiles;  /* M-grouped */
    const dg_k_segment_t *segments; /* K-grouped: [groups] */
    void *const *d_list;            /* LIST: [groups] */
    const void *const *c_list;      /* LIST with c: [groups] */
} dg_group_lists_t;

/* block_rows: as the plan was made with. Does nothing but clear `lists` for dense work. */
dg_status_t dg_cuda_run_group_stages(
    const dg_cuda_run_t *run, int32_t block_rows, dg_group_lists_t *lists);

#endif
