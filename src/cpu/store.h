/* SPDX-License-Identifier: MIT
 *
 * The last step of a tile: totals, plus c where there is one, rounded into d. engine.c calls this.
 */
#ifndef DG_CPU_STORE_H
#define DG_CPU_STORE_H

#include "cpu/engine.h"
#include "cpu/isa.h"
#include "cpu/tiling.h"

/* totals: [column panels, row panels, kernels->rows, kernels->cols] f32; row_offsets: [tile->rows],
 * col_offsets: [tile->cols], DG_CPU_NO_ROW where the operand's row does not exist and the result is
 * zero (plus c). */
void dg_cpu_store_tile(const dg_cpu_kernels_t *kernels, const dg_cpu_product_t *product,
    const dg_cpu_tile_t *tile, const int64_t *row_offsets, const int64_t *col_offsets,
    float *totals);

#endif
