/* SPDX-License-Identifier: MIT
 *
 * Where the launches of one call go that is no product: the device, its stream, and what the call's
 * settings say. Used by gpu_cast.c and the like of it; calls jit and
 * cuda.
 */
#ifndef DG_API_GPU_TARGET_H
#define DG_API_GPU_TARGET_H

#include "api/context.h"
#include "cuda/run_cast.h"

typedef struct dg_gpu_target_t {
    dg_cuda_device_t *device;
    const dg_machine_t *machine;
    dg_cuda_order_t order;
    bool only_prepares; /* kernels are made ready, nothing is launched */
    int32_t psum_alignment;
} dg_gpu_target_t;

/* launch: checked, may be NULL. */
dg_status_t dg_open_gpu_target(
    const dg_call_t *call, int32_t ordinal, const dg_launch_t *launch, dg_gpu_target_t *target);

dg_status_t dg_find_stage_function(
    const dg_gpu_target_t *target, const dg_plan_stage_t *stage, dg_cuda_function_t **function);

/* Finds the function and, unless the call only prepares, launches it. */
dg_status_t dg_run_gpu_stage(
    const dg_gpu_target_t *target, const dg_plan_stage_t *stage, const void *args);

#endif
