/* SPDX-License-Identifier: MIT
 *
 * Random operands of K-grouped products in each of their forms, with the dequantised values of the
 * tokens that belong to groups. All else in them is poison.
 */
#ifndef DG_TESTS_FAMILY_K_OPERAND_H
#define DG_TESTS_FAMILY_K_OPERAND_H

#include "grouping.h"
#include "operand.h"

typedef struct k_spec_t {
    dg_k_form_t form;
    dg_dtype_t dtype;
    bool turned;         /* TOKENS_FIRST, TOKENS_LAST: the other axis is the contiguous one */
    int64_t pad;         /* elements between lines; not FLAT */
    dg_dtype_t scale;    /* NONE, F32, E8M0 or I32 */
    scale_order_t order; /* of [rows, mn] */
    int32_t gran_k;
    bool gather; /* TOKENS_FIRST: rows in random order, some used twice, some negative */
    values_t values;
} k_spec_t;

typedef struct k_matrix_t {
    dg_k_operand_t view;
    int64_t mn;
    int64_t tokens; /* r */
    double *value;  /* [mn, tokens] dequantised, 0 outside the groups */
} k_matrix_t;

k_matrix_t k_operand_make(rng_t *rng, const k_spec_t *spec, int64_t mn, const grouping_t *grouping);

/* Text of a spec for labels. Four buffers, used in turn. */
const char *k_operand_text(const k_spec_t *spec);

#endif
