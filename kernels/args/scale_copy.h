/* SPDX-License-Identifier: MIT
 *
 * Parameters of kernels/any/scale_copy.cu: factors into another type and layout. Filled by
 * src/plan/scale_copy.c.
 *
 * Specialisation:
 *   THREADS           of a CTA */
#ifndef DG_KERNEL_ARGS_SCALE_COPY_H
#define DG_KERNEL_ARGS_SCALE_COPY_H

#include "args/any_gemm.h" /* DG_CODE_* */
#include "args/group_tiles.h"
#include "args/types.h"

/* dst [matrices, rows, blocks] out of src [matrices, ceil(rows / repeat), blocks]; I32 holds four blocks
 * a word. Strides in elements: matrix, row, block (word). */
typedef struct dg_any_scale_copy_args {
    const void *src;
    void *dst;
    int64_t src_stride[3], dst_stride[3];
    int64_t matrices, rows, blocks;
    int64_t repeat;               /* rows of dst that share one of src, at least 1 */
    dg_group_source_t groups;     /* PSUM: rows outside are not read and become 0; form 0: none */
    int32_t src_dtype, dst_dtype; /* F32, E8M0, I32 */
} dg_any_scale_copy_args_t;

/* A CTA takes so many rows by so many columns of dst; shared memory: of a scan, and a mark a row. */
#define DG_SCALE_COPY_ROWS 64
#define DG_SCALE_COPY_COLUMNS 16
#define DG_SCALE_COPY_SHARED_BYTES(threads)                                                        \
    (DG_GROUP_SCAN_SHARED_BYTES(threads) + DG_SCALE_COPY_ROWS * 4)

DG_STATIC_ASSERT(sizeof(dg_any_scale_copy_args_t) == 152, "host and device must agree");

#endif
