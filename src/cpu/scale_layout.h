/* SPDX-License-Identifier: MIT
 *
 * Factors copied into another type and layout on the CPU: transposed, repeated, packed, unpacked.
 * api/scale_layout.c and api/scale_transform.c describe every function of the family as one
 * dg_scale_copy_t, have it checked, and then carried out.
 */
#ifndef DG_CPU_SCALE_LAYOUT_H
#define DG_CPU_SCALE_LAYOUT_H

#include <stdbool.h>

#include "cpu/pool.h"
#include "deep_gemm/tensor.h"
#include "model/groups.h"

/* One matrix of factors: dst [rows, k_blocks] out of src [ceil(rows / repeat), k_blocks]. A type I32
 * holds ceil(k_blocks / 4) words a row. */
typedef struct dg_scale_matrix_t {
    const void *src;
    void *dst;
    int64_t k_blocks;
} dg_scale_matrix_t;

/* Matrices that have types, strides (in elements) and rows in common. */
typedef struct dg_scale_copy_t {
    dg_dtype_t src_dtype, dst_dtype; /* F32, E8M0, I32 */
    int64_t src_row_stride, src_k_stride;
    int64_t dst_row_stride, dst_k_stride;
    int64_t rows;   /* of dst */
    int64_t repeat; /* rows of dst that share a row of src, at least 1 */
    dg_scale_matrix_t *matrices;
    int64_t matrix_count;
    bool grouped;                   /* rows outside the ranges are not read and become zeros */
    const dg_group_range_t *ranges; /* [range_count], ascending */
    int64_t range_count;
} dg_scale_copy_t;

/* Where a factor that has no place in UE8M0 was found. */
typedef struct dg_scale_fault_t {
    int64_t matrix, row, block; /* of src */
    float value;
} dg_scale_fault_t;

/* False if the copy packs FP32 into UE8M0 and some factor that it reads is neither a power of two
 * from 2^-127 to 2^127 nor zero; *fault is the first one. */
bool dg_cpu_check_scale_copy(const dg_scale_copy_t *copy, dg_scale_fault_t *fault);

/* Carries out a copy that has passed. */
dg_status_t dg_cpu_copy_scales(dg_cpu_pool_t *pool, const dg_scale_copy_t *copy);

#endif
