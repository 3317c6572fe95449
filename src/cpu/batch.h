/* SPDX-License-Identifier: MIT
 *
 * From checked problems to products of the engine: what the GEMM families of the CPU backend share.
 * Called by gemm.c, m_grouped.c and k_grouped.c of this folder; calls engine.h.
 */
#ifndef DG_CPU_BATCH_H
#define DG_CPU_BATCH_H

#include "cpu/engine.h"
#include "model/problem.h"

/* Address of the value `count` values past `data`; for E2M1X2 `count` is even. */
const void *dg_cpu_advance(const void *data, dg_dtype_t dtype, int64_t count);

/* Side of the product of one group. */
dg_cpu_operand_t dg_cpu_operand(const dg_side_t *side, int64_t group);

/* The same operand from row `begin` on, rows counting from 0 again. With factors for more than one
 * row, `begin` must be a multiple of gran_mn or no other row follow that has another factor. */
dg_cpu_operand_t dg_cpu_skip_rows(const dg_cpu_operand_t *operand, int64_t begin);

/* A product with the results of one group, from row `begin` of it; a, b and segments are left out. */
dg_cpu_product_t dg_cpu_result(
    const dg_output_t *out, int64_t group, int64_t begin, int64_t m, int64_t n);

/* Writes row `row` of the product's d: c's row bit for bit, or zeros without c. */
void dg_cpu_clear_row(const dg_cpu_product_t *product, int64_t row);

/* Runs a batch. Products of no k are copies of c or zeros; `products` is reordered. */
dg_status_t dg_cpu_run_batch(dg_cpu_pool_t *pool, dg_cpu_product_t *products, int64_t count);

#endif
