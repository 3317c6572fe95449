/* SPDX-License-Identifier: MIT
 *
 * The way out of a Hopper GEMM: sums in registers, plus c where there is one, become rows of d in
 * BF16 or FP32. Included by its kernels, which define STORE_N (columns of a chunk), STORE_ROWS (16:
 * every warp for itself; 64: one store for a warpgroup), STORE_BUFFERS (chunks in flight), OUT_F32,
 * ADD_C, and AT_CHUNKS, CHUNKS_BYTES of shared memory. Math warps call begin_store, then store_sums for
 * each sub-tile, finish_store at the end.
 *
 * Sums are written to a chunk, [STORE_ROWS x STORE_N] in the swizzle of its row length (64 or 128
 * bytes). From there they leave in one of two ways, the same for a whole warp (warpgroup):
 *
 *   by TMA    all STORE_ROWS rows belong to the tile and d is 16-byte friendly (out->by_tma);
 *             columns past n are clipped by the map
 *   by rows   else: the warp's lanes copy neighbouring pieces of its 16 rows, as wide as d's
 *             alignment allows, no row and no column more than the tile has
 *
 * So the last tile of a group never writes into the next group. */
#pragma once
#include "device/bulk.cuh"
#include "device/convert.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tma.cuh"
#include "sm90/cta.cuh"
#include "sm90/tiles.cuh"

static_assert(BLOCK_N % STORE_N == 0, "a tile is whole chunks wide");
static_assert(CHUNK_ROW_BYTES == 128 || (CHUNK_ROW_BYTES == 64 && !OUT_F32), "swizzles there are");
static_assert(STORE_ROWS == 16 || STORE_ROWS == 64, "a warp's rows, or a warpgroup's");
static_assert(STORE_BUFFERS > 0, "sums leave through shared memory");

typedef struct store {
    uint32_t warp;   /* index of this warp */
    uint32_t buffer; /* of its chunks, or its warpgroup's: the one to fill next */
} store_t;

DEVICE store_t begin_store(uint32_t warp) {
    return {warp, 0};
}

/* The thread that starts the stores of a warp (warpgroup) and waits for them. */
DEVICE bool leads_store(const store_t *store) {
    return lane_index() == 0 && store->warp * 16 % STORE_ROWS == 0;
}

/* Meets all threads that share a chunk. */
DEVICE void sync_store(const store_t *store) {
    if (STORE_ROWS == 16)
        warp_sync();
    else
        bar_sync(1 + store->warp / 4, 128);
}

DEVICE void finish_store(const store_t *store) {
    if (leads_store(store)) bulk_wait_read<0>();
}

/* chunk: address of the warp's 16 rows. A chunk begins where its swizzle does, its rows 0 and 16
 * alike. */
DEVICE uint32_t chunk_at(uint32_t chunk, uint32_t row, uint32_t byte) {
    const uint32_t dense = row * CHUNK_ROW_BYTES + byte;
    return chunk + (CHUNK_ROW_BYTES == 128 ? swizzle_128(dense) : swizzle_64(dense));
}

/* Writes STORE_N columns of the warp's 16 rows. sums: [STORE_N / 2] */
DEVICE void fill_chunk(uint32_t chunk, const float *sums) {
    uint32_t lane = lane_index();
    pin_u32(lane);
    if (OUT_F32) {
        /* 16 lanes store 4 rows at a time; the swizzle alone would lay rows 2i and 2i + 1 into the
         * same banks, so odd rows take the other half of the columns first. */
        const bool odd = (lane >> 2 & 1) != 0;
        UNROLL
        for (uint32_t q = 0; q < STORE_N / 8; q++) {
            const float *mine = sums + q * 4, *other = sums + (q ^ 2) * 4;
            const uint32_t byte = (odd ? q ^ 2 : q) * 32 + lane % 4 * 8;
            st_shared_x2(chunk_at(chunk, lane / 4, byte), bits_from_f32(odd ? other[0] : mine[0]),
                bits_from_f32(odd ? other[1] : mine[1]));
            st_shared_x2(chunk_at(chunk, lane / 4 + 8, byte),
                bits_from_f32(odd ? other[2] : mine[2]), bits_from_f32(odd ? other[3] : mine[3]));
        }
    } else {
        UNROLL
        for (uint32_t q = 0; q < STORE_N / 16; q++) {
            const float *s = sums + q * 8;
            const uint32_t values[4] = {pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]),
                pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7])};
            stmatrix_x4(chunk_at(chunk, lane & 15, (q * 2 + (lane >> 4)) * 16), values);
        }
    }
}

/* Stores `count` elements of the 16 bytes in `words`, element by element. words: [4] */
DEVICE void store_elements(uint8_t *to, const uint32_t *words, int count) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        if (OUT_F32) {
            if (i < count) st_global_u32(to + i * 4, words[i]);
        } else {
            if (i * 2 < count) st_global_u16(to + i * 4, (uint16_t)(words[i] & 0xffff));
            if (i * 2 + 1 < count) st_global_u16(to + i * 4 + 2, (uint16_t)(words[i] >> 16));
        }
    }
}

/* Copies rows of a chunk to d in pieces of 16 bytes. to: the chunk's first element in d; rows,
 * columns: how many of them there are; pitch: bytes */
DEVICE void copy_pieces(uint8_t *to, int64_t pitch, uint32_t chunk, int rows, int columns) {
    const uint32_t pieces = CHUNK_ROW_BYTES / 16;
    const int elements = 16 / OUT_BYTES;
    uint32_t lane = lane_index();
    pin_u32(lane);
    const uint32_t piece = lane % pieces;
    const int left = columns - (int)piece * elements;
    UNROLL_BY(1)
    for (uint32_t row = lane / pieces; row < 16; row += 32 / pieces) {
        uint32_t words[4];
        if ((int)row >= rows || left <= 0) continue;
        ld_shared_x4(words, chunk_at(chunk, row, piece * 16));
        if (left >= elements)
            st_global_x4(to + row * pitch + piece * 16, words);
        else
            store_elements(to + row * pitch + piece * 16, words, left);
    }
}

/* The same where rows of d begin anywhere: pieces of 4 bytes. In BF16 a row may begin in the middle
 * of one. */
DEVICE void copy_words(uint8_t *to, int64_t pitch, uint32_t chunk, int rows, int columns) {
    uint32_t lane = lane_index();
    pin_u32(lane);
    UNROLL_BY(1)
    for (int row = 0; row < rows; row++) {
        uint8_t *line = to + row * pitch;
        const int shift = (int)((uint64_t)line >> 1 & 1);
        UNROLL_BY(1)
        for (int piece = (int)lane; piece * (4 / OUT_BYTES) < columns + shift; piece += 32) {
            if (OUT_F32) {
                st_global_u32(line + piece * 4,
                    ld_shared_u32(chunk_at(chunk, (uint32_t)row, (uint32_t)piece * 4)));
                continue;
            }
            const int left = piece * 2 - shift, right = left + 1;
            uint32_t low = 0, high = 0;
            if (left >= 0)
                low = ld_shared_u32(chunk_at(chunk, (uint32_t)row, (uint32_t)(left / 2 * 4)));
            if (right < columns)
                high = ld_shared_u32(chunk_at(chunk, (uint32_t)row, (uint32_t)(right / 2 * 4)));
            low = shift ? low >> 16 : low & 0xffff;
            high = shift ? high & 0xffff : high >> 16;
            if (left >= 0 && right < columns)
                st_global_u32(line + left * 2, low | high << 16);
            else if (left >= 0)
                st_global_u16(line + left * 2, (uint16_t)low);
            else
                st_global_u16(line + right * 2, (uint16_t)high);
        }
    }
}

/* Copies the warp's 16 rows of a chunk to d. row, column: of the chunk, inside the tile */
DEVICE void copy_rows(
    const dg_sm90_output_t *out, const tile_t *tile, uint32_t chunk, int row, int column) {
    const int rows = tile->rows - row < 16 ? tile->rows - row : 16;
    const int columns = tile->columns - column < STORE_N ? tile->columns - column : STORE_N;
    const int64_t first = (tile->row + row) * out->pitch + tile->column + column;
    uint8_t *to = (uint8_t *)out->d + tile->slab * out->slab_stride * OUT_BYTES;
    if (columns <= 0) return;
    if (out->d_list) to = (uint8_t *)ld_global_u64(out->d_list + tile->slab);
    to += first * OUT_BYTES;
    if (out->alignment >= 16)
        copy_pieces(to, out->pitch * OUT_BYTES, chunk, rows, columns);
    else
        copy_words(to, out->pitch * OUT_BYTES, chunk, rows, columns);
}

/* Two neighbours of c. from: address of the first; columns: how many there are; whole: both, and
 * the address is a multiple of their size. */
DEVICE void load_pair(float *pair, const uint8_t *from, bool whole, int columns) {
    uint32_t bits[2] = {0, 0};
    if (whole && OUT_F32) {
        ld_global_x2(bits, from);
    } else if (OUT_F32) {
        if (columns >= 1) bits[0] = ld_global_u32(from);
        if (columns >= 2) bits[1] = ld_global_u32(from + 4);
    } else if (whole) {
        bits[1] = ld_global_u32(from);
    } else {
        if (columns >= 1) bits[1] = ld_global_u16(from);
        if (columns >= 2) bits[1] |= (uint32_t)ld_global_u16(from + 2) << 16;
    }
    if (!OUT_F32) {
        bits[0] = bits[1] << 16;
        bits[1] &= 0xffff0000;
    }
    pair[0] = f32_from_bits(bits[0]);
    pair[1] = f32_from_bits(bits[1]);
}

/* sums += c, 64 columns at a time: that many loads are in flight. row: of the warp's 16, inside the
 * tile; whole: they and all columns are there, in aligned pairs; sums: [BLOCK_N / 2] */
DEVICE void add_c(
    const dg_sm90_output_t *out, const tile_t *tile, float *sums, int row, bool whole) {
    uint32_t pinned_lane = lane_index();
    pin_u32(pinned_lane);
    const int lane = (int)pinned_lane, my_row = row + lane / 4;
    const uint8_t *from = (const uint8_t *)out->c + tile->slab * out->c_slab_stride * OUT_BYTES;
    if (out->c_list) from = (const uint8_t *)ld_global_u64(out->c_list + tile->slab);
    from += ((tile->row + my_row) * out->c_pitch + tile->column + lane % 4 * 2) * OUT_BYTES;
    UNROLL
    for (int i = 0; i < BLOCK_N / 8; i += 8) {
        float c[32];
        UNROLL
        for (int j = 0; j < 8 && i + j < BLOCK_N / 8; j++) {
            UNROLL
            for (int half = 0; half < 2; half++) {
                const int column = (i + j) * 8, left = tile->columns - column - lane % 4 * 2;
                load_pair(c + j * 4 + half * 2,
                    from + (half * 8 * out->c_pitch + column) * OUT_BYTES, whole,
                    my_row + half * 8 < tile->rows ? left : 0);
            }
        }
        UNROLL
        for (int j = 0; j < 32 && i * 4 + j < BLOCK_N / 2; j++) sums[i * 4 + j] += c[j];
    }
}

/* One warp, a reader of the ring of tiles: fetches c of each tile into L2 while the tile is being
 * multiplied, so that add_c waits for L2 only. */
DEVICE void prefetch_c(const dg_sm90_output_t *out) {
    for (tile_place_t place = {0, 0}; wait_tile(place) >= 0; place = next_tile_place(place)) {
        const tile_t tile = take_tile(place);
        const int rows = tile.rows < BLOCK_M ? tile.rows : BLOCK_M;
        const int columns = tile.columns < BLOCK_N ? tile.columns : BLOCK_N;
        const uint8_t *c = (const uint8_t *)out->c + tile.slab * out->c_slab_stride * OUT_BYTES;
        if (tile.group < 0) continue;
        if (out->c_list) c = (const uint8_t *)ld_global_u64(out->c_list + tile.slab);
        c += (tile.row * out->c_pitch + tile.column) * OUT_BYTES;
        for (int row = (int)lane_index(); row < rows; row += 32)
            for (int column = 0; column < columns; column += 128 / OUT_BYTES)
                prefetch_global(c + (row * out->c_pitch + column) * OUT_BYTES);
    }
}

/* Stores the warp's 16 rows of one 64-row sub-tile. row: of them, inside the tile; sums:
 * [BLOCK_N / 2] */
DEVICE void store_sums(
    const dg_sm90_output_t *out, const tile_t *tile, float *sums, int row, store_t *store) {
    const int first = row / STORE_ROWS * STORE_ROWS;
    const uint32_t chunks =
        shared_base() + AT_CHUNKS + store->warp * 16 / STORE_ROWS * STORE_BUFFERS * CHUNK_BYTES;
    const bool by_tma = out->by_tma && first + STORE_ROWS <= tile->rows;
    if (ADD_C && tile->group >= 0) {
        if (out->c_alignment >= 2 * OUT_BYTES && row + 16 <= tile->rows && BLOCK_N <= tile->columns)
            add_c(out, tile, sums, row, true);
        else
            add_c(out, tile, sums, row, false);
    }
    UNROLL
    for (int i = 0; i < BLOCK_N / STORE_N; i++) {
        const uint32_t chunk = chunks + store->buffer * CHUNK_BYTES;
        const uint32_t mine = chunk + (uint32_t)(row - first) * CHUNK_ROW_BYTES;
        if (leads_store(store)) bulk_wait_read<STORE_BUFFERS - 1>();
        sync_store(store);
        fill_chunk(mine, sums + i * (STORE_N / 2));
        if (by_tma) {
            fence_proxy_async();
            sync_store(store);
            if (leads_store(store))
                tma_store_3d(
                    &out->map, chunk, tile->column + i * STORE_N, tile->row + first, tile->slab);
        } else {
            warp_sync();
            copy_rows(out, tile, mine, row, i * STORE_N);
        }
        /* An empty group where there was no store: groups are counted as chunks are. */
        if (leads_store(store)) bulk_commit();
        store->buffer = store->buffer + 1 == STORE_BUFFERS ? 0 : store->buffer + 1;
    }
}
