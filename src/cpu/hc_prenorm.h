/* SPDX-License-Identifier: MIT
 *
 * The product in front of a hyper-connection's norm on the CPU. Called by src/api/hc_prenorm.c;
 * calls batch.h and the pool.
 */
#ifndef DG_CPU_HC_PRENORM_H
#define DG_CPU_HC_PRENORM_H

#include "cpu/pool.h"
#include "deep_gemm/status.h"
#include "model/hc_prenorm.h"

/* problem: checked, m > 0. */
dg_status_t dg_cpu_hc_prenorm(dg_cpu_pool_t *pool, const dg_hc_prenorm_problem_t *problem);

#endif
