/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/sm90/bf16_gemm_swap.cu: BF16 products with few rows, k contiguous in a and b.
 * The choice is of a tile and of how many CTAs share the k of one. Called by plan.c; calls cost.c and
 * asks sm90_bf16_gemm.c what TMA can read.
 *
 * The parts of k are added in another order than one CTA adds blocks, so where bits of a row must not
 * depend on other rows, this kernel stands back.
 */
#include "plan/sm90_bf16_gemm_swap.h"

#include <math.h>

#include "base/integer.h"
#include "kernels/args/bf16_gemm.h"
#include "kernels/args/bf16_gemm_swap.h"
#include "plan/cost.h"
#include "plan/sm90_bf16_gemm.h"

#define ID DG_KERNEL_SM90_BF16_GEMM_SWAP
#define BLOCK_K 64
#define MOST_ROWS 128 /* beyond, exchanging the operands gains nothing */
#define MAX_SPLITS DG_SM90_BF16_GEMM_SWAP_SPLITS

static const char *find_obstacle(
    const dg_work_t *work, const dg_machine_t *machine, const dg_plan_options_t *options) {
    const char *obstacle = dg_sm90_bf16_gemm_obstacle(work);
    if (obstacle != NULL) return obstacle;
    if (work->family != DG_FAMILY_GEMM) return "rows and k must not be in groups";
    if (work->m > MOST_ROWS) return "m must be at most 128";
    if (!work->a.k_contiguous || !work->b.k_contiguous) return "k must be contiguous in a and b";
    if (work->k > DG_SM90_BF16_GEMM_LONG_K) return "k must be at most 32768";
    if (options->batch_invariant) return "not batch invariant";
    if (dg_usable_ctas(machine, options, 1) < machine->sms)
        return "a CTA for each tile, on all SMs";
    return NULL;
}

/* What the kernel's text asserts. */
static bool is_valid(const dg_sm90_bf16_gemm_swap_fields_t *f) {
    return f->block_m >= 16 && f->block_m <= 128 && f->block_m % 16 == 0 &&
           (f->block_n == 64 || f->block_n == 128) && f->stages >= 2 && f->stages <= 32 &&
           f->block_m * (f->block_n + 4) * 4 <= f->stages * (f->block_m + f->block_n) * 128;
}

static int32_t shared_bytes(const dg_sm90_bf16_gemm_swap_fields_t *f) {
    return DG_SM90_BF16_GEMM_SWAP_SHARED_BYTES(f->block_m, f->block_n, f->stages);
}

static int64_t count_tiles(const dg_sm90_bf16_gemm_swap_fields_t *f, const dg_work_t *work) {
    return dg_ceil_div(work->m, f->block_m) * dg_ceil_div(work->n, f->block_n);
}

/* Measured: what a launch takes beyond an empty kernel and its loads, more if CTAs share a tile, or if
 * they do not all run at once; and how much of the copy rate loads reach. */
#define FIXED_US 3.2f
#define SHARED_TILE_US 1.0f
#define NEXT_WAVE_US 2.0f
#define ALONE_US 3.5f /* where only one CTA fits on an SM */
#define RATE_REACHED .87f
#define OVERLAP_LOSS .05f

/* Microseconds of a block of k in one CTA that has the memory to itself: 0.18 with 16 x 64, 0.2 with
 * 64 x 64, 0.32 with 128 x 128. */
static float block_us(const dg_sm90_bf16_gemm_swap_fields_t *f) {
    return .15f + (float)(f->block_m + f->block_n) * .00045f +
           (f->block_m + f->block_n > 192 ? .05f : 0);
}

/* Predicted microseconds with `splits` CTAs for each tile; INFINITY if they do not fit. */
static float price_splits(const dg_sm90_bf16_gemm_swap_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int32_t splits, int64_t bytes) {
    const int32_t sms = dg_usable_ctas(machine, options, splits == 1 ? 1 : 2);
    const bool pairs = f->block_n == 64 && 2 * (shared_bytes(f) + 1024) <= machine->shared_bytes;
    const int32_t clusters = sms * (pairs ? 2 : 1) / splits;
    const int64_t blocks = dg_ceil_div(work->k, BLOCK_K);
    if (clusters == 0 || splits > blocks) return INFINITY;
    /* Clusters of 4 or 8 leave some SMs out. */
    const int64_t at_once = splits <= 2 ? clusters : clusters - dg_ceil_div(clusters, 11);
    const float waves = (float)dg_ceil_div(count_tiles(f, work), at_once < 1 ? 1 : at_once);
    const float load = waves * (float)dg_ceil_div(blocks, splits) * block_us(f);
    /* Every tile of rows reads b once more, from L2 */
    const int64_t again = (dg_ceil_div(work->m, f->block_m) - 1) * work->n * work->k;
    const float memory = (float)(bytes + again) / (RATE_REACHED * machine->memory_bytes_per_us);
    return machine->launch_us + FIXED_US + (splits > 1 ? SHARED_TILE_US : 0) +
           (pairs ? 0 : ALONE_US) + (waves - 1) * NEXT_WAVE_US + (load > memory ? load : memory) +
           OVERLAP_LOSS * (load > memory ? memory : load);
}

static int32_t find_splits(const dg_sm90_bf16_gemm_swap_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes, float *us) {
    int32_t best = 1;
    *us = INFINITY;
    for (int32_t splits = 1; splits <= MAX_SPLITS; splits *= 2) {
        const float price = price_splits(f, work, machine, options, splits, bytes);
        if (price < *us) best = splits, *us = price;
    }
    return best;
}

/* Predicted microseconds of a candidate; INFINITY if it cannot run. */
static float price_candidate(const dg_specialisation_t *candidate, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes) {
    const dg_sm90_bf16_gemm_swap_fields_t f = dg_sm90_bf16_gemm_swap_fields(candidate);
    float us;
    if (!is_valid(&f) || !dg_tile_allowed(options, f.block_m, f.block_n)) return INFINITY;
    if (shared_bytes(&f) > machine->shared_bytes) return INFINITY;
    if (count_tiles(&f, work) > INT32_MAX / MAX_SPLITS) return INFINITY;
    find_splits(&f, work, machine, options, bytes, &us);
    return us;
}

bool dg_plan_sm90_bf16_gemm_swap(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    float us;
    const char *obstacle = find_obstacle(work, machine, options);
    if (obstacle != NULL) return dg_refuse_work(plan, obstacle);
    const dg_specialisation_t *best =
        dg_cheapest_candidate(ID, price_candidate, work, machine, options, plan);
    if (best == NULL) return false;
    const dg_sm90_bf16_gemm_swap_fields_t f = dg_sm90_bf16_gemm_swap_fields(best);
    const int32_t splits = find_splits(&f, work, machine, options, dg_work_bytes(work), &us);
    plan->kernel = ID;
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){.specialisation = *best,
        .grid = (uint32_t)(count_tiles(&f, work) * splits),
        .threads = (uint32_t)(f.block_n / 64 * 128 + 128),
        .cluster = (uint32_t)splits,
        .shared_bytes = (uint32_t)shared_bytes(&f)};
    plan->block_m = f.block_m;
    plan->block_n = f.block_n;
    plan->splits = splits;
    return true;
}
