/* SPDX-License-Identifier: MIT
 *
 * Checks of outputs and accumulators given as a list of addresses, one for each group. Called by
 * src/api/k_grouped.c.
 */
#ifndef DG_MODEL_OUTPUT_LIST_H
#define DG_MODEL_OUTPUT_LIST_H

#include "model/arguments.h"

#define DG_MAX_LISTED_OUTPUTS 1024

/* The list as the call gives it. */
typedef struct dg_output_list_t {
    const dg_tensor_t *d; /* type, shape and strides of each entry; has passed dg_check_result() */
    void *const *d_list;  /* [count] */
    const void *const *c_list; /* [count] or NULL */
    int64_t count;
} dg_output_list_t;

/* Refuses a list that is missing, of too many entries, or with an entry that is NULL or misaligned. */
dg_status_t dg_check_output_list(const dg_output_list_t *list);

/* Refuses entries of d_list that share memory with each other or with an input, and entries of c_list
 * that share memory with any of d_list but are not that of their own group. */
dg_status_t dg_check_list_apart(const dg_output_list_t *list, const dg_input_t *inputs, int count);

#endif
