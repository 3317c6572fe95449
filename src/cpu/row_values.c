/* SPDX-License-Identifier: MIT
 *
 * See row_values.h. Neighbouring values have loops of their own, which vectorise.
 */
#include "cpu/row_values.h"

#include "model/dtype.h"
#include "model/tensor.h"

void dg_load_row_values(
    const dg_tensor_t *matrix, int64_t row, int64_t column, int64_t count, float *values) {
    const int64_t step = dg_tensor_stride(matrix, 1);
    const int64_t at = row * dg_tensor_stride(matrix, 0) + column * step;
    if (matrix->dtype == DG_DTYPE_F32) {
        const float *from = (const float *)matrix->data + at;
        if (step == 1) {
            memcpy(values, from, (size_t)count * sizeof *values);
        } else {
            for (int64_t i = 0; i < count; i++) values[i] = from[i * step];
        }
    } else {
        const uint16_t *from = (const uint16_t *)matrix->data + at;
        if (step == 1) {
            for (int64_t i = 0; i < count; i++) values[i] = dg_decode_bf16(from[i]);
        } else {
            for (int64_t i = 0; i < count; i++) values[i] = dg_decode_bf16(from[i * step]);
        }
    }
}

void dg_store_row_values(
    const dg_tensor_t *matrix, int64_t row, int64_t column, int64_t count, const float *values) {
    const int64_t step = dg_tensor_stride(matrix, 1);
    const int64_t at = row * dg_tensor_stride(matrix, 0) + column * step;
    if (matrix->dtype == DG_DTYPE_F32) {
        float *to = (float *)matrix->data + at;
        if (step == 1) {
            memcpy(to, values, (size_t)count * sizeof *values);
        } else {
            for (int64_t i = 0; i < count; i++) to[i * step] = values[i];
        }
    } else {
        uint16_t *to = (uint16_t *)matrix->data + at;
        if (step == 1) {
            for (int64_t i = 0; i < count; i++) to[i] = dg_encode_bf16(values[i]);
        } else {
            for (int64_t i = 0; i < count; i++) to[i * step] = dg_encode_bf16(values[i]);
        }
    }
}
