/* SPDX-License-Identifier: MIT
 *
 * Totals of a tile into d, row by row. engine.c calls this; see store.h for the layout.
 */
#include "cpu/store.h"

#include <string.h>

#include "cpu/pack.h"
#include "model/dtype.h"

/* One row of one panel; c may be NULL or equal d. */
static void store_f32(const float *total, int64_t count, const float *c, float *d) {
    if (c) {
        for (int64_t j = 0; j < count; j++) d[j] = c[j] + total[j];
    } else {
        memcpy(d, total, (size_t)count * sizeof(float));
    }
}

static void store_bf16(const float *total, int64_t count, const uint16_t *c, uint16_t *d) {
    if (c) {
        for (int64_t j = 0; j < count; j++) {
            d[j] = dg_encode_bf16(dg_decode_bf16(c[j]) + total[j]);
        }
    } else {
        for (int64_t j = 0; j < count; j++) d[j] = dg_encode_bf16(total[j]);
    }
}

/* What an absent row or column of an operand met (a NaN, perhaps) does not show. */
static void clear_absent(const dg_cpu_product_t *product, int64_t row_offset,
    const int64_t *col_offsets, int64_t count, float *total) {
    if (product->a.rows && row_offset == DG_CPU_NO_ROW) {
        memset(total, 0, (size_t)count * sizeof(float));
        return;
    }
    if (!product->b.rows) return;
    for (int64_t j = 0; j < count; j++) {
        if (col_offsets[j] == DG_CPU_NO_ROW) total[j] = 0.0f;
    }
}

void dg_cpu_store_tile(const dg_cpu_kernels_t *kernels, const dg_cpu_product_t *product,
    const dg_cpu_tile_t *tile, const int64_t *row_offsets, const int64_t *col_offsets,
    float *totals) {
    const int64_t row_panels = (tile->rows + kernels->rows - 1) / kernels->rows;
    for (int64_t i = 0; i < tile->rows; i++) {
        const int64_t row = product->d_rows ? product->d_rows[tile->row + i] : tile->row + i;
        if (row < 0) continue;
        for (int64_t col = 0; col < tile->cols; col += kernels->cols) {
            const int64_t panel = col / kernels->cols * row_panels + i / kernels->rows;
            float *total = totals + (panel * kernels->rows + i % kernels->rows) * kernels->cols;
            const int64_t count =
                tile->cols - col < kernels->cols ? tile->cols - col : kernels->cols;
            clear_absent(product, row_offsets[i], col_offsets + col, count, total);
            const int64_t to = row * product->d_row_stride + tile->col + col;
            const int64_t from = row * product->c_row_stride + tile->col + col;
            if (product->d_dtype == DG_DTYPE_F32) {
                store_f32(total, count, product->c ? (const float *)product->c + from : NULL,
                    (float *)product->d + to);
            } else {
                store_bf16(total, count, product->c ? (const uint16_t *)product->c + from : NULL,
                    (uint16_t *)product->d + to);
            }
        }
    }
}
