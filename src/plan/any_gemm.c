/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/any/gemm.cu, which can do all work on any GPU: dg_make_plan() takes it where no
 * faster kernel offers itself. Two sizes of tile; the smaller one fills the GPU with little work.
 */
#include "kernels/args/any_gemm.h"

#include <string.h>

#include "base/integer.h"
#include "plan/group_stages.h"

/* One size of tile. us: of a slab of 64 k in one CTA, with all CTAs at work. */
typedef struct dg_any_tile_t {
    int32_t block, ctas_per_sm;
    float us;
} dg_any_tile_t;

static const dg_any_tile_t tiles[] = {{128, 1, 1.2f}, {64, 2, 0.8f}};

/* Row tiles that a usual call of this work has; a group ends in a tile that is half full. */
static double usual_row_tiles(const dg_work_t *work, int32_t block) {
    if (work->family != DG_FAMILY_M_GROUPED_GEMM) return (double)dg_ceil_div(work->m, block);
    const double groups = work->group_count;
    if (work->group_form != DG_GROUPS_MASKED) return (double)work->m / block + groups / 2;
    const int64_t rows = work->expected_m > 0 ? work->expected_m : work->m;
    return groups * (double)dg_ceil_div(rows, block);
}

/* Tiles times the slabs of each, and tiles, of all CTAs together. */
static double usual_slabs(const dg_work_t *work, int32_t block, double *tiles_in_all) {
    const double columns = (double)dg_ceil_div(work->n, block);
    const double per_matrix = usual_row_tiles(work, block) * columns;
    const double slabs = (double)dg_ceil_div(work->k, DG_ANY_GEMM_SLAB);
    const bool k_grouped = work->family == DG_FAMILY_K_GROUPED_GEMM;
    const bool split = k_grouped && work->k_output != DG_K_OUTPUT_SUM;
    *tiles_in_all = split ? per_matrix * work->group_count : per_matrix;
    /* the groups of a K-grouped product share k; each ends in a slab that is half full */
    return k_grouped ? per_matrix * (slabs + work->group_count / 2.0) : per_matrix * slabs;
}

static float predict(
    const dg_work_t *work, const dg_machine_t *machine, uint32_t sms, const dg_any_tile_t *tile) {
    double count;
    const double slabs = usual_slabs(work, tile->block, &count);
    const double at_once = (double)sms * tile->ctas_per_sm;
    const double rounds = count / at_once;
    const double whole_rounds = rounds <= 1 ? 1 : (double)(int64_t)(rounds + 0.999);
    const double slabs_a_tile = count > 0 ? slabs / count : 0;
    /* beginning and storing a tile takes about as long as four slabs */
    return machine->launch_us + (float)(whole_rounds * (slabs_a_tile + 4) * (double)tile->us);
}

static uint32_t choose_grid(const dg_work_t *work, uint32_t sms, const dg_any_tile_t *tile) {
    const int64_t at_once = (int64_t)sms * tile->ctas_per_sm;
    const int64_t columns = dg_ceil_div(work->n, tile->block);
    int64_t rows = dg_ceil_div(work->m, tile->block);
    if (work->family == DG_FAMILY_M_GROUPED_GEMM) rows = dg_group_tile_bound(work, tile->block);
    const bool split =
        work->family == DG_FAMILY_K_GROUPED_GEMM && work->k_output != DG_K_OUTPUT_SUM;
    const int64_t matrices = split ? work->group_count : 1;
    if (rows >= at_once || columns >= at_once || matrices >= at_once) return (uint32_t)at_once;
    const int64_t count = rows * columns * matrices;
    return (uint32_t)(count < 1 ? 1 : count < at_once ? count : at_once);
}

static dg_specialisation_t specialise(const dg_work_t *work, const dg_any_tile_t *tile) {
    return (dg_specialisation_t){.kernel = DG_KERNEL_ANY_GEMM,
        .values = {tile->block, tile->block, work->a.dtype == DG_DTYPE_BF16}};
}

/* Whether the options leave this tile. */
static bool is_allowed(
    const dg_work_t *work, const dg_plan_options_t *options, const dg_any_tile_t *tile) {
    const dg_specialisation_t one = specialise(work, tile);
    if (options->only != NULL) return memcmp(options->only, &one, sizeof one) == 0;
    return (options->block_m_multiple <= 1 || tile->block % options->block_m_multiple == 0) &&
           (options->block_n_multiple <= 1 || tile->block % options->block_n_multiple == 0);
}

/* The fastest tile that the options leave; where they leave none, a call must still be computed. */
static const dg_any_tile_t *choose_tile(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, uint32_t sms) {
    const dg_any_tile_t *best = NULL;
    float best_us = 0;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        const float us = predict(work, machine, sms, &tiles[i]);
        if (!is_allowed(work, options, &tiles[i]) || (best != NULL && us >= best_us)) continue;
        best = &tiles[i];
        best_us = us;
    }
    return best == NULL && options->only == NULL ? &tiles[0] : best;
}

bool dg_plan_any_gemm(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const int32_t sms =
        options->num_sms > 0 && options->num_sms < machine->sms ? options->num_sms : machine->sms;
    const dg_any_tile_t *tile = choose_tile(work, machine, options, (uint32_t)sms);
    if (tile == NULL) {
        plan->refusal = "not the candidate asked for";
        return false;
    }
    *plan = (dg_plan_t){.kernel = DG_KERNEL_ANY_GEMM};
    dg_plan_group_stages(work, tile->block, plan);
    plan->us =
        predict(work, machine, (uint32_t)sms, tile) + machine->launch_us * (float)plan->stage_count;
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){
        .specialisation = specialise(work, tile),
        .grid = choose_grid(work, (uint32_t)sms, tile),
        .threads = (uint32_t)DG_ANY_GEMM_THREADS(tile->block),
        .cluster = 1,
        .shared_bytes = (uint32_t)DG_ANY_GEMM_SHARED_BYTES(tile->block, tile->block),
    };
    plan->block_m = plan->block_n = tile->block;
    plan->splits = 1;
    plan->band = 1024 / tile->block;
    return true;
}
