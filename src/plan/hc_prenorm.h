/* SPDX-License-Identifier: MIT
 *
 * The product in front of a hyper-connection's norm on a GPU: from the checked call to launches. A
 * pure function of problem, machine and options; src/api/gpu_hc_prenorm.c launches what it tells.
 */
#ifndef DG_PLAN_HC_PRENORM_H
#define DG_PLAN_HC_PRENORM_H

#include "kernels/args/tf32_hc_prenorm_gemm.h"
#include "model/hc_prenorm.h"
#include "plan/plan.h"

typedef struct dg_hc_prenorm_plan_t {
    int64_t splits;
    uint64_t workspace; /* bytes: slices, if they are not the caller's; 0: no sum is needed */
    dg_plan_stage_t product, sum;
    dg_any_tf32_hc_prenorm_gemm_args_t product_args;
    dg_any_sum_slices_args_t sum_args; /* with workspace */
} dg_hc_prenorm_plan_t;

/* Fills the launches but for what depends on the workspace's address; see dg_place_hc_slices(). */
void dg_plan_hc_prenorm(const dg_hc_prenorm_problem_t *problem, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_hc_prenorm_plan_t *plan);

/* Sends the slices to plan->workspace bytes at `workspace`; nothing to do without. */
void dg_place_hc_slices(dg_hc_prenorm_plan_t *plan, void *workspace);

#endif
