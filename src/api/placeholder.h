/* SPDX-License-Identifier: MIT
 *
 * Arguments without memory, for planning: every tensor whose data is NULL gets an address that nothing
 * else has, aligned as well as can be, and all tensors lie on the CPU, where every check passes that
 * the call itself would pass. Nothing behind these addresses is ever touched. Called by plan.c.
 */
#ifndef DG_API_PLACEHOLDER_H
#define DG_API_PLACEHOLDER_H

#include "deep_gemm/grouped.h"

void dg_place_gemm(dg_gemm_args_t *args);
void dg_place_m_grouped_gemm(dg_m_grouped_gemm_args_t *args);

/* list: room for the addresses of a LIST without d_list, [DG_MAX_LISTED_OUTPUTS] */
void dg_place_k_grouped_gemm(dg_k_grouped_gemm_args_t *args, void **list);

#endif
