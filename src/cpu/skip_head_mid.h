/* SPDX-License-Identifier: MIT
 *
 * Products with a gap in each head on the CPU. Called by src/api/skip_head_mid.c; calls batch.h.
 */
#ifndef DG_CPU_SKIP_HEAD_MID_H
#define DG_CPU_SKIP_HEAD_MID_H

#include "cpu/pool.h"
#include "model/skip_head_mid.h"

/* problem: checked, m > 0, n below 2^31. */
dg_status_t dg_cpu_skip_head_mid(dg_cpu_pool_t *pool, const dg_skip_head_mid_problem_t *problem);

#endif
