/* SPDX-License-Identifier: MIT
 *
 * The GPU side of the product in front of a hyper-connection's norm. Called at the end of
 * src/api/hc_prenorm.c for tensors on a CUDA device; calls plan, jit and cuda.
 */
#ifndef DG_API_GPU_HC_PRENORM_H
#define DG_API_GPU_HC_PRENORM_H

#include "api/context.h"
#include "model/hc_prenorm.h"

/* problem: checked, m > 0. Refuses rows of a and b that do not begin on multiples of 16 bytes. */
dg_status_t dg_gpu_hc_prenorm(const dg_call_t *call, const dg_hc_prenorm_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch);

/* The workspace in bytes that the same call would want. */
dg_status_t dg_gpu_hc_prenorm_workspace(
    const dg_call_t *call, const dg_hc_prenorm_problem_t *problem, int32_t ordinal, size_t *bytes);

#endif
