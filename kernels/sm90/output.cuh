/* SPDX-License-Identifier: MIT
 *
 * The way out of a GEMM kernel: a warp's accumulators, 16 rows of a tile, to d. In chunks of 16
 * rows x 128 bytes they pass through 2 KB of shared memory that belong to the warp alone, so that
 * global memory is read and written in whole lines of 128 bytes and no barrier is wider than a
 * warp. There c is added in FP32, and the sum rounded once. Rows and columns past the end are not
 * written: a tile may end anywhere, and rows of d may start anywhere. Used by the kernels of this
 * folder.
 *
 * Ordinary stores instead of TMA: they clip at any row, which the last tile of a group needs, and
 * at any byte, which TMA does not; and nobody waits for them.
 *
 * A chunk's 16-byte column j of row r lies at column j ^ spread(r). Writing fragments of 8 bytes,
 * half a warp covers rows r..r+3 and two neighbouring columns; writing or reading 16 bytes, a
 * quarter covers one row, or one column of 8 rows. spread() sends each of these to different
 * banks. */
#pragma once
#include "args/output.h"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/shared.cuh"

#define CHUNK_BYTES 2048

DEVICE uint32_t spread(uint32_t row) {
    return (row & 3) << 1 | (row >> 2 & 1);
}
DEVICE uint32_t chunk_at(uint32_t chunk, uint32_t row, uint32_t column) {
    return chunk + row * 128 + ((column ^ spread(row)) << 4);
}

/* The matrix a tile belongs to, and its place there. */
typedef struct destination {
    void *d;       /* [m, n] */
    const void *c; /* [m, n] or null */
    int row, row_end, column;
} destination_t;

DEVICE destination_t find_destination(
    const dg_output_args_t *out, int group, int row, int row_end, int column) {
    const int64_t size = out->f32 ? 4 : 2;
    destination_t to = {0, 0, row, row_end, column};
    to.d = out->d_list ? (void *)ld_global_u64(out->d_list + group)
                       : (uint8_t *)out->d + group * out->d_stride * size;
    if (out->c_list)
        to.c = (const void *)ld_global_u64(out->c_list + group);
    else if (out->c)
        to.c = (const uint8_t *)out->c + group * out->c_stride * size;
    return to;
}

/* Rows of c that this warp will add, into L2: at the start of a tile, long before they are used.
 * columns: of the tile */
DEVICE void prefetch_c(const dg_output_args_t *out, const destination_t *to, int columns) {
    if (!to->c) return;
    const int size = out->f32 ? 4 : 2, row = to->row + (int)lane_index() / 2;
    for (int x = (int)lane_index() % 2 * 128 / size; x < columns; x += 256 / size)
        if (row < to->row_end && to->column + x < out->n)
            prefetch_global(
                (const uint8_t *)to->c + (row * out->c_pitch + to->column + x) * (int64_t)size);
}

/* sums: [16] of 32 columns, as a chunk of f32 */
DEVICE void put_f32(uint32_t chunk, const float *sums) {
    const uint32_t row = lane_index() / 4, half = lane_index() % 4;
    warp_sync();
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const float *s = sums + i * 4;
        const uint32_t at = i * 2 + half / 2, byte = half % 2 * 8;
        st_shared_x2(chunk_at(chunk, row, at) + byte, bits_from_f32(s[0]), bits_from_f32(s[1]));
        st_shared_x2(chunk_at(chunk, row + 8, at) + byte, bits_from_f32(s[2]), bits_from_f32(s[3]));
    }
    warp_sync();
}

/* sums: [columns / 2], columns 32 or 64, as a chunk of bf16 */
DEVICE void put_bf16(uint32_t chunk, const float *sums, int columns) {
    const uint32_t lane = lane_index();
    warp_sync();
    UNROLL
    for (int i = 0; i < columns / 16; i++) {
        const float *s = sums + i * 8;
        const uint32_t values[4] = {pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]),
            pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7])};
        stmatrix_x4(chunk_at(chunk, lane & 15, (uint32_t)i * 2 + (lane >> 4)), values);
    }
    warp_sync();
}

/* A chunk of bf16 to d, in pieces of 16 bytes. column: of the chunk in d */
DEVICE void write_bf16(
    const dg_output_args_t *out, const destination_t *to, uint32_t chunk, int column, int columns) {
    const int piece = (int)lane_index() % 8, first = (int)lane_index() / 8;
    const int x = column + piece * 8;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int row = to->row + first + i * 4;
        uint32_t values[4];
        ld_shared_x4(values, chunk_at(chunk, (uint32_t)(first + i * 4), (uint32_t)piece));
        if (row < to->row_end && piece * 8 < columns && x < out->n)
            st_global_x4((uint16_t *)to->d + row * out->d_pitch + x, values);
    }
}

/* What this lane adds to the chunk of f32 at `column`. added: [4][4] */
DEVICE void read_c(
    const dg_output_args_t *out, const destination_t *to, int column, float (*added)[4]) {
    const int x = column + (int)lane_index() % 8 * 4, first = (int)lane_index() / 8;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int row = to->row + first + i * 4;
        uint32_t values[4] = {0, 0, 0, 0};
        if (row < to->row_end && x < out->n) {
            if (out->f32) {
                ld_global_x4(values, (const float *)to->c + row * out->c_pitch + x);
            } else {
                uint32_t pairs[2];
                ld_global_x2(pairs, (const uint16_t *)to->c + row * out->c_pitch + x);
                values[0] = pairs[0] << 16;
                values[1] = pairs[0] & 0xffff0000u;
                values[2] = pairs[1] << 16;
                values[3] = pairs[1] & 0xffff0000u;
            }
        }
        UNROLL
        for (int j = 0; j < 4; j++) added[i][j] = f32_from_bits(values[j]);
    }
}

/* A chunk of f32 and what is added to it, to d in pieces of 4 elements. */
DEVICE void write_f32(const dg_output_args_t *out, const destination_t *to, uint32_t chunk,
    int column, float (*added)[4]) {
    const int piece = (int)lane_index() % 8, first = (int)lane_index() / 8;
    const int x = column + piece * 4;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int row = to->row + first + i * 4;
        uint32_t values[4];
        float sums[4];
        ld_shared_x4(values, chunk_at(chunk, (uint32_t)(first + i * 4), (uint32_t)piece));
        UNROLL
        for (int j = 0; j < 4; j++) {
            sums[j] = f32_from_bits(values[j]);
            if (to->c) sums[j] += added[i][j];
            values[j] = bits_from_f32(sums[j]);
        }
        if (row >= to->row_end || x >= out->n) continue;
        if (out->f32) {
            st_global_x4((float *)to->d + row * out->d_pitch + x, values);
        } else {
            uint16_t *d = (uint16_t *)to->d + row * out->d_pitch + x;
            st_global_u32(d, pack_bf16(sums[0], sums[1]));
            st_global_u32(d + 2, pack_bf16(sums[2], sums[3]));
        }
    }
}

/* The same element by element, a row at a time, for rows that start anywhere. */
DEVICE void write_elements(
    const dg_output_args_t *out, const destination_t *to, uint32_t chunk, int column) {
    const int lane = (int)lane_index(), x = column + lane;
    for (int r = 0; r < 16 && to->row + r < to->row_end; r++) {
        const int64_t at = (to->row + r) * out->d_pitch + x;
        const int64_t c_at = (to->row + r) * out->c_pitch + x;
        float sum = ld_shared_f32(
            chunk_at(chunk, (uint32_t)r, (uint32_t)lane / 4) + (uint32_t)lane % 4 * 4);
        if (x >= out->n) continue;
        if (out->f32) {
            if (to->c) sum += ld_global_f32((const float *)to->c + c_at);
            st_global_f32((float *)to->d + at, sum);
        } else {
            if (to->c)
                sum += f32_from_bits((uint32_t)ld_global_u16((const uint16_t *)to->c + c_at) << 16);
            st_global_u16((uint16_t *)to->d + at, (uint16_t)(pack_bf16(sum, 0.f) & 0xffff));
        }
    }
}

/* Stores a warp's 16 rows. sums: [columns / 2], columns a multiple of 32; to->row: the warp's
 * first */
DEVICE void store_rows(const dg_output_args_t *out, const destination_t *to, const float *sums,
    uint32_t chunk, int columns) {
    if (out->wide && !out->f32 && !to->c) {
        UNROLL
        for (int x = 0; x < columns; x += 64) {
            const int width = columns - x < 64 ? columns - x : 64;
            put_bf16(chunk, sums + x / 2, width);
            write_bf16(out, to, chunk, to->column + x, width);
        }
        return;
    }
    float added[4][4];
    UNROLL
    for (int x = 0; x < columns; x += 32) {
        if (out->wide && to->c) read_c(out, to, to->column + x, added);
        put_f32(chunk, sums + x / 2);
        if (out->wide)
            write_f32(out, to, chunk, to->column + x, added);
        else
            write_elements(out, to, chunk, to->column + x);
    }
}
