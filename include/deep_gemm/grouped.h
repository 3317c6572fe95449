/* SPDX-License-Identifier: MIT
 *
 * Grouped GEMMs: many experts, one call.
 *
 * Tokens that were sorted by expert form groups. Three products of a mixture-of-experts layer y =
 * x W_g^T (W_g being [n, k]) need them:
 *
 *     forward          y[tokens of g]  = x[tokens of g] W_g^T      dg_m_grouped_gemm
 *     data gradient    dx[tokens of g] = dy[tokens of g] W_g       dg_m_grouped_gemm, transposed b
 *     weight gradient  dW_g += dy[tokens of g]^T x[tokens of g]    dg_k_grouped_gemm
 *
 * Groups may have any size, zero included, in any order; no padding is asked for. What lies outside
 * the groups may hold anything, NaN included: it is never computed with.
 */
#ifndef DEEP_GEMM_GROUPED_H
#define DEEP_GEMM_GROUPED_H

#include "deep_gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How `dg_groups_t.values` places the groups. r is the number of rows (tokens).
 *
 *     SIZES        [G]  group g has values[g] rows, groups back to back
 *     OFFSETS      [G]  group g ends before row values[g] and begins where g - 1 ended
 *     PSUM         [G]  group g ends before row values[g] and begins at the end of g - 1 rounded up
 *                       to `alignment`; an end below the begin is an empty group
 *     INDEX        [r]  row i belongs to group values[i]; negative: to none. Any order. M-grouped
 *     BLOCK_INDEX  [r]  the first row of each block of `alignment` rows speaks for the block
 *     MASKED       [G]  a is [G, max_m, k]: the first values[g] rows of a[g] are valid. M-grouped */
typedef enum dg_group_form_t {
    DG_GROUPS_NONE = 0,
    DG_GROUPS_SIZES = 1,
    DG_GROUPS_OFFSETS = 2,
    DG_GROUPS_PSUM = 3,
    DG_GROUPS_INDEX = 4,
    DG_GROUPS_BLOCK_INDEX = 5,
    DG_GROUPS_MASKED = 6
} dg_group_form_t;

typedef struct dg_groups_t {
    dg_group_form_t form;
    dg_tensor_t values;        /* 1-D I32 or I64 on the tensors' device, any stride */
    int32_t alignment;         /* PSUM, BLOCK_INDEX: 0 = the context's mk_alignment */
    const int64_t *host_sizes; /* optional [G] in host memory, SIZES alone. With `values`: only the
                                * sum is checked against r. Without: these are the sizes */
    int64_t host_count;        /* entries of host_sizes */
} dg_groups_t;

#define DG_NO_GROUPS                                                                               \
    { DG_GROUPS_NONE, DG_NO_TENSOR, 0, 0, 0 }

/* ---------------------------------------------------------------------------------------------
 * M-grouped: d[i] = c[i] + a[i] b[g(i)]^T
 *
 *     a  [r, k]        rows of all groups           MASKED: [G, max_m, k]
 *     b  [G, n, k]     one matrix for each group, either of the last two axes contiguous
 *     d  [r, n]        BF16 or F32                  MASKED: [G, max_m, n]
 *
 * Scale factors as in gemm.h, with a leading [G] for b, and for a in the MASKED form. With
 * `a_rows` a has any number of rows and row i of the product reads row a_rows[i] of a and the
 * factors of that row; negative: a row whose product is zero, whatever b holds. Row lists (INDEX,
 * BLOCK_INDEX, a_rows) reach tensors of up to 2^31 - 1 rows.
 *
 * Rows of d that belong to no group: INDEX and BLOCK_INDEX write zeros there (c is not added). PSUM
 * writes zeros from each group's end to its aligned end if zero_padding is set; everything else is
 * left as it was.
 * --------------------------------------------------------------------------------------------- */
typedef struct dg_m_grouped_gemm_args_t {
    size_t struct_size;       /* sizeof(dg_m_grouped_gemm_args_t) */
    dg_operand_t a;           /* rows contiguous in k for E2M1X2; otherwise any, one stride 1 */
    dg_operand_t b;           /* [G, n, k] */
    dg_tensor_t c;            /* optional, d's type and shape; may be d itself */
    dg_tensor_t d;            /* output */
    dg_groups_t groups;       /* over the rows of d */
    dg_tensor_t a_rows;       /* optional [r] I32 or I64: gather of a's rows; not with MASKED */
    dg_switch_t zero_padding; /* PSUM: DG_DEFAULT is on */
    int32_t expected_m;       /* hint: rows of a usual group, 0 = unknown; never changes results */
} dg_m_grouped_gemm_args_t;

#define DG_M_GROUPED_GEMM_ARGS_INIT                                                                \
    {                                                                                              \
        sizeof(dg_m_grouped_gemm_args_t), DG_NO_OPERAND, DG_NO_OPERAND, DG_NO_TENSOR,              \
            DG_NO_TENSOR, DG_NO_GROUPS, DG_NO_TENSOR, DG_DEFAULT, 0                                \
    }

/* Example: tokens sorted by expert, sizes known to the router.
 *
 *     dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
 *     args.a = ..., args.b = ...;                                 // as in gemm.h, b with [G, ...]
 *     args.d = dg_tensor_2d(y, DG_DTYPE_BF16, tokens, n);
 *     args.groups.form = DG_GROUPS_SIZES;
 *     args.groups.values = dg_tensor_1d(tokens_of_expert, DG_DTYPE_I32, experts);
 *     dg_status_t status = dg_m_grouped_gemm(NULL, &args, NULL);
 *
 * Errors: as dg_gemm, and BAD_ENUM (form), BAD_VALUE for group values out of range that the host
 * can see (unless the context says DG_GROUP_VALUES_CLAMP). */
DG_API dg_status_t dg_m_grouped_gemm(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_m_grouped_gemm wants (0 on the CPU). */
DG_API dg_status_t dg_m_grouped_gemm_workspace(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, size_t *bytes);

/* ---------------------------------------------------------------------------------------------
 * K-grouped: d[g] = c[g] + a_g b_g^T, the groups lying along k: the weight gradient.
 *
 * Let r be the tokens in all, k_g those of group g. The data of an operand (mn is m or n):
 *
 *     TOKENS_FIRST  [r, mn]   what training has at hand: activations and gradients, token by token.
 *                             E2M1X2: [r, mn / 2]
 *     TOKENS_LAST   [mn, r]   its transpose, one matrix. E2M1X2: [mn, ceil(r / 2)]
 *     FLAT          [mn * r]  group g is a matrix [mn, k_g] of its own, groups back to back.
 *                             E2M1X2: rows of ceil(k_g / 2) bytes
 *
 * The first two take any strides with one stride of 1; FLAT is contiguous and takes SIZES alone.
 *
 * Scale factors: every group starts its own blocks, and its last block covers its own tokens only:
 * group g has ceil(k_g / gran_k) rows of factors. The tensor is [rows, mn], rows being the sum
 * over the groups (more are allowed), any strides; I32 packs four blocks of one group a word, so
 * group g has ceil(k_g / (4 gran_k)) rows. gran_mn is 1. Factors follow the groups, with no gaps,
 * whatever the form of the groups is.
 * --------------------------------------------------------------------------------------------- */
typedef enum dg_k_form_t {
    DG_K_NONE = 0,
    DG_K_TOKENS_FIRST = 1,
    DG_K_TOKENS_LAST = 2,
    DG_K_FLAT = 3
} dg_k_form_t;

typedef struct dg_k_operand_t {
    dg_k_form_t form;  /* nothing is guessed from the shape */
    dg_tensor_t data;  /* E4M3, E2M1X2 or BF16 */
    dg_tensor_t scale; /* [rows, mn] F32, E8M0 or I32; DG_NO_TENSOR: every factor is 1 */
    int32_t gran_k;    /* tokens that one factor covers: 32 or 128 */
    dg_tensor_t rows;  /* optional [r] I32 or I64, TOKENS_FIRST alone: token t of the product is row
                       * rows[t] of data (any number of rows below 2^31); negative: adds nothing.
                       * Factors are not gathered: they follow t */
} dg_k_operand_t;

#define DG_NO_K_OPERAND                                                                            \
    { DG_K_NONE, DG_NO_TENSOR, DG_NO_TENSOR, 0, DG_NO_TENSOR }

/* What the groups' products become. */
typedef enum dg_k_output_t {
    DG_K_OUTPUT_STACK = 0, /* d is [G, m, n], one slice a group */
    DG_K_OUTPUT_LIST = 1,  /* d_list[g] is the address of group g's [m, n]; d gives type, shape and
                            * strides of each, its data is NULL */
    DG_K_OUTPUT_SUM = 2    /* d is [m, n]: the sum over groups, added in group order */
} dg_k_output_t;

typedef struct dg_k_grouped_gemm_args_t {
    size_t struct_size;   /* sizeof(dg_k_grouped_gemm_args_t) */
    dg_k_operand_t a;     /* mn = m */
    dg_k_operand_t b;     /* mn = n */
    dg_tensor_t c;        /* optional, as d: [G, m, n], or [m, n] for SUM; may be d itself. Given:
                           * the product is added to it, an empty group copies it. Left out: the
                           * product overwrites d, an empty group gives zeros */
    dg_tensor_t d;        /* output, BF16 or F32, last stride 1 */
    dg_k_output_t output; /* STACK, LIST or SUM */
    void *const *d_list;  /* LIST: [G] addresses in host memory, 1..1024; no two may overlap */
    const void *const *c_list; /* LIST, optional: [G] addresses of c, strides of d; c_list[g] may be
                           * d_list[g] (gradient accumulation) */
    dg_groups_t groups;        /* SIZES, OFFSETS or PSUM over the tokens */
    int64_t num_tokens; /* r, the tokens that `data` holds (FLAT) or `rows` lists; 0: taken from
                           * the first operand that shows it */
} dg_k_grouped_gemm_args_t;

#define DG_K_GROUPED_GEMM_ARGS_INIT                                                                \
    {                                                                                              \
        sizeof(dg_k_grouped_gemm_args_t), DG_NO_K_OPERAND, DG_NO_K_OPERAND, DG_NO_TENSOR,          \
            DG_NO_TENSOR, DG_K_OUTPUT_STACK, 0, 0, DG_NO_GROUPS, 0                                 \
    }

/* Example: the weight gradients of all experts, accumulated into FP32 main gradients.
 *
 *     dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
 *     args.a.form = DG_K_TOKENS_FIRST;
 *     args.a.data = dg_tensor_2d(dy, DG_DTYPE_E4M3, tokens, m);
 *     args.a.scale = dg_tensor_2d(sdy, DG_DTYPE_F32, scale_rows, m);
 *     args.a.gran_k = 128;
 *     args.b = ...;                                       // likewise: x, tokens x n
 *     args.d = dg_tensor_3d(dw, DG_DTYPE_F32, experts, m, n);
 *     args.c = args.d;
 *     args.groups.form = DG_GROUPS_SIZES;
 *     args.groups.values = dg_tensor_1d(tokens_of_expert, DG_DTYPE_I32, experts);
 *     dg_status_t status = dg_k_grouped_gemm(NULL, &args, NULL);
 *
 * dg_quantize (cast.h) writes dy, sdy in this layout when given the same groups. Errors: as
 * dg_m_grouped_gemm. */
DG_API dg_status_t dg_k_grouped_gemm(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_k_grouped_gemm wants (0 on the CPU). */
DG_API dg_status_t dg_k_grouped_gemm_workspace(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
