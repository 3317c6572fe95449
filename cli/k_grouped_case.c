/* SPDX-License-Identifier: MIT
 *
 * Cases of dg_k_grouped_gemm. A side (operand) is read at (group, mn, t), t counting the tokens of
 * the group:
 *
 *     TOKENS_FIRST, TOKENS_LAST   token = begin[group] + t, or rows[token] where rows are gathered
 *     FLAT                        group g is [mn, k_g], rows of FP4 padded to whole bytes
 *     factors                     block factor_begin[group] + t / gran of column mn
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "number.h"
#include "operand.h"
#include "output.h"
#include "placement.h"

typedef struct side_t {
    dg_k_form_t form;
    dg_tensor_t view, rows_view;
    int64_t stride_mn, stride_token; /* in values; not FLAT */
    const int64_t *flat_begin;       /* FLAT: [groups] first value of each group */
    const int64_t *rows;             /* gather: [tokens], or NULL */
    cli_factors_t factors; /* [mn, blocks of all groups]; the library gets the transpose */
} side_t;

typedef struct state_t {
    side_t a, b;
    cli_output_t d;
    cli_placement_t place;
    const int64_t
        *factor_begin; /* [groups] first block; a multiple of 4 where factors are packed */
    int64_t num_blocks;
    void **d_list; /* LIST: [groups] */
} state_t;

static double load_side(
    const cli_placement_t *place, const side_t *side, int64_t group, int64_t mn, int64_t t) {
    int64_t index;
    if (side->form == DG_K_FLAT) {
        const int64_t size = place->size[group];
        const int64_t row = side->view.dtype == DG_DTYPE_E2M1X2 ? (size + 1) / 2 * 2 : size;
        index = side->flat_begin[group] + mn * row + t;
    } else {
        int64_t token = place->begin[group] + t;
        if (side->rows != NULL) token = side->rows[token];
        if (token < 0) return 0;
        index = mn * side->stride_mn + token * side->stride_token;
    }
    return cli_load(side->view.data, side->view.dtype, index);
}

static void add_group(const state_t *state, int64_t group, int64_t row, int64_t col, double *value,
    double *magnitude) {
    for (int64_t t = 0; t < state->place.size[group]; t++) {
        double a = load_side(&state->place, &state->a, group, row, t);
        double b = load_side(&state->place, &state->b, group, col, t);
        const int64_t block = state->factor_begin[group] + t / state->a.factors.gran_k;
        a *= cli_factor(&state->a.factors, 0, row, block);
        b *= cli_factor(&state->b.factors, 0, col, block);
        *value += a * b;
        *magnitude += fabs(a * b);
    }
}

static int32_t row_kind(const void *self, int64_t row) {
    (void)self, (void)row;
    return 0; /* every element of d is written, those of empty groups too */
}

static void compute_element(
    const void *self, int64_t row, int64_t col, double *value, double *magnitude) {
    const state_t *state = self;
    *value = *magnitude = 0;
    if (state->d.slices == 1 && state->d.view.rank == 2) {
        for (int64_t g = 0; g < state->place.groups; g++) {
            add_group(state, g, row, col, value, magnitude);
        }
    } else {
        const int64_t m = state->d.slice_rows;
        add_group(state, row / m, row % m, col, value, magnitude);
    }
}

static void count_blocks(cli_case_t *problem, state_t *state) {
    const cli_shape_t *shape = &problem->shape;
    const int64_t unit = shape->scale == CLI_SCALE_UE8M0 ? 4 : 1;
    int64_t *begin = cli_pool_take(&problem->pool, (size_t)shape->groups * sizeof *begin);
    int64_t blocks = 0;
    for (int64_t g = 0; g < shape->groups; g++) {
        begin[g] = blocks;
        const int64_t span = unit * shape->gran;
        blocks += unit * ((shape->sizes[g] + span - 1) / span);
    }
    state->factor_begin = begin;
    state->num_blocks = blocks;
}

static void make_flat(
    cli_case_t *problem, const cli_placement_t *place, side_t *side, dg_dtype_t dtype, int64_t mn) {
    int64_t *begin = cli_pool_take(&problem->pool, (size_t)place->groups * sizeof *begin);
    const int64_t per_element = dtype == DG_DTYPE_E2M1X2 ? 2 : 1;
    int64_t elements = 0;
    for (int64_t g = 0; g < place->groups; g++) {
        begin[g] = elements * per_element;
        elements += mn * ((place->size[g] + per_element - 1) / per_element);
    }
    void *data = cli_pool_take(&problem->pool, (size_t)(elements * dg_dtype_size(dtype)));
    cli_fill_values(data, dtype, elements * per_element, &problem->random);
    side->flat_begin = begin;
    side->view = dg_tensor_1d(data, dtype, elements);
}

/* Tokens that no group uses become NaN: they must not reach any result. (FP4 has none.) */
static void poison_unused_tokens(const cli_placement_t *place, const side_t *side, int64_t mn) {
    const int64_t size = dg_dtype_size(side->view.dtype);
    if (side->view.dtype == DG_DTYPE_E2M1X2) return;
    for (int64_t token = 0; token < place->rows; token++) {
        if (place->group_of_row[token] >= 0) continue;
        for (int64_t i = 0; i < mn; i++) {
            const int64_t index = i * side->stride_mn + token * side->stride_token;
            memset((char *)side->view.data + index * size, CLI_POISON, (size_t)size);
        }
    }
}

static void make_matrix(
    cli_case_t *problem, const cli_placement_t *place, side_t *side, dg_dtype_t dtype, int64_t mn) {
    cli_pool_t *pool = &problem->pool;
    const bool first = side->form == DG_K_TOKENS_FIRST;
    const bool gather = problem->shape.gather && first;
    const int64_t tokens = gather ? place->rows / 2 + 3 : place->rows;
    const int64_t per_element = dtype == DG_DTYPE_E2M1X2 ? 2 : 1;
    const int64_t outer = first ? tokens : mn;
    const int64_t inner = ((first ? mn : tokens) + per_element - 1) / per_element;
    void *data = cli_pool_take(pool, (size_t)(outer * inner * dg_dtype_size(dtype)));
    cli_fill_values(data, dtype, outer * inner * per_element, &problem->random);
    side->view = dg_tensor_2d(data, dtype, outer, inner);
    side->stride_mn = first ? 1 : inner * per_element;
    side->stride_token = first ? inner * per_element : 1;
    if (!gather) {
        poison_unused_tokens(place, side, mn);
        return;
    }
    int64_t *rows = cli_pool_take(pool, (size_t)place->rows * sizeof *rows);
    for (int64_t i = 0; i < place->rows; i++) {
        rows[i] = cli_random_below(&problem->random, tokens + 1) - 1;
    }
    side->rows = rows;
    side->rows_view = dg_tensor_1d(rows, DG_DTYPE_I64, place->rows);
}

static void make_side(
    cli_case_t *problem, state_t *state, side_t *side, dg_dtype_t dtype, int64_t mn) {
    if (side->form == DG_K_FLAT) {
        make_flat(problem, &state->place, side, dtype, mn);
    } else {
        make_matrix(problem, &state->place, side, dtype, mn);
    }
    side->factors = cli_make_factors(
        &problem->pool, problem->shape.scale, 0, mn, state->num_blocks, &problem->random);
    side->factors.gran_mn = 1;
    side->factors.gran_k = problem->shape.gran;
}

static bool check(const cli_shape_t *shape, const state_t *state, char *error) {
    const bool flat = state->a.form == DG_K_FLAT;
    const bool packed_a = cli_dtype_of(shape->dtype, false) == DG_DTYPE_E2M1X2;
    const bool packed_b = cli_dtype_of(shape->dtype, true) == DG_DTYPE_E2M1X2;
    const char *wrong = NULL;
    if (flat && shape->form != CLI_FORM_SIZES && shape->form != CLI_FORM_HOST) {
        wrong = "--operand flat goes with --form sizes and host";
    } else if (flat && state->place.rows != state->place.valid) {
        wrong = "--operand flat has no tokens beyond the groups: leave out --k";
    } else if (shape->gather && state->a.form != DG_K_TOKENS_FIRST) {
        wrong = "--gather goes with --operand tokens_first and mixed";
    } else if ((packed_a && state->a.form == DG_K_TOKENS_FIRST && shape->m % 2 != 0) ||
               (packed_b && state->b.form == DG_K_TOKENS_FIRST && shape->n % 2 != 0)) {
        wrong = "FP4 with tokens first packs two values along m (n), which must then be even";
    }
    if (wrong != NULL) snprintf(error, CLI_TEXT, "%s", wrong);
    return wrong == NULL;
}

static bool build(cli_case_t *problem, char *error) {
    static const dg_k_form_t forms[] = {
        DG_K_TOKENS_FIRST, DG_K_TOKENS_LAST, DG_K_FLAT, DG_K_TOKENS_FIRST};
    const cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state = cli_allocate(sizeof *state);
    cli_pool_t *pool = &problem->pool;
    state->place = cli_place_groups(pool, shape, shape->k, &problem->random);
    state->a.form = forms[shape->operand];
    state->b.form = shape->operand == CLI_MIXED ? DG_K_TOKENS_LAST : state->a.form;
    if (!check(shape, state, error)) return false;

    count_blocks(problem, state);
    make_side(problem, state, &state->a, cli_dtype_of(shape->dtype, false), shape->m);
    make_side(problem, state, &state->b, cli_dtype_of(shape->dtype, true), shape->n);
    const bool list = shape->result == CLI_LIST;
    state->d = cli_make_output(pool, shape, shape->result == CLI_SUM ? 0 : shape->groups, shape->m,
        shape->n, list, &problem->random);
    if (list) {
        state->d_list = cli_pool_take(pool, (size_t)shape->groups * sizeof *state->d_list);
        for (int64_t g = 0; g < shape->groups; g++) {
            state->d_list[g] = cli_output_row(&state->d, g * shape->m);
        }
    }
    problem->flop = 2 * (double)state->place.valid * (double)shape->m * (double)shape->n;
    problem->bytes = cli_tensor_bytes(&state->a.view) + cli_tensor_bytes(&state->a.factors.view) +
                     cli_tensor_bytes(&state->b.view) + cli_tensor_bytes(&state->b.factors.view) +
                     cli_tensor_bytes(&state->d.view) * (shape->accumulate ? 2 : 1);
    return true;
}

static dg_k_operand_t view_side(const side_t *side) {
    dg_k_operand_t operand = DG_NO_K_OPERAND;
    operand.form = side->form;
    operand.data = side->view;
    operand.scale = dg_tensor_transpose(side->factors.view);
    operand.gran_k = (int32_t)side->factors.gran_k;
    if (side->rows != NULL) operand.rows = side->rows_view;
    return operand;
}

static dg_status_t run(cli_case_t *problem, dg_context_t *ctx) {
    const state_t *state = problem->state;
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = view_side(&state->a);
    args.b = view_side(&state->b);
    args.groups = state->place.view;
    args.d = state->d.view;
    if (state->a.form == DG_K_FLAT) args.num_tokens = state->place.rows;
    switch (problem->shape.result) {
    case CLI_LIST:
        args.output = DG_K_OUTPUT_LIST;
        args.d = dg_tensor_2d(NULL, state->d.view.dtype, state->d.slice_rows, state->d.n);
        args.d.stride[0] = state->d.row_stride;
        args.d_list = state->d_list;
        if (problem->shape.accumulate) args.c_list = (const void *const *)state->d_list;
        break;
    case CLI_SUM: args.output = DG_K_OUTPUT_SUM; break;
    default: args.output = DG_K_OUTPUT_STACK; break;
    }
    if (problem->shape.accumulate && args.output != DG_K_OUTPUT_LIST) args.c = args.d;
    return dg_k_grouped_gemm(ctx, &args, NULL);
}

static void reset(cli_case_t *problem) {
    const state_t *state = problem->state;
    cli_reset_output(&state->d);
}

static void judge(const cli_case_t *problem, int64_t work, cli_verdict_t *verdict) {
    const state_t *state = problem->state;
    const int64_t terms = problem->shape.result == CLI_SUM
                              ? state->place.valid
                              : state->place.valid / state->place.groups;
    const cli_reference_t reference = {state, terms, row_kind, compute_element};
    cli_judge_output(&state->d, &reference, work, verdict);
}

const cli_family_ops_t cli_k_grouped_ops = {build, run, reset, judge};
