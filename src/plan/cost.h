/* SPDX-License-Identifier: MIT
 *
 * What a launch costs: the figure that ranks candidates. What was measured of each tile stands in
 * cost_table.c, and nowhere else; cost.c knows waves, clocks and memory. Also the small questions that
 * every kernel's file asks: how many CTAs run at once, which tiles the options allow, how many bytes a
 * product moves.
 *
 * The model (docs/planning.md has how well an H200 keeps to it):
 *
 *     clocks = launch_clocks + waves (k blocks * (block_clocks + idle_clocks * filled) + tile_clocks)
 *     MHz    = idle clock - (idle clock - clock) * share of clocks and SMs that tensor cores work
 *     us     = launch + list_us * launches in front + the larger of clocks / MHz and the time of the
 *              bytes + overlap_loss of the smaller
 *
 * filled is the share of SMs that have a tile. Power decides the clock: the busier the tensor cores, the
 * lower it is.
 */
#ifndef DG_PLAN_COST_H
#define DG_PLAN_COST_H

#include "plan/plan.h"

/* A tile whose cost is asked for, of one candidate. A block of k is 128 bytes of an operand: 128 values
 * of FP8, 64 of BF16. */
typedef struct dg_tile_t {
    int32_t kernel, family; /* DG_KERNEL_*, dg_family_t */
    int32_t block_m, block_n;
    int32_t variant; /* what else decides, as the kernel's rows of cost_table.c say */
    int32_t math_m,
        math_n;   /* the tensor cores of one SM take math_m * math_n / 32 clocks a block */
    float stored; /* elements of d that one CTA stores for it */
    bool f32, accumulates;
    int32_t idle_rows; /* of it that lie beyond m, where m is known */
} dg_tile_t;

typedef struct dg_tile_cost_t {
    int32_t math_m, math_n;
    float launch_clocks; /* start and end of the kernel: descriptors, first loads, last stores */
    float block_clocks;  /* of one CTA, from one block of k to the next */
    float idle_clocks; /* more of that, with all SMs at work, for rows that are not there: TMA reads
                          * the few that are again and again, from the same lines of L2 */
    float tile_clocks; /* of one tile beyond its blocks: fill, epilogue, stores */
    float overlap_loss; /* share of the smaller of computing and moving bytes that does not hide */
    float memory_share; /* of the copy rate */
    float list_us;      /* of a launch in front, such as a list of groups */
} dg_tile_cost_t;

/* What the table says of a tile, or of the nearest one that it has. */
dg_tile_cost_t dg_find_tile_cost(const dg_tile_t *tile);

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

/* CTAs of a persistent kernel that run at once in clusters of 1 or 2; 0: none. */
int32_t dg_usable_ctas(
    const dg_machine_t *machine, const dg_plan_options_t *options, int32_t cluster);

/* The grid: one CTA for each tile, in whole clusters, no more than run at once. */
uint32_t dg_persistent_grid(int64_t tiles, int32_t ctas, int32_t cluster);

/* A CTA for each unit of work, one at least, `most` at most. */
uint32_t dg_unit_grid(double units, int32_t most);

/* Whether the options allow a tile. */
bool dg_tile_allowed(const dg_plan_options_t *options, int32_t block_m, int32_t block_n);

/* Candidate `index` of a kernel: the catalogue's entries, or options->only, which may be none of them;
 * NULL past the last. */
const dg_specialisation_t *dg_plan_candidate(
    int32_t kernel, const dg_plan_options_t *options, int32_t index);

/* Bytes that the work reads and writes once: operands, factors, c and d. */
int64_t dg_work_bytes(const dg_work_t *work);

/* Predicted microseconds of one candidate; INFINITY if it cannot do the work. bytes:
 * dg_work_bytes() */
typedef float dg_price_fn(const dg_specialisation_t *candidate, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes);

/* The cheapest candidate of a kernel and in plan->us its price; NULL, with plan->refusal set, if none can do
 * the work. */
const dg_specialisation_t *dg_cheapest_candidate(int32_t kernel, dg_price_fn *price,
    const dg_work_t *work, const dg_machine_t *machine, const dg_plan_options_t *options,
    dg_plan_t *plan);

/* Row tiles of `rows` rows that a usual call has. Groups in one tensor end anywhere in their last tile, so
 * each has half a tile more than its rows fill; masked ones vary around the length that is expected. */
int64_t dg_usual_row_tiles(const dg_work_t *work, int32_t rows);

/* Blocks of `block_k` along k of a usual tile: each group of tokens ends inside one. */
int64_t dg_usual_k_blocks(const dg_work_t *work, int32_t block_k);

/* Matrices of d that have all tiles of m x n each: one for each group of tokens, unless d is their
 * sum. */
int64_t dg_count_matrices(const dg_work_t *work);

/* Refuses for a kernel's file: stores the reason and returns false. */
static inline bool dg_refuse_work(dg_plan_t *plan, const char *reason) {
    plan->refusal = reason;
    return false;
}

#endif
