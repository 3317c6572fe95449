/* SPDX-License-Identifier: MIT
 *
 * Slots of tokens sorted by group on the CPU. Called by api/route.c with checked arguments; the
 * meaning of every output is in deep_gemm/moe.h.
 */
#ifndef DG_CPU_ROUTE_H
#define DG_CPU_ROUTE_H

#include "deep_gemm/moe.h"

/* Refuses an id that is no group (BAD_VALUE); negative ids pass. */
dg_status_t dg_cpu_check_ids(const dg_route_tokens_args_t *args);

/* Writes all outputs. Ids that are no group are dropped. alignment: of PSUM, at least 1. */
void dg_cpu_route_tokens(const dg_route_tokens_args_t *args, int64_t alignment);

#endif
