/* SPDX-License-Identifier: MIT
 *
 * One BF16 GEMM with everything around it: operands in any layout, c, poisoned d, and the reference
 * in FP64 to compare with. Dense products are one segment of k that covers it all; K-grouped ones
 * have a segment for each group, with tokens of nobody (NaN) in between; M-grouped ones have row
 * tiles. Used by the emulator's tests of the kernel.
 */
#ifndef DG_TESTS_BF16_GEMM_CASE_H
#define DG_TESTS_BF16_GEMM_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* begin .. end - 1 of k (K-grouped) or of rows (M-grouped) */
typedef struct dg_bf16_range_t {
    int32_t begin, end;
} dg_bf16_range_t;

typedef enum dg_bf16_family_t {
    DG_BF16_CASE_DENSE = 1,
    DG_BF16_CASE_M_GROUPED = 2,
    DG_BF16_CASE_K_GROUPED = 3
} dg_bf16_family_t;

/* What the caller asks for. */
typedef struct dg_bf16_shape_t {
    dg_bf16_family_t family;
    int32_t m, n, k;                 /* K-grouped: k tokens in all; M-grouped: m rows in all */
    bool a_mn, b_mn;                 /* m (n) is the fastest axis */
    bool f32, accumulates, in_place; /* type of d; c given; c is d */
    bool narrow;                     /* rows of d start anywhere */
    bool sum;                        /* K-grouped: one matrix for all groups */
    bool exact;                      /* small integers: every sum is exact in any order */
    const dg_bf16_range_t *groups;   /* [group_count]; dense: NULL */
    int32_t group_count;
    uint64_t seed;
} dg_bf16_shape_t;

typedef struct dg_bf16_gemm_case_t {
    dg_bf16_shape_t shape;
    int32_t matrices;         /* of d */
    int32_t b_matrices;       /* of b: M-grouped: one a group */
    int32_t a_pitch, b_pitch; /* elements from line to line of the slow axis */
    int64_t b_stride;         /* from matrix to matrix */
    int32_t d_pitch;          /* of d and c, elements */
    int64_t d_stride;
    uint16_t *a, *b;
    void *c, *d, *before; /* before: d as it was */
    size_t a_bytes, b_bytes, d_bytes;
} dg_bf16_gemm_case_t;

bool dg_make_bf16_gemm_case(dg_bf16_gemm_case_t *c, const dg_bf16_shape_t *shape);
void dg_free_bf16_gemm_case(dg_bf16_gemm_case_t *c);

/* Compares d with the reference, element by element, and everything around it with what was there.
 * Returns how many are wrong; text says which was the first. */
size_t dg_check_bf16_gemm_case(const dg_bf16_gemm_case_t *c, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
