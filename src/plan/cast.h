/* SPDX-License-Identifier: MIT
 *
 * Casts on a GPU: from the arguments of dg_quantize() and dg_dequantize() to launches. Pure functions
 * of arguments and machine; src/cuda/run_cast.c launches what they tell.
 */
#ifndef DG_PLAN_CAST_H
#define DG_PLAN_CAST_H

#include "deep_gemm/cast.h"
#include "kernels/args/cast.h"
#include "plan/plan.h"

typedef struct dg_cast_launch_t {
    dg_plan_stage_t stage;
    dg_any_cast_args_t args;
} dg_cast_launch_t;

#define DG_MAX_CAST_LAUNCHES 4

/* In this order. */
typedef struct dg_cast_launches_t {
    int32_t count;
    dg_cast_launch_t launch[DG_MAX_CAST_LAUNCHES];
} dg_cast_launches_t;

/* args have been checked, x has elements, and groups have values on the device or the form NONE.
 * psum_alignment: what an alignment of 0 means. */
void dg_plan_quantize(const dg_quantize_args_t *args, int32_t psum_alignment,
    const dg_machine_t *machine, dg_cast_launches_t *launches);
void dg_plan_dequantize(const dg_dequantize_args_t *args, int32_t psum_alignment,
    const dg_machine_t *machine, dg_cast_launches_t *launches);

#endif
