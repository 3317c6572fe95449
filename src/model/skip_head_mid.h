/* SPDX-License-Identifier: MIT
 *
 * A checked product with a gap in each head (deep_gemm/skip_head_mid.h), and its columns as pieces:
 * the stretches that are adjacent both in the product and in d. Filled by src/api, read by the
 * backends.
 */
#ifndef DG_MODEL_SKIP_HEAD_MID_H
#define DG_MODEL_SKIP_HEAD_MID_H

#include "model/problem.h"

typedef struct dg_skip_head_mid_problem_t {
    dg_gemm_problem_t gemm; /* out: d with its gaps */
    int64_t left, mid, right;
} dg_skip_head_mid_problem_t;

/* Columns [begin, begin + count) of the product are columns [d_begin, ..) of d. */
typedef struct dg_column_piece_t {
    int64_t begin, count, d_begin;
} dg_column_piece_t;

static inline int64_t dg_count_column_pieces(const dg_skip_head_mid_problem_t *problem) {
    return problem->gemm.n / (problem->left + problem->right) * 2;
}

/* Piece 2 h is the left part of head h, piece 2 h + 1 the right one. Either may be empty. */
static inline dg_column_piece_t dg_column_piece(
    const dg_skip_head_mid_problem_t *problem, int64_t index) {
    const int64_t head = index / 2, columns = problem->left + problem->right;
    const dg_column_piece_t left = {head * columns, problem->left, head * (columns + problem->mid)};
    if (index % 2 == 0) return left;
    return (dg_column_piece_t){
        left.begin + problem->left, problem->right, left.d_begin + problem->left + problem->mid};
}

#endif
