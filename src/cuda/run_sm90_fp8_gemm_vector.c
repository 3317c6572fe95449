/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/fp8_gemm_vector.cu: makes the tensor maps of a and b, or has
 * kernels/sm90/flat_maps.cu make those of FLAT operands, and fills the arguments from a dense or
 * grouped problem. Called by run.c; calls group_stages.c and tensor_map.c.
 */
#include "plan/sm90_fp8_gemm_vector.h"

#include "base/error.h"
#include "cuda/group_stages.h"
#include "cuda/sm90_args.h"
#include "cuda/tensor_map.h"
#include "kernels/args/fp8_gemm_vector.h"

/* One operand: mn by k, of each matrix. */
typedef struct operand_t {
    const char *name;
    const dg_side_t *side;
    int64_t matrices; /* M-grouped: slabs of a, groups of b; 0: the map has no axis of them */
    int64_t mn, k;
    int32_t rows, k_rows; /* of a box: m or n if k is fastest, k if m or n is */
    bool mn_fastest, flat;
} operand_t;

/* For a FLAT operand the template of its groups' maps: k and its stride, here those of the shortest
 * group there may be, are put in on the device. */
static dg_status_t encode_operand(const operand_t *o, dg_tensor_map_t *map) {
    const int64_t k = o->flat ? 16 : o->k;
    const int64_t slow = o->flat ? 16 : o->mn_fastest ? o->side->k_stride : o->side->mn_stride;
    return dg_cuda_encode_map(
        &(dg_map_shape_t){.data = o->side->data,
            .dtype = DG_DTYPE_E4M3,
            .rank = o->matrices > 0 ? 3 : 2,
            .extent = {o->mn_fastest ? o->mn : k, o->mn_fastest ? k : o->mn, o->matrices},
            .stride = {1, slow, o->side->group_stride},
            .box = {128, o->mn_fastest ? o->k_rows : o->rows, 1},
            .swizzle_bytes = 128,
            .name = o->name},
        map);
}

static dg_sm90_vector_scale_t describe_scale(const dg_factors_t *scale, bool rows_in_groups) {
    const int32_t form = scale->dtype == DG_DTYPE_E8M0  ? DG_FACTORS_E8M0
                         : scale->dtype == DG_DTYPE_I32 ? DG_FACTORS_E8M0X4
                                                        : DG_FACTORS_F32;
    const int64_t bytes = form == DG_FACTORS_E8M0 ? 1 : 4;
    return (dg_sm90_vector_scale_t){.data = scale->data,
        .mn_stride = scale->mn_stride * bytes,
        .k_stride = scale->k_stride * bytes,
        .matrix_stride = rows_in_groups ? scale->group_stride * bytes : 0,
        .form = form,
        .mn_shift = scale->gran_mn == 128 ? 7 : 0};
}

/* Launches the stage in front of the last, which makes the maps in workspace. */
static dg_status_t make_flat_maps(const dg_cuda_run_t *run, const operand_t *a, const operand_t *b,
    dg_sm90_fp8_gemm_vector_args_t *args) {
    const dg_group_parts_t parts = dg_place_group_parts(run->work, run->plan->block_m);
    dg_tensor_map_t *maps = (dg_tensor_map_t *)((char *)run->workspace + parts.bytes);
    dg_sm90_flat_maps_args_t flat = {
        .a = {.map = args->a, .data = a->side->data, .maps = a->flat ? maps : NULL, .mn = a->mn},
        .b = {.map = args->b,
            .data = b->side->data,
            .maps = b->flat ? maps + run->work->group_count : NULL,
            .mn = b->mn},
        .segments = args->tiles.segments,
        .group_count = run->work->group_count};
    args->flat_a = flat.a.maps;
    args->flat_b = flat.b.maps;
    return dg_cuda_launch_stage(run, run->plan->stage_count - 2, &flat);
}

/* What the families have in common. slabs, groups: matrices of a and of b where groups lie along m */
typedef struct vector_problem_t {
    const dg_side_t *a, *b;
    const dg_output_t *out;
    int64_t slabs, groups;
} vector_problem_t;

static vector_problem_t find_problem(const dg_cuda_run_t *run) {
    const dg_m_grouped_problem_t *rows = run->m_grouped;
    const dg_k_grouped_problem_t *tokens = run->k_grouped;
    if (tokens != NULL)
        return (vector_problem_t){&tokens->a.side, &tokens->b.side, &tokens->out, 0, 0};
    if (rows == NULL)
        return (vector_problem_t){&run->gemm->a, &run->gemm->b, &run->gemm->out, 0, 0};
    const bool masked = rows->groups.form == DG_GROUPS_MASKED;
    return (vector_problem_t){
        &rows->a, &rows->b, &rows->out, masked ? rows->group_count : 1, rows->group_count};
}

dg_status_t dg_cuda_run_sm90_fp8_gemm_vector(const dg_cuda_run_t *run) {
    const dg_work_t *work = run->work;
    const int32_t last = run->plan->stage_count - 1;
    const dg_sm90_fp8_gemm_vector_fields_t f =
        dg_sm90_fp8_gemm_vector_fields(&run->plan->stage[last].specialisation);
    const dg_sm90_cluster_t cluster = dg_sm90_cluster(f.share);
    const vector_problem_t problem = find_problem(run);
    const operand_t a = {.name = "a",
        .side = problem.a,
        .matrices = problem.slabs,
        .mn = work->m,
        .k = work->k,
        .rows = f.block_m / cluster.n,
        .k_rows = 128,
        .mn_fastest = f.a_mn != 0,
        .flat = work->a.flat};
    const operand_t b = {.name = "b",
        .side = problem.b,
        .matrices = problem.groups,
        .mn = work->n,
        .k = work->k,
        .rows = f.block_n / cluster.m,
        .k_rows = 128 / cluster.m,
        .mn_fastest = f.b_mn != 0,
        .flat = work->b.flat};
    dg_group_lists_t lists;
    dg_sm90_fp8_gemm_vector_args_t args = {.out = dg_sm90_describe_output(problem.out, work),
        .tiles = dg_sm90_describe_tiles(run, f.block_m * cluster.m, f.block_n * cluster.n),
        .scale_a = describe_scale(&a.side->scale, run->m_grouped != NULL),
        .scale_b = describe_scale(&b.side->scale, run->m_grouped != NULL),
        .data_a = a.side->data,
        .data_b = b.side->data,
        .pitch_a = a.side->mn_stride,
        .pitch_b = b.side->mn_stride};
    DG_TRY(encode_operand(&a, &args.a));
    DG_TRY(encode_operand(&b, &args.b));
    DG_TRY(dg_cuda_run_group_stages(run, f.block_m * cluster.m, &lists));
    args.tiles.row_tiles = lists.tiles;
    args.tiles.segments = lists.segments;
    args.out.d_list = lists.d_list;
    args.out.c_list = lists.c_list;
    if (dg_sm90_fp8_gemm_vector_has_flat(work)) DG_TRY(make_flat_maps(run, &a, &b, &args));
    return dg_cuda_launch_stage(run, last, &args);
}
