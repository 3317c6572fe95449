/* SPDX-License-Identifier: MIT
 *
 * The last step of a tile of gemm.cu: totals, plus c where there is one, rounded once into d. Every
 * element is bounded by itself; two neighbours go together where their address allows that. Used by
 * gemm.cu. */
#pragma once
#include "any/multiply.cuh"

/* Rows of d and c of one tile: element (row, column) is number row * stride + column. */
typedef struct target {
    uint8_t *d;
    const uint8_t *c; /* NULL: nothing is added */
    int64_t d_stride, c_stride;
    int32_t rows, columns; /* that exist */
    bool wide;             /* F32, else BF16 */
} target_t;

DEVICE float load_result(const uint8_t *from, int64_t at, bool wide) {
    if (wide) return ld_global_f32((const float *)from + at);
    return f32_from_bits(ld_global_u16(from + at * 2) << 16);
}

DEVICE void store_result(uint8_t *to, int64_t at, bool wide, float value) {
    if (wide)
        st_global_f32((float *)to + at, value);
    else
        st_global_u16(to + at * 2, (uint16_t)pack_bf16(value, value));
}

/* Columns column, column + 1 of a row, both of which exist. values: [2], c is added to them */
DEVICE void load_pair(const uint8_t *from, int64_t at, bool wide, float *values) {
    uint32_t bits[2];
    if (wide && ((uint64_t)from & 7) == 0 && at % 2 == 0) {
        ld_global_x2(bits, from + at * 4);
        values[0] += f32_from_bits(bits[0]);
        values[1] += f32_from_bits(bits[1]);
    } else if (!wide && ((uint64_t)from & 3) == 0 && at % 2 == 0) {
        bits[0] = ld_global_u32(from + at * 2);
        values[0] += f32_from_bits(bits[0] << 16);
        values[1] += f32_from_bits(bits[0] & 0xFFFF0000u);
    } else {
        values[0] += load_result(from, at, wide);
        values[1] += load_result(from, at + 1, wide);
    }
}

DEVICE void store_pair(uint8_t *to, int64_t at, bool wide, const float *values) {
    if (wide && ((uint64_t)to & 7) == 0 && at % 2 == 0) {
        const uint32_t bits[2] = {bits_from_f32(values[0]), bits_from_f32(values[1])};
        st_global_x2(to + at * 4, bits);
    } else if (!wide && ((uint64_t)to & 3) == 0 && at % 2 == 0) {
        st_global_u32(to + at * 2, pack_bf16(values[0], values[1]));
    } else {
        store_result(to, at, wide, values[0]);
        store_result(to, at + 1, wide, values[1]);
    }
}

/* row, column: of the warp in the tile; gathered_rows: as in view_t. A row that does not exist in a
 * has the product zero, whatever it met. */
DEVICE void store_tile(
    const target_t *to, uint32_t row, uint32_t column, uint32_t gathered_rows, const sums_t *s) {
    const uint32_t g = lane_index() / 4, t = lane_index() % 4;
    UNROLL
    for (int i = 0; i < ROW_TILES; i++) UNROLL
    for (int half = 0; half < 2; half++) {
        const int32_t r = (int32_t)(row + (uint32_t)(i * 16 + half * 8) + g);
        if (r >= to->rows) continue;
        const bool absent =
            gathered_rows && (int32_t)ld_shared_u32(gathered_rows + (uint32_t)r * 4) < 0;
        UNROLL
        for (int j = 0; j < COLUMN_TILES; j++) {
            const int32_t left = to->columns - (int32_t)(column + (uint32_t)j * 8 + t * 2);
            const int64_t d_at = r * to->d_stride + to->columns - left;
            const int64_t c_at = r * to->c_stride + to->columns - left;
            float values[2] = {
                absent ? 0 : s->total[i][j][half * 2], absent ? 0 : s->total[i][j][half * 2 + 1]};
            if (left >= 2) {
                if (to->c) load_pair(to->c, c_at, to->wide, values);
                store_pair(to->d, d_at, to->wide, values);
            } else if (left == 1) {
                if (to->c) values[0] += load_result(to->c, c_at, to->wide);
                store_result(to->d, d_at, to->wide, values[0]);
            }
        }
    }
}

/* Zeros in a whole tile, by all threads. */
DEVICE void clear_tile(const target_t *to) {
    for (int32_t r = 0; r < to->rows; r++)
        for (int32_t j = (int32_t)thread_index(); j < to->columns; j += THREADS)
            store_result(to->d, r * to->d_stride + j, to->wide, 0);
}
