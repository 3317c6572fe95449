/* SPDX-License-Identifier: MIT
 *
 * The GEMM engine of the CPU backend: every GEMM family is spelt as a list of products for it.
 *
 *     d[i][j] = round(c[i][j] + total[i][j]),   total = sum over k of a[i][k] * sa * b[j][k] * sb
 *
 * Order of the arithmetic, which is the same whatever the shape, tile, thread count or instruction
 * set, so that a row's bits depend on nothing but its own inputs:
 *   1. K is cut at segment starts, and each segment into blocks of 128 (of 32 where an operand has
 *      scales of granularity 32). In a block: sum = fma(a, b, sum) from +0, k in increasing order.
 *   2. Blocks in order: total = fma(sa * sb, sum, total) from +0, all in FP32. sa, sb are 1 where an
 *      operand has no scales.
 *   3. d = round(total), or round(float(c) + total): one rounding, to d's type.
 *
 * Only the k of the segments and the rows of the product are read: padding may hold NaN.
 */
#ifndef DG_CPU_ENGINE_H
#define DG_CPU_ENGINE_H

#include <stdint.h>

#include "cpu/pool.h"
#include "deep_gemm/status.h"
#include "deep_gemm/tensor.h"

/* One side of a product: rows of k values, decoded to FP32 on the fly. */
typedef struct dg_cpu_operand_t {
    const void *data; /* value (0, 0); for E2M1X2 the byte whose low nibble it is */
    dg_dtype_t dtype; /* E4M3, E2M1X2, BF16, F16 or F32 */
    /* Values from one row, one k, to the next. Either may be anything; one of them being 1 is fast.
     * E2M1X2: in 4-bit codes, so the packed axis has stride 1 and the other an even one. */
    int64_t row_stride, k_stride;
    /* [product rows], or NULL: row of `data` that each row of the product is. Negative: the row does
     * not exist; its results are +0 (+ c), whatever the other operand holds. */
    const int32_t *rows;
    /* [end of the last segment], or NULL: k of `data` that each k of the product is. Negative: that k
     * adds nothing, whatever the other operand holds. Scales go by the product's k. */
    const int32_t *ks;
    const void *scale;      /* NULL: 1.0 */
    dg_dtype_t scale_dtype; /* F32; E8M0; I32 = four UE8M0 bytes along K, the lowest K first */
    /* Elements of scale_dtype from one gran_mn rows to the next; from one gran_k (I32: 4 gran_k) to
     * the next. */
    int64_t scale_row_stride, scale_k_stride;
    int32_t gran_mn; /* rows (of `data`, after `rows`) for each factor, >= 1 */
    int32_t gran_k;  /* 32 or 128 */
} dg_cpu_operand_t;

/* A stretch of the product's K that starts its own scale blocks: a group of a K-grouped sum. */
typedef struct dg_cpu_segment_t {
    int64_t k_begin, k_count;
    int64_t scale_begin_a, scale_begin_b; /* index along the scales' K axis of its first factor */
    /* NULL, or the first value of this segment and its stride from row to row, in place of the
     * operand's: segments that are matrices of their own. Such an operand has no `ks`. */
    const void *data_a, *data_b;
    int64_t row_stride_a, row_stride_b;
} dg_cpu_segment_t;

/* d: [m, n], n fastest. One product of a batch; products of a batch must not write the same d, nor
 * read what another writes. */
typedef struct dg_cpu_product_t {
    dg_cpu_operand_t a, b; /* [m, k], [n, k] */
    int64_t m, n;
    const dg_cpu_segment_t *segments; /* none: the product is 0 */
    int64_t segment_count;
    const void *c; /* [m, n] of d_dtype, or NULL; may equal d, with its stride */
    int64_t c_row_stride;
    void *d;
    int64_t d_row_stride; /* values */
    dg_dtype_t d_dtype;   /* BF16 or F32 */
    /* [m], or NULL: row of c and d that each row of the product is; negative: not stored. */
    const int32_t *d_rows;
} dg_cpu_product_t;

/* Computes all products of the batch, tiles of all of them side by side on the pool's threads.
 * Arguments are trusted: the api layer checks them. Fails with DG_STATUS_OUT_OF_MEMORY (some of d
 * may be written then) or, on an operand or d of a dtype not listed above, DG_STATUS_INTERNAL.
 * Working memory stays below 64 MiB for all threads together. */
dg_status_t dg_cpu_run(dg_cpu_pool_t *pool, const dg_cpu_product_t *products, int64_t count);

#endif
