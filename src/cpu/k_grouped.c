/* SPDX-License-Identifier: MIT
 *
 * See k_grouped.h. A group is a segment of the engine's K: its tokens, and where its factors begin,
 * since factors of all groups follow each other without gaps:
 *
 *     tokens   | group 0      | gap | group 1  |      factors   | 0 0 | 1 |      (gran_k = 128)
 *              0            200   256        384                0     2   3
 */
#include "cpu/k_grouped.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "cpu/batch.h"
#include "cpu/row_list.h"
#include "model/operand.h"

/* What one call works with; everything is freed at its end. */
typedef struct dg_k_work_t {
    const dg_k_grouped_problem_t *problem;
    const dg_context_options_t *options;
    dg_group_range_t *ranges;   /* [groups] of tokens */
    dg_cpu_segment_t *segments; /* [groups] */
    dg_cpu_product_t *products; /* [groups], or one for the sum */
    const int32_t *a_ks, *b_ks; /* row of data for each token, or NULL */
    int32_t *a_owned, *b_owned; /* their memory, if it is ours */
} dg_k_work_t;

static dg_status_t allocate(dg_k_work_t *work) {
    const size_t count = (size_t)work->problem->group_count + 1;
    work->ranges = calloc(count, sizeof *work->ranges);
    work->segments = calloc(count, sizeof *work->segments);
    work->products = calloc(count, sizeof *work->products);
    DG_REQUIRE(work->ranges != NULL && work->segments != NULL && work->products != NULL,
        DG_STATUS_OUT_OF_MEMORY, "groups", "", "no memory for the products of %" PRId64 " groups",
        work->problem->group_count);
    return DG_STATUS_OK;
}

static dg_status_t read_rows(
    const dg_k_work_t *work, const dg_k_side_t *side, const int32_t **list, int32_t **owned) {
    const dg_row_source_t source = {&side->rows, side->name, ".rows", side->side.gather_extent,
        work->options->group_values == DG_GROUP_VALUES_CLAMP};
    if (side->rows.dtype == DG_DTYPE_NONE) return DG_STATUS_OK;
    return dg_read_row_list(&source, work->ranges, work->problem->group_count, list, owned);
}

/* Where each group's factors begin; refuses a scale tensor that ends before the last of them. */
static dg_status_t place_factors(const dg_k_work_t *work, const dg_k_side_t *side, bool is_a) {
    const dg_factors_t *scale = &side->side.scale;
    int64_t rows = 0;
    if (scale->dtype == DG_DTYPE_NONE) return DG_STATUS_OK;
    for (int64_t g = 0; g < work->problem->group_count; g++) {
        dg_cpu_segment_t *segment = &work->segments[g];
        *(is_a ? &segment->scale_begin_a : &segment->scale_begin_b) = rows;
        rows += dg_scale_extent(segment->k_count, scale->gran_k, scale->dtype);
    }
    DG_REQUIRE(rows <= scale->count_k, DG_STATUS_BAD_SCALE, side->name, ".scale",
        "%" PRId64 " rows, expected at least %" PRId64
        ": ceil(k_g / %d)%s rows for each group g of "
        "k_g tokens; pass the factors dg_quantize wrote with the same groups",
        scale->count_k, rows, scale->gran_k,
        scale->dtype == DG_DTYPE_I32 ? ", four to an i32," : "");
    return DG_STATUS_OK;
}

/* Groups that are matrices of their own, back to back: [mn, k_g], rows of whole bytes. */
static dg_status_t place_matrices(
    const dg_k_work_t *work, const dg_k_side_t *side, int64_t mn, bool is_a) {
    const bool packed = side->side.dtype == DG_DTYPE_E2M1X2;
    int64_t length = 0; /* elements of the groups so far, for each of mn */
    if (!side->flat) return DG_STATUS_OK;
    for (int64_t g = 0; g < work->problem->group_count; g++) {
        dg_cpu_segment_t *segment = &work->segments[g];
        const int64_t row = packed ? segment->k_count / 2 + segment->k_count % 2 : segment->k_count;
        const int64_t values = packed ? 2 : 1; /* of an element */
        const void *data = dg_cpu_advance(side->side.data, side->side.dtype, values * mn * length);
        *(is_a ? &segment->data_a : &segment->data_b) = data;
        *(is_a ? &segment->row_stride_a : &segment->row_stride_b) = values * row;
        length += row;
    }
    DG_REQUIRE(length <= side->flat_length, DG_STATUS_BAD_SHAPE, side->name, ".data",
        "%" PRId64 " bytes for each row, expected at least %" PRId64 ": ceil(k_g / 2) for each "
        "group of k_g tokens; pass the matrices of all groups",
        side->flat_length, length);
    return DG_STATUS_OK;
}

/* Everything that depends on values in memory: ranges, lists, segments. */
static dg_status_t read_values(dg_k_work_t *work) {
    const dg_k_grouped_problem_t *problem = work->problem;
    DG_TRY(allocate(work));
    DG_TRY(
        dg_group_ranges(&problem->groups, "groups", problem->tokens, work->options, work->ranges));
    for (int64_t g = 0; g < problem->group_count; g++) {
        work->segments[g].k_begin = work->ranges[g].begin;
        work->segments[g].k_count = work->ranges[g].end - work->ranges[g].begin;
    }
    DG_TRY(place_factors(work, &problem->a, true));
    DG_TRY(place_factors(work, &problem->b, false));
    DG_TRY(place_matrices(work, &problem->a, problem->m, true));
    DG_TRY(place_matrices(work, &problem->b, problem->n, false));
    DG_TRY(read_rows(work, &problem->a, &work->a_ks, &work->a_owned));
    return read_rows(work, &problem->b, &work->b_ks, &work->b_owned);
}

/* d of group g, or of the sum. */
static dg_cpu_product_t place_result(const dg_k_grouped_problem_t *problem, int64_t g) {
    dg_output_t out = problem->out;
    if (problem->d_list != NULL) {
        out.d = problem->d_list[g];
        out.c = problem->c_list != NULL ? problem->c_list[g] : NULL;
        g = 0;
    }
    return dg_cpu_result(&out, g, 0, problem->m, problem->n);
}

static dg_status_t run(dg_cpu_pool_t *pool, dg_k_work_t *work) {
    const dg_k_grouped_problem_t *problem = work->problem;
    dg_cpu_operand_t a = dg_cpu_operand(&problem->a.side, 0);
    dg_cpu_operand_t b = dg_cpu_operand(&problem->b.side, 0);
    a.ks = work->a_ks;
    b.ks = work->b_ks;
    const int64_t count = problem->sum ? 1 : problem->group_count;
    for (int64_t i = 0; i < count; i++) {
        dg_cpu_product_t *product = &work->products[i];
        *product = place_result(problem, i);
        product->a = a;
        product->b = b;
        product->segments = &work->segments[i];
        product->segment_count = problem->sum ? problem->group_count : 1;
    }
    return dg_cpu_run_batch(pool, work->products, count);
}

static dg_status_t release(dg_k_work_t *work, dg_status_t status) {
    free(work->ranges);
    free(work->segments);
    free(work->products);
    free(work->a_owned);
    free(work->b_owned);
    return status;
}

dg_status_t dg_cpu_k_grouped(dg_cpu_pool_t *pool, const dg_k_grouped_problem_t *problem,
    const dg_context_options_t *options) {
    dg_k_work_t work = {.problem = problem, .options = options};
    dg_status_t status = read_values(&work);
    if (status == DG_STATUS_OK) status = run(pool, &work);
    return release(&work, status);
}

dg_status_t dg_cpu_check_k_grouped(
    const dg_k_grouped_problem_t *problem, const dg_context_options_t *options) {
    dg_k_work_t work = {.problem = problem, .options = options};
    return release(&work, read_values(&work));
}
