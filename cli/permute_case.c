/* SPDX-License-Identifier: MIT
 *
 * Cases of moe.h: m tokens of n columns to the rows of random experts and back. Where each slot goes is
 * counted slot by slot, sums are formed in the documented order, so all outputs are right to the bit.
 *
 *     ids [m, topk]  ->  counts, ends, rows, sources     dg_route_tokens
 *     x [m, n]       ->  permuted [R, n]                 dg_permute_rows
 *     permuted       ->  sums [m, n], with weights       dg_unpermute_rows
 *     x, permuted    ->  dots [m, topk]                  dg_dot_rows
 */
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "image.h"
#include "number.h"
#include "operand.h"

enum { COUNTS, ENDS, ROWS, SOURCES, PERMUTED, SUMS, DOTS, NUM_OUTPUTS };
enum { PARTIAL_SUMS = 256 };

typedef struct state_t {
    int64_t row_count; /* R */
    dg_dtype_t in, out;
    int64_t *ids;
    float *weights;
    dg_tensor_t x;
    cli_image_t output[NUM_OUTPUTS];
} state_t;

static int32_t *expected_i32(const state_t *state, int output) {
    return state->output[output].expected;
}

static void store(void *data, dg_dtype_t dtype, int64_t index, float value) {
    if (dtype == DG_DTYPE_F32)
        ((float *)data)[index] = value;
    else
        ((uint16_t *)data)[index] = cli_bf16_code(value);
}

/* First row of group g, and the row that ends it at the most. */
static int64_t begin_of(const cli_case_t *problem, int64_t g, int64_t *limit) {
    const cli_shape_t *shape = &problem->shape;
    const state_t *state = problem->state;
    int64_t begin = 0;
    *limit = state->row_count;
    if (shape->form == CLI_FORM_MASKED) {
        *limit = (g + 1) * shape->m;
        return g * shape->m;
    }
    for (int64_t h = 0; h < g; h++) {
        begin += expected_i32(state, COUNTS)[h];
        while (shape->form == CLI_FORM_PSUM && begin % shape->align != 0) begin++;
    }
    return begin;
}

static void expect_routing(const cli_case_t *problem) {
    const cli_shape_t *shape = &problem->shape;
    const state_t *state = problem->state;
    const int64_t slots = shape->m * shape->topk;
    int32_t *counts = expected_i32(state, COUNTS), *ends = expected_i32(state, ENDS);
    int32_t *rows = expected_i32(state, ROWS), *sources = expected_i32(state, SOURCES);
    memset(rows, 0xFF, (size_t)slots * sizeof *rows);
    memset(sources, 0xFF, (size_t)state->row_count * sizeof *sources);
    for (int64_t g = 0; g < shape->groups; g++) {
        counts[g] = 0;
        for (int64_t i = 0; i < slots; i++) counts[g] += state->ids[i] == g;
    }
    for (int64_t g = 0; g < shape->groups; g++) {
        int64_t limit, next = begin_of(problem, g, &limit);
        for (int64_t i = 0; i < slots; i++) {
            if (state->ids[i] != g || next >= limit) continue;
            rows[i] = (int32_t)next;
            sources[next++] = (int32_t)(i / shape->topk);
        }
        ends[g] = (int32_t)next;
    }
}

static void expect_permuted(const cli_case_t *problem) {
    const int64_t n = problem->shape.n;
    const state_t *state = problem->state;
    const size_t row_bytes = (size_t)(n * dg_dtype_size(state->in));
    for (int64_t row = 0; row < state->row_count; row++) {
        const int32_t source = expected_i32(state, SOURCES)[row];
        char *to = (char *)state->output[PERMUTED].expected + (size_t)row * row_bytes;
        if (source < 0)
            memset(to, 0, row_bytes);
        else
            memcpy(to, (const char *)state->x.data + (size_t)source * row_bytes, row_bytes);
    }
}

static void expect_sums(const cli_case_t *problem) {
    const cli_shape_t *shape = &problem->shape;
    const state_t *state = problem->state;
    for (int64_t i = 0; i < shape->m * shape->n; i++) {
        const int64_t token = i / shape->n;
        const float value = (float)cli_load(state->x.data, state->in, i);
        float sum = 0.0f;
        for (int64_t s = token * shape->topk; s < (token + 1) * shape->topk; s++) {
            const float term = state->weights[s] * value;
            if (expected_i32(state, ROWS)[s] >= 0) sum = sum + term;
        }
        store(state->output[SUMS].expected, state->out, i, sum);
    }
}

/* x[t] . x[t]: every row is a copy of its token. */
static float expect_dot(const cli_case_t *problem, int64_t token) {
    const int64_t n = problem->shape.n;
    const state_t *state = problem->state;
    float sum[PARTIAL_SUMS] = {0.0f};
    for (int64_t j = 0; j < n; j++) {
        const float value = (float)cli_load(state->x.data, state->in, token * n + j);
        const float square = value * value;
        sum[j % PARTIAL_SUMS] = sum[j % PARTIAL_SUMS] + square;
    }
    for (int lane = 0; lane < PARTIAL_SUMS; lane += 8) {
        float *p = sum + lane;
        p[0] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
    for (int apart = 128; apart >= 8; apart /= 2)
        for (int i = 0; i < apart; i += 8) sum[i] = sum[i] + sum[i + apart];
    return sum[0];
}

static void expect_dots(const cli_case_t *problem) {
    const cli_shape_t *shape = &problem->shape;
    const state_t *state = problem->state;
    for (int64_t t = 0; t < shape->m; t++) {
        const float product = expect_dot(problem, t);
        for (int64_t s = t * shape->topk; s < (t + 1) * shape->topk; s++)
            ((float *)state->output[DOTS].expected)[s] =
                expected_i32(state, ROWS)[s] < 0 ? 0.0f : product;
    }
}

static int64_t count_rows(const cli_shape_t *shape) {
    const int64_t slots = shape->m * shape->topk;
    if (shape->form == CLI_FORM_MASKED) return shape->m * shape->groups;
    return shape->form == CLI_FORM_PSUM ? slots + shape->groups * (shape->align - 1) : slots;
}

/* A tenth of the slots has no expert; a masked group has no room for a token's second slot. */
static void draw_slots(cli_case_t *problem) {
    const cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state;
    const int64_t slots = shape->m * shape->topk;
    state->ids = cli_pool_take(&problem->pool, (size_t)slots * sizeof *state->ids);
    state->weights = cli_pool_take(&problem->pool, (size_t)slots * sizeof *state->weights);
    for (int64_t i = 0; i < slots; i++) {
        state->ids[i] = cli_random_below(&problem->random, shape->groups);
        if (cli_random_below(&problem->random, 10) == 0) state->ids[i] = -1;
    }
    cli_fill_values(state->weights, DG_DTYPE_F32, slots, &problem->random);
}

static bool build(cli_case_t *problem, char *error) {
    const cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state = cli_allocate(sizeof *state);
    cli_pool_t *pool = &problem->pool;
    const int64_t slots = shape->m * shape->topk, rows = count_rows(shape);
    (void)error;
    state->row_count = rows;
    state->in = shape->in == CLI_OUT_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    state->out = shape->out == CLI_OUT_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    draw_slots(problem);
    const int64_t in_size = dg_dtype_size(state->in);
    void *x = cli_pool_take(pool, (size_t)(shape->m * shape->n * in_size));
    cli_fill_values(x, state->in, shape->m * shape->n, &problem->random);
    state->x = dg_tensor_2d(x, state->in, shape->m, shape->n);
    state->output[COUNTS] = cli_make_image(pool, "counts", shape->groups, 4);
    state->output[ENDS] = cli_make_image(pool, "ends", shape->groups, 4);
    state->output[ROWS] = cli_make_image(pool, "rows", slots, 4);
    state->output[SOURCES] = cli_make_image(pool, "sources", rows, 4);
    state->output[PERMUTED] = cli_make_image(pool, "permuted rows", rows * shape->n, in_size);
    state->output[SUMS] =
        cli_make_image(pool, "sums", shape->m * shape->n, dg_dtype_size(state->out));
    state->output[DOTS] = cli_make_image(pool, "dots", slots, 4);
    expect_routing(problem);
    expect_permuted(problem);
    expect_sums(problem);
    expect_dots(problem);
    problem->bytes = 3 * cli_tensor_bytes(&state->x) + (double)(3 * slots * shape->n * in_size);
    return true;
}

static dg_status_t run(cli_case_t *problem, dg_context_t *ctx) {
    const cli_shape_t *shape = &problem->shape;
    const state_t *state = problem->state;
    const int64_t m = shape->m, n = shape->n, topk = shape->topk, rows = state->row_count;
    const cli_image_t *output = state->output;
    dg_route_tokens_args_t route = DG_ROUTE_TOKENS_ARGS_INIT;
    route.ids = dg_tensor_2d(state->ids, DG_DTYPE_I64, m, topk);
    route.form = shape->form == CLI_FORM_MASKED ? DG_GROUPS_MASKED
                 : shape->form == CLI_FORM_PSUM ? DG_GROUPS_PSUM
                                                : DG_GROUPS_OFFSETS;
    route.alignment = (int32_t)shape->align;
    route.counts = dg_tensor_1d(output[COUNTS].found, DG_DTYPE_I32, shape->groups);
    route.ends = dg_tensor_1d(output[ENDS].found, DG_DTYPE_I32, shape->groups);
    route.rows = dg_tensor_2d(output[ROWS].found, DG_DTYPE_I32, m, topk);
    route.sources = dg_tensor_1d(output[SOURCES].found, DG_DTYPE_I32, rows);
    dg_permute_rows_args_t permute = DG_PERMUTE_ROWS_ARGS_INIT;
    permute.x = state->x, permute.rows = route.rows, permute.sources = route.sources;
    permute.out = dg_tensor_2d(output[PERMUTED].found, state->in, rows, n);
    dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
    back.x = permute.out, back.rows = route.rows;
    back.weights = dg_tensor_2d(state->weights, DG_DTYPE_F32, m, topk);
    back.out = dg_tensor_2d(output[SUMS].found, state->out, m, n);
    dg_dot_rows_args_t dot = DG_DOT_ROWS_ARGS_INIT;
    dot.a = state->x, dot.b = permute.out, dot.rows = route.rows;
    dot.out = dg_tensor_2d(output[DOTS].found, DG_DTYPE_F32, m, topk);
    dg_status_t status = dg_route_tokens(ctx, &route, NULL);
    if (status == DG_STATUS_OK) status = dg_permute_rows(ctx, &permute, NULL);
    if (status == DG_STATUS_OK) status = dg_unpermute_rows(ctx, &back, NULL);
    return status == DG_STATUS_OK ? dg_dot_rows(ctx, &dot, NULL) : status;
}

static void reset(cli_case_t *problem) {
    const state_t *state = problem->state;
    for (int i = 0; i < NUM_OUTPUTS; i++) cli_reset_image(&state->output[i]);
}

static void judge(const cli_case_t *problem, int64_t work, cli_verdict_t *verdict) {
    const state_t *state = problem->state;
    (void)work;
    for (int i = 0; i < NUM_OUTPUTS; i++) cli_judge_image(&state->output[i], verdict);
}

const cli_family_ops_t cli_permute_ops = {build, run, reset, judge};
