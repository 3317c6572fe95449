/* SPDX-License-Identifier: MIT
 *
 * Cases of scale_layout.h: factors from one type and layout to another, right to the bit, padding
 * included (it is never written).
 *
 *     pack       F32 powers of two           ->  I32, MN-major aligned     dg_scale_convert
 *     unpack     I32                         ->  F32, rows                 dg_scale_convert
 *     mn_major   F32                         ->  F32, MN-major aligned     dg_scale_convert
 *     k_grouped  F32 [blocks, mn]            ->  I32 [words, mn]           dg_scale_pack_k_grouped
 *     transform  F32 [ceil(mn / gran_m), kb] ->  I32, one row for each mn  dg_scale_transform
 */
#include <math.h>

#include "case.h"
#include "image.h"
#include "operand.h"
#include "placement.h"

typedef struct state_t {
    cli_factors_t src;
    cli_image_t image;
    dg_tensor_t dst;
    cli_placement_t place; /* k_grouped */
    int64_t k_blocks;
} state_t;

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static uint32_t exponent_of(double factor) {
    return (uint32_t)(127 + ilogb(factor));
}

/* Four factors from `block` on, those below `end`, as one word. */
static uint32_t pack_word(
    const cli_factors_t *src, int64_t group, int64_t row, int64_t block, int64_t end) {
    uint32_t word = 0;
    for (int64_t j = 0; j < 4 && block + j < end; j++) {
        word |= exponent_of(cli_factor(src, group, row, block + j)) << 8 * j;
    }
    return word;
}

/* Offset of dst[group, row, column] in elements. */
static int64_t dst_offset(const dg_tensor_t *dst, int64_t group, int64_t row, int64_t column) {
    const int32_t last = dst->rank - 1;
    return (dst->rank == 3 ? group * dst->stride[0] : 0) + row * dst->stride[last - 1] +
           column * dst->stride[last];
}

static void expect_convert(const cli_case_t *problem, int64_t repeat) {
    const state_t *state = problem->state;
    const int64_t groups = problem->shape.groups > 0 ? problem->shape.groups : 1;
    const dg_tensor_t *dst = &state->dst;
    for (int64_t g = 0; g < groups; g++) {
        for (int64_t row = 0; row < dst->shape[dst->rank - 2]; row++) {
            for (int64_t col = 0; col < dst->shape[dst->rank - 1]; col++) {
                const int64_t offset = dst_offset(dst, g, row, col);
                if (dst->dtype == DG_DTYPE_I32) {
                    ((uint32_t *)state->image.expected)[offset] =
                        pack_word(&state->src, g, row / repeat, 4 * col, state->k_blocks);
                } else {
                    ((float *)state->image.expected)[offset] =
                        (float)cli_factor(&state->src, g, row / repeat, col);
                }
            }
        }
    }
}

static void build_convert(cli_case_t *problem) {
    const cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state;
    const int64_t slices = shape->groups > 0 ? shape->groups : 1;
    const int64_t kb = ceil_div(shape->k, shape->gran);
    const int64_t repeat = shape->form == CLI_FORM_TRANSFORM ? shape->gran_m : 1;
    const bool to_words = shape->form == CLI_FORM_PACK || shape->form == CLI_FORM_TRANSFORM;
    const int64_t columns = to_words ? ceil_div(kb, 4) : kb;
    const int scale = shape->form == CLI_FORM_UNPACK     ? CLI_SCALE_UE8M0
                      : shape->form == CLI_FORM_MN_MAJOR ? CLI_SCALE_F32
                                                         : CLI_SCALE_POW2;
    state->k_blocks = kb;
    state->src = cli_make_factors(
        &problem->pool, scale, shape->groups, ceil_div(shape->m, repeat), kb, &problem->random);
    const int64_t aligned = dg_tma_aligned_size(shape->m, 4);
    const bool rows = shape->form == CLI_FORM_UNPACK;
    state->image =
        cli_make_image(&problem->pool, "dst", slices * (rows ? shape->m : aligned) * columns, 4);
    void *found = state->image.found;
    if (!rows) {
        state->dst = dg_scale_mn_major(
            found, to_words ? DG_DTYPE_I32 : DG_DTYPE_F32, shape->groups, shape->m, columns);
    } else if (shape->groups > 0) {
        state->dst = dg_tensor_3d(found, DG_DTYPE_F32, shape->groups, shape->m, columns);
    } else {
        state->dst = dg_tensor_2d(found, DG_DTYPE_F32, shape->m, columns);
    }
    expect_convert(problem, repeat);
}

static void build_k_grouped(cli_case_t *problem) {
    const cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state;
    cli_shape_t sizes = *shape;
    sizes.form = CLI_FORM_SIZES;
    state->place = cli_place_groups(&problem->pool, &sizes, shape->k, &problem->random);
    int64_t blocks = 0, words = 0;
    for (int64_t g = 0; g < shape->groups; g++) {
        blocks += ceil_div(shape->sizes[g], shape->gran);
        words += ceil_div(shape->sizes[g], 4 * shape->gran);
    }
    state->src =
        cli_make_factors(&problem->pool, CLI_SCALE_POW2, 0, shape->m, blocks, &problem->random);
    state->image = cli_make_image(&problem->pool, "dst", (words + 1) * shape->m, 4);
    state->dst = dg_tensor_2d(state->image.found, DG_DTYPE_I32, words + 1, shape->m);
    int64_t block = 0, word = 0;
    for (int64_t g = 0; g < shape->groups; g++) {
        const int64_t end = block + ceil_div(shape->sizes[g], shape->gran);
        for (; block < end; block += 4, word++) {
            for (int64_t i = 0; i < shape->m; i++) {
                ((uint32_t *)state->image.expected)[word * shape->m + i] =
                    pack_word(&state->src, 0, i, block, end);
            }
        }
        block = end;
    }
}

static bool build(cli_case_t *problem, char *error) {
    state_t *state = problem->state = cli_allocate(sizeof *state);
    (void)error;
    if (problem->shape.form == CLI_FORM_K_GROUPED) {
        build_k_grouped(problem);
    } else {
        build_convert(problem);
    }
    problem->bytes = cli_tensor_bytes(&state->src.view) + cli_tensor_bytes(&state->dst);
    return true;
}

static dg_status_t run(cli_case_t *problem, dg_context_t *ctx) {
    const state_t *state = problem->state;
    const cli_shape_t *shape = &problem->shape;
    if (shape->form == CLI_FORM_K_GROUPED) {
        dg_scale_pack_k_grouped_args_t args = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
        args.src = dg_tensor_transpose(state->src.view);
        args.dst = state->dst;
        args.gran_k = (int32_t)shape->gran;
        args.groups = state->place.view;
        return dg_scale_pack_k_grouped(ctx, &args, NULL);
    }
    if (shape->form == CLI_FORM_TRANSFORM) {
        dg_scale_transform_args_t args = DG_SCALE_TRANSFORM_ARGS_INIT;
        args.scale = state->src.view;
        args.mn = shape->m;
        args.k = shape->k;
        args.gran_mn = (int32_t)shape->gran_m;
        args.gran_k = (int32_t)shape->gran;
        args.groups = shape->groups;
        args.arch_major = 10;
        dg_tensor_t out;
        const dg_status_t status = dg_scale_transform_layout(ctx, &args, &out);
        if (status != DG_STATUS_OK) return status;
        out.data = state->image.found;
        return dg_scale_transform(ctx, &args, &out, NULL);
    }
    dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
    args.src = state->src.view;
    args.dst = state->dst;
    args.k_blocks = state->k_blocks;
    return dg_scale_convert(ctx, &args, NULL);
}

static void reset(cli_case_t *problem) {
    const state_t *state = problem->state;
    cli_reset_image(&state->image);
}

static void judge(const cli_case_t *problem, int64_t work, cli_verdict_t *verdict) {
    const state_t *state = problem->state;
    (void)work;
    cli_judge_image(&state->image, verdict);
}

const cli_family_ops_t cli_scale_layout_ops = {build, run, reset, judge};
