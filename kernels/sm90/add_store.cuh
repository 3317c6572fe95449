/* SPDX-License-Identifier: MIT
 *
 * The way out of a GEMM that accumulates: d = c + sums, in FP32 or BF16, without TMA. Included by its
 * kernels, which define AT_CHUNKS of shared memory (STORE_CHUNK_BYTES for each math warp), OUT_F32 and
 * ROW_PAIRS. Every warp stores for itself.
 *
 * Fragments hold two neighbouring columns a lane, of eight rows: a warp that read c or wrote d in
 * that form would touch a quarter of each 128-byte line. So 16 rows x 32 columns at a time go through
 * shared memory, and come back with four neighbouring columns a lane, eight lanes a row: whole lines.
 * c is read in that form one chunk ahead. Measured on an H200, loading c and storing d beats a TMA reduction by a third.
 *
 * Where d or c are not aligned for that, or n is no multiple of 4, a lane takes one column at a
 * time. Nothing outside the tile's rows and columns is read or written. */
#pragma once
#define STORE_CHUNK_BYTES (16 * 32 * 4)

#include "device/convert.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "sm90/cta.cuh"
#include "sm90/tiles.cuh"

/* A fragment's row g of a warp's 16 rows, and its row g + 8: themselves, or with ROW_PAIRS rows 2g
 * and 2g + 1 (sm90/mn_major.cuh). */
#define HALF_ROWS (ROW_PAIRS ? 1 : 8)
DEVICE uint32_t chunk_row(uint32_t g, uint32_t half) {
    return ROW_PAIRS ? g * 2 + half : g + half * 8;
}

/* Address of a chunk's element. The four rows that 16 lanes write at a time fall into different banks:
 * they are ROW_PAIRS + 1 apart. */
DEVICE uint32_t chunk_at(uint32_t chunk, uint32_t row, uint32_t column) {
    return chunk + row * 128 + ((column * 4) ^ (row >> ROW_PAIRS & 3) << 5);
}

/* Writes 32 columns of the warp's 16 rows. sums: [16] of them, this lane's */
DEVICE void fill_chunk(uint32_t chunk, const float *sums) {
    uint32_t lane = lane_index();
    pin_u32(lane); /* addresses are made for each chunk: they would take registers from the sums */
    const uint32_t g = lane / 4, column = lane % 4 * 2;
    UNROLL
    for (uint32_t q = 0; q < 4; q++) UNROLL
    for (uint32_t half = 0; half < 2; half++)
        st_shared_x2(chunk_at(chunk, chunk_row(g, half), q * 8 + column),
            bits_from_f32(sums[q * 4 + half * 2]), bits_from_f32(sums[q * 4 + half * 2 + 1]));
}

/* Four neighbouring values. values: [4] */
DEVICE void load_four(float *values, const uint8_t *from) {
    uint32_t bits[4];
    if (OUT_F32) {
        ld_global_x4(bits, from);
    } else {
        ld_global_x2(bits, from);
        bits[3] = bits[1] & 0xffff0000;
        bits[2] = bits[1] << 16;
        bits[1] = bits[0] & 0xffff0000;
        bits[0] = bits[0] << 16;
    }
    UNROLL
    for (int i = 0; i < 4; i++) values[i] = f32_from_bits(bits[i]);
}

DEVICE void store_four(uint8_t *to, const float *values) {
    const uint32_t bits[4] = {bits_from_f32(values[0]), bits_from_f32(values[1]),
        bits_from_f32(values[2]), bits_from_f32(values[3])};
    const uint32_t packed[2] = {pack_bf16(values[0], values[1]), pack_bf16(values[2], values[3])};
    if (OUT_F32)
        st_global_x4(to, bits);
    else
        st_global_x2(to, packed);
}

DEVICE float load_one(const uint8_t *from) {
    if (OUT_F32) return f32_from_bits(ld_global_u32(from));
    return f32_from_bits((uint32_t)ld_global_u16(from) << 16);
}

DEVICE void store_one(uint8_t *to, float value) {
    if (OUT_F32)
        st_global_u32(to, bits_from_f32(value));
    else
        st_global_u16(to, (uint16_t)(pack_bf16(value, 0.f) & 0xffff));
}

/* Where a tile's rows of d and c begin; c is NULL if nothing is added. */
typedef struct place_out {
    uint8_t *d;
    const uint8_t *c;
    int64_t d_pitch, c_pitch; /* bytes */
} place_out_t;

DEVICE place_out_t find_out(const dg_sm90_output_t *out, const tile_t *tile, int row) {
    uint8_t *d = (uint8_t *)out->d + tile->slab * out->slab_stride * OUT_BYTES;
    const uint8_t *c = (const uint8_t *)out->c;
    if (c) c += tile->slab * out->c_slab_stride * OUT_BYTES;
    if (SCHEDULE == DG_SCHEDULE_M_GROUPED && tile->group < 0)
        c = 0; /* rows of no group are zeros */
    if (out->d_list) d = (uint8_t *)ld_global_u64(out->d_list + tile->slab);
    if (out->c_list) c = (const uint8_t *)ld_global_u64(out->c_list + tile->slab);
    d += ((tile->row + row) * out->pitch + tile->column) * OUT_BYTES;
    if (c) c += ((tile->row + row) * out->c_pitch + tile->column) * OUT_BYTES;
    return {d, c, out->pitch * OUT_BYTES, out->c_pitch * OUT_BYTES};
}

/* Four values of c, or zeros where there are none. */
DEVICE void load_added(float *added, const uint8_t *from, bool there) {
    UNROLL
    for (int i = 0; i < 4; i++) added[i] = 0.f;
    if (there) load_four(added, from);
}

/* Chunks of c on their way before the first sum leaves: as many as registers are free. */
#define CHUNKS_AHEAD (WARP_ROWS == 1 ? BLOCK_N / 32 : ROW_PAIRS ? 1 : 2)

/* Four columns a lane. */
DEVICE void load_chunk(float (*added)[4], const uint8_t *c, int64_t pitch, int rows, bool there) {
    UNROLL
    for (int pass = 0; pass < 4; pass++)
        load_added(added[pass], c + pass * 4 * pitch, there && pass * 4 < rows);
}

/* Four columns a lane, in whole lines.
 * rows, columns: that there are; sums: [BLOCK_N / 2] */
DEVICE void store_lines(
    const place_out_t *out, const float *sums, int rows, int columns, uint32_t chunk) {
    uint32_t lane = lane_index();
    pin_u32(lane);
    const int row = (int)lane / 8, column = (int)lane % 8 * 4;
    uint8_t *d = out->d + row * out->d_pitch + column * OUT_BYTES;
    const uint8_t *c = out->c + row * out->c_pitch + column * OUT_BYTES;
    float added[CHUNKS_AHEAD][4][4];
    UNROLL
    for (int i = 0; i < CHUNKS_AHEAD; i++)
        load_chunk(added[i], c + i * 32 * OUT_BYTES, out->c_pitch, rows - row,
            out->c && column + i * 32 < columns);
    UNROLL
    for (int i = 0; i < BLOCK_N / 32; i++) {
        float(*mine)[4] = added[i % CHUNKS_AHEAD];
        const int next = i + CHUNKS_AHEAD;
        warp_sync(); /* the chunk before has been read */
        fill_chunk(chunk, sums + i * 16);
        warp_sync();
        UNROLL
        for (int pass = 0; pass < 4; pass++) {
            uint32_t bits[4];
            float values[4];
            ld_shared_x4(bits, chunk_at(chunk, (uint32_t)(row + pass * 4), (uint32_t)column));
            UNROLL
            for (int j = 0; j < 4; j++) values[j] = mine[pass][j] + f32_from_bits(bits[j]);
            if (row + pass * 4 < rows && column + i * 32 < columns)
                store_four(d + pass * 4 * out->d_pitch + i * 32 * OUT_BYTES, values);
        }
        if (next < BLOCK_N / 32)
            load_chunk(mine, c + next * 32 * OUT_BYTES, out->c_pitch, rows - row,
                out->c && column + next * 32 < columns);
    }
}

/* One column a lane. */
DEVICE void store_elements(
    const place_out_t *out, const float *sums, int rows, int columns, uint32_t chunk) {
    const int lane = (int)lane_index();
    UNROLL
    for (int i = 0; i < BLOCK_N / 32; i++) {
        warp_sync();
        fill_chunk(chunk, sums + i * 16);
        warp_sync();
        if (lane + i * 32 >= columns) continue;
        for (int row = 0; row < 16 && row < rows; row++) {
            const int64_t at = (lane + i * 32) * OUT_BYTES;
            float value = ld_shared_f32(chunk_at(chunk, (uint32_t)row, (uint32_t)lane));
            if (out->c) value = load_one(out->c + row * out->c_pitch + at) + value;
            store_one(out->d + row * out->d_pitch + at, value);
        }
    }
}

/* Stores the warp's 16 rows of one 64-row sub-tile. row: the first of them, inside the tile; sums:
 * [BLOCK_N / 2] */
DEVICE void store_sums(
    const dg_sm90_output_t *out, const tile_t *tile, const float *sums, int row) {
    const uint32_t chunk = shared_base() + AT_CHUNKS + warp_index() * STORE_CHUNK_BYTES;
    const int rows = tile->rows - row, columns = tile->columns;
    const place_out_t place = find_out(out, tile, row);
    const bool aligned = out->alignment >= 4 * OUT_BYTES &&
                         (!place.c || out->c_alignment >= 4 * OUT_BYTES) && columns % 4 == 0;
    if (rows <= 0 || columns <= 0) return;
    if (aligned)
        store_lines(&place, sums, rows, columns, chunk);
    else
        store_elements(&place, sums, rows, columns, chunk);
}
