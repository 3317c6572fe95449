/* SPDX-License-Identifier: MIT
 *
 * Planning of kernels/sm90/fp8_gemm_vector.cu: which work it takes and which entry of the catalogue
 * serves it best. Called by plan.c; calls cost.c and group_stages.c. Same shape as the other kernels'
 * files.
 *
 * Every candidate adds the blocks of k of an element in the same order in the same way, so all of
 * them give the same bits: batch invariance asks nothing more.
 */
#include "plan/sm90_fp8_gemm_vector.h"

#include <math.h>

#include "base/integer.h"
#include "kernels/args/fp8_gemm_vector.h"
#include "plan/cost.h"
#include "plan/group_stages.h"

#define ID DG_KERNEL_SM90_FP8_GEMM_VECTOR
#define BAND_ROWS 16 /* CTA tiles that a band of the raster is high */
#define MAP_THREADS 128

/* Rounding up to tiles of a pair must not pass 2^31, nor may the count of all tiles. */
#define MAX_EXTENT (INT32_MAX - 1024)

/* Whether groups of tokens begin at multiples of 16, as TMA wants where k is fastest. */
static bool groups_begin_aligned(const dg_work_t *work) {
    if (work->family != DG_FAMILY_K_GROUPED_GEMM || work->aligned_groups) return true;
    return work->group_form == DG_GROUPS_PSUM && work->group_alignment % 16 == 0;
}

static bool takes_factors(const dg_work_side_t *side, const dg_work_t *work) {
    const bool block = side->gran_mn == 128 && work->family != DG_FAMILY_K_GROUPED_GEMM;
    return side->gran_k == 128 && (side->gran_mn == 1 || block);
}

/* NULL if the kernel can read this side, else what it asks for. */
static const char *find_side_obstacle(const dg_work_side_t *side, const dg_work_t *work) {
    if (side->dtype != DG_DTYPE_E4M3) return "a and b must be e4m3";
    if (side->gathered) return "rows must not be picked by a list";
    if (side->scale_dtype != DG_DTYPE_NONE && !takes_factors(side, work))
        return work->family == DG_FAMILY_K_GROUPED_GEMM
                   ? "a and b must have factors 1 x 128, or none"
                   : "a and b must have factors 1 x 128 or 128 x 128, or none";
    if (side->alignment < 16) return "address and pitch of a and b must be multiples of 16 bytes";
    if (side->flat && !work->aligned_groups)
        return "the host must know that groups of flat operands have multiples of 16 tokens";
    if (side->k_contiguous && !groups_begin_aligned(work))
        return "groups must begin at multiples of 16 tokens where tokens are contiguous";
    return NULL;
}

static const char *find_obstacle(const dg_work_t *work) {
    if (work->family == DG_FAMILY_M_GROUPED_GEMM && !work->a.k_contiguous)
        return "k must be contiguous in a where groups lie along m";
    const char *obstacle = find_side_obstacle(&work->a, work);
    if (obstacle == NULL) obstacle = find_side_obstacle(&work->b, work);
    if (obstacle != NULL) return obstacle;
    if (work->m < 1 || work->n < 1 || work->k < 1 || work->group_count < 1)
        return "no extent may be 0";
    if (work->m > MAX_EXTENT || work->n > MAX_EXTENT || work->k > MAX_EXTENT)
        return "extents must be below 2^31";
    return NULL;
}

/* How a candidate cuts the work. */
typedef struct cut_t {
    int32_t cluster, cluster_m, shared_bytes, ctas;
    int64_t tiles; /* whole clusters, of a usual call */
    int64_t most;  /* of any call */
} cut_t;

static cut_t cut_work(const dg_sm90_fp8_gemm_vector_fields_t *f, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options) {
    const int32_t cluster = f->share == DG_SHARE_NONE ? 1 : 2;
    const int32_t cluster_m = f->share == DG_SHARE_B ? 2 : 1;
    const int32_t rows = f->block_m * cluster_m;
    const bool m_grouped = work->family == DG_FAMILY_M_GROUPED_GEMM;
    const int64_t columns = dg_ceil_div(work->n, f->block_n * (cluster / cluster_m)) * cluster;
    const int64_t usual = m_grouped ? dg_usual_row_tiles(work, rows)
                                    : dg_ceil_div(work->m, rows) * dg_count_matrices(work);
    return (cut_t){.cluster = cluster,
        .cluster_m = cluster_m,
        .shared_bytes =
            DG_SM90_FP8_GEMM_VECTOR_SHARED_BYTES(f->block_m, f->block_n, f->stages, f->math_groups),
        .ctas = dg_usable_ctas(machine, options, cluster),
        .tiles = usual * columns,
        .most = (m_grouped ? dg_group_tile_bound(work, rows) : usual) * columns};
}

/* What the kernel's text asserts, so that no candidate is planned that does not compile. */
static bool is_valid(const dg_sm90_fp8_gemm_vector_fields_t *f) {
    const bool tile = f->math_groups >= 1 && f->math_groups <= 3 && f->block_m > 0 &&
                      f->block_m <= 256 && f->block_m % (64 * f->math_groups) == 0 &&
                      f->block_n > 0 && f->block_n <= 256 && f->block_n % 32 == 0;
    const bool turned = (!f->a_mn || f->block_m % 128 == 0) && (!f->b_mn || f->block_n == 128) &&
                        (!f->a_mn || f->share != DG_SHARE_A || f->block_m == 256) &&
                        (!f->a_mn || f->schedule != DG_SCHEDULE_M_GROUPED);
    return tile && turned && f->stages >= 2 && f->stages <= 16 && f->share >= 0 && f->share <= 2 &&
           f->unroll_k >= 1;
}

/* Whether a candidate is made for this kind of work. */
static bool fits(const dg_sm90_fp8_gemm_vector_fields_t *f, const dg_work_t *work) {
    const int32_t schedule = work->family == DG_FAMILY_GEMM             ? DG_SCHEDULE_DENSE
                             : work->family == DG_FAMILY_M_GROUPED_GEMM ? DG_SCHEDULE_M_GROUPED
                                                                        : DG_SCHEDULE_K_GROUPED;
    return f->schedule == schedule && f->a_mn == !work->a.k_contiguous &&
           f->b_mn == !work->b.k_contiguous && f->out_f32 == (work->out_dtype == DG_DTYPE_F32);
}

/* A factor for each column costs a multiplication for every element and block more than the kernel with
 * one for 128 columns has, and turning operands some more. Rows of d that are not stored in lines of 16
 * bytes: estimated. */
static dg_tile_cost_t find_cost(const dg_sm90_fp8_gemm_vector_fields_t *f, const dg_work_t *work) {
    const float area = (float)(f->block_m * f->block_n);
    const bool turned = f->a_mn || f->b_mn;
    const bool thin = work->family == DG_FAMILY_GEMM && work->m < f->block_m;
    const bool lines = work->n % 4 == 0 && work->d_alignment >= (f->out_f32 ? 16 : 8) &&
                       (!work->accumulates || work->c_alignment >= (f->out_f32 ? 16 : 8));
    const dg_tile_t tile = {.kernel = ID,
        .family = work->family,
        .block_m = f->block_m,
        .block_n = f->block_n,
        .variant = f->share + (turned ? 4 : 0),
        .math_m = f->block_m,
        .math_n = f->block_n,
        .stored = area,
        .f32 = f->out_f32,
        .accumulates = work->accumulates,
        .idle_rows = thin ? f->block_m - (int32_t)work->m : 0};
    dg_tile_cost_t cost = dg_find_tile_cost(&tile);
    if (!lines) cost.tile_clocks += area / 4;
    return cost;
}

/* Predicted microseconds of a candidate; INFINITY if it cannot run. bytes: dg_work_bytes() */
static float price_candidate(const dg_specialisation_t *candidate, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, int64_t bytes) {
    const dg_sm90_fp8_gemm_vector_fields_t fields = dg_sm90_fp8_gemm_vector_fields(candidate),
                                           *f = &fields;
    if (!fits(f, work) || !is_valid(f) || !dg_tile_allowed(options, f->block_m, f->block_n))
        return INFINITY;
    const cut_t cut = cut_work(f, work, machine, options);
    if (cut.ctas == 0 || cut.shared_bytes > machine->shared_bytes || cut.most > MAX_EXTENT)
        return INFINITY;
    const dg_tile_cost_t tile = find_cost(f, work);
    const int32_t helpers = work->family == DG_FAMILY_GEMM ? 0 : 1;
    const dg_launch_cost_t launch = {.tiles = cut.tiles,
        .k_blocks = dg_usual_k_blocks(work, 128),
        .ctas = cut.ctas,
        .cluster = cut.cluster,
        .bytes = bytes,
        .launches = 1 + helpers + dg_sm90_fp8_gemm_vector_has_flat(work)};
    return dg_predict_us(machine, &tile, &launch);
}

static void add_map_stage(const dg_work_t *work, dg_plan_t *plan) {
    const uint32_t groups = (uint32_t)work->group_count, per_cta = MAP_THREADS / 32;
    plan->stage[plan->stage_count++] = (dg_plan_stage_t){
        .specialisation = {.kernel = DG_KERNEL_SM90_FLAT_MAPS, .values = {MAP_THREADS}},
        .grid = (groups + per_cta - 1) / per_cta,
        .threads = MAP_THREADS,
        .cluster = 1,
        .shared_bytes = DG_SM90_FLAT_MAPS_SHARED_BYTES(MAP_THREADS)};
    plan->workspace += 2 * (uint64_t)groups * sizeof(dg_tensor_map_t);
}

static void fill_plan(const dg_specialisation_t *specialisation, const dg_work_t *work,
    const dg_machine_t *machine, const dg_plan_options_t *options, dg_plan_t *plan) {
    const dg_sm90_fp8_gemm_vector_fields_t f = dg_sm90_fp8_gemm_vector_fields(specialisation);
    const cut_t cut = cut_work(&f, work, machine, options);
    dg_plan_group_stages(work, f.block_m * cut.cluster_m, plan);
    if (dg_sm90_fp8_gemm_vector_has_flat(work)) add_map_stage(work, plan);
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

bool dg_plan_sm90_fp8_gemm_vector(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const char *obstacle = find_obstacle(work);
    if (obstacle != NULL) return dg_refuse_work(plan, obstacle);
    const dg_specialisation_t *best =
        dg_cheapest_candidate(ID, price_candidate, work, machine, options, plan);
    if (best == NULL) return false;
    fill_plan(best, work, machine, options, plan);
    return true;
}
