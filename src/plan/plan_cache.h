/* SPDX-License-Identifier: MIT
 *
 * Plans remembered: what a GPU call asks instead of dg_make_plan(). Warm it is a hash of the work and
 * a compare; nothing is allocated, and nobody ever waits for another thread. Called by src/api.
 */
#ifndef DG_PLAN_PLAN_CACHE_H
#define DG_PLAN_PLAN_CACHE_H

#include "plan/plan.h"

/* The same plan and status as dg_make_plan(). Refusals are not remembered. */
dg_status_t dg_find_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan);

#endif
