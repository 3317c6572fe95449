/* SPDX-License-Identifier: MIT
 *
 * One stage of a cast, of a layout of factors or of a product beside the GEMM families, launched.
 * Called by src/api/gpu_cast.c and gpu_hc_prenorm.c; how a kernel's arguments are filled is told by
 * src/plan/cast.c, scale_copy.c and hc_prenorm.c.
 */
#ifndef DG_CUDA_RUN_CAST_H
#define DG_CUDA_RUN_CAST_H

#include "cuda/device.h"

/* Where a launch takes its place. */
typedef struct dg_cuda_order_t {
    void *stream; /* CUstream; NULL: the default stream */
    bool pdl;
} dg_cuda_order_t;

dg_status_t dg_cuda_run_stage(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order, const void *args);

#endif
