/* SPDX-License-Identifier: MIT
 *
 * Dense GEMM on the CPU: one product of the engine. Called by src/api/gemm.c.
 */
#ifndef DG_CPU_GEMM_H
#define DG_CPU_GEMM_H

#include "cpu/pool.h"
#include "model/problem.h"

dg_status_t dg_cpu_gemm(dg_cpu_pool_t *pool, const dg_gemm_problem_t *problem);

#endif
