/* SPDX-License-Identifier: MIT
 *
 * Cases of dg_quantize and dg_dequantize. Codes and factors are defined to the bit (cast.h), so the
 * expected bytes are worked out here in plain FP32, block by block, and compared as they are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "image.h"
#include "number.h"
#include "operand.h"
#include "placement.h"

typedef struct cast_t {
    cli_image_t codes, factors;
    int64_t stride[2]; /* of the codes, in values */
    int64_t blocks_n;  /* factors in a row */
    int64_t words;     /* elements in a row of the factor tensor */
    dg_quantized_t view;
} cast_t;

typedef struct state_t {
    dg_tensor_t x;
    cast_t casts[2];
    int num_casts;
    cli_placement_t place; /* one group of all rows where the shape has none */
    bool grouped;
    cli_image_t back;  /* x again, from the first cast, F32 [m, n] */
    dg_context_t *ctx; /* of the last run */
} state_t;

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Blocks are counted from the start of the group; `first` is the group's first row of factors. */
typedef struct block_t {
    int64_t row, rows, col, cols; /* in x */
    int64_t factor_row, factor_col;
} block_t;

static float power_of_two_at_least(float value) {
    int exponent;
    const float mantissa = frexpf(value, &exponent);
    return ldexpf(1, mantissa == 0.5f ? exponent - 1 : exponent);
}

static float expect_factor(const cli_case_t *problem, const block_t *block) {
    const state_t *state = problem->state;
    const int64_t n = problem->shape.n;
    float amax = 1e-4f;
    for (int64_t i = block->row; i < block->row + block->rows; i++) {
        for (int64_t j = block->col; j < block->col + block->cols; j++) {
            const float x = (float)cli_load(state->x.data, state->x.dtype, i * n + j);
            if (fabsf(x) > amax) amax = fabsf(x);
        }
    }
    const float factor = amax / (problem->shape.dtype == CLI_FP8 ? 448.0f : 6.0f);
    return problem->shape.scale == CLI_SCALE_F32 ? factor : power_of_two_at_least(factor);
}

static void store_factor(
    const cli_case_t *problem, const cast_t *cast, const block_t *block, float factor) {
    const uint8_t exponent = (uint8_t)(127 + ilogbf(factor));
    const int64_t row = block->factor_row, col = block->factor_col;
    uint8_t *bytes = cast->factors.expected;
    switch (problem->shape.scale) {
    case CLI_SCALE_E8M0: bytes[row * cast->words + col] = exponent; break;
    case CLI_SCALE_UE8M0:
        if (cast->view.k_axis == DG_K_AXIS_ROWS) {
            bytes[(row / 4 * cast->words + col) * 4 + row % 4] = exponent;
        } else {
            bytes[(row * cast->words + col / 4) * 4 + col % 4] = exponent;
        }
        break;
    default: ((float *)cast->factors.expected)[row * cast->words + col] = factor; break;
    }
}

static void store_codes(
    const cli_case_t *problem, const cast_t *cast, const block_t *block, float factor) {
    const state_t *state = problem->state;
    const int64_t n = problem->shape.n;
    const float inverse = 1.0f / factor;
    uint8_t *codes = cast->codes.expected;
    for (int64_t i = block->row; i < block->row + block->rows; i++) {
        for (int64_t j = block->col; j < block->col + block->cols; j++) {
            const float x = (float)cli_load(state->x.data, state->x.dtype, i * n + j);
            const int64_t index = i * cast->stride[0] + j * cast->stride[1];
            float value;
            if (problem->shape.dtype == CLI_FP8) {
                codes[index] = cli_e4m3_code(x * inverse);
                value = cli_e4m3_value(codes[index]);
            } else {
                const uint8_t code = cli_e2m1_code(x * inverse);
                const int shift = index % 2 ? 4 : 0;
                codes[index / 2] = (uint8_t)((codes[index / 2] & (0xF0 >> shift)) | code << shift);
                value = cli_e2m1_value(code);
            }
            if (cast == &state->casts[0]) {
                ((float *)state->back.expected)[i * n + j] = value * factor;
            }
        }
    }
}

static void expect_cast(cli_case_t *problem, cast_t *cast, int64_t gran_m, int64_t gran_n) {
    const state_t *state = problem->state;
    const int64_t n = problem->shape.n;
    const bool words_along_rows =
        problem->shape.scale == CLI_SCALE_UE8M0 && cast->view.k_axis == DG_K_AXIS_ROWS;
    const bool by_row = cast->view.gran[0] == 1; /* a row's factors stay at its index */
    int64_t first = 0;
    for (int64_t g = 0; g < state->place.groups; g++) {
        const int64_t size = state->place.size[g];
        const int64_t blocks_m = ceil_div(size, gran_m);
        if (by_row) first = state->place.begin[g];
        if (problem->shape.scale == CLI_SCALE_UE8M0) { /* bytes past the last block are zero */
            const int64_t row = words_along_rows ? first / 4 : first;
            const int64_t rows = words_along_rows ? ceil_div(blocks_m, 4) : blocks_m;
            uint8_t *expected = cast->factors.expected;
            memset(expected + row * cast->words * 4, 0, (size_t)(rows * cast->words * 4));
        }
        for (int64_t p = 0; p < blocks_m; p++) {
            for (int64_t q = 0; q < cast->blocks_n; q++) {
                block_t block = {.row = state->place.begin[g] + p * gran_m,
                    .rows = size - p * gran_m < gran_m ? size - p * gran_m : gran_m,
                    .col = q * gran_n,
                    .cols = n - q * gran_n < gran_n ? n - q * gran_n : gran_n,
                    .factor_row = first + p,
                    .factor_col = q};
                const float factor = expect_factor(problem, &block);
                store_factor(problem, cast, &block, factor);
                store_codes(problem, cast, &block, factor);
            }
        }
        first += words_along_rows ? ceil_div(blocks_m, 4) * 4 : blocks_m;
    }
}

static void make_cast(cli_case_t *problem, cast_t *cast, int recipe) {
    const cli_shape_t *shape = &problem->shape;
    const state_t *state = problem->state;
    const int64_t m = state->place.rows, n = shape->n;
    const bool whole = recipe == CLI_TENSOR;
    const int64_t gran_m = whole ? (m > 0 ? m : 1) : recipe == CLI_TOKEN ? 1 : shape->gran;
    const int64_t gran_n = whole ? (n > 0 ? n : 1) : recipe == CLI_CHANNEL ? 1 : shape->gran;
    const bool packed = shape->scale == CLI_SCALE_UE8M0;
    cast->view = (dg_quantized_t)DG_NO_QUANTIZED;
    cast->view.gran[0] = whole ? 0 : (int32_t)gran_m;
    cast->view.gran[1] = whole ? 0 : (int32_t)gran_n;
    cast->view.k_axis = recipe == CLI_CHANNEL ? DG_K_AXIS_ROWS : DG_K_AXIS_LAST;
    cast->view.power_of_two = shape->scale == CLI_SCALE_POW2 ? DG_ON : DG_DEFAULT;

    const bool by_row = cast->view.gran[0] == 1;
    int64_t rows = by_row ? m : 0;
    for (int64_t g = 0; !by_row && g < state->place.groups; g++) {
        const int64_t blocks = ceil_div(state->place.size[g], gran_m);
        rows += packed && recipe == CLI_CHANNEL ? ceil_div(blocks, 4) : blocks;
    }
    cast->blocks_n = ceil_div(n, gran_n);
    cast->words = packed && recipe != CLI_CHANNEL ? ceil_div(cast->blocks_n, 4) : cast->blocks_n;
    const dg_dtype_t type = packed                           ? DG_DTYPE_I32
                            : shape->scale == CLI_SCALE_E8M0 ? DG_DTYPE_E8M0
                                                             : DG_DTYPE_F32;
    cast->factors =
        cli_make_image(&problem->pool, "scale", rows * cast->words, dg_dtype_size(type));
    cast->view.scale = dg_tensor_2d(cast->factors.found, type, rows, cast->words);

    const int64_t per_byte = shape->dtype == CLI_FP4 ? 2 : 1;
    const dg_dtype_t code = shape->dtype == CLI_FP4 ? DG_DTYPE_E2M1X2 : DG_DTYPE_E4M3;
    const int64_t outer = shape->transposed ? n : m, inner = shape->transposed ? m : n;
    cast->codes = cli_make_image(&problem->pool, "data", outer * inner / per_byte, 1);
    cast->view.data = dg_tensor_2d(cast->codes.found, code, outer, inner / per_byte);
    if (shape->transposed) cast->view.data = dg_tensor_transpose(cast->view.data);
    cast->stride[0] = shape->transposed ? 1 : n;
    cast->stride[1] = shape->transposed ? m : 1;
    expect_cast(problem, cast, gran_m, gran_n);
}

/* Random x; every eighth row or so is zero or so small that the least amax of 1e-4 holds. */
static void fill_x(cli_case_t *problem, int64_t m, int64_t n) {
    state_t *state = problem->state;
    const dg_dtype_t type = problem->shape.in == CLI_OUT_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const int64_t size = dg_dtype_size(type);
    void *data = cli_pool_take(&problem->pool, (size_t)(m * n * size));
    cli_fill_values(data, type, m * n, &problem->random);
    for (int64_t i = 0; i < m; i++) {
        if (cli_random_below(&problem->random, 8) != 0) continue;
        const float factor = cli_random_below(&problem->random, 2) ? 0x1p-20f : 0;
        for (int64_t j = 0; j < n; j++) {
            const float x = (float)cli_load(data, type, i * n + j) * factor;
            if (type == DG_DTYPE_F32) {
                ((float *)data)[i * n + j] = x;
            } else {
                ((uint16_t *)data)[i * n + j] = cli_bf16_code(x);
            }
        }
    }
    state->x = dg_tensor_2d(data, type, m, n);
}

static bool build(cli_case_t *problem, char *error) {
    cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state = cli_allocate(sizeof *state);
    state->grouped = shape->groups > 0;
    const int64_t packed_extent = shape->transposed ? shape->m : shape->n;
    if (shape->dtype == CLI_FP4 &&
        (packed_extent % 2 != 0 || (state->grouped && shape->transposed))) {
        snprintf(error, CLI_TEXT, "%s",
            state->grouped && shape->transposed
                ? "--transposed FP4 has no groups: a byte could belong to two of them"
                : "FP4 packs two values along n (transposed: m), which must then be even");
        return false;
    }
    if (!state->grouped) { /* to the reference: one group of all rows */
        shape->groups = shape->num_sizes = 1;
        shape->sizes[0] = shape->m;
        shape->form = CLI_FORM_SIZES;
    }
    state->place = cli_place_groups(&problem->pool, shape, shape->m, &problem->random);
    if (!state->grouped) shape->groups = 0;
    const int64_t m = state->place.rows, n = shape->n;
    fill_x(problem, m, n);
    state->back = cli_make_image(&problem->pool, "x from dg_dequantize", m * n, 4);
    state->num_casts = shape->recipe == CLI_BOTH ? 2 : 1;
    const int first = shape->recipe == CLI_BOTH ? CLI_TOKEN : shape->recipe;
    make_cast(problem, &state->casts[0], first);
    if (state->num_casts == 2) make_cast(problem, &state->casts[1], CLI_CHANNEL);

    problem->bytes = cli_tensor_bytes(&state->x);
    for (int i = 0; i < state->num_casts; i++) {
        problem->bytes += cli_tensor_bytes(&state->casts[i].view.data) +
                          cli_tensor_bytes(&state->casts[i].view.scale);
    }
    return true;
}

static dg_status_t run(cli_case_t *problem, dg_context_t *ctx) {
    state_t *state = problem->state;
    state->ctx = ctx;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = state->x;
    for (int i = 0; i < state->num_casts; i++) args.out[i] = state->casts[i].view;
    if (state->grouped) args.groups = state->place.view;
    return dg_quantize(ctx, &args, NULL);
}

static void reset(cli_case_t *problem) {
    const state_t *state = problem->state;
    for (int i = 0; i < state->num_casts; i++) {
        cli_reset_image(&state->casts[i].codes);
        cli_reset_image(&state->casts[i].factors);
    }
}

static void judge(const cli_case_t *problem, int64_t work, cli_verdict_t *verdict) {
    const state_t *state = problem->state;
    (void)work; /* all is compared: one element costs about as much as one of the cast itself */
    for (int i = 0; i < state->num_casts; i++) {
        cli_judge_image(&state->casts[i].factors, verdict);
        cli_judge_image(&state->casts[i].codes, verdict);
    }
    dg_dequantize_args_t args = DG_DEQUANTIZE_ARGS_INIT;
    args.q = state->casts[0].view;
    args.x = dg_tensor_2d(state->back.found, DG_DTYPE_F32, state->place.rows, problem->shape.n);
    if (state->grouped) args.groups = state->place.view;
    if (dg_dequantize(state->ctx, &args, NULL) != DG_STATUS_OK) {
        snprintf(verdict->why, CLI_TEXT, "%s", dg_last_error());
        return;
    }
    cli_judge_image(&state->back, verdict);
}

const cli_family_ops_t cli_cast_ops = {build, run, reset, judge};
