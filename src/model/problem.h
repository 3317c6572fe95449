/* SPDX-License-Identifier: MIT
 *
 * A GEMM call after checking: what the api layer hands to a backend. Layouts have become strides,
 * optional arguments NULL pointers, and nothing in here can be wrong, so that a backend computes and
 * never refuses. The files of src/api fill these; src/cpu reads them.
 *
 * Values of group tensors are not in here but where the caller put them (see groups.h): a GPU reads
 * them on the device.
 */
#ifndef DG_MODEL_PROBLEM_H
#define DG_MODEL_PROBLEM_H

#include <stdint.h>

#include "deep_gemm/tensor.h"

/* Scale factors [group, mn, k], one for each gran_mn x gran_k values. */
typedef struct dg_factors_t {
    const void *data; /* NULL: every factor is 1 */
    dg_dtype_t dtype; /* F32, E8M0, or I32 with four UE8M0 along k */
    int64_t group_stride, mn_stride, k_stride; /* elements, from one factor (I32: word) to the next */
    int64_t count_k; /* factors (words) along k that exist */
    int32_t gran_mn, gran_k;
} dg_factors_t;

/* One side of a product, [group, mn, k]. */
typedef struct dg_side_t {
    const void *data;
    dg_dtype_t dtype; /* E4M3, E2M1X2 or BF16 */
    /* Values (for E2M1X2 codes, two a byte) from one index to the next; one of mn_stride and
     * k_stride is 1. An axis of extent 1 has a stride as good as any. */
    int64_t group_stride, mn_stride, k_stride;
    int64_t extent_mn; /* rows of data that exist: gathered rows are below it */
    dg_factors_t scale;
} dg_side_t;

/* Where results go: [group, m, n], n fastest. */
typedef struct dg_output_t {
    void *d;
    const void *c; /* NULL: nothing is added; may equal d */
    dg_dtype_t dtype; /* of d and c: BF16 or F32 */
    int64_t group_stride, row_stride;     /* of d, elements */
    int64_t c_group_stride, c_row_stride; /* of c, elements */
} dg_output_t;

/* d = c + a b^T */
typedef struct dg_gemm_problem_t {
    int64_t m, n, k;
    dg_side_t a, b;
    dg_output_t out;
} dg_gemm_problem_t;

#endif
