/* SPDX-License-Identifier: MIT
 *
 * Cases of dg_gemm and dg_m_grouped_gemm. To the reference a dense product is a grouped one with a
 * single group: row i of d is row i of a times the matrix of its group.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "operand.h"
#include "output.h"
#include "placement.h"

typedef struct state_t {
    cli_operand_t a, b;
    cli_output_t d;
    cli_placement_t place; /* m_grouped */
    int64_t k;
    const int64_t *a_rows; /* [rows] row of a for each row of d (negative: zeros), or NULL */
    dg_tensor_t a_rows_view;
    bool grouped, masked;
} state_t;

static int32_t row_kind(const void *self, int64_t row) {
    const state_t *state = self;
    return state->grouped ? state->place.group_of_row[row] : 0;
}

static void compute_element(
    const void *self, int64_t row, int64_t col, double *value, double *magnitude) {
    const state_t *state = self;
    const int32_t group = row_kind(self, row);
    int64_t slice_a = 0, row_a = row;
    if (state->masked) {
        slice_a = group;
        row_a = row - state->place.begin[group];
    } else if (state->a_rows != NULL) {
        row_a = state->a_rows[row];
    }
    *value = *magnitude = 0;
    if (row_a < 0) return;
    for (int64_t k = 0; k < state->k; k++) {
        const double product = cli_operand_value(&state->a, slice_a, row_a, k) *
                               cli_operand_value(&state->b, group, col, k);
        *value += product;
        *magnitude += fabs(product);
    }
}

/* Rows of a that no group uses become NaN: they must not reach any result. (FP4 has none.) */
static void poison_unused_rows(const state_t *state) {
    const int64_t size = dg_dtype_size(state->a.view.dtype);
    if (state->a.view.dtype == DG_DTYPE_E2M1X2) return;
    for (int64_t row = 0; row < state->place.rows; row++) {
        if (state->place.group_of_row[row] >= 0) continue;
        const int64_t max_m = state->masked ? state->place.rows / state->place.groups : 0;
        const int64_t slice = state->masked ? row / max_m : 0;
        const int64_t start =
            slice * state->a.stride[0] + (row - slice * max_m) * state->a.stride[1];
        for (int64_t k = 0; k < state->k; k++) {
            memset((char *)state->a.view.data + (start + k * state->a.stride[2]) * size, CLI_POISON,
                (size_t)size);
        }
    }
}

static void draw_row_index(cli_case_t *problem, state_t *state, int64_t rows, int64_t rows_of_a) {
    int64_t *index = cli_pool_take(&problem->pool, (size_t)rows * sizeof *index);
    for (int64_t row = 0; row < rows; row++) {
        index[row] = cli_random_below(&problem->random, rows_of_a + 1) - 1;
    }
    state->a_rows = index;
    state->a_rows_view = dg_tensor_1d(index, DG_DTYPE_I64, rows);
}

static bool check_packing(
    const char *name, dg_dtype_t dtype, int64_t fastest, const char *axis, char *error) {
    if (dtype != DG_DTYPE_E2M1X2 || fastest % 2 == 0) return true;
    snprintf(
        error, CLI_TEXT, "FP4 %s packs two values along %s, which must then be even", name, axis);
    return false;
}

static bool build(cli_case_t *problem, char *error) {
    const cli_shape_t *shape = &problem->shape;
    state_t *state = problem->state = cli_allocate(sizeof *state);
    cli_pool_t *pool = &problem->pool;
    cli_random_t *random = &problem->random;
    const dg_dtype_t type_a = cli_dtype_of(shape->dtype, false);
    const dg_dtype_t type_b = cli_dtype_of(shape->dtype, true);
    const bool a_k_fastest = shape->layout == CLI_NT || shape->layout == CLI_NN;
    const bool b_k_fastest = shape->layout == CLI_NT || shape->layout == CLI_TT;
    state->grouped = shape->family == CLI_M_GROUPED;
    state->masked = state->grouped && shape->form == CLI_FORM_MASKED;
    state->k = shape->k;
    if (shape->gather && (!state->grouped || state->masked)) {
        snprintf(error, CLI_TEXT, "--gather has no meaning here: it is for m_grouped, not masked");
        return false;
    }
    if (!check_packing(
            "a", type_a, a_k_fastest ? shape->k : shape->m, a_k_fastest ? "k" : "m", error) ||
        !check_packing(
            "b", type_b, b_k_fastest ? shape->k : shape->n, b_k_fastest ? "k" : "n", error)) {
        return false;
    }

    int64_t rows = shape->m;
    if (state->grouped) {
        state->place = cli_place_groups(pool, shape, shape->m, random);
        rows = state->place.rows;
    }
    int64_t rows_of_a = state->masked ? shape->m : rows;
    if (shape->gather) {
        rows_of_a = rows / 2 + 3;
        draw_row_index(problem, state, rows, rows_of_a);
    }
    state->a = cli_make_operand(pool, shape, type_a, state->masked ? shape->groups : 0, rows_of_a,
        shape->k, a_k_fastest, shape->gran_m, random);
    state->b = cli_make_operand(pool, shape, type_b, state->grouped ? shape->groups : 0, shape->n,
        shape->k, b_k_fastest, shape->gran_n, random);
    if (state->grouped && !shape->gather) poison_unused_rows(state);
    state->d = cli_make_output(pool, shape, state->masked ? shape->groups : 0,
        state->masked ? shape->m : rows, shape->n, false, random);

    const double valid = state->grouped ? (double)state->place.valid : (double)rows;
    problem->flop = 2 * valid * (double)shape->n * (double)shape->k;
    problem->bytes = cli_tensor_bytes(&state->a.view) + cli_tensor_bytes(&state->a.factors.view) +
                     cli_tensor_bytes(&state->b.view) + cli_tensor_bytes(&state->b.factors.view) +
                     cli_tensor_bytes(&state->d.view) * (shape->accumulate ? 2 : 1);
    return true;
}

static dg_operand_t view_operand(const cli_operand_t *operand) {
    return (dg_operand_t){operand->view, operand->factors.view, (int32_t)operand->factors.gran_mn,
        (int32_t)operand->factors.gran_k};
}

static dg_status_t run(cli_case_t *problem, dg_context_t *ctx) {
    const state_t *state = problem->state;
    if (!state->grouped) {
        dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
        args.a = view_operand(&state->a);
        args.b = view_operand(&state->b);
        args.d = state->d.view;
        if (problem->shape.accumulate) args.c = state->d.view;
        return dg_gemm(ctx, &args, NULL);
    }
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = view_operand(&state->a);
    args.b = view_operand(&state->b);
    args.d = state->d.view;
    if (problem->shape.accumulate) args.c = state->d.view;
    args.groups = state->place.view;
    if (state->a_rows != NULL) args.a_rows = state->a_rows_view;
    return dg_m_grouped_gemm(ctx, &args, NULL);
}

static void reset(cli_case_t *problem) {
    const state_t *state = problem->state;
    cli_reset_output(&state->d);
}

static void judge(const cli_case_t *problem, int64_t work, cli_verdict_t *verdict) {
    const state_t *state = problem->state;
    const cli_reference_t reference = {state, state->k, row_kind, compute_element};
    cli_judge_output(&state->d, &reference, work, verdict);
}

const cli_family_ops_t cli_gemm_ops = {build, run, reset, judge};
