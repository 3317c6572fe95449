/* SPDX-License-Identifier: MIT
 *
 * The last step of a call for MQA logits, tokens paged or not: from the checked problem to the
 * backend of its device. Called by mqa_logits.c and paged_mqa_logits.c.
 */
#ifndef DG_API_LOGITS_H
#define DG_API_LOGITS_H

#include "api/context.h"
#include "model/mqa_logits.h"

dg_status_t dg_compute_logits(dg_call_t *call, const dg_mqa_logits_problem_t *problem,
    dg_device_t device, const dg_launch_t *launch);
#endif
