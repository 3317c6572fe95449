/* SPDX-License-Identifier: MIT
 *
 * See hc_prenorm.h. The engine multiplies BF16, and a TF32 value, which has 11 bits, is the sum of
 * two BF16 values of 8:
 *
 *     bits of b    s eeeeeeee mmmmmmm mmm 0000000000000      high = s e m(7), low = what the next 3
 *     say
 *
 * (below 2^-123 the last of them get lost: BF16 ends at 2^-133). So each split is one product over
 * k twice, a with all of high and then a with all of low. The sums of squares are a pass of their
 * own.
 */
#include "cpu/hc_prenorm.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cpu/batch.h"

enum { TASK_ROWS = 64, BLOCK = 128, LANES = 16 };

/* What one call works with. */
typedef struct dg_hc_work_t {
    const dg_hc_prenorm_problem_t *problem;
    uint16_t *high, *low;       /* [n, k] bf16 */
    dg_cpu_product_t *products; /* [splits] */
    dg_cpu_segment_t *segments; /* [splits, 2] */
} dg_hc_work_t;

/* ---- the product */

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void split_value(float b, uint16_t *high, uint16_t *low) {
    uint32_t bits;
    memcpy(&bits, &b, sizeof bits);
    bits &= 0xFFFFE000u;
    const float top = float_of(bits & 0xFFFF0000u);
    *high = (uint16_t)(bits >> 16);
    *low = 0;
    if ((bits & 0x7F800000u) == 0x7F800000u) { /* a NaN stays one */
        if ((bits & 0x007FFFFFu) != 0) *high |= 0x40;
        return;
    }
    const float rest = float_of(bits) - top;
    memcpy(&bits, &rest, sizeof bits);
    *low = (uint16_t)(bits >> 16);
}

static void split_b(const dg_hc_work_t *work) {
    const dg_hc_prenorm_problem_t *problem = work->problem;
    for (int64_t j = 0; j < problem->n; j++) {
        const float *row = problem->b + j * problem->b_stride;
        for (int64_t k = 0; k < problem->k; k++) {
            const int64_t at = j * problem->k + k;
            split_value(row[k], &work->high[at], &work->low[at]);
        }
    }
}

static void fill_products(const dg_hc_work_t *work) {
    const dg_hc_prenorm_problem_t *problem = work->problem;
    const uint16_t *const halves[2] = {work->high, work->low};
    for (int64_t s = 0; s < problem->splits; s++) {
        const dg_hc_split_t range = dg_hc_split(problem->k, problem->splits, s);
        dg_cpu_segment_t *segments = &work->segments[2 * s];
        for (int i = 0; i < 2; i++) {
            segments[i] = (dg_cpu_segment_t){.k_begin = range.begin,
                .k_count = range.end - range.begin,
                .data_b = halves[i] + range.begin,
                .row_stride_b = problem->k};
        }
        work->products[s] = (dg_cpu_product_t){
            .a = {.data = problem->a,
                .dtype = DG_DTYPE_BF16,
                .row_stride = problem->a_stride,
                .k_stride = 1},
            .b = {.data = work->high,
                .dtype = DG_DTYPE_BF16,
                .row_stride = problem->k,
                .k_stride = 1},
            .m = problem->m,
            .n = problem->n,
            .segments = segments,
            .segment_count = 2,
            .d = problem->d + s * problem->d_split_stride,
            .d_row_stride = problem->d_stride,
            .d_dtype = DG_DTYPE_F32,
        };
    }
}

static dg_status_t multiply(dg_cpu_pool_t *pool, dg_hc_work_t *work) {
    const dg_hc_prenorm_problem_t *problem = work->problem;
    const size_t values = (size_t)problem->n * (size_t)problem->k + 1;
    const size_t splits = (size_t)problem->splits;
    work->high = malloc(values * sizeof *work->high);
    work->low = malloc(values * sizeof *work->low);
    work->products = malloc(splits * sizeof *work->products);
    work->segments = malloc(2 * splits * sizeof *work->segments);
    DG_REQUIRE(
        work->high != NULL && work->low != NULL && work->products != NULL && work->segments != NULL,
        DG_STATUS_OUT_OF_MEMORY, "b", "", "no memory for its halves; free some");
    split_b(work);
    fill_products(work);
    return dg_cpu_run_batch(pool, work->products, problem->splits);
}

/* ---- sums of squares */

/* Codes [count], at most BLOCK: sums of every LANES-th square, then those in order. */
static float add_squares(const uint16_t *codes, int64_t count) {
    float lanes[LANES] = {0}, sum = 0;
    for (int64_t k = 0; k < count; k += LANES) {
        const int64_t left = count - k < LANES ? count - k : LANES;
        for (int64_t i = 0; i < left; i++) {
            const float value = float_of((uint32_t)codes[k + i] << 16);
            lanes[i] += value * value;
        }
    }
    for (int i = 0; i < LANES; i++) sum += lanes[i];
    return sum;
}

static float sum_row(const dg_hc_prenorm_problem_t *problem, int64_t row, dg_hc_split_t range) {
    const uint16_t *a = (const uint16_t *)problem->a + row * problem->a_stride;
    float total = 0;
    for (int64_t k = range.begin; k < range.end; k += BLOCK)
        total += add_squares(a + k, range.end - k < BLOCK ? range.end - k : BLOCK);
    return total;
}

static dg_status_t sum_rows(void *context, int64_t index, int worker) {
    const dg_hc_prenorm_problem_t *problem = context;
    const int64_t tasks = (problem->m + TASK_ROWS - 1) / TASK_ROWS;
    const int64_t split = index / tasks, begin = index % tasks * TASK_ROWS;
    const int64_t end = problem->m - begin < TASK_ROWS ? problem->m : begin + TASK_ROWS;
    const dg_hc_split_t range = dg_hc_split(problem->k, problem->splits, split);
    float *sums = problem->sqr_sum + split * problem->sqr_sum_split_stride;
    (void)worker;
    for (int64_t row = begin; row < end; row++) sums[row] = sum_row(problem, row, range);
    return DG_STATUS_OK;
}

dg_status_t dg_cpu_hc_prenorm(dg_cpu_pool_t *pool, const dg_hc_prenorm_problem_t *problem) {
    dg_hc_work_t work = {.problem = problem};
    const int64_t tasks = problem->splits * ((problem->m + TASK_ROWS - 1) / TASK_ROWS);
    dg_status_t status = problem->n > 0 ? multiply(pool, &work) : DG_STATUS_OK;
    dg_hc_prenorm_problem_t copy = *problem; /* a task's context is not const */
    if (status == DG_STATUS_OK) status = dg_cpu_run_tasks(pool, sum_rows, &copy, tasks, 0, 0);
    free(work.high);
    free(work.low);
    free(work.products);
    free(work.segments);
    return status;
}
