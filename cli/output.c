/* SPDX-License-Identifier: MIT
 *
 * Output tensors and their judgement by the bounds that output.h states.
 */
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "operand.h"
#include "placement.h"

#define MAX_DIFF 1e-5 /* BF16 rounding alone gives about 1e-6 */

cli_output_t cli_make_output(cli_pool_t *pool, const cli_shape_t *shape, int64_t slices,
    int64_t slice_rows, int64_t n, bool reversed, cli_random_t *random) {
    const dg_dtype_t dtype = shape->out == CLI_OUT_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const int64_t stride = n + shape->pad;
    const int64_t rows = (slices > 0 ? slices : 1) * slice_rows;
    cli_output_t output = {.slices = slices > 0 ? slices : 1,
        .slice_rows = slice_rows,
        .n = n,
        .row_stride = stride,
        .reversed = reversed,
        .accumulate = shape->accumulate};
    output.bytes = (size_t)(rows * stride * dg_dtype_size(dtype));
    void *data = cli_pool_take(pool, output.bytes);
    output.before = cli_pool_take(pool, output.bytes);
    if (shape->accumulate) {
        cli_fill_values(data, dtype, rows * stride, random);
        memcpy(output.before, data, output.bytes);
    }
    if (slices > 0) {
        output.view = dg_tensor_3d(data, dtype, slices, slice_rows, n);
        output.view.stride[0] = slice_rows * stride;
        output.view.stride[1] = stride;
    } else {
        output.view = dg_tensor_2d(data, dtype, slice_rows, n);
        output.view.stride[0] = stride;
    }
    return output;
}

void cli_reset_output(const cli_output_t *output) {
    if (output->bytes > 0) memcpy(output->view.data, output->before, output->bytes);
}

/* Index of the first element of a row. */
static int64_t row_start(const cli_output_t *output, int64_t row) {
    int64_t slice = row / output->slice_rows;
    if (output->reversed) slice = output->slices - 1 - slice;
    return (slice * output->slice_rows + row % output->slice_rows) * output->row_stride;
}

void *cli_output_row(const cli_output_t *output, int64_t row) {
    const int64_t start = output->slice_rows > 0 ? row_start(output, row) : 0;
    return (char *)output->view.data + start * dg_dtype_size(output->view.dtype);
}

/* The whole of one row but its values: the gap after it, or all of it if nothing may be written. */
static bool check_row(
    const cli_output_t *output, int64_t row, int32_t kind, cli_verdict_t *verdict) {
    const size_t size = (size_t)dg_dtype_size(output->view.dtype);
    const size_t start = (size_t)row_start(output, row) * size;
    const size_t values = (size_t)output->n * size;
    const size_t whole = (size_t)output->row_stride * size;
    const char *now = (const char *)output->view.data + start;
    const char *before = (const char *)output->before + start;
    const size_t kept = kind == CLI_ROW_UNTOUCHED ? 0 : values;
    if (memcmp(now + kept, before + kept, whole - kept) != 0) {
        snprintf(verdict->why, CLI_TEXT, "%s row %" PRId64 " of d was written",
            kept ? "the gap after" : "the unused", row);
        return false;
    }
    if (kind == CLI_ROW_UNTOUCHED) return true;
    for (int64_t col = 0; col < output->n; col++) {
        const double value = cli_load(now, output->view.dtype, col);
        if (isnan(value) || (kind == CLI_ROW_ZERO && value != 0)) {
            snprintf(verdict->why, CLI_TEXT, "d[%" PRId64 ", %" PRId64 "] is %g, %s", row, col,
                value, kind == CLI_ROW_ZERO ? "not zero: the row has no group" : "not written");
            return false;
        }
    }
    return true;
}

typedef struct sums_t {
    double xx, yy, xy;
} sums_t;

static void check_element(const cli_output_t *output, const cli_reference_t *reference, int64_t row,
    int64_t col, sums_t *sums, cli_verdict_t *verdict) {
    const dg_dtype_t dtype = output->view.dtype;
    const int64_t index = row_start(output, row) + col;
    const double found = cli_load(output->view.data, dtype, index);
    double expected, magnitude;
    reference->element(reference->self, row, col, &expected, &magnitude);
    if (output->accumulate) expected += cli_load(output->before, dtype, index);

    const double rounding = dtype == DG_DTYPE_BF16 ? 0x1p-8 : 0x1p-23;
    const double bound = rounding * fabs(expected) + 0x1p-20 * magnitude;
    const double error = fabs(found - expected);
    const double ratio = error == 0 ? 0 : error / bound;
    verdict->checked++;
    if (ratio > verdict->max_ratio) verdict->max_ratio = ratio;
    if (!(ratio <= 1)) {
        if (verdict->wrong++ == 0) {
            snprintf(verdict->why, CLI_TEXT,
                "d[%" PRId64 ", %" PRId64 "] is %.9g, expected %.9g: %.3g times the bound", row,
                col, found, expected, ratio);
        }
    }
    sums->xx += found * found;
    sums->yy += expected * expected;
    sums->xy += found * expected;
}

/* A random index with the last one and the first more often than the others: edges are where
 * tiles end. */
static int64_t pick(cli_random_t *random, int64_t count) {
    const int64_t choice = cli_random_below(random, 8);
    if (choice == 0) return 0;
    if (choice < 3) return count - 1;
    return cli_random_below(random, count);
}

void cli_judge_output(const cli_output_t *output, const cli_reference_t *reference, int64_t work,
    cli_verdict_t *verdict) {
    const int64_t rows = output->slices * output->slice_rows;
    if (rows == 0 || output->row_stride == 0) return;
    int64_t computed = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int32_t kind = reference->row_kind(reference->self, row);
        computed += kind >= 0;
        if (!check_row(output, row, kind, verdict)) return;
    }
    if (computed == 0 || output->n == 0) return;

    sums_t sums = {0, 0, 0};
    const int64_t points = work / (reference->k > 0 ? reference->k : 1);
    if (computed <= points / output->n) {
        for (int64_t row = 0; row < rows; row++) {
            if (reference->row_kind(reference->self, row) < 0) continue;
            for (int64_t col = 0; col < output->n; col++) {
                check_element(output, reference, row, col, &sums, verdict);
            }
        }
    } else {
        cli_random_t random = {1};
        const int64_t least = points > 64 ? points : 64;
        for (int64_t tries = 0; tries < 100 * least && verdict->checked < least; tries++) {
            const int64_t row = pick(&random, rows);
            if (reference->row_kind(reference->self, row) < 0) continue;
            check_element(output, reference, row, pick(&random, output->n), &sums, verdict);
        }
    }
    if (sums.xx + sums.yy > 0) verdict->diff = 1 - 2 * sums.xy / (sums.xx + sums.yy);
    if (verdict->why[0] == 0 && !(verdict->diff < MAX_DIFF)) {
        snprintf(
            verdict->why, CLI_TEXT, "calc_diff is %.3g, the limit %g", verdict->diff, MAX_DIFF);
    }
}
