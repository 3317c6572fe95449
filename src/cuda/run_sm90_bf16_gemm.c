/* SPDX-License-Identifier: MIT
 *
 * Runs a plan of kernels/sm90/bf16_gemm.cu: makes the tensor maps of a and b and fills the arguments
 * from the problem of any family.
 */
#include "plan/sm90_bf16_gemm.h"

#include "base/error.h"
#include "cuda/group_stages.h"
#include "cuda/sm90_args.h"
#include "cuda/tensor_map.h"
#include "kernels/args/bf16_gemm.h"

/* One operand, [matrices, mn, k]; rows: of the tile that one load brings if k is fastest. */
typedef struct operand_t {
    const char *name;
    const dg_side_t *side;
    int64_t matrices, mn, k;
    int32_t rows;
    bool mn_fastest;
} operand_t;

static dg_status_t encode_operand(const operand_t *o, dg_tensor_map_t *map) {
    const int64_t slow = o->mn_fastest ? o->side->k_stride : o->side->mn_stride;
    const dg_map_shape_t shape = {.data = o->side->data,
        .dtype = DG_DTYPE_BF16,
        .rank = 3,
        .extent = {o->mn_fastest ? o->mn : o->k, o->mn_fastest ? o->k : o->mn, o->matrices},
        .stride = {1, slow, o->side->group_stride},
        .box = {64, o->mn_fastest ? 64 : o->rows, 1},
        .swizzle_bytes = 128,
        .name = o->name};
    return dg_cuda_encode_map(&shape, map);
}

static dg_output_args_t describe_output(const dg_output_t *out, const dg_work_t *work) {
    const bool aligned = work->d_alignment >= 16 && (!work->accumulates || work->c_alignment >= 16);
    return (dg_output_args_t){.d = out->d,
        .c = out->c,
        .d_pitch = out->row_stride,
        .c_pitch = out->c_row_stride,
        .d_stride = out->group_stride,
        .c_stride = out->c_group_stride,
        .f32 = out->dtype == DG_DTYPE_F32,
        .wide = aligned && work->n % 8 == 0};
}

/* What the families differ in. */
static void describe_problem(const dg_cuda_run_t *run, operand_t *a, operand_t *b,
    const dg_output_t **out, dg_sm90_bf16_gemm_args_t *args) {
    const dg_gemm_problem_t *dense = run->gemm;
    const dg_m_grouped_problem_t *rows = run->m_grouped;
    const dg_k_grouped_problem_t *tokens = run->k_grouped;
    a->matrices = b->matrices = 1;
    if (dense != NULL) {
        a->side = &dense->a;
        b->side = &dense->b;
        *out = &dense->out;
    } else if (rows != NULL) {
        a->side = &rows->a;
        b->side = &rows->b;
        *out = &rows->out;
        if (args->tiles.slabs) a->matrices = rows->group_count;
        b->matrices = rows->group_count;
    } else {
        a->side = &tokens->a.side;
        b->side = &tokens->b.side;
        *out = &tokens->out;
        args->tiles.group_count = (int32_t)tokens->group_count;
        args->tiles.sum = tokens->sum;
    }
}

dg_status_t dg_cuda_run_sm90_bf16_gemm(const dg_cuda_run_t *run) {
    const dg_plan_t *plan = run->plan;
    const dg_work_t *work = run->work;
    const dg_plan_stage_t *stage = &plan->stage[plan->stage_count - 1];
    const dg_sm90_bf16_gemm_fields_t f = dg_sm90_bf16_gemm_fields(&stage->specialisation);
    const dg_sm90_cluster_t cluster = dg_sm90_cluster(f.share);
    dg_sm90_bf16_gemm_args_t args = {.k = (int32_t)work->k,
        .tiles = dg_sm90_describe_tiles(run, f.block_m * cluster.m, f.block_n * cluster.n)};
    operand_t a = {.name = "a",
        .mn = work->m,
        .k = work->k,
        .rows = f.block_m / cluster.n,
        .mn_fastest = f.a_mn != 0};
    operand_t b = {.name = "b",
        .mn = work->n,
        .k = work->k,
        .rows = f.block_n / cluster.m,
        .mn_fastest = f.b_mn != 0};
    const dg_output_t *out;
    dg_group_lists_t lists;
    describe_problem(run, &a, &b, &out, &args);
    args.out = describe_output(out, work);
    DG_TRY(encode_operand(&a, &args.a));
    DG_TRY(encode_operand(&b, &args.b));
    DG_TRY(dg_cuda_run_group_stages(run, f.block_m, &lists));
    args.tiles.row_tiles = lists.tiles;
    args.tiles.segments = lists.segments;
    args.out.d_list = lists.d_list;
    args.out.c_list = lists.c_list;
    return dg_cuda_launch_stage(run, plan->stage_count - 1, &args);
}
