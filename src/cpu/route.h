/* SPDX-License-Identifier: MIT
 *
 * Slots of tokens sorted by group on the CPU. Called by api/route.c with checked arguments, the check of
 * values by api/device_values.c; the meaning of every output is in deep_gemm/moe.h.
 */
#ifndef DG_CPU_ROUTE_H
#define DG_CPU_ROUTE_H

#include "deep_gemm/moe.h"

/* Refuses an entry of `slots` [tokens, topk] I32 or I64 that is `limit` or more (BAD_VALUE); negative
 * ones pass. name: the argument's; what: of what there are `limit`, "groups". */
dg_status_t dg_cpu_check_slots(
    const dg_tensor_t *slots, const char *name, const char *what, int64_t limit);

/* Writes all outputs. Ids that are no group are dropped. alignment: of PSUM, at least 1. */
void dg_cpu_route_tokens(const dg_route_tokens_args_t *args, int64_t alignment);

#endif
