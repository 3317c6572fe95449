/* SPDX-License-Identifier: MIT
 *
 * Rows of tokens to rows of groups and back on the CPU. Called by api/permute.c with checked
 * arguments; deep_gemm/moe.h says what is computed and in which order.
 */
#ifndef DG_CPU_PERMUTE_H
#define DG_CPU_PERMUTE_H

#include "cpu/pool.h"
#include "deep_gemm/moe.h"

/* Rows outside of the matrix that they name are none. */
dg_status_t dg_cpu_permute_rows(dg_cpu_pool_t *pool, const dg_permute_rows_args_t *args);
dg_status_t dg_cpu_unpermute_rows(dg_cpu_pool_t *pool, const dg_unpermute_rows_args_t *args);
dg_status_t dg_cpu_dot_rows(dg_cpu_pool_t *pool, const dg_dot_rows_args_t *args);

#endif
