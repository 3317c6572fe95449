/* SPDX-License-Identifier: MIT
 *
 * Outputs of products in guarded memory, with an optional c, and their comparison with sums of the
 * reference.
 */
#ifndef DG_TESTS_FAMILY_OUTPUT_H
#define DG_TESTS_FAMILY_OUTPUT_H

#include <stdint.h>

#include "deep_gemm/tensor.h"
#include "operand.h"
#include "random_data.h"
#include "reference.h"

typedef enum addend_t {
    C_NONE = 0,     /* d = product */
    C_SEPARATE = 1, /* c has memory of its own */
    C_ALIAS = 2     /* c is d */
} addend_t;

typedef struct output_t {
    dg_tensor_t d;
    dg_tensor_t c;   /* DG_NO_TENSOR for C_NONE */
    double *c_value; /* [max(groups, 1), m, n]; NULL for C_NONE */
    int64_t m, n;
} output_t;

/* dtype: BF16 or F32. groups 0: a matrix [m, n]. pad: elements between rows and between groups. */
output_t output_make(rng_t *rng, dg_dtype_t dtype, int64_t groups, int64_t m, int64_t n,
    int64_t pad, addend_t addend, values_t values);

/* Judges element [g, i, j], whose product is `product` (c is added here), and allows its bytes. */
void output_judge(
    judge_t how, const output_t *output, int64_t g, int64_t i, int64_t j, ref_sum_t product);

/* Element [g, i, j] must be a plain zero; allows its bytes. */
void output_zero(const output_t *output, int64_t g, int64_t i, int64_t j);

#endif
