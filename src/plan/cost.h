/* SPDX-License-Identifier: MIT
 *
 * What a launch costs: the figure that ranks candidates. The kernels' files give what was measured of
 * a tile; this one knows waves, clocks and memory. Also the small questions that every such file
 * asks: how many CTAs run at once, which tiles the options allow, how many bytes a product moves.
 *
 * The model (an H200 agrees within 3% from k = 2048 on and is up to 12% faster at k = 512, see
 * docs/planning.md):
 *
 *     clocks = LAUNCH_CLOCKS + waves (k blocks * block_clocks + tile_clocks)
 *     MHz    = idle clock - (idle clock - clock) * share of the clocks that the tensor cores work
 *     us     = launch + the larger of clocks / MHz and bytes / bandwidth + 5% of the smaller
 *
 * because power decides the clock: the busier the tensor cores, the lower it is.
 */
#ifndef DG_PLAN_COST_H
#define DG_PLAN_COST_H

#include "plan/plan.h"

/* A block of k is 128 bytes of an operand: 128 values of FP8, 64 of BF16. The tensor cores of one SM
 * then take BLOCK_M * BLOCK_N / 32 clocks for a tile's block. */
typedef struct dg_tile_cost_t {
    int32_t block_m, block_n;
    float block_clocks; /* of one CTA, from one block of k to the next */
    float tile_clocks;  /* of one tile beyond that: fill, epilogue, stores */
} dg_tile_cost_t;

typedef struct dg_launch_cost_t {
    int64_t tiles;    /* of one CTA each; with splits: parts of tiles */
    int64_t k_blocks; /* of one tile (part) */
    int32_t ctas;     /* that run at once: dg_usable_ctas() */
    int32_t cluster;  /* CTAs that load an operand together: saves power */
    int64_t bytes;    /* to and from memory, at the least: dg_work_bytes() and what is added */
    int32_t launches; /* kernels, helpers included */
} dg_launch_cost_t;

/* Predicted microseconds. */
float dg_predict_us(
    const dg_machine_t *machine, const dg_tile_cost_t *tile, const dg_launch_cost_t *launch);

/* For tiles that nobody measured: clocks of a block of k with `math_groups` warpgroups, the products
 * promoted or not, `loaded_bytes` brought into the SM for it. */
float dg_estimate_block_clocks(
    int32_t block_m, int32_t block_n, int32_t math_groups, bool promotes, int64_t loaded_bytes);

/* CTAs of a persistent kernel that run at once in clusters of 1 or 2; 0: none. */
int32_t dg_usable_ctas(
    const dg_machine_t *machine, const dg_plan_options_t *options, int32_t cluster);

/* The grid: one CTA for each tile, in whole clusters, no more than run at once. */
uint32_t dg_persistent_grid(int64_t tiles, int32_t ctas, int32_t cluster);

/* Whether the options allow a tile. */
bool dg_tile_allowed(const dg_plan_options_t *options, int32_t block_m, int32_t block_n);

/* Candidate `index` of a kernel: the catalogue's entries, or options->only, which may be none of them;
 * NULL past the last. */
const dg_specialisation_t *dg_plan_candidate(
    int32_t kernel, const dg_plan_options_t *options, int32_t index);

/* Bytes that the work reads and writes once: operands, factors, c and d. */
int64_t dg_work_bytes(const dg_work_t *work);

/* Refuses for a kernel's file: stores the reason and returns false. */
static inline bool dg_refuse_work(dg_plan_t *plan, const char *reason) {
    plan->refusal = reason;
    return false;
}

#endif
