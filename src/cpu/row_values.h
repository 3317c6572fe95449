/* SPDX-License-Identifier: MIT
 *
 * Stretches of a row of BF16 or F32 values, to FP32 and back, whatever the strides. Used by
 * permute.c for rows that are computed with.
 */
#ifndef DG_CPU_ROW_VALUES_H
#define DG_CPU_ROW_VALUES_H

#include "deep_gemm/tensor.h"

/* matrix: [rows, n] BF16 or F32. values: [count], those from (row, column) on. */
void dg_load_row_values(
    const dg_tensor_t *matrix, int64_t row, int64_t column, int64_t count, float *values);

/* Rounds and stores. */
void dg_store_row_values(
    const dg_tensor_t *matrix, int64_t row, int64_t column, int64_t count, const float *values);

#endif
