/* SPDX-License-Identifier: MIT
 *
 * The output d of a product, and how it is judged: every row that the call must leave alone still
 * holds its old bytes, rows of no group are zero, every other element was written, and the elements
 * compared with an FP64 reference err by no more than
 *
 *     2^-8 |d| (BF16) or 2^-23 |d| (F32)  +  2^-20 sum over k of |sa a sb b|
 *
 * Called by gemm_case.c and k_grouped_case.c.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "buffer.h"
#include "case.h"
#include "deep_gemm/deep_gemm.h"

typedef struct cli_output_t {
    dg_tensor_t view; /* [slice_rows, n], or [slices, slice_rows, n] */
    void *before;     /* the bytes before the first run */
    size_t bytes;
    int64_t slices, slice_rows, n;
    int64_t row_stride; /* elements */
    bool reversed;      /* slices lie in memory in reverse order (output lists) */
    bool accumulate;    /* d held values, to be added to */
} cli_output_t;

/* Row r of the output is row r % slice_rows of slice r / slice_rows. slices 0: a matrix. Holds
 * random values if shape->accumulate says so, else NaN. */
cli_output_t cli_make_output(cli_pool_t *pool, const cli_shape_t *shape, int64_t slices,
    int64_t slice_rows, int64_t n, bool reversed, cli_random_t *random);
void cli_reset_output(const cli_output_t *output);

/* Address of a row in d. */
void *cli_output_row(const cli_output_t *output, int64_t row);

/* The reference. */
typedef struct cli_reference_t {
    const void *self;
    int64_t k; /* products in a usual element, to share out the work */

    /* >= 0: computed; CLI_ROW_ZERO; CLI_ROW_UNTOUCHED. */
    int32_t (*row_kind)(const void *self, int64_t row);

    /* Sum and sum of magnitudes of the products, without c. */
    void (*element)(const void *self, int64_t row, int64_t col, double *value, double *magnitude);
} cli_reference_t;

void cli_judge_output(const cli_output_t *output, const cli_reference_t *reference, int64_t work,
    cli_verdict_t *verdict);

#endif
