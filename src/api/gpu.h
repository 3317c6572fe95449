/* SPDX-License-Identifier: MIT
 *
 * The GPU side of the GEMM families: plan, kernels, launch. Called at the end of src/api/gemm.c,
 * m_grouped.c and k_grouped.c for tensors on a CUDA device; calls plan, jit and cuda.
 */
#ifndef DG_API_GPU_H
#define DG_API_GPU_H

#include "api/context.h"
#include "plan/plan.h"

/* A checked call. One of the three problems; the others NULL. */
typedef struct dg_gpu_product_t {
    const dg_gemm_problem_t *gemm;
    const dg_m_grouped_problem_t *m_grouped;
    const dg_k_grouped_problem_t *k_grouped;
    int32_t ordinal; /* of the device that holds the tensors */
} dg_gpu_product_t;

/* What the planner is told of a product. */
void dg_product_work(const dg_gpu_product_t *product, dg_work_t *work);

/* What it is told of the settings of a call; options->only points at `only`, if it points anywhere.
 * */
dg_status_t dg_call_plan_options(
    const dg_call_t *call, dg_specialisation_t *only, dg_plan_options_t *options);

/* Launches the product on launch->stream. The workspace of `launch` is checked against the plan's
 * need, or asked of launch->allocate; the library allocates no memory, and once the kernels are
 * loaded locks and formats nothing. */
dg_status_t dg_gpu_multiply(
    const dg_call_t *call, const dg_gpu_product_t *product, const dg_launch_t *launch);

/* For calls that make several products: sets own to `launch` with `needed` bytes of workspace,
 * checked, or asked of its allocator, that all of them share. */
dg_status_t dg_gpu_take_workspace(
    const dg_call_t *call, const dg_launch_t *launch, size_t needed, dg_launch_t *own);

/* The workspace in bytes that the same call would want. */
dg_status_t dg_gpu_workspace(const dg_call_t *call, const dg_gpu_product_t *product, size_t *bytes);

#endif
