/* SPDX-License-Identifier: MIT
 *
 * A GEMM call as the planner sees it: extents, types, layouts and alignments, no addresses. Two
 * calls with the same work get the same plan. Made from the problems of model/problem.h by work.c.
 */
#ifndef DG_PLAN_WORK_H
#define DG_PLAN_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/problem.h"

typedef enum dg_family_t {
    DG_FAMILY_GEMM = 1,
    DG_FAMILY_M_GROUPED_GEMM = 2,
    DG_FAMILY_K_GROUPED_GEMM = 3
} dg_family_t;

/* One side, [group, mn, k].
 *
 * Alignments are in bytes: the largest power of two up to 128 that divides the address and every
 * stride but that of the contiguous axis (strides of axes of extent 1 do not count, a NULL address
 * is aligned). 1 if a stride is not positive or is 2^40 bytes or more: TMA takes neither. FLAT:
 * that of the address; see aligned_groups for the strides. */
typedef struct dg_work_side_t {
    uint8_t dtype;        /* dg_dtype_t */
    uint8_t k_contiguous; /* 1: k has stride 1; 0: mn has */
    uint8_t alignment;
    uint8_t flat;                /* K-grouped DG_K_FLAT: each group a [mn, k_g] matrix of its own */
    uint8_t gathered;            /* rows are picked by a list */
    uint8_t scale_dtype;         /* dg_dtype_t; DG_DTYPE_NONE: every factor is 1 */
    uint8_t scale_mn_contiguous; /* 1: mn has stride 1; 0: k has; 2: neither */
    uint8_t scale_alignment;     /* all strides count if neither is 1 */
    int32_t gran_mn, gran_k;
} dg_work_side_t;

/* Compared and hashed as bytes: no padding, unused fields zero. */
typedef struct dg_work_t {
    int64_t m, n, k; /* M-grouped: m = rows of d in all (MASKED: of each group's matrix);
                             * K-grouped: k = tokens in all */
    dg_work_side_t a, b;
    int32_t family;      /* dg_family_t */
    int32_t group_count; /* 1 for dense */
    int32_t expected_m;  /* M-grouped: rows of a usual group; 0: unknown */
    uint8_t group_form;  /* dg_group_form_t */
    uint8_t k_output;    /* dg_k_output_t */
    uint8_t out_dtype;   /* BF16 or F32 */
    uint8_t accumulates; /* c given */
    uint8_t d_alignment,
        c_alignment; /* as those of a side; c: 0 without c; LIST: the least of all */
    uint8_t zero_padding;
    uint8_t
        aligned_groups; /* K-grouped: host knows that all k_g are multiples of 16; MASKED: that all
                              * rows are valid, and there are no values (model/groups.h) */
    int32_t group_alignment; /* rows: PSUM and BLOCK_INDEX; else 0 */
} dg_work_t;

_Static_assert(sizeof(dg_work_t) == 80, "bytes are compared: no padding");

void dg_gemm_work(const dg_gemm_problem_t *problem, dg_work_t *work);
void dg_m_grouped_gemm_work(const dg_m_grouped_problem_t *problem, dg_work_t *work);
void dg_k_grouped_gemm_work(const dg_k_grouped_problem_t *problem, dg_work_t *work);

#endif
