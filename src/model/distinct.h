/* SPDX-License-Identifier: MIT
 *
 * Outputs with free strides: every element must have its own place. Called by the api layer for
 * casts and scale layouts, whose outputs may be transposed or sliced.
 */
#ifndef DG_MODEL_DISTINCT_H
#define DG_MODEL_DISTINCT_H

#include "deep_gemm/tensor.h"

/* Refuses an output in which two elements could share memory: with axes sorted by stride, each must
 * step over all that the ones before it cover. `name` and `field` as dg_fail() takes them. */
dg_status_t dg_check_distinct(const dg_tensor_t *tensor, const char *name, const char *field);

#endif
