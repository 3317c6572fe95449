/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/sm90/fp8_gemm_block.cu: which work it takes and which entry of the catalogue
 * serves it best. Called by plan.c; calls cost.c and group_stages.c. The other kernels' files have the same shape:
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
#include "plan/group_stages.h"

#define ID DG_KERNEL_SM90_FP8_GEMM_BLOCK
#define BAND_ROWS 16 /* CTA tiles that a band of the raster is high; 8 .. 32 measure the same */

/* Rounding up to tiles of a pair must not pass 2^31, nor may the count of all tiles. */
#define MAX_EXTENT (INT32_MAX - 1024)

/* NULL if the factors are of the kind that the kernel multiplies with, else what it asks for. */
static const char *find_scale_obstacle(const dg_work_side_t *side, int32_t gran_mn) {
    if (side->scale_dtype == DG_DTYPE_NONE) return NULL;
    if (side->scale_dtype == DG_DTYPE_F32 && side->gran_mn == gran_mn && side->gran_k == 128)
        return NULL;
    return gran_mn == 1 ? "a must have f32 factors 1 x 128, or none"
                        : "b must have f32 factors 128 x 128, or none";
}

/* NULL if the kernel can do the work, else what it asks for. */
const char *dg_sm90_fp8_gemm_block_obstacle(const dg_work_t *work) {
    const dg_work_side_t *a = &work->a, *b = &work->b;
    if (work->family == DG_FAMILY_K_GROUPED_GEMM) return "not groups along k";
    if (a->dtype != DG_DTYPE_E4M3 || b->dtype != DG_DTYPE_E4M3) return "a and b must be e4m3";
    if (a->gathered) return "rows must not be picked by a list";
    if (work->m < 1 || work->n < 1 || work->k < 1 || work->group_count < 1)
        return "no extent may be 0";
    if (work->m > MAX_EXTENT || work->n > MAX_EXTENT || work->k > MAX_EXTENT)
        return "extents must be below 2^31";
    if (!a->k_contiguous || !b->k_contiguous) return "k must be contiguous in a and b";
    if (a->alignment < 16 || b->alignment < 16)
        return "address and row pitch of a and b must be multiples of 16 bytes";
    const char *obstacle = find_scale_obstacle(a, 1);
    return obstacle != NULL ? obstacle : find_scale_obstacle(b, 128);
}

/* Clocks that storing a tile takes where rows of d cannot be stored by TMA: estimated, 32 elements a clock
 * where they are copied in pieces of 16 bytes and 10 in smaller ones. */
static float copy_clocks(const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work) {
    if (dg_sm90_fp8_gemm_block_stores_by_tma(work)) return 0;
    return (float)(f->block_m * f->block_n) / (work->d_alignment >= 16 ? 32 : 10);
}

static dg_tile_cost_t find_cost(const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work) {
    const bool thin = work->family == DG_FAMILY_GEMM && work->m < f->block_m;
    const dg_tile_t tile = {.kernel = ID,
        .family = work->family,
        .block_m = f->block_m,
        .block_n = f->block_n,
        .variant = f->share,
        .math_m = f->block_m,
        .math_n = f->block_n,
        .stored = (float)(f->block_m * f->block_n),
        .f32 = f->out_f32,
        .accumulates = f->add_c,
        .idle_rows = thin ? f->block_m - (int32_t)work->m : 0};
    dg_tile_cost_t cost = dg_find_tile_cost(&tile);
    cost.tile_clocks += copy_clocks(f, work);
    return cost;
}

/* What the kernel's text asserts, so that no candidate is planned that does not compile. */
static bool is_valid(const dg_sm90_fp8_gemm_block_fields_t *f) {
    const bool tile = f->math_groups >= 1 && f->math_groups <= 3 && f->block_m > 0 &&
                      f->block_m <= 256 && f->block_m % (64 * f->math_groups) == 0 &&
                      f->block_n > 0 && f->block_n <= 256;
    const bool chunks = (f->store_n == 32 || (f->store_n == 64 && !f->out_f32)) && tile &&
                        f->block_n % f->store_n == 0 &&
                        (f->store_rows == 16 || f->store_rows == 64) && f->store_buffers >= 1 &&
                        f->store_buffers <= 8;
    return chunks && f->stages >= 2 && f->stages <= 16 && f->share >= 0 && f->share <= 2 &&
           f->unroll_k >= 1;
}

/* Whether a candidate is made for this kind of work. */
static bool fits(const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work) {
    const int32_t schedule =
        work->family == DG_FAMILY_GEMM ? DG_SCHEDULE_DENSE : DG_SCHEDULE_M_GROUPED;
    return f->schedule == schedule && f->out_f32 == (work->out_dtype == DG_DTYPE_F32) &&
           f->add_c == work->accumulates;
}

/* How a candidate cuts the work. */
typedef struct cut_t {
    int32_t cluster, cluster_m, shared_bytes, ctas;
    int64_t tiles; /* whole clusters, of a usual call */
    int64_t most;  /* of any call */
} cut_t;

static cut_t cut_work(const dg_sm90_fp8_gemm_block_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options) {
    const int32_t cluster = f->share == DG_SHARE_NONE ? 1 : 2;
    const int32_t cluster_m = f->share == DG_SHARE_B ? 2 : 1;
    const int32_t rows = f->block_m * cluster_m;
    const int64_t columns = dg_ceil_div(work->n, f->block_n * (cluster / cluster_m)) * cluster;
    const int64_t usual = dg_usual_row_tiles(work, rows);
    const bool dense = work->family == DG_FAMILY_GEMM;
    return (cut_t){.cluster = cluster,
        .cluster_m = cluster_m,
        .shared_bytes = DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(f->block_m, f->block_n, f->stages,
            f->math_groups, f->store_n, f->store_buffers, f->out_f32, f->schedule),
        .ctas = dg_usable_ctas(machine, options, cluster),
        .tiles = usual * columns,
        .most = (dense ? usual : dg_group_tile_bound(work, rows)) * columns};
}

/* Predicted microseconds of a candidate; INFINITY if it cannot run. bytes: dg_work_bytes() */
static float price_candidate(const dg_specialisation_t *candidate, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes) {
    const dg_sm90_fp8_gemm_block_fields_t fields = dg_sm90_fp8_gemm_block_fields(candidate),
                                          *f = &fields;
    if (!fits(f, work) || !is_valid(f) || !dg_tile_allowed(options, f->block_m, f->block_n))
        return INFINITY;
    const cut_t cut = cut_work(f, work, machine, options);
    if (cut.ctas == 0 || cut.shared_bytes > machine->shared_bytes || cut.most > MAX_EXTENT)
        return INFINITY;
    const dg_tile_cost_t tile = find_cost(f, work);
    const dg_launch_cost_t launch = {.tiles = cut.tiles,
        .k_blocks = dg_ceil_div(work->k, 128),
        .ctas = cut.ctas,
        .cluster = cut.cluster,
        .bytes = bytes,
        .launches = work->family == DG_FAMILY_GEMM ? 1 : 2};
    return dg_predict_us(machine, &tile, &launch);
}

static void fill_plan(const dg_specialisation_t *specialisation, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, dg_plan_t *plan) {
    const dg_sm90_fp8_gemm_block_fields_t f = dg_sm90_fp8_gemm_block_fields(specialisation);
    const cut_t cut = cut_work(&f, work, machine, options);
    dg_plan_group_stages(work, f.block_m * cut.cluster_m, plan);
    plan->kernel = ID;
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){.specialisation = *specialisation,
        .grid = dg_persistent_grid(cut.most, cut.ctas, cut.cluster),
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
    const char *obstacle = dg_sm90_fp8_gemm_block_obstacle(work);
    if (obstacle != NULL) return dg_refuse_work(plan, obstacle);
    const dg_specialisation_t *best =
        dg_cheapest_candidate(ID, price_candidate, work, machine, options, plan);
    if (best == NULL) return false;
    fill_plan(best, work, machine, options, plan);
    return true;
}
