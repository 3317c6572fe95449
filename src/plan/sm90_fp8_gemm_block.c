/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/sm90/fp8_gemm_block.cu: which work it takes and which entry of the catalogue
 * serves it best. Called by plan.c; calls cost.c. The other kernels' files have the same shape:
 * conditions, measured tiles, the price of one candidate, the loop over them, the plan of the winner.
 *
 * Every candidate adds the blocks of k of a row in the same order in the same way, so all of them
 * give the same bits: batch invariance asks nothing more.
 */
#include "plan/sm90_fp8_gemm_block.h"

#include <math.h>

#include "base/integer.h"
#include "kernels/args/gemm.h"
#include "plan/cost.h"

#define ID DG_KERNEL_SM90_FP8_GEMM_BLOCK
#define MAX_TILES 65535 /* each way */
#define BAND_ROWS 16    /* CTA tiles that a band of the raster is high; 8 .. 32 measure the same */

/* NULL if the kernel can do the work, else what it asks for. */
static const char *find_obstacle(const dg_work_t *work) {
    const dg_work_side_t *a = &work->a, *b = &work->b;
    if (work->family != DG_FAMILY_GEMM) return "dense products alone";
    if (a->dtype != DG_DTYPE_E4M3 || b->dtype != DG_DTYPE_E4M3) return "a and b must be e4m3";
    if (work->out_dtype != DG_DTYPE_BF16 || work->accumulates) return "d must be bf16, without c";
    if (work->m < 1 || work->n < 1 || work->k < 1) return "no extent may be 0";
    if (work->m > INT32_MAX || work->n > INT32_MAX || work->k > INT32_MAX - 127)
        return "extents must be below 2^31";
    if (!a->k_contiguous || !b->k_contiguous) return "k must be contiguous in a and b";
    if (a->alignment < 16 || b->alignment < 16)
        return "address and row pitch of a and b must be multiples of 16 bytes";
    if (a->scale_dtype != DG_DTYPE_F32 || a->gran_mn != 1 || a->gran_k != 128)
        return "a must have f32 factors 1 x 128";
    if (b->scale_dtype != DG_DTYPE_F32 || b->gran_mn != 128 || b->gran_k != 128)
        return "b must have f32 factors 128 x 128";
    if (a->scale_mn_contiguous != 1 || a->scale_alignment < 16)
        return "m must be contiguous in a.scale, its pitch along k a multiple of 16 bytes";
    return NULL;
}

/* What was measured on an H200, with 4 or 5 stages; the time of a launch is taken off the tiles. */
typedef struct measured_t {
    int32_t math_groups, stages, unroll_k;
    dg_tile_cost_t cost;
} measured_t;

static const measured_t measured[] = {
    {2, 4, 4, {256, 128, 1106, 3430}},
    {2, 4, 1, {256, 128, 1148, 3040}},
    {3, 4, 4, {192, 128, 819, 2030}},
    {3, 4, 1, {192, 128, 860, 1510}},
    {3, 5, 4, {192, 128, 801, 2700}},
    {2, 5, 4, {128, 192, 820, 2810}},
    {2, 5, 4, {128, 160, 718, 2410}},
    {2, 5, 1, {128, 128, 636, 1380}},
};

/* d is stored element by element where TMA cannot: estimated, eight sectors a warp's store. */
static float direct_store_clocks(int32_t block_m, int32_t block_n) {
    return (float)(block_m * block_n) / 4;
}

static dg_tile_cost_t find_tile_cost(const dg_sm90_fp8_gemm_block_fields_t *f) {
    const int64_t loaded = (int64_t)(f->block_m + f->block_n) * 128;
    dg_tile_cost_t cost = {f->block_m, f->block_n,
        dg_estimate_block_clocks(f->block_m, f->block_n, f->math_groups, true, loaded),
        800 + (float)(f->block_m * f->block_n) / 14};
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        const measured_t *known = &measured[i];
        if (known->cost.block_m == f->block_m && known->cost.block_n == f->block_n &&
            known->math_groups == f->math_groups && known->stages == f->stages &&
            known->unroll_k == f->unroll_k)
            cost = known->cost;
    }
    if (f->store_buffers == 0) cost.tile_clocks += direct_store_clocks(f->block_m, f->block_n);
    return cost;
}

/* Whether d can be stored by TMA: its rows begin and end at multiples of 16 bytes. */
static bool stores_by_tma(const dg_work_t *work) {
    return work->d_alignment >= 16 && work->n % 8 == 0;
}

/* What the kernel's text asserts, so that no candidate is planned that does not compile. */
static bool is_valid(const dg_sm90_fp8_gemm_block_fields_t *f) {
    return f->math_groups >= 1 && f->math_groups <= 3 && f->block_m > 0 && f->block_m <= 256 &&
           f->block_m % (64 * f->math_groups) == 0 && (f->store_n == 64 || f->store_n == 32) &&
           f->block_n > 0 && f->block_n <= 256 && f->block_n % f->store_n == 0 && f->stages >= 2 &&
           f->stages <= 16 && f->store_buffers >= 0 && f->store_buffers <= 8 && f->share >= 0 &&
           f->share <= 2 && f->unroll_k >= 1;
}

/* How a candidate cuts the work. */
typedef struct cut_t {
    int32_t cluster, cluster_m, shared_bytes, ctas;
    int64_t tiles; /* whole clusters */
} cut_t;

static cut_t cut_work(const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options) {
    const int32_t cluster = f->share == DG_SHARE_NONE ? 1 : 2;
    const int32_t cluster_m = f->share == DG_SHARE_B ? 2 : 1;
    return (cut_t){.cluster = cluster,
        .cluster_m = cluster_m,
        .shared_bytes = DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(
            f->block_m, f->block_n, f->stages, f->math_groups, f->store_n, f->store_buffers),
        .ctas = dg_usable_ctas(machine, options, cluster),
        .tiles = dg_ceil_div(work->m, f->block_m * cluster_m) *
                 dg_ceil_div(work->n, f->block_n * (cluster / cluster_m)) * cluster};
}

/* Predicted microseconds of a candidate; INFINITY if it cannot run. bytes: dg_work_bytes() */
static float price_candidate(const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes) {
    if (!is_valid(f) || !dg_tile_allowed(options, f->block_m, f->block_n)) return INFINITY;
    if (f->store_buffers > 0 && !stores_by_tma(work)) return INFINITY;
    if (work->m > MAX_TILES * f->block_m || work->n > MAX_TILES * f->block_n) return INFINITY;
    const cut_t cut = cut_work(f, work, machine, options);
    if (cut.ctas == 0 || cut.shared_bytes > machine->shared_bytes) return INFINITY;
    const dg_tile_cost_t tile = find_tile_cost(f);
    const dg_launch_cost_t launch = {.tiles = cut.tiles,
        .k_blocks = dg_ceil_div(work->k, 128),
        .ctas = cut.ctas,
        .cluster = cut.cluster,
        .bytes = bytes,
        .launches = 1};
    return dg_predict_us(machine, &tile, &launch);
}

static void fill_plan(const dg_specialisation_t *specialisation, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, dg_plan_t *plan) {
    const dg_sm90_fp8_gemm_block_fields_t f = dg_sm90_fp8_gemm_block_fields(specialisation);
    const cut_t cut = cut_work(&f, work, machine, options);
    plan->kernel = ID;
    plan->stage_count = 1;
    plan->stage[0] = (dg_plan_stage_t){.specialisation = *specialisation,
        .grid = dg_persistent_grid(cut.tiles, cut.ctas, cut.cluster),
        .threads = (uint32_t)f.math_groups * 128 + 128,
        .cluster = (uint32_t)cut.cluster,
        .shared_bytes = (uint32_t)cut.shared_bytes};
    plan->block_m = f.block_m;
    plan->block_n = f.block_n;
    plan->splits = 1;
    plan->band = BAND_ROWS / cut.cluster_m;
}

bool dg_plan_sm90_fp8_gemm_block(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const char *obstacle = find_obstacle(work);
    if (obstacle != NULL) return dg_refuse_work(plan, obstacle);
    const int64_t bytes = dg_work_bytes(work);
    const dg_specialisation_t *entry, *best = NULL;
    float best_us = INFINITY;
    for (int32_t i = 0; (entry = dg_plan_candidate(ID, options, i)); i++) {
        const dg_sm90_fp8_gemm_block_fields_t f = dg_sm90_fp8_gemm_block_fields(entry);
        const float us = price_candidate(&f, work, machine, options, bytes);
        if (us < best_us) best = entry, best_us = us;
    }
    if (best == NULL) return dg_refuse_work(plan, "no tile of its catalogue fits the options");
    fill_plan(best, work, machine, options, plan);
    plan->us = best_us;
    return true;
}
