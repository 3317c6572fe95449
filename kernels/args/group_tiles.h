/* SPDX-License-Identifier: MIT
 *
 * Groups as the GEMM kernels walk them: a list of row tiles (M-grouped) or of K segments (K-grouped)
 * in workspace, written on the device by two small kernels that run in front of any grouped GEMM.
 * They read the groups in every form the API has, so that no GEMM kernel knows forms, and no value
 * is ever brought to the host. Included by the kernels of kernels/any, by the GEMM kernels that walk
 * the lists, and by the host code that sizes and fills them (plan/group_stages.h,
 * cuda/group_stages.h).
 *
 * Whatever the values hold, lists stay within the tensors: negative sizes are empty, ends are clamped
 * to the rows there are and never run backwards, an index outside [0, groups) is no group. */
#ifndef DG_KERNEL_ARGS_GROUP_TILES_H
#define DG_KERNEL_ARGS_GROUP_TILES_H

#include "args/types.h"

/* The form of the values; the numbers are those of dg_group_form_t. */
#define DG_FORM_SIZES 1
#define DG_FORM_OFFSETS 2
#define DG_FORM_PSUM 3
#define DG_FORM_INDEX 4
#define DG_FORM_BLOCK_INDEX 5
#define DG_FORM_MASKED 6

/* Group values where they lie: a vector of int32 or int64. */
typedef struct dg_group_source {
    const void *data;
    int64_t stride;    /* elements from one value to the next */
    int64_t count;     /* groups; INDEX, BLOCK_INDEX: rows */
    int64_t rows;      /* that there are; MASKED: of each group's matrix */
    int32_t form;      /* DG_FORM_* */
    int32_t wide;      /* 1: int64, 0: int32 */
    int32_t alignment; /* PSUM, BLOCK_INDEX */
    int32_t groups;    /* INDEX, BLOCK_INDEX: indices are below this; else count */
} dg_group_source_t;

/* ---- kernels/any/group_tiles.cu, "any_group_tiles": rows of d into tiles of at most block_rows.
 *
 * A tile lies in one group; the last one of a group may have fewer rows. Tiles come in the order of
 * groups, or of rows for INDEX and BLOCK_INDEX (where a tile is a piece of a run of equal indices, so
 * that the list also works for indices in any order: in the worst case with a tile for each row).
 * Rows that have to be cleared are tiles of group -1: their d becomes zero, c is not added. */
typedef struct dg_group_tile {
    int64_t first_row; /* of d; MASKED: of the group's own matrix */
    int32_t row_count; /* 1 .. block_rows */
    int32_t group;     /* -1: rows to be cleared */
} dg_group_tile_t;

/* What workspace holds: this header, then tiles [count]. 16-byte aligned. */
typedef struct dg_group_tiles {
    int64_t count;
    int64_t reserved;
} dg_group_tiles_t;

/* The tiles behind the header. */
#define DG_GROUP_TILES(header) ((const dg_group_tile_t *)((header) + 1))

typedef struct dg_any_group_tiles_args {
    dg_group_source_t values;
    dg_group_tiles_t *tiles; /* has room for dg_group_tile_bound() of plan/group_stages.h */
    int32_t block_rows;      /* height of a tile; 0 is not allowed */
    int32_t zero_padding;    /* PSUM: clear the rows between a group's end and its aligned end */
} dg_any_group_tiles_args_t;

/* ---- kernels/any/k_segments.cu, "any_k_segments": tokens into one segment for each group.
 *
 * Factors follow the groups without gaps, and so do FLAT operands: what lies in front of a group in
 * each of them is part of its segment. Segments are cut short where a tensor of factors or a FLAT
 * operand ends before them, so that walking a segment never leaves a tensor. */
typedef struct dg_k_segment {
    int64_t token_begin;   /* TOKENS_FIRST, TOKENS_LAST: the group's first token */
    int64_t token_count;   /* 0: empty */
    int64_t scale_begin_a; /* first row of factors (I32: of words) of the group, in a.scale */
    int64_t scale_begin_b;
    int64_t
        flat_begin_a; /* FLAT: elements (E2M1X2: bytes) of the groups before, for each of mn: the */
    int64_t flat_begin_b; /* group's matrix begins at data + mn * flat_begin */
} dg_k_segment_t;

/* What k_segments has to know of one operand. */
typedef struct dg_k_segment_side {
    int64_t scale_rows;   /* rows of factors (I32: words) that exist; unused if tokens_a_row is 0 */
    int64_t flat_length;  /* FLAT: elements that exist for each of mn; else 0 */
    int32_t tokens_a_row; /* tokens that a row of factors covers: gran_k, I32: 4 gran_k; 0: none */
    int32_t flat;         /* tokens of a FLAT element: 1, E2M1X2: 2; 0: not FLAT */
} dg_k_segment_side_t;

typedef struct dg_any_k_segments_args {
    dg_group_source_t values; /* SIZES, OFFSETS or PSUM */
    dg_k_segment_side_t a, b;
    dg_k_segment_t *segments; /* [groups] */
} dg_any_k_segments_args_t;

/* Dynamic shared memory of group_tiles and k_segments: a number of each warp. */
#define DG_GROUP_SCAN_SHARED_BYTES(threads) ((threads) / 32 * 8)

/* ---- kernels/any/upload.cu, "any_upload": a few numbers of the host (group sizes that are only
 * there, addresses of listed outputs) into workspace, as kernel parameters: captured graphs keep
 * them, and nothing has to outlive the call. */
#define DG_UPLOAD_COUNT 500 /* 4016 bytes of parameters: below the 4096 that every driver takes */

typedef struct dg_any_upload_args {
    uint64_t *target;
    int64_t count; /* of values, at most DG_UPLOAD_COUNT */
    uint64_t values[DG_UPLOAD_COUNT];
} dg_any_upload_args_t;

DG_STATIC_ASSERT(sizeof(dg_group_tile_t) == 16, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_k_segment_t) == 48, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_group_tiles_args_t) == 64, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_k_segments_args_t) == 104, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_upload_args_t) == 4016, "host and device must agree");

#endif
