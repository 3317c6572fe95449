/* SPDX-License-Identifier: MIT
 *
 * See gemm.h.
 */
#include "cpu/gemm.h"

#include "cpu/batch.h"

dg_status_t dg_cpu_gemm(dg_cpu_pool_t *pool, const dg_gemm_problem_t *problem) {
    const dg_cpu_segment_t whole = {.k_count = problem->k};
    dg_cpu_product_t product = dg_cpu_result(&problem->out, 0, 0, problem->m, problem->n);
    product.a = dg_cpu_operand(&problem->a, 0);
    product.b = dg_cpu_operand(&problem->b, 0);
    product.segments = &whole;
    product.segment_count = 1;
    return dg_cpu_run_batch(pool, &product, 1);
}
