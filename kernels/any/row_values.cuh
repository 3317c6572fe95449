/* SPDX-License-Identifier: MIT
 *
 * Eight neighbouring values of a row, BF16 or F32 in memory, FP32 in registers; and which row a slot
 * has. Used by permute_rows.cu, unpermute_rows.cu and dot_rows.cu. */
#pragma once
#include "args/permute.h"
#include "device/arithmetic.cuh"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/global.cuh"

DEVICE int64_t slot_offset(const dg_any_slots_t *slots, int64_t token, int64_t slot) {
    return token * slots->stride[0] + slot * slots->stride[1];
}

/* The row of a slot, -1 unless it is one of `rows`. */
DEVICE int64_t row_at(const dg_any_slots_t *slots, int64_t token, int64_t slot, int64_t rows) {
    const int32_t *at = (const int32_t *)slots->data + slot_offset(slots, token, slot);
    const int32_t row = (int32_t)ld_global_u32(at);
    return row >= 0 && row < rows ? row : -1;
}

DEVICE float weight_at(const dg_any_slots_t *slots, int64_t token, int64_t slot) {
    return ld_global_f32((const float *)slots->data + slot_offset(slots, token, slot));
}

DEVICE float load_value(const dg_any_matrix_t *matrix, int64_t row, int64_t column) {
    const int64_t at = row * matrix->stride[0] + column * matrix->stride[1];
    if (matrix->dtype == DG_CODE_F32) return ld_global_f32((const float *)matrix->data + at);
    return f32_from_bits((uint32_t)ld_global_u16((const uint16_t *)matrix->data + at) << 16);
}

/* values: [8], from (row, column) on, of a matrix whose `vector` is set. */
DEVICE void load_eight(const dg_any_matrix_t *matrix, int64_t row, int64_t column, float *values) {
    const int64_t at = row * matrix->stride[0] + column * matrix->stride[1];
    uint32_t words[8];
    if (matrix->dtype == DG_CODE_F32) {
        const float *wide = (const float *)matrix->data + at;
        ld_global_x4(words, wide);
        ld_global_x4(words + 4, wide + 4);
        UNROLL
        for (int i = 0; i < 8; i++) values[i] = f32_from_bits(words[i]);
    } else {
        ld_global_x4(words, (const uint16_t *)matrix->data + at);
        UNROLL
        for (int i = 0; i < 4; i++) {
            values[2 * i] = f32_from_bits(words[i] << 16);
            values[2 * i + 1] = f32_from_bits(words[i] & 0xFFFF0000u);
        }
    }
}

/* The same of any matrix; zeros from `columns` on. */
DEVICE void load_values(
    const dg_any_matrix_t *matrix, int64_t row, int64_t column, int64_t columns, float *values) {
    if (matrix->vector && column + 8 <= columns) {
        load_eight(matrix, row, column, values);
        return;
    }
    UNROLL
    for (int i = 0; i < 8; i++)
        values[i] = column + i < columns ? load_value(matrix, row, column + i) : 0.0f;
}

/* The value is rounded to the matrix's type. */
DEVICE void store_value(const dg_any_matrix_t *matrix, int64_t row, int64_t column, float value) {
    const int64_t at = row * matrix->stride[0] + column * matrix->stride[1];
    if (matrix->dtype == DG_CODE_F32)
        st_global_f32((float *)matrix->data + at, value);
    else
        st_global_u16((uint16_t *)matrix->data + at, (uint16_t)pack_bf16(value, 0.0f));
}

/* The way back; nothing is written from `columns` on. */
DEVICE void store_values(const dg_any_matrix_t *matrix, int64_t row, int64_t column,
    int64_t columns, const float *values) {
    if (!matrix->vector || column + 8 > columns) {
        UNROLL
        for (int i = 0; i < 8; i++)
            if (column + i < columns) store_value(matrix, row, column + i, values[i]);
        return;
    }
    const int64_t at = row * matrix->stride[0] + column * matrix->stride[1];
    uint32_t words[8];
    if (matrix->dtype == DG_CODE_F32) {
        UNROLL
        for (int i = 0; i < 8; i++) words[i] = bits_from_f32(values[i]);
        st_global_x4((float *)matrix->data + at, words);
        st_global_x4((float *)matrix->data + at + 4, words + 4);
    } else {
        UNROLL
        for (int i = 0; i < 4; i++) words[i] = pack_bf16(values[2 * i], values[2 * i + 1]);
        st_global_x4((uint16_t *)matrix->data + at, words);
    }
}
