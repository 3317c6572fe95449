/* SPDX-License-Identifier: MIT
 *
 * See skip_head_mid.h. Each piece of columns is a product of its own. A piece may begin inside a
 * block of factors, so it names its rows of b by a list (0, 1, 2, .. from its first one): factors
 * then go by the row itself.
 */
#include "cpu/skip_head_mid.h"

#include <stdlib.h>

#include "base/error.h"
#include "cpu/batch.h"

static void fill(const dg_skip_head_mid_problem_t *problem, const dg_cpu_segment_t *whole_k,
    const int32_t *rows, dg_cpu_product_t *products, int64_t count) {
    const dg_gemm_problem_t *gemm = &problem->gemm;
    const int64_t bytes = dg_dtype_size(gemm->out.dtype);
    for (int64_t i = 0; i < count; i++) {
        const dg_column_piece_t piece = dg_column_piece(problem, i);
        dg_cpu_product_t *product = &products[i];
        *product = dg_cpu_result(&gemm->out, 0, 0, gemm->m, piece.count);
        product->d = (char *)product->d + piece.d_begin * bytes;
        product->a = dg_cpu_operand(&gemm->a, 0);
        product->b = dg_cpu_operand(&gemm->b, 0);
        product->b.rows = rows + piece.begin;
        product->segments = whole_k;
        product->segment_count = 1;
    }
}

dg_status_t dg_cpu_skip_head_mid(dg_cpu_pool_t *pool, const dg_skip_head_mid_problem_t *problem) {
    const int64_t count = dg_count_column_pieces(problem), n = problem->gemm.n;
    const dg_cpu_segment_t whole_k = {.k_count = problem->gemm.k};
    int32_t *rows = malloc((size_t)n * sizeof *rows);
    dg_cpu_product_t *products = malloc((size_t)count * sizeof *products);
    dg_status_t status;
    if (rows == NULL || products == NULL) {
        status = dg_fail(DG_STATUS_OUT_OF_MEMORY, "b", "",
            "no memory for the products of %lld heads; free some", (long long)(count / 2));
    } else {
        for (int64_t i = 0; i < n; i++) rows[i] = (int32_t)i;
        fill(problem, &whole_k, rows, products, count);
        status = dg_cpu_run_batch(pool, products, count);
    }
    free(rows);
    free(products);
    return status;
}
