/* SPDX-License-Identifier: MIT
 *
 * The GPU side of deep_gemm/moe.h: launches, kernels, stream. Called at the end of src/api/route.c and
 * permute.c for tensors on a CUDA device; calls plan, jit and cuda. Nothing is allocated, and no value
 * in device memory is waited for.
 */
#ifndef DG_API_GPU_PERMUTE_H
#define DG_API_GPU_PERMUTE_H

#include "api/context.h"
#include "deep_gemm/moe.h"

/* args have been checked. alignment: of PSUM, at least 1. */
dg_status_t dg_gpu_route_tokens(const dg_call_t *call, const dg_route_tokens_args_t *args,
    int32_t alignment, const dg_launch_t *launch);

/* args have been checked; out has elements. */
dg_status_t dg_gpu_permute_rows(
    const dg_call_t *call, const dg_permute_rows_args_t *args, const dg_launch_t *launch);
dg_status_t dg_gpu_unpermute_rows(
    const dg_call_t *call, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch);
dg_status_t dg_gpu_dot_rows(
    const dg_call_t *call, const dg_dot_rows_args_t *args, const dg_launch_t *launch);

#endif
