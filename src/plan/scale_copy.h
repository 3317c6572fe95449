/* SPDX-License-Identifier: MIT
 *
 * Layouts of factors on a GPU: from the arguments of dg_scale_convert() and dg_scale_pack_k_grouped() to
 * a launch each. Pure functions; src/api/gpu_cast.c launches what they tell.
 */
#ifndef DG_PLAN_SCALE_COPY_H
#define DG_PLAN_SCALE_COPY_H

#include "deep_gemm/scale_layout.h"
#include "kernels/args/cast.h"
#include "kernels/args/scale_copy.h"
#include "plan/plan.h"

/* args have been checked, and dst has elements; groups have values on the device or the form NONE.
 * psum_alignment: what an alignment of 0 means. */
void dg_plan_scale_copy(const dg_scale_convert_args_t *args, int64_t blocks, int32_t psum_alignment,
    const dg_machine_t *machine, dg_plan_stage_t *stage, dg_any_scale_copy_args_t *copy);

/* tokens: those of the one group that the form NONE means, else an upper bound. */
void dg_plan_scale_words(const dg_scale_pack_k_grouped_args_t *args, int64_t tokens,
    int32_t psum_alignment, const dg_machine_t *machine, dg_plan_stage_t *stage,
    dg_any_cast_args_t *pack);

#endif
