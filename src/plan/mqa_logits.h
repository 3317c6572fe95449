/* SPDX-License-Identifier: MIT
 *
 * MQA logits on a GPU: which problems the kernels of kernels/args/mqa_logits.h can do, and how they
 * are launched. Pure functions of problem and machine; src/cuda/run_mqa_logits.c launches what they
 * tell.
 */
#ifndef DG_PLAN_MQA_LOGITS_H
#define DG_PLAN_MQA_LOGITS_H

#include "model/mqa_logits.h"
#include "plan/plan.h"

/* Why no kernel can do it, in static text: what it is and what to do; NULL: *stage is the launch.
 * num_sms: that it may fill, 0: all. The problem has queries and columns. */
const char *dg_plan_mqa_logits(const dg_mqa_logits_problem_t *problem, const dg_machine_t *machine,
    int32_t num_sms, dg_plan_stage_t *stage);

/* Tokens of a box, of the map of kv: the most that divide a page and a block. */
int32_t dg_mqa_box_tokens(const dg_logits_tokens_t *tokens);

/* Elements from the first head of a query to that of the next, for the kernel for Hopper. */
int64_t dg_mqa_query_stride(const dg_logits_queries_t *queries);

/* Tokens that a request can have and the cache holds. */
int64_t dg_mqa_capacity(const dg_logits_tokens_t *tokens);

void dg_plan_mqa_schedule(dg_plan_stage_t *stage);

#endif
