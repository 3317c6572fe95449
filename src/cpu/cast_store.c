/* SPDX-License-Identifier: MIT
 *
 * The last step of a quantisation: a panel of codes, which stands in the cache row by row, goes to
 * the output in whatever order that has, two codes a byte for E2M1. quantize.c calls this.
 */
#include <string.h>

#include "cpu/cast.h"
#include "cpu/cast_kernels.h"
#include "cpu/transpose.h"

/* A panel between two strides: code (i, j) goes to data[i * outer + j * inner]. */
typedef struct dg_cast_transfer_t {
    const uint8_t *codes;
    int64_t outer_count, inner_count;
    int64_t code_outer, code_inner; /* strides of codes */
    uint8_t *data;
    int64_t outer, inner; /* strides of data */
} dg_cast_transfer_t;

static void store_rows(const dg_cast_transfer_t *t) {
    for (int64_t i = 0; i < t->outer_count; ++i) {
        const uint8_t *codes = t->codes + i * t->code_outer;
        uint8_t *data = t->data + i * t->outer;
        for (int64_t j = 0; j < t->inner_count; ++j) data[j * t->inner] = codes[j];
    }
}

/* Rows of the panel become columns of the output, whose stride along the rows is 1. Columns are
 * turned in a small buffer and written by the cache line: often a power of two apart, the lines of
 * many columns would drive one another out of the first-level cache before they are full. */
static void store_columns(const dg_cast_panel_t *panel, uint8_t *data, int64_t col_stride) {
    enum { STRIP_COLS = 32, STRIP_ROWS = 8 };
    uint8_t turned[STRIP_COLS * DG_CAST_PANEL_ROWS];
    for (int64_t j = 0; j < panel->cols; j += STRIP_COLS) {
        const int64_t cols = panel->cols - j < STRIP_COLS ? panel->cols - j : STRIP_COLS;
        for (int64_t i = 0; i < panel->rows;) {
            const int64_t left = panel->rows - i;
            const int count = left >= STRIP_ROWS ? STRIP_ROWS : left == 1 ? 1 : (int)left & ~1;
            const uint8_t *rows[STRIP_ROWS];
            for (int r = 0; r < STRIP_ROWS; ++r) {
                rows[r] = panel->codes + (i + (r < count ? r : 0)) * panel->pitch + j;
            }
            dg_cpu_transpose_bytes(rows, count, cols, DG_CAST_PANEL_ROWS, turned + i);
            i += count;
        }
        for (int64_t c = 0; c < cols; ++c) {
            const uint8_t *from = turned + c * DG_CAST_PANEL_ROWS;
            memcpy(data + (j + c) * col_stride, from, (size_t)panel->rows);
        }
    }
}

static void store_low(uint8_t *byte, uint8_t code) {
    *byte = (uint8_t)((*byte & 0xF0u) | code);
}
static void store_high(uint8_t *byte, uint8_t code) {
    *byte = (uint8_t)((*byte & 0x0Fu) | (unsigned)code << 4);
}

/* Pairs lie along the inner axis, whose first code has index `begin`; the code before an odd begin
 * and after an odd end belong to others. */
static void store_pairs(
    const dg_cpu_cast_kernels_t *kernels, const dg_cast_transfer_t *t, int64_t begin) {
    const int64_t head = begin & 1;
    const int64_t pairs = (t->inner_count - head) / 2;
    const int64_t step = t->code_inner;
    for (int64_t i = 0; i < t->outer_count; ++i) {
        const uint8_t *codes = t->codes + i * t->code_outer;
        uint8_t *data = t->data + i * t->outer;
        if (head != 0) {
            store_high(data, codes[0]);
            codes += step;
            ++data;
        }
        if (step == 1) {
            kernels->pack_pairs(codes, pairs, data);
        } else {
            for (int64_t j = 0; j < pairs; ++j) {
                data[j] = (uint8_t)(codes[2 * j * step] | codes[(2 * j + 1) * step] << 4);
            }
        }
        if (head + 2 * pairs < t->inner_count) store_low(data + pairs, codes[2 * pairs * step]);
    }
}

void dg_cast_store_panel(const dg_cpu_cast_kernels_t *kernels, const dg_cast_side_t *side,
    const dg_cast_panel_t *panel) {
    const int64_t row_stride = side->data.stride[panel->row_axis];
    const int64_t col_stride = side->data.stride[DG_CAST_FAST];
    int64_t position[DG_CAST_AXES];
    memcpy(position, panel->position, sizeof position);
    if (side->pair_axis >= 0) position[side->pair_axis] /= 2;
    uint8_t *data = (uint8_t *)side->data.data + dg_cast_offset(&side->data, position);
    const dg_cast_transfer_t by_row = {
        panel->codes, panel->rows, panel->cols, panel->pitch, 1, data, row_stride, col_stride};
    const dg_cast_transfer_t by_col = {
        panel->codes, panel->cols, panel->rows, 1, panel->pitch, data, col_stride, row_stride};
    if (side->pair_axis == DG_CAST_FAST) {
        store_pairs(kernels, &by_row, panel->position[DG_CAST_FAST]);
    } else if (side->pair_axis == panel->row_axis) {
        store_pairs(kernels, &by_col, panel->position[panel->row_axis]);
    } else if (row_stride == 1) {
        store_columns(panel, data, col_stride);
    } else {
        store_rows(&by_row);
    }
}
