/* SPDX-License-Identifier: MIT
 *
 * A product of E4M3 operands with a factor for every row and 128 k, dense or for groups of tokens
 * along k, with the answer it must give: the independent reference of fp8_gemm_vector's tests, on the
 * emulator and on a GPU. A dense product is one with a single group. Everything that is no operand
 * (tokens between groups, padding of rows, factors past the last) holds NaN. */
#ifndef DG_TESTS_FP8_VECTOR_CASE_H
#define DG_TESTS_FP8_VECTOR_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DG_CASE_MAX_GROUPS 16

typedef enum dg_case_form {
    DG_CASE_TOKENS_FIRST, /* [tokens, pitch], m or n fastest */
    DG_CASE_TOKENS_LAST,  /* [mn, pitch], tokens fastest */
    DG_CASE_FLAT          /* group after group [mn, k_g], tokens fastest */
} dg_case_form_t;

/* What is asked for. */
typedef struct dg_vector_shape {
    int32_t m, n, group_count;
    int32_t sizes[DG_CASE_MAX_GROUPS]; /* tokens of each group */
    int32_t gap;                       /* tokens of NaN behind every group */
    dg_case_form_t form_a, form_b;
    bool exact;           /* small integers and powers of two: every sum is exact */
    bool out_f32;         /* d and c are F32, else BF16 */
    bool accumulates;     /* c is given */
    bool sum;             /* d is the sum over the groups */
    bool scale_k_fastest; /* factors [mn, rows] instead of [rows, mn] */
    bool no_scale_b;      /* factors of b are 1, and absent */
    int32_t odd_pitch;    /* added to the pitch of d and c: 1 makes them unaligned */
} dg_vector_shape_t;

typedef struct dg_vector_operand {
    uint8_t *data;
    size_t bytes;
    int64_t pitch; /* bytes; TOKENS_FIRST, TOKENS_LAST: of a row, a multiple of 16 */
    float *scale;  /* NULL: none */
    size_t scale_bytes;
    int64_t scale_mn_stride, scale_k_stride; /* elements */
} dg_vector_operand_t;

typedef struct dg_vector_case {
    dg_vector_shape_t shape;
    int32_t tokens;                    /* rows of TOKENS_FIRST data, gaps included */
    int32_t begin[DG_CASE_MAX_GROUPS]; /* first token of each group */
    int32_t scale_row[DG_CASE_MAX_GROUPS],
        flat_begin[DG_CASE_MAX_GROUPS]; /* the latter without gaps */
    int32_t scale_rows;
    dg_vector_operand_t a, b;
    void *c;                    /* as d: [slabs, m, pitch], n fastest; NULL if nothing is added */
    int32_t slabs;              /* matrices of d: groups, or 1 for a sum */
    int64_t pitch, slab_stride; /* elements */
    size_t d_bytes;
} dg_vector_case_t;

/* Allocates and fills; false if memory is short. Free it in either case. */
bool dg_make_vector_case(dg_vector_case_t *c, const dg_vector_shape_t *shape, uint64_t seed);
void dg_free_vector_case(dg_vector_case_t *c);

/* Compares d with the reference, and what lies around it with the poison that it held before: bytes
 * of 0xff. slack: as in fp8_gemm_case.h. Returns the number of elements that are wrong. text:
 * [text_size] what is wrong */
size_t dg_check_vector_case(
    const dg_vector_case_t *c, const void *d, double slack, char *text, size_t text_size);

#ifdef __cplusplus
}
#endif
#endif
