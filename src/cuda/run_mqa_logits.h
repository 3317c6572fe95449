/* SPDX-License-Identifier: MIT
 *
 * MQA logits and their schedule, launched: makes the tensor maps and fills the arguments of
 * kernels/args/mqa_logits.h from a problem that plan/mqa_logits.c passed. Called by
 * src/api/gpu_logits.c.
 */
#ifndef DG_CUDA_RUN_MQA_LOGITS_H
#define DG_CUDA_RUN_MQA_LOGITS_H

#include "cuda/run_cast.h"
#include "kernels/args/mqa_logits.h"
#include "model/mqa_logits.h"

dg_status_t dg_cuda_run_mqa_logits(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order,
    const dg_mqa_logits_problem_t *problem);

#endif
