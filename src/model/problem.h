/* SPDX-License-Identifier: MIT
 *
 * A GEMM call after checking: what the api layer hands to a backend. Layouts have become strides and
 * absent arguments NULL pointers. The files of src/api fill these; src/cpu reads them.
 *
 * Group values and row lists stay the tensors they are, since a GPU reads them on the device: they
 * alone are left for the backend to look at.
 */
#ifndef DG_MODEL_PROBLEM_H
#define DG_MODEL_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/grouped.h"

/* Scale factors [group, mn, k], one for each gran_mn x gran_k values. */
typedef struct dg_factors_t {
    const void *data; /* NULL: every factor is 1 */
    dg_dtype_t dtype; /* F32, E8M0, or I32 with four UE8M0 along k */
    int64_t group_stride, mn_stride,
        k_stride;    /* elements, from one factor (I32: word) to the next */
    int64_t count_k; /* factors (words) along k that exist */
    int32_t gran_mn, gran_k;
} dg_factors_t;

/* One side of a product, [group, mn, k]. */
typedef struct dg_side_t {
    const void *data;
    dg_dtype_t dtype; /* E4M3, E2M1X2 or BF16; of cublaslt.h also F16 or F32 */
    /* Values (for E2M1X2 codes, two a byte) from one index to the next; one of mn_stride and
     * k_stride is 1. An axis of extent 1 has a stride as good as any. */
    int64_t group_stride, mn_stride, k_stride;
    int64_t gather_extent; /* of the axis a row list picks from: its entries are below this */
    dg_factors_t scale;
} dg_side_t;

/* Where results go: [group, m, n], n fastest. */
typedef struct dg_output_t {
    void *d;
    const void *c;                        /* NULL: nothing is added; may equal d */
    dg_dtype_t dtype;                     /* of d and c: BF16 or F32 */
    int64_t group_stride, row_stride;     /* of d, elements */
    int64_t c_group_stride, c_row_stride; /* of c, elements */
} dg_output_t;

/* d = c + a b^T */
typedef struct dg_gemm_problem_t {
    int64_t m, n, k;
    dg_side_t a, b;
    dg_output_t out;
} dg_gemm_problem_t;

/* d[i] = c[i] + a[i] b[g(i)]^T, the rows of d in groups. MASKED: a, c and d have a group axis. */
typedef struct dg_m_grouped_problem_t {
    int64_t group_count, rows, n, k; /* rows of d; MASKED: of each group's matrix */
    dg_side_t a, b;
    dg_output_t out;
    dg_groups_t groups; /* alignment is set */
    dg_tensor_t a_rows; /* DG_NO_TENSOR: row i of the product is row i of a */
    bool zero_padding;
    int32_t expected_m; /* rows of a usual group, 0: unknown; for planning alone */
} dg_m_grouped_problem_t;

/* One side of a K-grouped product: mn by tokens. */
typedef struct dg_k_side_t {
    const char *name; /* "a" or "b": values read late are refused under this name */
    dg_side_t side;   /* FLAT: strides follow from the size of each group */
    bool flat;
    int64_t flat_length; /* FLAT: elements of data for each of mn */
    dg_tensor_t rows;    /* DG_NO_TENSOR: token t is row t of data */
} dg_k_side_t;

/* d[g] = c[g] + a_g b_g^T, the groups lying along k. */
typedef struct dg_k_grouped_problem_t {
    int64_t group_count, m, n, tokens;
    dg_k_side_t a, b;
    dg_output_t out;           /* LIST: d and c are NULL */
    bool sum;                  /* one [m, n] for all groups */
    void *const *d_list;       /* LIST: [group_count]; else NULL */
    const void *const *c_list; /* LIST: [group_count] or NULL */
    dg_groups_t groups;
} dg_k_grouped_problem_t;

#endif
