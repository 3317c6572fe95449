/* SPDX-License-Identifier: MIT
 *
 * The GPU side of MQA logits and of their schedule: plan, kernel, stream. Called by logits.c and
 * paged_mqa_logits.c for tensors on a CUDA device. Nothing is allocated, and no value in device
 * memory is waited for.
 */
#ifndef DG_API_GPU_LOGITS_H
#define DG_API_GPU_LOGITS_H

#include "api/context.h"
#include "kernels/args/mqa_logits.h"
#include "model/mqa_logits.h"

dg_status_t dg_gpu_logits(const dg_call_t *call, const dg_mqa_logits_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch);

dg_status_t dg_gpu_logits_schedule(const dg_call_t *call, const dg_any_mqa_schedule_args_t *args,
    int32_t ordinal, const dg_launch_t *launch);

#endif
