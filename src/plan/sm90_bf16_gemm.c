/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/sm90/bf16_gemm.cu: which work it takes and which entry of the catalogue serves
 * it best. Called by plan.c; calls cost.c and group_stages.c. Same shape as the other kernels' files.
 *
 * Every candidate adds the products of an element in the same steps of 16 k, so all of them give the
 * same bits: batch invariance asks nothing more.
 */
#include "plan/sm90_bf16_gemm.h"

#include <math.h>

#include "base/integer.h"
#include "kernels/args/bf16_gemm.h"
#include "plan/cost.h"
#include "plan/group_stages.h"

#define ID DG_KERNEL_SM90_BF16_GEMM
#define BLOCK_K 64
#define BAND_ROWS 16 /* CTA tiles that a band of the raster is high */

/* Rounding up to tiles of a pair must not pass 2^31, nor may the count of all tiles. */
#define MAX_EXTENT (INT32_MAX - 1024)

/* NULL if TMA can read this side, else what it asks for. */
static const char *find_side_obstacle(const dg_work_side_t *side) {
    if (side->dtype != DG_DTYPE_BF16) return "a and b must be bf16";
    if (side->scale_dtype != DG_DTYPE_NONE) return "a and b must have no factors";
    if (side->gathered) return "rows must not be picked by a list";
    if (side->flat) return "groups of tokens must lie in one matrix";
    if (side->alignment < 16) return "address and pitch of a and b must be multiples of 16 bytes";
    return NULL;
}

const char *dg_sm90_bf16_gemm_obstacle(const dg_work_t *work) {
    const char *obstacle = find_side_obstacle(&work->a);
    if (obstacle == NULL) obstacle = find_side_obstacle(&work->b);
    if (obstacle != NULL) return obstacle;
    if (work->m < 1 || work->n < 1 || work->k < 1 || work->group_count < 1)
        return "no extent may be 0";
    if (work->m > MAX_EXTENT || work->n > MAX_EXTENT || work->k > MAX_EXTENT)
        return "extents must be below 2^31";
    if (work->family == DG_FAMILY_M_GROUPED_GEMM && !work->a.k_contiguous)
        return "groups begin at any row: k must be contiguous in a";
    return NULL;
}

/* How a candidate cuts the work. */
typedef struct cut_t {
    int32_t cluster, cluster_m, shared_bytes, ctas;
    int64_t tiles; /* whole clusters, of a usual call */
    int64_t most;  /* of any call */
} cut_t;

/* Rows of b in shared memory. */
static int32_t lines_n(const dg_sm90_bf16_gemm_fields_t *f) {
    return f->b_mn ? (f->block_n + 63) / 64 * 64 : f->block_n;
}

static cut_t cut_work(const dg_sm90_bf16_gemm_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options) {
    const int32_t cluster = f->share == DG_SHARE_NONE ? 1 : 2;
    const int32_t cluster_m = f->share == DG_SHARE_B ? 2 : 1;
    const int64_t columns = dg_ceil_div(work->n, f->block_n * (cluster / cluster_m)) *
                            dg_count_matrices(work) * cluster;
    const int64_t rows = dg_usual_row_tiles(work, f->block_m * cluster_m);
    const int64_t most_rows =
        work->family == DG_FAMILY_M_GROUPED_GEMM ? dg_group_tile_bound(work, f->block_m) : rows;
    return (cut_t){.cluster = cluster,
        .cluster_m = cluster_m,
        .shared_bytes =
            DG_SM90_BF16_GEMM_SHARED_BYTES(f->block_m, lines_n(f), f->stages, f->math_groups),
        .ctas = dg_usable_ctas(machine, options, cluster),
        .tiles = rows * columns,
        .most = most_rows * columns};
}

/* What the kernel's text asserts, so that no candidate is planned that does not compile. */
static bool is_valid(const dg_sm90_bf16_gemm_fields_t *f) {
    const int32_t groups = f->turns ? 1 : f->math_groups; /* that share a tile */
    const bool tile = f->math_groups >= 1 && f->math_groups <= 3 && f->block_m > 0 &&
                      f->block_m <= 256 && f->block_m % (64 * groups) == 0 &&
                      f->block_m <= 128 * groups && f->block_n > 0 && f->block_n <= 256 &&
                      f->block_n % 16 == 0 && (!f->turns || f->math_groups == 2);
    const bool halves = (f->share != DG_SHARE_A || !f->a_mn || f->block_m % 128 == 0) &&
                        (f->share != DG_SHARE_B || !f->b_mn || f->block_n % 128 == 0) &&
                        (f->share != DG_SHARE_B || f->schedule != DG_SCHEDULE_M_GROUPED);
    return tile && halves && f->stages >= 2 && f->stages <= 32 && f->share >= 0 && f->share <= 2;
}

/* k of a usual sum is longer than the tensor cores may add up alone. Of tokens in groups, the longest
 * is taken to be twice the mean. */
static bool is_long(const dg_work_t *work) {
    const bool groups = work->family == DG_FAMILY_K_GROUPED_GEMM &&
                        work->k_output != DG_K_OUTPUT_SUM && work->group_count > 1;
    return (groups ? work->k / work->group_count * 2 : work->k) > DG_SM90_BF16_GEMM_LONG_K;
}
static bool has_totals(const dg_sm90_bf16_gemm_fields_t *f) {
    const int32_t rows = f->block_m / 64 / (f->turns ? 1 : f->math_groups);
    return DG_SM90_BF16_GEMM_HAS_TOTALS(rows, f->block_n);
}

/* DG_SCHEDULE_* follow the families. */
static bool fits(const dg_sm90_bf16_gemm_fields_t *f, const dg_work_t *work) {
    return f->schedule == work->family - DG_FAMILY_GEMM && f->a_mn == !work->a.k_contiguous &&
           f->b_mn == !work->b.k_contiguous && (has_totals(f) || !is_long(work));
}

/* A product 32 columns wide takes the tensor cores as long as one of 48. Rows of d that are not stored in
 * lines of 16 bytes: estimated. */
static dg_tile_cost_t find_cost(const dg_sm90_bf16_gemm_fields_t *f, const dg_work_t *work) {
    const int32_t width = f->block_n < 48 ? 48 : f->block_n;
    const float area = (float)(f->block_m * f->block_n);
    const bool thin = work->family == DG_FAMILY_GEMM && work->m < f->block_m;
    const bool narrow =
        work->n % 8 != 0 || work->d_alignment < 16 || (work->accumulates && work->c_alignment < 16);
    const dg_tile_t tile = {.kernel = ID,
        .family = work->family,
        .block_m = f->block_m,
        .block_n = f->block_n,
        .variant = f->share + (f->turns ? 4 : 0),
        .math_m = f->block_m,
        .math_n = width,
        .stored = area,
        .f32 = work->out_dtype == DG_DTYPE_F32,
        .accumulates = work->accumulates,
        .idle_rows = thin ? f->block_m - (int32_t)work->m : 0};
    dg_tile_cost_t cost = dg_find_tile_cost(&tile);
    if (narrow) cost.tile_clocks += area / 4;
    return cost;
}

/* Predicted microseconds of a candidate; INFINITY if it cannot run. */
static float price_candidate(const dg_specialisation_t *candidate, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes) {
    const dg_sm90_bf16_gemm_fields_t fields = dg_sm90_bf16_gemm_fields(candidate), *f = &fields;
    if (!fits(f, work) || !is_valid(f) || !dg_tile_allowed(options, f->block_m, f->block_n))
        return INFINITY;
    const cut_t cut = cut_work(f, work, machine, options);
    if (cut.ctas == 0 || cut.shared_bytes > machine->shared_bytes || cut.most > MAX_EXTENT)
        return INFINITY;
    const dg_tile_cost_t tile = find_cost(f, work);
    const dg_launch_cost_t launch = {.tiles = cut.tiles,
        .k_blocks = dg_usual_k_blocks(work, BLOCK_K),
        .ctas = cut.ctas,
        .cluster = cut.cluster,
        .bytes = bytes,
        .launches = work->family == DG_FAMILY_GEMM ? 1 : 2};
    return dg_predict_us(machine, &tile, &launch);
}

static void fill_plan(const dg_specialisation_t *specialisation, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, dg_plan_t *plan) {
    const dg_sm90_bf16_gemm_fields_t f = dg_sm90_bf16_gemm_fields(specialisation);
    const cut_t cut = cut_work(&f, work, machine, options);
    dg_plan_group_stages(work, f.block_m, plan);
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

bool dg_plan_sm90_bf16_gemm(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const char *obstacle = dg_sm90_bf16_gemm_obstacle(work);
    if (obstacle != NULL) return dg_refuse_work(plan, obstacle);
    const dg_specialisation_t *best =
        dg_cheapest_candidate(ID, price_candidate, work, machine, options, plan);
    if (best == NULL) return false;
    fill_plan(best, work, machine, options, plan);
    return true;
}
