/* SPDX-License-Identifier: MIT
 *
 * Random operands of dense and M-grouped products: guarded memory in a chosen element type, layout
 * and scale format, together with the dequantised values that the reference multiplies.
 */
#ifndef DG_TESTS_FAMILY_OPERAND_H
#define DG_TESTS_FAMILY_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/gemm.h"
#include "random_data.h"

typedef enum values_t {
    VALUES_RANDOM = 0, /* any finite code, any factor within 2^-8 .. 2^8 */
    VALUES_INTEGER = 1 /* small integers, factors 1, 2 and 4: every FP32 sum is exact */
} values_t;

typedef enum scale_order_t {
    SCALE_ROWS = 0,    /* [.., mn, kb] row after row */
    SCALE_ALIGNED = 1, /* MN-major, columns a multiple of four apart */
    SCALE_LOOSE = 2    /* no stride of 1 at all */
} scale_order_t;

typedef struct operand_spec_t {
    dg_dtype_t dtype;    /* E4M3, E2M1X2 or BF16 */
    bool mn_major;       /* mn is the contiguous axis */
    int64_t pad;         /* elements between one line and the next, poisoned */
    bool aligned;        /* at least so many that all lines begin on multiples of 16 bytes */
    dg_dtype_t scale;    /* NONE, F32, E8M0 or I32 */
    scale_order_t order; /* of the scale tensor */
    int32_t gran_mn, gran_k;
    values_t values;
} operand_spec_t;

typedef struct operand_t {
    dg_operand_t view;
    int64_t groups, mn, k; /* groups 0: a matrix */
    double *value;         /* [max(groups, 1), mn, k] dequantised */
} operand_t;

operand_t operand_make(
    rng_t *rng, const operand_spec_t *spec, int64_t groups, int64_t mn, int64_t k);

/* One random code of an element type: its bits and, decoded, its value. */
typedef struct code_t {
    uint32_t bits;
    double value;
} code_t;

code_t code_random(rng_t *rng, dg_dtype_t dtype, values_t values);

/* One random factor: F32 has 32 bits, E8M0 and I32 8. */
code_t factor_random(rng_t *rng, dg_dtype_t dtype, values_t values);

/* Stores `bits` as element `index` along a line of codes; for E2M1X2 a nibble of byte index / 2,
 * `base` being the address of the line's first byte. */
void code_store(dg_dtype_t dtype, void *base, int64_t index, uint32_t bits);

/* Text of a spec for labels: "e4m3 mn-major pad 3 f32 1x128". Four buffers, used in turn. */
const char *operand_text(const operand_spec_t *spec);

#endif
