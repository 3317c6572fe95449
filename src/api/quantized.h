/* SPDX-License-Identifier: MIT
 *
 * Checks of a dg_quantized_t against the tensor it stands for; cast.c calls them.
 */
#ifndef DG_API_QUANTIZED_H
#define DG_API_QUANTIZED_H

#include "api/group_ranges.h"
#include "deep_gemm/cast.h"

/* Refuses quantised values or factors that do not fit x, which has been checked. `grouped`: along
 * axis 0, blocks stay inside the ranges of `groups`, and there may be more factors than these need.
 * `name` is the argument's name: "out[0]". */
dg_status_t dg_check_quantized(const dg_quantized_t *q, const char *name, const dg_tensor_t *x,
    bool grouped, const dg_call_groups_t *groups);

/* As dg_check_quantized(), and refuses outputs that cannot be written without overlap. */
dg_status_t dg_check_quantized_output(const dg_quantized_t *q, const char *name,
    const dg_tensor_t *x, bool grouped, const dg_call_groups_t *groups);

#endif
