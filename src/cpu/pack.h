/* SPDX-License-Identifier: MIT
 *
 * Operands into the form the micro-kernel reads: panels of FP32 values and rows of scale factors.
 * engine.c calls these for each tile and slab of K.
 *
 * A panel holds `width` rows (the micro-tile's rows or cols) of one slab of K, k by k:
 *
 *     panel[k][0 .. width-1],   k = 0 .. k_count-1,   panels DG_CPU_SLAB * width floats apart
 */
#ifndef DG_CPU_PACK_H
#define DG_CPU_PACK_H

#include <stdint.h>

#include "cpu/engine.h"
#include "cpu/isa.h"

/* K values packed at a time: one block of 128, or four of 32. */
#define DG_CPU_SLAB 128

/* Most rows packed together: a cache line of bytes. Room for their codes, of the widest type. */
#define DG_CPU_STAGED_ROWS 64
#define DG_CPU_CODE_BYTES ((size_t)DG_CPU_STAGED_ROWS * DG_CPU_SLAB * 2)

/* Packs rows [row, row + row_count) and k [k, k + k_count) of the operand, k_count <= DG_CPU_SLAB.
 * Rows that fill up the last panel and rows that do not exist become zeros; so do all values of a k
 * that `operand->ks` or `other_ks` (the other operand's, may be NULL) marks as absent.
 *   codes: scratch of DG_CPU_CODE_BYTES, aligned to 64; panels: see above, aligned to 64. */
void dg_cpu_pack(const dg_cpu_kernels_t *kernels, const dg_cpu_operand_t *operand,
    const int32_t *other_ks, int64_t row, int64_t row_count, int64_t k, int64_t k_count, int width,
    void *codes, float *panels);

/* Where the scale factors of rows [row, row + row_count) start: offsets into operand->scale along
 * its row axis, DG_CPU_NO_ROW for a row that does not exist. offsets: [row_count]. */
void dg_cpu_locate_scales(
    const dg_cpu_operand_t *operand, int64_t row, int64_t row_count, int64_t *offsets);

#define DG_CPU_NO_ROW INT64_MIN

/* Factors of the block that starts `k` values into its segment, whose first factor along K has index
 * scale_begin. offsets: [row_count] of dg_cpu_locate_scales; factors: [padded_count] f32, zero from
 * row_count on and for rows that do not exist. */
void dg_cpu_load_scales(const dg_cpu_operand_t *operand, const int64_t *offsets, int64_t row_count,
    int64_t padded_count, int64_t k, int64_t scale_begin, float *factors);

#endif
