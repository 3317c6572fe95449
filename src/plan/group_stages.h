/* SPDX-License-Identifier: MIT
 *
 * The stages that run in front of a grouped GEMM: what the host knows goes up (any_upload), groups
 * become a list of row tiles (any_group_tiles) or of K segments (any_k_segments); see
 * kernels/args/group_tiles.h. The planning file of every grouped kernel calls
 * dg_plan_group_stages() first and adds its own stage last; its run file calls
 * dg_cuda_run_group_stages().
 */
#ifndef DG_PLAN_GROUP_STAGES_H
#define DG_PLAN_GROUP_STAGES_H

#include "kernels/args/group_tiles.h"
#include "plan/plan.h"

/* Where things lie in the workspace of a grouped call, in bytes from its start, which is 256-byte
 * aligned; each part begins on 256 bytes. DG_NO_PART: the call has none. */
#define DG_NO_PART UINT64_MAX

typedef struct dg_group_parts_t {
    uint64_t sizes;    /* [groups] int64: SIZES that the host alone may have; [1] used: groups of
                        * one size, which read it with stride 0 */
    uint64_t d_list;   /* [groups] addresses: LIST */
    uint64_t c_list;   /* [groups] addresses: LIST with c */
    uint64_t tiles;    /* M-grouped: dg_group_tiles_t and its tiles */
    uint64_t segments; /* K-grouped: dg_k_segment_t [groups] */
    uint64_t bytes;    /* of all; a kernel's own workspace may begin here (256-byte aligned) */
} dg_group_parts_t;

/* Most tiles of block_rows rows that the groups of an M-grouped work can make. */
int64_t dg_group_tile_bound(const dg_work_t *work, int32_t block_rows);

/* block_rows: of the kernel's tiles; unused for K-grouped work. */
dg_group_parts_t dg_place_group_parts(const dg_work_t *work, int32_t block_rows);

/* Begins the plan of a grouped work with these stages and their workspace: fills stage, stage_count
 * and workspace, and nothing else. Does nothing for dense work. */
void dg_plan_group_stages(const dg_work_t *work, int32_t block_rows, dg_plan_t *plan);

#endif
