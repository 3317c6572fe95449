/* SPDX-License-Identifier: MIT
 *
 * See m_grouped.h. Groups that are ranges of rows become products over those rows as they lie. A
 * group index is sorted first:
 *
 *     index   2 0 -1 2 0          order   1 4 | | 0 3 | 2        rows of group 0, 1, 2, then of none
 *
 * and the product of a group gathers its rows of a and scatters its rows of d by that list. A gather
 * list of the caller's composes with it.
 */
#include "cpu/m_grouped.h"

#include <stdlib.h>

#include "base/error.h"
#include "cpu/batch.h"
#include "cpu/row_list.h"

/* What one call works with; everything is freed at its end. */
typedef struct dg_m_work_t {
    const dg_m_grouped_problem_t *problem;
    bool clamp;
    dg_cpu_segment_t whole_k;
    dg_group_range_t *ranges; /* [groups] of rows, or of `order` */
    int32_t *order;           /* [rows] by group, then those of none; NULL: groups are ranges */
    int64_t ordered;          /* entries of order that belong to groups */
    const int32_t *a_rows;    /* row of a for each row, or each entry of order; NULL: no gather */
    int32_t *owned;           /* memory of a_rows, if it is ours */
    dg_cpu_product_t *products;
    int64_t product_count;
} dg_m_work_t;

static bool is_index(const dg_m_grouped_problem_t *problem) {
    return problem->groups.form == DG_GROUPS_INDEX || problem->groups.form == DG_GROUPS_BLOCK_INDEX;
}

/* Group of a row, -1 for none. */
static dg_status_t read_group(
    const dg_row_source_t *index, const dg_groups_t *groups, int64_t row, int32_t *group) {
    const int64_t block = groups->form == DG_GROUPS_BLOCK_INDEX ? groups->alignment : 1;
    return dg_read_row(index, row - row % block, group);
}

/* Counts first, then places each row behind those of its group that came before it. */
static dg_status_t sort_rows(dg_m_work_t *work) {
    const dg_m_grouped_problem_t *problem = work->problem;
    const dg_row_source_t index = {
        &problem->groups.values, "groups", ".values", problem->group_count, work->clamp};
    DG_TRY(dg_check_row_count(&index));
    work->order = calloc((size_t)problem->rows + 1, sizeof *work->order);
    DG_REQUIRE(work->order != NULL, DG_STATUS_OUT_OF_MEMORY, "groups", ".values",
        "no memory for the order of %lld rows; free some", (long long)problem->rows);
    int32_t group;
    for (int64_t i = 0; i < problem->rows; i++) {
        DG_TRY(read_group(&index, &problem->groups, i, &group));
        if (group >= 0) work->ranges[group].aligned_end++;
    }
    for (int64_t g = 0; g < problem->group_count; g++) {
        const int64_t count = work->ranges[g].aligned_end;
        work->ranges[g] = (dg_group_range_t){work->ordered, work->ordered, 0};
        work->ordered += count;
    }
    int64_t none = work->ordered;
    for (int64_t i = 0; i < problem->rows; i++) {
        DG_TRY(read_group(&index, &problem->groups, i, &group));
        work->order[group >= 0 ? work->ranges[group].end++ : none++] = (int32_t)i;
    }
    return DG_STATUS_OK;
}

static dg_status_t read_groups(dg_m_work_t *work, const dg_context_options_t *options) {
    const dg_m_grouped_problem_t *problem = work->problem;
    work->ranges = calloc((size_t)problem->group_count + 1, sizeof *work->ranges);
    DG_REQUIRE(work->ranges != NULL, DG_STATUS_OUT_OF_MEMORY, "groups", "",
        "no memory for the ranges of %lld groups", (long long)problem->group_count);
    if (is_index(problem)) return sort_rows(work);
    return dg_group_ranges(&problem->groups, "groups", problem->rows, options, work->ranges);
}

/* The gather list in the order in which products go through it. */
static dg_status_t read_gather(dg_m_work_t *work) {
    const dg_m_grouped_problem_t *problem = work->problem;
    const dg_row_source_t source = {
        &problem->a_rows, "a_rows", "", problem->a.gather_extent, work->clamp};
    if (problem->a_rows.dtype == DG_DTYPE_NONE) {
        work->a_rows = work->order;
        return DG_STATUS_OK;
    }
    if (work->order == NULL) {
        return dg_read_row_list(
            &source, work->ranges, problem->group_count, &work->a_rows, &work->owned);
    }
    DG_TRY(dg_check_row_count(&source));
    work->owned = malloc((size_t)(work->ordered + 1) * sizeof *work->owned);
    DG_REQUIRE(work->owned != NULL, DG_STATUS_OUT_OF_MEMORY, "a_rows", "",
        "no memory for a list of %lld rows", (long long)work->ordered);
    for (int64_t i = 0; i < work->ordered; i++) {
        DG_TRY(dg_read_row(&source, work->order[i], &work->owned[i]));
    }
    work->a_rows = work->owned;
    return DG_STATUS_OK;
}

/* The product of rows (entries of order) [begin, begin + count) of group g. */
static void add_product(dg_m_work_t *work, int64_t g, int64_t begin, int64_t count) {
    const dg_m_grouped_problem_t *problem = work->problem;
    const bool stacked = problem->groups.form == DG_GROUPS_MASKED;
    dg_cpu_product_t *product = &work->products[work->product_count++];
    *product = dg_cpu_result(
        &problem->out, stacked ? g : 0, work->order != NULL ? 0 : begin, count, problem->n);
    product->a = dg_cpu_operand(&problem->a, stacked ? g : 0);
    product->b = dg_cpu_operand(&problem->b, g);
    product->segments = &work->whole_k;
    product->segment_count = 1;
    if (work->order != NULL) product->d_rows = work->order + begin;
    if (work->a_rows != NULL) {
        product->a.rows = work->a_rows + begin;
    } else {
        product->a = dg_cpu_skip_rows(&product->a, begin);
    }
}

/* Where a factor of a covers several rows and the group begins inside them, the rows up to the next
 * factor are a product of their own: the engine counts factors from its first row. */
static void add_group(dg_m_work_t *work, int64_t g) {
    const dg_factors_t *scale = &work->problem->a.scale;
    const dg_group_range_t range = work->ranges[g];
    const int64_t inside =
        scale->data != NULL && work->a_rows == NULL ? range.begin % scale->gran_mn : 0;
    int64_t begin = range.begin;
    if (inside > 0 && range.end - begin > scale->gran_mn - inside) {
        add_product(work, g, begin, scale->gran_mn - inside);
        begin += scale->gran_mn - inside;
    }
    if (range.end > begin) add_product(work, g, begin, range.end - begin);
}

/* Zeros in the rows that the groups leave out and the form promises to clear. */
static void clear_other_rows(const dg_m_work_t *work) {
    const dg_m_grouped_problem_t *problem = work->problem;
    dg_output_t out = problem->out;
    out.c = NULL;
    const dg_cpu_product_t all = dg_cpu_result(&out, 0, 0, problem->rows, problem->n);
    if (work->order != NULL) {
        for (int64_t i = work->ordered; i < problem->rows; i++) {
            dg_cpu_clear_row(&all, work->order[i]);
        }
    } else if (problem->groups.form == DG_GROUPS_PSUM && problem->zero_padding) {
        for (int64_t g = 0; g < problem->group_count; g++) {
            const dg_group_range_t range = work->ranges[g];
            for (int64_t row = range.end; row < range.aligned_end; row++) {
                dg_cpu_clear_row(&all, row);
            }
        }
    }
}

static dg_status_t run(dg_cpu_pool_t *pool, dg_m_work_t *work) {
    const int64_t groups = work->problem->group_count;
    work->products = calloc(2 * (size_t)groups + 1, sizeof *work->products);
    DG_REQUIRE(work->products != NULL, DG_STATUS_OUT_OF_MEMORY, "groups", "",
        "no memory for the products of %lld groups", (long long)groups);
    for (int64_t g = 0; g < groups; g++) add_group(work, g);
    DG_TRY(dg_cpu_run_batch(pool, work->products, work->product_count));
    clear_other_rows(work);
    return DG_STATUS_OK;
}

static dg_m_work_t make_work(
    const dg_m_grouped_problem_t *problem, const dg_context_options_t *options) {
    return (dg_m_work_t){
        .problem = problem,
        .clamp = options->group_values == DG_GROUP_VALUES_CLAMP,
        .whole_k = {.k_count = problem->k},
    };
}

/* Everything that depends on values in memory. */
static dg_status_t read_values(dg_m_work_t *work, const dg_context_options_t *options) {
    DG_TRY(read_groups(work, options));
    return read_gather(work);
}

static dg_status_t release(dg_m_work_t *work, dg_status_t status) {
    free(work->products);
    free(work->owned);
    free(work->order);
    free(work->ranges);
    return status;
}

dg_status_t dg_cpu_m_grouped(dg_cpu_pool_t *pool, const dg_m_grouped_problem_t *problem,
    const dg_context_options_t *options) {
    dg_m_work_t work = make_work(problem, options);
    dg_status_t status = read_values(&work, options);
    if (status == DG_STATUS_OK) status = run(pool, &work);
    return release(&work, status);
}

dg_status_t dg_cpu_check_m_grouped(
    const dg_m_grouped_problem_t *problem, const dg_context_options_t *options) {
    dg_m_work_t work = make_work(problem, options);
    return release(&work, read_values(&work, options));
}
