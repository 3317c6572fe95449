/* SPDX-License-Identifier: MIT
 *
 * What the fields of a dg_quantized_t mean, for the casts of every backend.
 */
#ifndef DG_MODEL_QUANTIZED_H
#define DG_MODEL_QUANTIZED_H

#include <stdbool.h>

#include "deep_gemm/cast.h"

/* Axis of x, of the given rank, that the coming product sums over. */
static inline int dg_quantized_k_axis(const dg_quantized_t *q, int32_t rank) {
    return q->k_axis == DG_K_AXIS_ROWS && rank > 1 ? rank - 2 : rank - 1;
}

/* Whether each row of grouped x has factors of its own, which then stay at the row's index; else
 * those of all groups follow each other. */
static inline bool dg_quantized_by_row(const dg_quantized_t *q, int32_t rank) {
    const bool words = q->scale.dtype == DG_DTYPE_I32 && dg_quantized_k_axis(q, rank) == 0;
    return q->gran[0] == 1 && !words;
}

#endif
