/* SPDX-License-Identifier: MIT
 *
 * Scale factors of a tile, decoded to FP32 block by block. engine.c calls these.
 */
#include <stddef.h>

#include "cpu/pack.h"
#include "model/dtype.h"

void dg_cpu_locate_scales(
    const dg_cpu_operand_t *operand, int64_t row, int64_t row_count, int64_t *offsets) {
    for (int64_t i = 0; i < row_count; i++) {
        const int64_t source = operand->rows ? operand->rows[row + i] : row + i;
        offsets[i] = source < 0       ? DG_CPU_NO_ROW
                     : operand->scale ? source / operand->gran_mn * operand->scale_row_stride
                                      : 0;
    }
}

static float load_factor(const dg_cpu_operand_t *operand, int64_t offset, int64_t unit) {
    if (operand->scale_dtype == DG_DTYPE_F32) return ((const float *)operand->scale)[offset];
    if (operand->scale_dtype == DG_DTYPE_E8M0) {
        return dg_decode_e8m0(((const uint8_t *)operand->scale)[offset]);
    }
    const uint32_t word = ((const uint32_t *)operand->scale)[offset];
    return dg_decode_e8m0((uint8_t)(word >> 8 * (unit & 3)));
}

void dg_cpu_load_scales(const dg_cpu_operand_t *operand, const int64_t *offsets, int64_t row_count,
    int64_t padded_count, int64_t k, int64_t scale_begin, float *factors) {
    const int64_t unit = operand->scale ? k / operand->gran_k : 0;
    const int64_t index = operand->scale_dtype == DG_DTYPE_I32 ? unit >> 2 : unit;
    const int64_t k_offset = (scale_begin + index) * operand->scale_k_stride;
    for (int64_t i = 0; i < row_count; i++) {
        if (offsets[i] == DG_CPU_NO_ROW) {
            factors[i] = 0.0f;
        } else if (!operand->scale) {
            factors[i] = 1.0f;
        } else if (i > 0 && offsets[i] == offsets[i - 1]) {
            factors[i] = factors[i - 1]; /* one factor for many rows: 128 x 128 blocks */
        } else {
            factors[i] = load_factor(operand, offsets[i] + k_offset, unit);
        }
    }
    for (int64_t i = row_count; i < padded_count; i++) factors[i] = 0.0f;
}
