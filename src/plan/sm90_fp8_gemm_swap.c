/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/sm90/fp8_gemm_swap.cu: FP8 products with few rows, or few in each group. It
 * takes what sm90_fp8_gemm_block takes; the prices decide. Called by plan.c; calls cost.c and
 * group_stages.c.
 *
 * The parts of k are added in another order than one CTA adds blocks, so where bits of a row must not
 * depend on other rows, this kernel stands back.
 */
#include "plan/sm90_fp8_gemm_swap.h"

#include <math.h>

#include "base/integer.h"
#include "kernels/args/swap.h"
#include "plan/cost.h"
#include "plan/group_stages.h"
#include "plan/sm90_fp8_gemm_block.h"

#define ID DG_KERNEL_SM90_FP8_GEMM_SWAP
#define BAND_ROWS 8
#define MAX_EXTENT (INT32_MAX - 1024)

/* Measured on an H200: a CTA takes this long for a block of k, however small its tile; but no more
 * bytes than this reach an SM in a clock. */
#define BLOCK_CLOCKS 430.f
#define BYTES_PER_CLOCK 50.f
#define IDLE_ROW_CLOCKS 6.f /* for each row of a tile beyond m */
#define LAUNCH_CLOCKS 7600.f
#define OVERLAP_LOSS .1f
#define MEMORY_SHARE .92f
#define LIST_US 3.f

/* What a tile costs beyond its products, for each element, and to add the sums of a cluster. */
#define TILE_CLOCKS 1200.f
#define CLOCKS_PER_ELEMENT (1 / 12.f)
#define CLUSTER_CLOCKS 2500.f

/* CTAs that run at once. Clusters of more than two leave some SMs out: of 132, or of 264 halves, 117 and
 * 237 (3), 120 and 248 (4), 102 and 234 (6), 120 and 240 (8) ran. */
static int32_t usable_ctas(const dg_machine_t *machine, const dg_plan_options_t *options,
    int32_t cluster, int32_t per_sm) {
    /* a part of the SMs is asked for: two on one would spread over twice as many */
    const bool part = options->num_sms > 0 && options->num_sms < machine->sms;
    const int32_t ctas =
        dg_usable_ctas(machine, options, cluster == 1 ? 1 : 2) * (part ? 1 : per_sm);
    const int32_t clusters = ctas / cluster, left_out = clusters > 4 ? (clusters + 9) / 10 : 0;
    return cluster <= 2 ? ctas : (clusters - left_out) * cluster;
}

/* What the kernel's text asserts, and whether a candidate is made for this kind of work. */
static bool fits(const dg_sm90_fp8_gemm_swap_fields_t *f, const dg_work_t *work) {
    const int32_t schedule =
        work->family == DG_FAMILY_GEMM ? DG_SCHEDULE_DENSE : DG_SCHEDULE_M_GROUPED;
    return f->schedule == schedule && f->block_m >= 16 && f->block_m <= 128 &&
           f->block_m % 16 == 0 && f->math_groups >= 1 && f->math_groups <= 4 &&
           f->block_n == 64 * f->math_groups && f->stages >= 3 && f->stages <= 32 &&
           f->splits >= 1 && f->splits <= 8 && (f->per_sm == 1 || f->per_sm == 2) &&
           (f->ring_sums == 0 || f->ring_sums == 1);
}

/* How a candidate cuts the work; tiles count the CTAs that share one. */
typedef struct cut_t {
    int32_t ctas, shared_bytes;
    int64_t tiles, most;
} cut_t;

static cut_t cut_work(const dg_sm90_fp8_gemm_swap_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options) {
    const int64_t columns = dg_ceil_div(work->n, f->block_n) * f->splits;
    const int64_t usual = dg_usual_row_tiles(work, f->block_m);
    const bool dense = work->family == DG_FAMILY_GEMM;
    return (cut_t){.ctas = usable_ctas(machine, options, f->splits, f->per_sm),
        .shared_bytes =
            DG_SM90_FP8_GEMM_SWAP_SHARED_BYTES(f->block_m, f->block_n, f->stages, f->ring_sums),
        .tiles = usual * columns,
        .most = (dense ? usual : dg_group_tile_bound(work, f->block_m)) * columns};
}

/* Predicted microseconds of a candidate; INFINITY if it cannot run. */
static float price_candidate(const dg_specialisation_t *candidate, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes) {
    const dg_sm90_fp8_gemm_swap_fields_t fields = dg_sm90_fp8_gemm_swap_fields(candidate),
                                         *f = &fields;
    if (!fits(f, work) || !dg_tile_allowed(options, f->block_m, f->block_n)) return INFINITY;
    const cut_t cut = cut_work(f, work, machine, options);
    if (cut.ctas == 0 || cut.shared_bytes > machine->shared_bytes || cut.most > MAX_EXTENT)
        return INFINITY;
    /* CTAs that share an SM share what reaches it */
    const float per_sm = (float)cut.tiles / (float)machine->sms;
    const float at_once = f->per_sm == 1 || per_sm < 1 ? 1 : per_sm > 2 ? 2 : per_sm;
    const float load = at_once * (float)((f->block_m + f->block_n) * 128) / BYTES_PER_CLOCK;
    const int64_t idle = f->block_m - work->m;
    const float idle_rows = work->family == DG_FAMILY_GEMM && idle > 0 ? (float)idle : 0;
    const dg_tile_cost_t tile = {.math_m = f->block_n,
        .math_n = f->block_m,
        .launch_clocks = LAUNCH_CLOCKS,
        .block_clocks = (load > BLOCK_CLOCKS ? load : BLOCK_CLOCKS) + idle_rows * IDLE_ROW_CLOCKS,
        .tile_clocks = TILE_CLOCKS +
                       (float)(f->block_m * f->block_n) / (float)f->splits * CLOCKS_PER_ELEMENT +
                       (f->splits > 1 ? CLUSTER_CLOCKS : 0),
        .overlap_loss = OVERLAP_LOSS,
        .memory_share = MEMORY_SHARE,
        .list_us = LIST_US};
    const dg_launch_cost_t launch = {.tiles = cut.tiles,
        .k_blocks = dg_ceil_div(dg_ceil_div(work->k, 128), f->splits),
        .ctas = cut.ctas,
        .cluster = 1,
        .bytes = bytes,
        .launches = work->family == DG_FAMILY_GEMM ? 1 : 2};
    return dg_predict_us(machine, &tile, &launch);
}

bool dg_plan_sm90_fp8_gemm_swap(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const char *obstacle = dg_sm90_fp8_gemm_block_obstacle(work);
    if (obstacle != NULL) return dg_refuse_work(plan, obstacle);
    if (options->batch_invariant) return dg_refuse_work(plan, "not batch invariant");
    const dg_specialisation_t *best =
        dg_cheapest_candidate(ID, price_candidate, work, machine, options, plan);
    if (best == NULL) return false;
    const dg_sm90_fp8_gemm_swap_fields_t f = dg_sm90_fp8_gemm_swap_fields(best);
    const cut_t cut = cut_work(&f, work, machine, options);
    dg_plan_group_stages(work, f.block_m, plan);
    plan->kernel = ID;
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){.specialisation = *best,
        .grid = dg_persistent_grid(cut.most, cut.ctas, f.splits),
        .threads = (uint32_t)f.math_groups * 128 + 128,
        .cluster = (uint32_t)f.splits,
        .shared_bytes = (uint32_t)cut.shared_bytes};
    plan->block_m = f.block_m;
    plan->block_n = f.block_n;
    plan->splits = f.splits;
    plan->band = BAND_ROWS;
    return true;
}
