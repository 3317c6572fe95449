/* SPDX-License-Identifier: MIT
 *
 * A checked dg_tf32_hc_prenorm_gemm() call, and how k is dealt out to its splits. Filled by
 * src/api, read by the backends.
 */
#ifndef DG_MODEL_HC_PRENORM_H
#define DG_MODEL_HC_PRENORM_H

#include <stdbool.h>
#include <stdint.h>

/* k is dealt out in blocks of so many. */
#define DG_HC_PRENORM_BLOCK_K 64

typedef struct dg_hc_prenorm_problem_t {
    int64_t m, n, k, splits;              /* splits: slices of the outputs, at least 1 */
    bool sliced;                          /* the caller gave the number of splits */
    const void *a;                        /* [m, k] bf16, k fastest */
    const float *b;                       /* [n, k] f32, k fastest */
    float *d;                             /* [splits, m, n] f32, n fastest */
    float *sqr_sum;                       /* [splits, m] f32, m fastest */
    int64_t a_stride, b_stride, d_stride; /* values from row to row */
    int64_t d_split_stride, sqr_sum_split_stride;
} dg_hc_prenorm_problem_t;

/* k of one split: [begin, end), empty if there are fewer blocks than splits. */
typedef struct dg_hc_split_t {
    int64_t begin, end;
} dg_hc_split_t;

static inline dg_hc_split_t dg_hc_split(int64_t k, int64_t splits, int64_t index) {
    const int64_t blocks = (k + DG_HC_PRENORM_BLOCK_K - 1) / DG_HC_PRENORM_BLOCK_K;
    const int64_t each = blocks / splits, more = blocks % splits; /* these have one more */
    const int64_t first = index * each + (index < more ? index : more);
    const int64_t begin = first * DG_HC_PRENORM_BLOCK_K;
    const int64_t end = begin + (each + (index < more)) * DG_HC_PRENORM_BLOCK_K;
    return (dg_hc_split_t){begin < k ? begin : k, end < k ? end : k};
}

#endif
