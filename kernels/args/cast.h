/* SPDX-License-Identifier: MIT
 *
 * Parameters of the casts: FP32 or BF16 to FP8 or FP4 with a factor for each block, and back. Filled
 * by src/plan/cast.c, included by the kernels of kernels/any/cast_*.cu:
 *
 *     any_cast_tile      blocks that fit a tile of 128 x 128, one or two outputs from one pass over x
 *     any_cast_factors   any blocks: the factors of one output
 *     any_cast_codes     the codes that belong to factors which are there
 *     any_cast_values    back: x from codes and factors
 *
 * Tensors have four axes, those of the caller last: [batch, batch, rows, columns]. Groups, where
 * there are any, lie along rows.
 *
 * Specialisation of any_cast_tile:
 *   WIDE              1: x is F32; 0: BF16
 *   FP4               1: codes are E2M1X2; 0: E4M3
 * of the others:
 *   THREADS           of a CTA */
#ifndef DG_KERNEL_ARGS_CAST_H
#define DG_KERNEL_ARGS_CAST_H

#include "args/any_gemm.h" /* DG_CODE_* */
#include "args/group_tiles.h"
#include "args/types.h"

#define DG_CAST_AXES 4

/* Codes and their factors. Strides in elements (I32: words, E2M1X2: bytes), 0 along an axis of
 * extent 1. */
typedef struct dg_any_cast_side {
    void *data;  /* E4M3, or E2M1X2 with pair_axis half as long */
    void *scale; /* F32, E8M0, I32 */
    int64_t data_stride[DG_CAST_AXES], scale_stride[DG_CAST_AXES];
    int64_t gran[DG_CAST_AXES]; /* extents of a block, at least 1 */
    int64_t scale_rows;         /* extent of scale along axis 2 */
    int32_t dtype, scale_dtype; /* DG_CODE_* */
    int32_t pair_axis;          /* E2M1X2: the axis two of whose codes share a byte; else -1 */
    int32_t word_axis;          /* I32: the axis four of whose factors share a word; else -1 */
    int32_t power_of_two;       /* 1: factors are rounded up to powers of two */
    int32_t by_row; /* groups: factors of row i are row i of scale; else all groups' follow each
                        * other without gaps */
    int32_t vector; /* cast_tile: eight codes of a row can be stored at once */
    int32_t row_shift, column_shift; /* cast_tile: log2 of gran[2] and gran[3] */
    int32_t reserved;
} dg_any_cast_side_t;

typedef struct dg_any_cast_args {
    void *x; /* read by the casts, written by any_cast_values */
    int64_t x_stride[DG_CAST_AXES], extent[DG_CAST_AXES];
    dg_any_cast_side_t side[2];
    dg_group_source_t groups; /* SIZES, OFFSETS, PSUM; form 0: all rows are one group */
    int32_t sides;
    int32_t x_dtype;  /* BF16, F32 */
    int32_t x_vector; /* cast_tile: rows of x can be read 16 bytes at a time */
    int32_t reserved;
} dg_any_cast_args_t;

/* cast_tile: the tile, threads, and dynamic shared memory: of a scan, two places of rows, what each
 * thread knows of groups, maxima of 8 warps, reciprocal factors. */
#define DG_CAST_TILE 128
#define DG_CAST_TILE_THREADS 256
#define DG_CAST_ROWS_BYTES 48
#define DG_CAST_WALK_BYTES(threads)                                                                \
    (DG_GROUP_SCAN_SHARED_BYTES(threads) + 2 * DG_CAST_ROWS_BYTES + (threads)*24)
#define DG_CAST_TILE_SHARED_BYTES (DG_CAST_WALK_BYTES(DG_CAST_TILE_THREADS) + 8 * 512 + 8 * 512)

/* The others. Codes and values are made in pieces of rows x columns of the codes' bytes. */
#define DG_CAST_PIECE_ROWS 32
#define DG_CAST_PIECE_COLUMNS 512
#define DG_CAST_FACTORS_SHARED_BYTES(threads) (DG_CAST_WALK_BYTES(threads) + (threads) / 32 * 4)
#define DG_CAST_PIECE_SHARED_BYTES(threads)                                                        \
    (DG_CAST_WALK_BYTES(threads) + 2 * DG_CAST_PIECE_ROWS * 16)

DG_STATIC_ASSERT(sizeof(dg_any_cast_side_t) == 160, "host and device must agree");
DG_STATIC_ASSERT(sizeof(dg_any_cast_args_t) == 456, "host and device must agree");

#endif
