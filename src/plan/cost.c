/* SPDX-License-Identifier: MIT
 *
 * See cost.h. Called by the kernels' planning files for each candidate: no allocation, no text.
 */
#include "plan/cost.h"

#include <math.h>

#include "base/integer.h"

/* At full load a cluster of two that loads an operand once runs at a 4% higher clock; next to none
 * where the tensor cores work half the time. */
#define UNSHARED_CLOCK_LOSS .04f

float dg_predict_us(
    const dg_machine_t *machine, const dg_tile_cost_t *tile, const dg_launch_cost_t *launch) {
    const float waves = (float)dg_ceil_div(launch->tiles, launch->ctas);
    const float blocks = waves * (float)launch->k_blocks;
    const float placed = (float)launch->tiles / (float)machine->sms,
                filled = placed < 1 ? placed : 1;
    const float clocks = tile->launch_clocks +
                         blocks * (tile->block_clocks + tile->idle_clocks * filled) +
                         waves * tile->tile_clocks;
    const float busy = filled * blocks * (float)(tile->math_m * tile->math_n) / 32 / clocks;
    const float share = busy < 1 ? busy : 1;
    const float idle = machine->idle_clock_mhz;
    float mhz = idle - (idle - machine->clock_mhz) * share;
    if (launch->cluster == 1) mhz *= 1 - UNSHARED_CLOCK_LOSS * share * share;
    const float compute = clocks / mhz;
    const float bytes_per_us = machine->memory_bytes_per_us * tile->memory_share;
    const float move = (float)launch->bytes / bytes_per_us;
    const float memory = move + tile->launch_clocks / idle;
    const float larger = compute > memory ? compute : memory;
    const float smaller = compute < move ? compute : move;
    return machine->launch_us + (float)(launch->launches - 1) * tile->list_us + larger +
           tile->overlap_loss * smaller;
}

int32_t dg_usable_ctas(
    const dg_machine_t *machine, const dg_plan_options_t *options, int32_t cluster) {
    const int32_t wanted = options->num_sms;
    const int32_t sms = wanted > 0 && wanted < machine->sms ? wanted : machine->sms;
    if (cluster == 1) return sms;
    const int32_t clusters = sms / 2;
    return 2 * (clusters < machine->clusters_of_2 ? clusters : machine->clusters_of_2);
}

uint32_t dg_persistent_grid(int64_t tiles, int32_t ctas, int32_t cluster) {
    const int64_t whole = dg_ceil_div(tiles, cluster) * cluster;
    return (uint32_t)(whole < ctas ? whole : ctas);
}

uint32_t dg_unit_grid(double units, int32_t most) {
    return units < 1 ? 1 : units < most ? (uint32_t)units : (uint32_t)most;
}

bool dg_tile_allowed(const dg_plan_options_t *options, int32_t block_m, int32_t block_n) {
    return (options->block_m_multiple <= 1 || block_m % options->block_m_multiple == 0) &&
           (options->block_n_multiple <= 1 || block_n % options->block_n_multiple == 0);
}

const dg_specialisation_t *dg_plan_candidate(
    int32_t kernel, const dg_plan_options_t *options, int32_t index) {
    if (options->only == NULL) return dg_catalogue_entry(kernel, index);
    return options->only->kernel == kernel && index == 0 ? options->only : NULL;
}

/* [groups, mn, k] of one side with its factors. Products of extents may leave int64: a stride of 0
 * repeats a row as often as one likes. */
static double side_bytes(const dg_work_side_t *side, double groups, int64_t mn, int64_t k) {
    const dg_dtype_t dtype = (dg_dtype_t)side->dtype, scale = (dg_dtype_t)side->scale_dtype;
    const double value_bytes = dtype == DG_DTYPE_E2M1X2 ? .5 : (double)dg_dtype_size(dtype);
    const double factor_bytes = scale == DG_DTYPE_I32 ? 1 : (double)dg_dtype_size(scale);
    const double bytes = groups * (double)mn * (double)k * value_bytes;
    if (scale == DG_DTYPE_NONE) return bytes;
    const int64_t rows = dg_ceil_div(mn, side->gran_mn > 0 ? side->gran_mn : 1);
    const int64_t blocks = dg_ceil_div(k, side->gran_k > 0 ? side->gran_k : 128);
    return bytes + groups * (double)rows * (double)blocks * factor_bytes;
}

int64_t dg_work_bytes(const dg_work_t *work) {
    const bool m_grouped = work->family == DG_FAMILY_M_GROUPED_GEMM;
    const bool masked = m_grouped && work->group_form == DG_GROUPS_MASKED;
    const bool k_grouped = work->family == DG_FAMILY_K_GROUPED_GEMM;
    const bool sum = work->k_output == DG_K_OUTPUT_SUM;
    const double groups = work->group_count;
    int64_t rows = work->m; /* of each matrix of a and d that hold something */
    if (masked && work->expected_m > 0 && work->expected_m < rows) rows = work->expected_m;
    const double matrices = masked ? groups : 1, results = k_grouped && !sum ? groups : matrices;
    const double result_bytes = (double)dg_dtype_size((dg_dtype_t)work->out_dtype);
    const double bytes =
        side_bytes(&work->a, matrices, rows, work->k) +
        side_bytes(&work->b, m_grouped ? groups : 1, work->n, work->k) +
        results * (double)rows * (double)work->n * result_bytes * (work->accumulates ? 2 : 1);
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_C(1) << 62;
}

const dg_specialisation_t *dg_cheapest_candidate(int32_t kernel, dg_price_fn *price,
    const dg_work_t *work, const dg_machine_t *machine, const dg_plan_options_t *options,
    dg_plan_t *plan) {
    const int64_t bytes = dg_work_bytes(work);
    const dg_specialisation_t *entry, *best = NULL;
    float best_us = INFINITY;
    for (int32_t i = 0; (entry = dg_plan_candidate(kernel, options, i)); i++) {
        const float us = price(entry, work, machine, options, bytes);
        if (us < best_us) best = entry, best_us = us;
    }
    if (best == NULL)
        dg_refuse_work(plan, "no tile of its catalogue fits the options");
    else
        plan->us = best_us;
    return best;
}

int64_t dg_usual_row_tiles(const dg_work_t *work, int32_t rows) {
    const int64_t groups = work->group_count;
    if (work->family != DG_FAMILY_M_GROUPED_GEMM) return dg_ceil_div(work->m, rows);
    if (work->group_form != DG_GROUPS_MASKED) return dg_ceil_div(work->m, rows) + groups / 2;
    /* Groups are never all as long as is expected: some of a tile's length need a second one. */
    static const int32_t percents[] = {70, 85, 100, 115, 130};
    const bool expected = work->expected_m > 0 && work->expected_m < work->m;
    const int64_t usual = expected ? work->expected_m : work->m;
    int64_t tiles = 0;
    for (int32_t i = 0; i < 5; i++) {
        const int64_t length = usual * percents[i] / 100;
        tiles += dg_ceil_div(length < work->m ? length : work->m, rows);
    }
    return dg_ceil_div(groups * tiles, 5);
}

int64_t dg_usual_k_blocks(const dg_work_t *work, int32_t block_k) {
    const int64_t blocks = dg_ceil_div(work->k, block_k);
    if (work->family != DG_FAMILY_K_GROUPED_GEMM) return blocks;
    if (work->k_output == DG_K_OUTPUT_SUM) return blocks + work->group_count / 2;
    return dg_ceil_div(blocks, work->group_count) + 1;
}

int64_t dg_count_matrices(const dg_work_t *work) {
    const bool each = work->family == DG_FAMILY_K_GROUPED_GEMM && work->k_output != DG_K_OUTPUT_SUM;
    return each ? work->group_count : 1;
}
