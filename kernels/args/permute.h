/* SPDX-License-Identifier: MIT
 *
 * Parameters of the kernels that bring tokens to the rows of their experts and back
 * (deep_gemm/moe.h). Filled by src/plan/permute.c, included by kernels/any/route_tokens.cu and
 * kernels/any/{permute,unpermute,dot}_rows.cu.
 *
 * Specialisation of any_route_tokens:
 *   PLACE             0: counts the slots of each group; 1, launched after it: writes the rest
 *   THREADS           of a CTA
 * of the others:
 *   THREADS           of a CTA */
#ifndef DG_KERNEL_ARGS_PERMUTE_H
#define DG_KERNEL_ARGS_PERMUTE_H

#include "args/any_gemm.h"    /* DG_CODE_* */
#include "args/group_tiles.h" /* DG_FORM_* */
#include "args/types.h"

/* A vector of I32; strides here and below in elements. */
typedef struct dg_any_vector {
    void *data;
    int64_t stride;
} dg_any_vector_t;

/* A value for each slot, [tokens, topk]. */
typedef struct dg_any_slots {
    void *data;
    int64_t stride[2];
} dg_any_slots_t;

typedef struct dg_any_route_tokens_args {
    dg_any_slots_t ids;                            /* I32, I64 */
    dg_any_slots_t rows;                           /* I32 */
    dg_any_vector_t counts, ends, sources, groups; /* groups.data NULL: not asked for */
    uint32_t slots, topk, group_count, row_count;  /* each below 2^31 */
    int32_t form;                                  /* OFFSETS, PSUM, MASKED */
    int32_t alignment;                             /* PSUM, at least 1 */
    int32_t wide;                                  /* 1: ids are I64 */
    int32_t flat; /* 1: slot i of all is ids.stride[1] * i elements from the first */
} dg_any_route_tokens_args_t;

/* A matrix, row by row. */
typedef struct dg_any_matrix {
    void *data;
    int64_t stride[2];
    int64_t rows;
    int32_t dtype;  /* DG_CODE_F32, DG_CODE_BF16 */
    int32_t vector; /* 1: eight neighbouring values of a row are one or two accesses of 16 bytes */
} dg_any_matrix_t;

/* Rows that are copied go in pieces of 1, 2, 4, 8 or 16 bytes: values, or several if they lie together
 * in x and in out. Pitches and steps in bytes. */
typedef struct dg_any_permute_rows_args {
    const void *x;
    void *out;
    int64_t x_pitch, x_step, out_pitch, out_step;
    int64_t pieces; /* of a row */
    int64_t tokens, topk, out_rows;
    dg_any_slots_t rows;
    dg_any_slots_t weights;  /* data NULL: none, x_values and out_values are not looked at */
    dg_any_vector_t sources; /* data NULL: no row becomes zeros */
    dg_any_matrix_t x_values, out_values;
    int64_t columns;
    int32_t piece_bytes, reserved;
} dg_any_permute_rows_args_t;

/* unpermute: out [tokens, columns] from x and weights. dot: out [tokens, topk] from x, whose rows `rows`
 * names, and y [tokens, columns]. */
typedef struct dg_any_sum_rows_args {
    dg_any_matrix_t x, y, out;
    dg_any_slots_t rows;
    dg_any_slots_t weights; /* data NULL: all are 1 */
    dg_any_slots_t dots;    /* dot's output */
    int64_t tokens, topk, columns;
} dg_any_sum_rows_args_t;

/* Columns that one warp has at a time, eight a lane; pieces, four a lane. */
#define DG_SUM_COLUMNS 256
#define DG_PERMUTE_PIECES 128

/* route_tokens: dynamic shared memory, a number for each warp, twice. */
#define DG_ROUTE_SHARED_BYTES(threads) ((threads) / 32 * 8)

DG_STATIC_ASSERT(sizeof(dg_any_route_tokens_args_t) == 144, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_permute_rows_args_t) == 240, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_sum_rows_args_t) == 216, "host and device must agree");

#endif
