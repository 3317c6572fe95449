/* SPDX-License-Identifier: MIT
 *
 * Tokens to the rows of their experts and back on a GPU: from the arguments of deep_gemm/moe.h to
 * launches. Pure functions of arguments and machine; src/api/gpu_permute.c launches what they tell.
 */
#ifndef DG_PLAN_PERMUTE_H
#define DG_PLAN_PERMUTE_H

#include "deep_gemm/moe.h"
#include "kernels/args/permute.h"
#include "plan/plan.h"

/* Two launches with the same arguments, in this order. alignment: of PSUM, at least 1. */
void dg_plan_route_tokens(const dg_route_tokens_args_t *args, int32_t alignment,
    const dg_machine_t *machine, dg_plan_stage_t stages[2], dg_any_route_tokens_args_t *route);

void dg_plan_permute_rows(const dg_permute_rows_args_t *args, const dg_machine_t *machine,
    dg_plan_stage_t *stage, dg_any_permute_rows_args_t *permute);
void dg_plan_unpermute_rows(const dg_unpermute_rows_args_t *args, const dg_machine_t *machine,
    dg_plan_stage_t *stage, dg_any_sum_rows_args_t *sum);
void dg_plan_dot_rows(const dg_dot_rows_args_t *args, const dg_machine_t *machine,
    dg_plan_stage_t *stage, dg_any_sum_rows_args_t *dot);

#endif
