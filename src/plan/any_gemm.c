/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/any/gemm.cu, which does all work on any GPU: what no faster kernel offers
 * itself for. Two sizes of tile; the smaller one fills the GPU where there is little work. Called by
 * plan.c.
 */
#include "kernels/args/any_gemm.h"

#include <string.h>

#include "base/integer.h"
#include "plan/cost.h"
#include "plan/group_stages.h"

#define MOST_TILES INT64_C(0x1000000000000) /* enough for a prediction */
#define BAND_ROWS 1024                      /* of d, in a band of the raster */

/* A size of tile, and how many of its CTAs share an SM. */
typedef struct any_tile_t {
    int32_t ctas_per_sm, block_m, block_n;
} any_tile_t;

static const any_tile_t tiles[] = {{1, 128, 128}, {2, 64, 64}};
enum { TILE_COUNT = sizeof tiles / sizeof *tiles };

static bool has_stack(const dg_work_t *work) {
    return work->family == DG_FAMILY_K_GROUPED_GEMM && work->k_output != DG_K_OUTPUT_SUM;
}

/* Row tiles that a usual call has: a group's last one is half full. */
static double usual_row_tiles(const dg_work_t *work, int32_t block) {
    const double groups = work->group_count;
    if (work->family != DG_FAMILY_M_GROUPED_GEMM) return (double)dg_ceil_div(work->m, block);
    const int64_t whole_tiles = work->m / block;
    if (work->group_form != DG_GROUPS_MASKED) return (double)whole_tiles + (groups + 1) / 2;
    const int64_t rows =
        work->expected_m > 0 && work->expected_m < work->m ? work->expected_m : work->m;
    return groups * (double)dg_ceil_div(rows, block);
}

static int64_t usual_tiles(const dg_work_t *work, int32_t block) {
    const double count = usual_row_tiles(work, block) * (double)dg_ceil_div(work->n, block) *
                         (has_stack(work) ? work->group_count : 1);
    return count < 1 ? 1 : count < (double)MOST_TILES ? (int64_t)count : MOST_TILES;
}

/* Slabs of one tile: groups share k, and a group's last slab is half full. */
static int64_t usual_slabs(const dg_work_t *work) {
    const int64_t slabs = dg_ceil_div(work->k, DG_ANY_GEMM_SLAB), groups = work->group_count;
    if (work->family != DG_FAMILY_K_GROUPED_GEMM) return slabs;
    return has_stack(work) ? slabs / (groups > 0 ? groups : 1) + 1 : slabs + groups / 2;
}

static int32_t count_ctas(
    const dg_machine_t *machine, const dg_plan_options_t *options, const any_tile_t *tile) {
    return dg_usable_ctas(machine, options, 1) * tile->ctas_per_sm;
}

static float predict(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, const any_tile_t *tile, int32_t launches) {
    const dg_tile_t asked = {.kernel = DG_KERNEL_ANY_GEMM,
        .family = work->family,
        .block_m = tile->block_m,
        .block_n = tile->block_n,
        .math_m = tile->block_m,
        .math_n = tile->block_n,
        .stored = (float)(tile->block_m * tile->block_n),
        .f32 = work->out_dtype == DG_DTYPE_F32,
        .accumulates = work->accumulates};
    const dg_tile_cost_t cost = dg_find_tile_cost(&asked);
    const dg_launch_cost_t launch = {
        .tiles = usual_tiles(work, tile->block_m),
        .k_blocks = usual_slabs(work),
        .ctas = count_ctas(machine, options, tile),
        .cluster = 1,
        .bytes = dg_work_bytes(work),
        .launches = launches,
    };
    return dg_predict_us(machine, &cost, &launch);
}

static dg_specialisation_t specialise(const dg_work_t *work, const any_tile_t *tile) {
    return (dg_specialisation_t){.kernel = DG_KERNEL_ANY_GEMM,
        .values = {tile->block_m, tile->block_n, work->a.dtype == DG_DTYPE_BF16}};
}

/* The tile that suits best, of those the options allow; where they allow none, of all, since every
 * work has to be done by somebody. NULL if the options name another candidate. */
static const any_tile_t *choose_tile(
    const dg_work_t *work, const dg_machine_t *machine, const dg_plan_options_t *options) {
    const any_tile_t *best = NULL;
    float best_us = 0;
    bool any_allowed = false;
    for (int i = 0; i < TILE_COUNT; i++)
        any_allowed |= dg_tile_allowed(options, tiles[i].block_m, tiles[i].block_n);
    for (int i = 0; i < TILE_COUNT; i++) {
        const dg_specialisation_t one = specialise(work, &tiles[i]);
        const float us = predict(work, machine, options, &tiles[i], 1);
        if (any_allowed && !dg_tile_allowed(options, tiles[i].block_m, tiles[i].block_n)) continue;
        if (options->only != NULL && memcmp(options->only, &one, sizeof one) != 0) continue;
        if (best != NULL && us >= best_us) continue;
        best = &tiles[i];
        best_us = us;
    }
    return best;
}

/* Tiles that there can be at the most; a grid that is larger than that has idle CTAs. */
static int64_t most_tiles(const dg_work_t *work, int32_t block) {
    const bool listed = work->family == DG_FAMILY_M_GROUPED_GEMM;
    const int64_t rows = listed ? dg_group_tile_bound(work, block) : dg_ceil_div(work->m, block);
    const double count = (double)rows * (double)dg_ceil_div(work->n, block) *
                         (has_stack(work) ? work->group_count : 1);
    return count < 1 ? 1 : count < (double)MOST_TILES ? (int64_t)count : MOST_TILES;
}

bool dg_plan_any_gemm(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const any_tile_t *tile = choose_tile(work, machine, options);
    if (tile == NULL) return dg_refuse_work(plan, "another candidate is asked for");
    const int32_t block_m = tile->block_m, block_n = tile->block_n;
    *plan = (dg_plan_t){.kernel = DG_KERNEL_ANY_GEMM};
    dg_plan_group_stages(work, block_m, plan);
    plan->us = predict(work, machine, options, tile, plan->stage_count + 1);
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){
        .specialisation = specialise(work, tile),
        .grid =
            dg_persistent_grid(most_tiles(work, block_m), count_ctas(machine, options, tile), 1),
        .threads = (uint32_t)DG_ANY_GEMM_THREADS(block_m),
        .cluster = 1,
        .shared_bytes = (uint32_t)DG_ANY_GEMM_SHARED_BYTES(block_m, block_n),
    };
    plan->block_m = block_m;
    plan->block_n = block_n;
    plan->splits = 1;
    plan->band = BAND_ROWS / block_m;
    return true;
}
