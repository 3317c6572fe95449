/* SPDX-License-Identifier: MIT
 *
 * The memory that a view covers, and whether two views share any of it. arguments.c asks this before
 * anything is written.
 *
 * Two views whose intervals of addresses are disjoint share nothing, which settles nearly every
 * call. Views that interleave (column slices of one buffer, even and odd rows) are then compared
 * exactly.
 */
#ifndef DG_MODEL_SPAN_H
#define DG_MODEL_SPAN_H

#include <stdbool.h>

#include "deep_gemm/tensor.h"

/* The interval [begin, end) of addresses from a view's lowest byte to past its highest; empty for an
 * empty view. */
typedef struct dg_span_t {
    uintptr_t begin, end;
} dg_span_t;

/* tensor: has passed dg_check_tensor(); DG_NO_TENSOR gives an empty span. */
dg_span_t dg_tensor_span(const dg_tensor_t *tensor);

/* True if some byte belongs to an element of both views. Where strides are so contrived that the
 * answer would take long, true. */
bool dg_tensors_overlap(const dg_tensor_t *a, const dg_tensor_t *b);

/* True if both views have the same type, shape and address and the same place for each element. */
bool dg_same_view(const dg_tensor_t *a, const dg_tensor_t *b);

#endif
