/* SPDX-License-Identifier: MIT
 *
 * Random operands of the products: codes and factors in memory, the view that the library gets, and
 * the value of each element for the reference.
 *
 * Values lie at offset  group * stride[0] + mn * stride[1] + k * stride[2], counted in values (two
 * to a byte for E2M1X2), so that one rule reads every type and every layout.
 */
#ifndef CLI_OPERAND_H
#define CLI_OPERAND_H

#include "buffer.h"
#include "deep_gemm/deep_gemm.h"
#include "random.h"
#include "shape.h"

typedef struct cli_factors_t {
    dg_tensor_t view;
    int64_t stride[3]; /* group, row of factors, block along k: elements of view (I32: words) */
    int64_t gran_mn, gran_k;
} cli_factors_t;

typedef struct cli_operand_t {
    dg_tensor_t view;
    int64_t stride[3];     /* group, mn, k: in values */
    cli_factors_t factors; /* view DG_NO_TENSOR: all 1 */
} cli_operand_t;

dg_dtype_t cli_dtype_of(int dtype, bool second); /* of operand a, or of b */

/* Fills memory of `dtype` with `count` random values: every E4M3 and E2M1 code but NaN; BF16 and
 * F32 of either sign within 2^-5 .. 2^3. */
void cli_fill_values(void *data, dg_dtype_t dtype, int64_t count, cli_random_t *random);

/* An operand [groups, mn, k]; groups 0 makes the view a matrix. k_fastest: k is the contiguous
 * axis, otherwise mn. */
cli_operand_t cli_make_operand(cli_pool_t *pool, const cli_shape_t *shape, dg_dtype_t dtype,
    int64_t groups, int64_t mn, int64_t k, bool k_fastest, int64_t gran_mn, cli_random_t *random);

/* Random factors [groups, rows, blocks] of the shape's type, blocks being counted along `k`. */
cli_factors_t cli_make_factors(cli_pool_t *pool, int scale, int64_t groups, int64_t rows,
    int64_t blocks, cli_random_t *random);

double cli_factor(const cli_factors_t *factors, int64_t group, int64_t row, int64_t block);
double cli_operand_value(const cli_operand_t *operand, int64_t group, int64_t mn, int64_t k);

/* Bytes of data and factors. */
double cli_tensor_bytes(const dg_tensor_t *tensor);

#endif
