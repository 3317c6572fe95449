/* SPDX-License-Identifier: MIT
 *
 * A question to the planner, as plan.c and plan_enumerate.c prepare it from public arguments: whose
 * plan, of what work, under which options.
 */
#ifndef DG_API_PLANNING_H
#define DG_API_PLANNING_H

#include "api/context.h"
#include "deep_gemm/plan.h"
#include "plan/plan.h"

typedef struct dg_question_t {
    const dg_machine_t *machine;
    dg_plan_options_t options;
    dg_specialisation_t only; /* what options.only points at, if it points anywhere */
    dg_work_t work;
    bool empty; /* d has no elements: there is nothing to plan */
} dg_question_t;

/* Fills a question from one of the request's three args; query may be NULL. Its range is not looked
 * at. `question` must stay where it is. */
dg_status_t dg_prepare_question(const dg_call_t *call, const dg_plan_request_t *request,
    const dg_plan_query_t *query, dg_question_t *question);

#endif
