/* SPDX-License-Identifier: MIT
 *
 * K-grouped GEMM on the CPU: one batch of the engine, a product for each group, or for the sum over
 * groups one product whose segments they are. Called by src/api/k_grouped.c.
 */
#ifndef DG_CPU_K_GROUPED_H
#define DG_CPU_K_GROUPED_H

#include "cpu/pool.h"
#include "deep_gemm/context.h"
#include "model/problem.h"

/* Reads group values and row lists first, and refuses those out of range (unless `options` say that
 * they are clamped), and operands too small for them, before anything is written. */
dg_status_t dg_cpu_k_grouped(dg_cpu_pool_t *pool, const dg_k_grouped_problem_t *problem,
    const dg_context_options_t *options);

/* The same refusals and nothing else, for values copied from a GPU: of all tensors only those that
 * hold groups and lists of rows are read. */
dg_status_t dg_cpu_check_k_grouped(
    const dg_k_grouped_problem_t *problem, const dg_context_options_t *options);

#endif
