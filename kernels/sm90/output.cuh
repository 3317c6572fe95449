/* SPDX-License-Identifier: MIT
 *
 * The way out of a GEMM kernel: a warp's accumulators, 16 rows of a tile, to d. In chunks of 16
 * rows x 128 bytes they pass through 2 KB of shared memory that belong to the warp alone, so that
 * global memory is read and written in whole lines of 128 bytes and no barrier is wider than a
 * warp. There c is added in FP32, and the sum rounded once. Rows and columns past the end are not
 * written: a tile may end anywhere, and rows of d may start anywhere. Used by bf16_gemm.cu.
 *
 * Ordinary stores instead of TMA: they clip at any row, which the last tile of a group needs, and
 * at any byte, which TMA does not; and nobody waits for them.
 *
 * A chunk's 16-byte column j of row r lies at column j ^ spread(r). Writing fragments of 8 bytes,
 * half a warp covers rows r .. r + 3 and two neighbouring columns; writing or reading 16 bytes, a
 * quarter covers one row, or one column of 8 rows. spread() sends each of these to different
 * banks. */
#pragma once
#include "args/output.h"
#include "device/barrier.cuh"
#include "device/convert.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/shared.cuh"
#include "sm90/tiles.cuh"

DEVICE uint32_t spread(uint32_t row) {
    return (row & 3) << 1 | (row >> 2 & 1);
}
DEVICE uint32_t chunk_at(uint32_t chunk, uint32_t row, uint32_t column) {
    return chunk + row * 128 + ((column ^ spread(row)) << 4);
}

/* Where a warp's 16 rows go, in its matrix of d. */
typedef struct destination {
    uint8_t *d;       /* the first element; outside the matrix if rows or columns is not positive */
    const uint8_t *c; /* null: nothing is added */
    int64_t d_pitch, c_pitch; /* bytes from row to row */
    int rows, columns;        /* how many of them there are; columns: of the tile */
    bool f32, wide;           /* as in dg_output_args_t */
} destination_t;

/* row: the first of these rows, inside the tile. Rows of no group become zero, c or not. */
DEVICE destination_t find_destination(const dg_output_args_t *out, const tile_t *tile, int row) {
    const int64_t size = out->f32 ? 4 : 2;
    destination_t to;
    to.d = (uint8_t *)out->d + tile->slab * out->d_stride * size;
    to.c = (const uint8_t *)out->c;
    if (to.c) to.c += tile->slab * out->c_stride * size;
    if (out->d_list) to.d = (uint8_t *)ld_global_u64(out->d_list + tile->slab);
    if (out->c_list) to.c = (const uint8_t *)ld_global_u64(out->c_list + tile->slab);
    if (tile->group < 0) to.c = 0;
    to.d_pitch = out->d_pitch * size;
    to.c_pitch = out->c_pitch * size;
    to.d += (tile->row + row) * to.d_pitch + tile->column * size;
    if (to.c) to.c += (tile->row + row) * to.c_pitch + tile->column * size;
    to.rows = tile->rows - row;
    to.columns = tile->columns < BLOCK_N ? tile->columns : BLOCK_N;
    to.f32 = out->f32 != 0;
    to.wide = out->wide != 0;
    return to;
}

/* The same 64 rows further down. */
DEVICE void move_down(destination_t *to) {
    to->d += 64 * to->d_pitch;
    if (to->c) to->c += 64 * to->c_pitch;
    to->rows -= 64;
}

/* What this warp will add, into L2: at the start of a tile, long before it is used. columns: of the
 * tile */
DEVICE void prefetch_c(const destination_t *to, int columns) {
    if (!to->c) return;
    const int size = to->f32 ? 4 : 2, row = (int)lane_index() / 2;
    for (int x = (int)lane_index() % 2 * 128 / size; x < columns; x += 256 / size)
        if (row < to->rows && x < to->columns)
            prefetch_global(to->c + row * to->c_pitch + x * size);
}

/* sums: [columns / 2], columns 16 or 32, as a chunk of f32 */
DEVICE void put_f32(uint32_t chunk, const float *sums, int columns) {
    const uint32_t row = lane_index() / 4, quarter = lane_index() % 4;
    warp_sync();
    UNROLL
    for (uint32_t i = 0; i < (uint32_t)columns / 8; i++) {
        const float *s = sums + i * 4;
        const uint32_t at = i * 2 + quarter / 2, byte = quarter % 2 * 8;
        st_shared_x2(chunk_at(chunk, row, at) + byte, bits_from_f32(s[0]), bits_from_f32(s[1]));
        st_shared_x2(chunk_at(chunk, row + 8, at) + byte, bits_from_f32(s[2]), bits_from_f32(s[3]));
    }
    warp_sync();
}

/* sums: [columns / 2], columns 16 to 64, as a chunk of bf16 */
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

/* A lane's four pieces of a chunk are piece lane % 8 of rows lane / 8, + 4, + 8, + 12. Where these
 * begin in a matrix, at column 0 of the tile: addresses [4]. bytes: of a piece there */
DEVICE void find_rows(uint8_t **rows, const void *matrix, int64_t pitch, int bytes) {
    const int64_t row = (int)lane_index() / 8, piece = (int)lane_index() % 8;
    UNROLL
    for (int i = 0; i < 4; i++) rows[i] = (uint8_t *)matrix + (row + i * 4) * pitch + piece * bytes;
}
/* Whether row i's piece of `elements` elements is in d, the chunk beginning at column x. */
DEVICE bool has_piece(const destination_t *to, int i, int x, int elements) {
    return (int)lane_index() / 8 + i * 4 < to->rows &&
           x + (int)lane_index() % 8 * elements < to->columns;
}
DEVICE void get_piece(uint32_t *values, uint32_t chunk, int i) {
    ld_shared_x4(values, chunk_at(chunk, lane_index() / 8 + (uint32_t)i * 4, lane_index() % 8));
}

/* bf16 without c. sums: [columns / 2] */
DEVICE void store_rounded(const destination_t *to, const float *sums, uint32_t chunk, int columns) {
    uint8_t *rows[4];
    find_rows(rows, to->d, to->d_pitch, 16);
    UNROLL
    for (int x = 0; x < columns; x += 64) {
        const int width = columns - x < 64 ? columns - x : 64;
        put_bf16(chunk, sums + x / 2, width);
        UNROLL
        for (int i = 0; i < 4; i++) {
            uint32_t values[4];
            if (!has_piece(to, i, x, 8)) continue;
            get_piece(values, chunk, i);
            st_global_x4(rows[i] + x * 2, values);
        }
    }
}

/* Element j of four that were read as f32 or bf16. */
DEVICE float element(const uint32_t *words, int j, bool f32) {
    if (f32) return f32_from_bits(words[j]);
    return f32_from_bits(j % 2 ? words[j / 2] & 0xffff0000u : words[j / 2] << 16);
}

/* Chunks of c that are on their way: a load takes as long as five chunks take to be stored, and more
 * registers than these there are not. */
#define CHUNKS_AHEAD (WARP_ROWS * BLOCK_N > 256 ? 1 : 3)

/* Starts to read what is added to the chunk at column x. added: [4][4] */
DEVICE void read_c(
    const destination_t *to, uint8_t *const *rows, int x, bool f32, uint32_t (*added)[4]) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int j = 0; j < 4; j++) added[i][j] = 0;
        if (!to->c || !has_piece(to, i, x, 4)) continue;
        if (f32)
            ld_global_x4(added[i], rows[i] + x * 4);
        else
            ld_global_x2(added[i], rows[i] + x * 2);
    }
}

/* The sums in a chunk of f32, and what is added, to row i of d. */
DEVICE void write_sums(const destination_t *to, uint8_t *const *rows, uint32_t chunk, int i, int x,
    bool f32, const uint32_t *added) {
    uint32_t values[4];
    float s[4];
    if (!has_piece(to, i, x, 4)) return;
    get_piece(values, chunk, i);
    UNROLL
    for (int j = 0; j < 4; j++) {
        /* not "+ 0": that would lose the sign of a zero */
        s[j] = f32_from_bits(values[j]);
        if (to->c) s[j] += element(added, j, f32);
        values[j] = bits_from_f32(s[j]);
    }
    if (!f32) {
        values[0] = pack_bf16(s[0], s[1]);
        values[1] = pack_bf16(s[2], s[3]);
    }
    if (f32)
        st_global_x4(rows[i] + x * 4, values);
    else
        st_global_x2(rows[i] + x * 2, values);
}

/* Starts to read the first of what this warp will add, while its products still run. */
DEVICE void begin_rows(const destination_t *to, int columns, uint32_t (*added)[4][4]) {
    uint8_t *rows[4];
    if (!to->wide || !to->c) return;
    find_rows(rows, to->c, to->c_pitch, to->f32 ? 16 : 8);
    UNROLL
    for (int i = 0; i < CHUNKS_AHEAD; i++) {
        if (i * 32 >= columns) continue;
        if (to->f32)
            read_c(to, rows, i * 32, true, added[i]);
        else
            read_c(to, rows, i * 32, false, added[i]);
    }
}

/* Everything else whose rows begin on 16 bytes. f32: as in `to`, but known to the compiler */
DEVICE void store_summed(const destination_t *to, const float *sums, uint32_t chunk, int columns,
    bool f32, uint32_t (*added)[4][4]) {
    uint8_t *rows[4], *c_rows[4];
    find_rows(rows, to->d, to->d_pitch, f32 ? 16 : 8);
    find_rows(c_rows, to->c, to->c_pitch, f32 ? 16 : 8);
    UNROLL
    for (int x = 0; x < columns; x += 32) {
        uint32_t(*mine)[4] = added[x / 32 % CHUNKS_AHEAD];
        put_f32(chunk, sums + x / 2, columns - x < 32 ? columns - x : 32);
        UNROLL
        for (int i = 0; i < 4; i++) write_sums(to, rows, chunk, i, x, f32, mine[i]);
        if (x + CHUNKS_AHEAD * 32 < columns) read_c(to, c_rows, x + CHUNKS_AHEAD * 32, f32, mine);
    }
}

/* A chunk of f32, row by row and element by element, for rows that begin anywhere. x: its column */
DEVICE void write_elements(const destination_t *to, uint32_t chunk, int x) {
    const uint32_t lane = lane_index();
    const int column = x + (int)lane, size = to->f32 ? 4 : 2;
    UNROLL_BY(1) /* rare, and there are many copies */
    for (int r = 0; r < 16 && r < to->rows; r++) {
        uint8_t *d = to->d + r * to->d_pitch + column * size;
        float sum = ld_shared_f32(chunk_at(chunk, (uint32_t)r, lane / 4) + lane % 4 * 4);
        if (column >= to->columns) continue;
        if (to->c) {
            const uint8_t *c = to->c + r * to->c_pitch + column * size;
            sum += to->f32 ? ld_global_f32((const float *)c)
                           : f32_from_bits((uint32_t)ld_global_u16(c) << 16);
        }
        if (to->f32)
            st_global_f32((float *)d, sum);
        else
            st_global_u16(d, (uint16_t)(pack_bf16(sum, 0.f) & 0xffff));
    }
}

/* Stores a warp's 16 rows. sums: [columns / 2], columns a multiple of 16; added: of begin_rows */
DEVICE void store_rows(const destination_t *to, const float *sums, uint32_t chunk, int columns,
    uint32_t (*added)[4][4]) {
    if (!to->wide) {
        UNROLL
        for (int x = 0; x < columns; x += 32) {
            put_f32(chunk, sums + x / 2, columns - x < 32 ? columns - x : 32);
            write_elements(to, chunk, x);
        }
    } else if (to->f32) {
        store_summed(to, sums, chunk, columns, true, added);
    } else if (to->c) {
        store_summed(to, sums, chunk, columns, false, added);
    } else {
        store_rounded(to, sums, chunk, columns);
    }
}
