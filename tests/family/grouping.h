/* SPDX-License-Identifier: MIT
 *
 * Groups for tests: from a list of sizes and a form, the `values` tensor that the library reads and
 * where each group really lies.
 */
#ifndef DG_TESTS_FAMILY_GROUPING_H
#define DG_TESTS_FAMILY_GROUPING_H

#include <stdint.h>

#include "deep_gemm/grouped.h"
#include "random_data.h"

typedef struct grouping_t {
    dg_groups_t view;
    int64_t count;     /* G */
    int64_t rows;      /* r, the rows of the operand and, but for MASKED, of d */
    int64_t *sizes;    /* [G] */
    int64_t *begin;    /* [G] first row; not for INDEX and BLOCK_INDEX */
    int32_t *of_row;   /* [rows] group of a row, -1: none; NULL for MASKED */
    int32_t alignment; /* PSUM, BLOCK_INDEX */
} grouping_t;

/* sizes: [count]. value_type: I32 or I64. tail: rows past the last group. alignment: of PSUM and
 * BLOCK_INDEX. INDEX deals the rows to the groups in random order, with `tail` rows of none among
 * them; BLOCK_INDEX has one or more blocks for each group in random order, and only the first entry
 * of a block has a meaning. MASKED is for `max_m` = the largest size plus tail. */
grouping_t grouping_make(rng_t *rng, dg_group_form_t form, dg_dtype_t value_type,
    const int64_t *sizes, int64_t count, int64_t tail, int32_t alignment);

const char *grouping_form_text(dg_group_form_t form);

/* A 1-D I32 or I64 tensor in guarded memory holding values[0..count), elements `stride` apart. */
dg_tensor_t integers_make(
    dg_dtype_t dtype, const int64_t *values, int64_t count, int64_t stride, const char *name);

#endif
