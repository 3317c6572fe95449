/* SPDX-License-Identifier: MIT
 *
 * Random tensors for the tests of the GEMM families, and what they mean, in FP64. Nothing here
 * shares code with the library: values are decoded from the formats' definitions, addresses are
 * computed from shapes and strides one element at a time.
 *
 * Buffers are filled with 0xFF first, which is NaN in every type: what a tensor does not cover
 * poisons a result that reads it.
 */
#ifndef DG_TESTS_API_SAMPLE_H
#define DG_TESTS_API_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/deep_gemm.h"

typedef struct sample_t {
    uint64_t state;    /* of the random numbers */
    void *buffers[64]; /* everything allocated, freed by sample_end() */
    int count;
} sample_t;

void sample_begin(sample_t *sample, uint64_t seed);
void sample_end(sample_t *sample);

/* A number in [low, high]. */
int64_t sample_between(sample_t *sample, int64_t low, int64_t high);

/* `bytes` of 0xFF. */
void *sample_bytes(sample_t *sample, int64_t bytes);

/* A tensor whose axes lie in memory in the order `order` (outermost first), rows padded by `pad`
 * elements; all elements random and finite, factors between 2^-3 and 2^3. With e2m1x2 the shape
 * counts bytes. */
dg_tensor_t sample_tensor(sample_t *sample, dg_dtype_t dtype, int32_t rank, const int64_t *shape,
    const int32_t *order, int64_t pad);

/* A rank-2 tensor, last axis contiguous or (transposed) the first one. */
dg_tensor_t sample_matrix(
    sample_t *sample, dg_dtype_t dtype, int64_t n0, int64_t n1, bool transposed, int64_t pad);

/* Value of the element at index[rank]. `packed` is the axis along which index counts E2M1 codes in
 * an e2m1x2 tensor, or UE8M0 bytes in an i32 one; any other type ignores it. */
double sample_value(const dg_tensor_t *tensor, const int64_t *index, int32_t packed);

/* Value times factor of an operand at [g, i, k]; g is ignored for rank 2. */
double sample_operand_value(
    const dg_operand_t *operand, int32_t packed, int64_t g, int64_t i, int64_t k);

/* Fails the test unless element `index` of d is `expected` within what one rounding to d's type and
 * an FP32 sum of terms with absolute sum `magnitude` allow. */
void sample_check(const dg_tensor_t *d, const int64_t *index, double expected, double magnitude);

/* Makes every element NaN. */
void sample_poison(const dg_tensor_t *tensor);

/* All bytes from the first element to past the last, and the check, after a call, that those
 * between the elements are what they were; `before` changes. */
uint8_t *sample_copy(sample_t *sample, const dg_tensor_t *tensor);
void sample_check_between(const dg_tensor_t *tensor, uint8_t *before);

/* Fails the test unless the call succeeded, with the library's message. */
void sample_succeeded(dg_status_t status);

#endif
