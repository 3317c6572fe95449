/* SPDX-License-Identifier: MIT
 *
 * One operand of gemm.cu on its way from global to shared memory: any strides, any alignment, any
 * list of rows. Used by gemm.cu for both sides.
 *
 * A slab is `rows` of mn by 64 of k. It is moved in chunks of 8 values that are neighbours along the
 * contiguous axis; a thread has four. A chunk stays raw in registers while the slab before it is
 * multiplied, then becomes 16 bytes of shared memory: eight BF16, or eight FP16, which hold every
 * E4M3 and E2M1 exactly. An aligned chunk is one load, one at another address two to five words that
 * are shifted; at the ends of rows, and for values that a list picks, each value is a load of its
 * own. What does not exist is zero.
 *
 *     k contiguous    [rows][64 k]: a row of 128 bytes for each mn     chunk c of row r is stored
 *     mn contiguous   [64 k][rows]: a row of 2 * rows bytes for each k     as chunk c ^ (r & 7) */
#pragma once
#include "args/any_gemm.h"
#include "device/convert.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"

#define THREADS DG_ANY_GEMM_THREADS(BLOCK_M)
#define SLAB DG_ANY_GEMM_SLAB
#define CHUNKS 4 /* of a thread for each operand */
#define WORDS (WIDE ? 4 : 2)
#define NO_ROW (-1)
#define ROWS BLOCK_M /* of a slab: as many of b as of a */
static_assert(BLOCK_M == BLOCK_N, "slabs of both operands have one shape");

/* Entry i of a list, NO_ROW if it is no row. */
DEVICE int64_t list_entry(const dg_any_list_t *list, int64_t i) {
    if (list->data == 0) return i;
    int64_t entry;
    if (list->wide)
        entry = (int64_t)ld_global_u64((const int64_t *)list->data + i * list->stride);
    else
        entry = (int32_t)ld_global_u32((const int32_t *)list->data + i * list->stride);
    return entry >= 0 && entry < list->limit ? entry : NO_ROW;
}

/* What of an operand a tile and a segment read: rows [0, mn_count) by k [0, k_count) of a matrix
 * whose value (0, 0) is number `origin` of data. */
typedef struct view {
    const dg_any_side_t *side;
    int64_t origin, mn_stride;
    int64_t k_count;
    int32_t mn_count;
    int32_t mn_before, mn_after; /* rows of the matrix beside these, 8 at most */
    uint32_t gathered_rows; /* shared address of [BLOCK_M] int32: the row of data that each row is,
                             * NO_ROW: none; 0: rows are as they come */
    const dg_any_list_t *tokens, *other_tokens; /* lists along k, of this side and the other */
    int64_t token_begin;                        /* entry of those lists that k = 0 is */
    bool listed_tokens;                         /* any of the two has data */
} view_t;

/* Which row of the view's matrix, as data has them. */
DEVICE int64_t row_at(const view_t *v, int32_t row) {
    if (row >= v->mn_count) return NO_ROW;
    return v->gathered_rows ? (int32_t)ld_shared_u32(v->gathered_rows + (uint32_t)row * 4) : row;
}

/* Which k of the view's matrix. Lists name tokens of all groups, and origin does not count
 * token_begin then. A token that either side lacks adds nothing, so both read it as zeros. */
DEVICE int64_t k_at(const view_t *v, int64_t k) {
    if (k >= v->k_count) return NO_ROW;
    if (!v->listed_tokens) return k;
    const int64_t other = list_entry(v->other_tokens, v->token_begin + k);
    const int64_t own = list_entry(v->tokens, v->token_begin + k);
    return other < 0 ? NO_ROW : own;
}

/* The code of value `index`: 16, 8 or 4 bits. */
DEVICE uint32_t load_code(const dg_any_side_t *side, int64_t index) {
    const uint8_t *data = (const uint8_t *)side->data;
    if (WIDE) return ld_global_u16(data + index * 2);
    if (side->dtype == DG_CODE_E4M3) return ld_global_u8(data + index);
    return ld_global_u8(data + (index >> 1)) >> (index & 1) * 4 & 15;
}

/* Eight codes as they are stored: 4, 8 or 16 bytes, the first code lowest. */
typedef struct chunk {
    uint64_t low, high; /* high: WIDE alone */
} chunk_t;

/* A whole chunk by one load, if its address allows that. */
DEVICE bool load_aligned(const dg_any_side_t *side, int64_t index, chunk_t *chunk) {
    const uint8_t *data = (const uint8_t *)side->data;
    if (WIDE) {
        const uint8_t *address = data + index * 2;
        uint32_t words[4];
        if ((uint64_t)address & 15) return false;
        ld_global_x4(words, address);
        chunk->low = words[0] | (uint64_t)words[1] << 32;
        chunk->high = words[2] | (uint64_t)words[3] << 32;
    } else if (side->dtype == DG_CODE_E4M3) {
        if ((uint64_t)(data + index) & 7) return false;
        chunk->low = ld_global_u64(data + index);
    } else {
        const uint8_t *address = data + (index >> 1);
        if ((uint64_t)address & 3 || index & 1) return false;
        chunk->low = ld_global_u32(address);
    }
    return true;
}

DEVICE uint64_t shift_words(uint32_t w0, uint32_t w1, uint32_t w2, int bits) {
    return (w0 | (uint64_t)w1 << 32) >> bits | (uint64_t)w2 << 1 << (63 - bits);
}

/* A whole chunk at any address out of the aligned words that it lies in, where all of these belong to
 * the operand: `before` and `after` count the values that stand beside the chunk's. */
DEVICE bool load_shifted(
    const dg_any_side_t *side, int64_t index, int64_t before, int64_t after, chunk_t *chunk) {
    const uint8_t *data = (const uint8_t *)side->data;
    const bool bytes = side->dtype == DG_CODE_E4M3;
    const int width = WIDE ? 16 : bytes ? 8 : 4;
    const uint8_t *address = WIDE ? data + index * 2 : bytes ? data + index : data + (index >> 1);
    const int within = (int)((uint64_t)address & 3);
    const int bits = within * 8 + (!WIDE && !bytes ? (int)(index & 1) * 4 : 0);
    if (bits && (before < bits / width || after < (32 - bits) / width)) return false;
    const uint8_t *word = address - within;
    const uint32_t w0 = ld_global_u32(word);
    const uint32_t w1 = WIDE || bytes || bits ? ld_global_u32(word + 4) : 0;
    uint32_t w2 = 0;
    if (WIDE) {
        w2 = ld_global_u32(word + 8);
        const uint32_t w3 = ld_global_u32(word + 12), w4 = bits ? ld_global_u32(word + 16) : 0;
        chunk->high = shift_words(w2, w3, w4, bits);
    } else if (bytes && bits) {
        w2 = ld_global_u32(word + 8);
    }
    chunk->low = shift_words(w0, w1, w2, bits);
    return true;
}

/* Puts the code of value j where load_aligned() would have put it. */
DEVICE void insert_code(const dg_any_side_t *side, int j, uint64_t code, chunk_t *chunk) {
    if (WIDE) {
        chunk->low |= j < 4 ? code << j * 16 : 0;
        chunk->high |= j < 4 ? 0 : code << (j - 4) * 16;
    } else {
        chunk->low |= code << j * (side->dtype == DG_CODE_E4M3 ? 8 : 4);
    }
}

/* The first value of a chunk. */
typedef struct place {
    int32_t row;
    int64_t k;
} place_t;

DEVICE place_t find_chunk(const view_t *v, int64_t slab_k, int q) {
    if (v->side->k_contiguous) return {q / (SLAB / 8), slab_k + q % (SLAB / 8) * 8};
    return {q % (ROWS / 8) * 8, slab_k + q / (ROWS / 8)};
}

/* The line of a chunk as data counts it: its row (k contiguous) or its k; NO_ROW if there is none. A k
 * that no list picked is not looked up, and its line is 0 here: lists reach 2^31 rows, k may be more. */
DEVICE int32_t find_line(const view_t *v, place_t at) {
    if (v->side->k_contiguous) return (int32_t)row_at(v, at.row);
    if (v->listed_tokens) return (int32_t)k_at(v, at.k);
    return at.k < v->k_count ? 0 : NO_ROW;
}

DEVICE chunk_t load_chunk(const view_t *v, place_t at, int32_t found) {
    const dg_any_side_t *side = v->side;
    const bool along_k = side->k_contiguous;
    const int64_t left = along_k ? v->k_count - at.k : v->mn_count - at.row;
    chunk_t chunk = {0, 0};
    if (found < 0 || left <= 0) return chunk;
    const int64_t line_number = along_k || v->listed_tokens ? found : at.k;
    const int64_t line = v->origin + line_number * (along_k ? v->mn_stride : side->k_stride);
    if (left >= 8 && (along_k ? !v->listed_tokens : v->gathered_rows == 0)) {
        const int64_t before = along_k ? at.k : at.row + v->mn_before;
        const int64_t after = left - 8 + (along_k ? 0 : v->mn_after);
        const int64_t index = line + (along_k ? at.k : at.row);
        if (load_aligned(side, index, &chunk)) return chunk;
        if (load_shifted(side, index, before, after, &chunk)) return chunk;
    }
    UNROLL_BY(1)
    for (int j = 0; j < 8; j += 4) { /* four loads in flight */
        uint32_t codes[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            const int64_t one = along_k ? k_at(v, at.k + j + i) : row_at(v, at.row + j + i);
            codes[i] = one >= 0 ? load_code(side, line + one) : 0;
        }
        UNROLL
        for (int i = 0; i < 4; i++) insert_code(side, j + i, codes[i], &chunk);
    }
    return chunk;
}

/* A thread's part of a slab. Entries of lists come first, all of them in flight together.
 * raw: [CHUNKS][WORDS] */
DEVICE void load_slab(const view_t *v, int64_t slab_k, uint32_t *raw) {
    int32_t lines[CHUNKS];
    UNROLL
    for (int i = 0; i < CHUNKS; i++) {
        const place_t at = find_chunk(v, slab_k, (int)thread_index() + i * THREADS);
        lines[i] = find_line(v, at);
    }
    UNROLL
    for (int i = 0; i < CHUNKS; i++) {
        const place_t at = find_chunk(v, slab_k, (int)thread_index() + i * THREADS);
        const chunk_t chunk = load_chunk(v, at, lines[i]);
        raw[i * WORDS] = (uint32_t)chunk.low;
        raw[i * WORDS + 1] = (uint32_t)(chunk.low >> 32);
        if (WIDE) {
            raw[i * WORDS + WORDS - 2] = (uint32_t)chunk.high;
            raw[i * WORDS + WORDS - 1] = (uint32_t)(chunk.high >> 32);
        }
    }
}

/* Four E2M1 codes in the low 16 bits to the E4M3 codes of the same numbers: 0 .5 1 1.5 2 3 4 6. */
DEVICE uint32_t e4m3_from_e2m1(uint32_t codes) {
    const uint32_t magnitudes = choose_bytes(0x3C383000u, 0x4C484440u, codes & 0x7777u);
    return magnitudes | choose_bytes(0, 0x80808080u, codes >> 1 & 0x4444u);
}

/* Raw chunk to eight 16-bit values. values: [4] */
DEVICE void decode_chunk(const dg_any_side_t *side, const uint32_t *raw, uint32_t *values) {
    if (WIDE) {
        UNROLL
        for (int i = 0; i < 4; i++) values[i] = raw[i];
        return;
    }
    uint32_t low = raw[0], high = raw[1];
    if (side->dtype == DG_CODE_E2M1X2) {
        low = e4m3_from_e2m1(raw[0] & 0xFFFFu);
        high = e4m3_from_e2m1(raw[0] >> 16);
    }
    values[0] = f16x2_from_e4m3x2(low & 0xFFFFu);
    values[1] = f16x2_from_e4m3x2(low >> 16);
    values[2] = f16x2_from_e4m3x2(high & 0xFFFFu);
    values[3] = f16x2_from_e4m3x2(high >> 16);
}

/* A thread's part of a slab into shared memory at `to`, 128-byte aligned. */
DEVICE void store_slab(const dg_any_side_t *side, const uint32_t *raw, uint32_t to) {
    const uint32_t per_line = side->k_contiguous ? SLAB / 8 : ROWS / 8;
    UNROLL
    for (int i = 0; i < CHUNKS; i++) {
        const uint32_t q = thread_index() + (uint32_t)i * THREADS;
        const uint32_t line = q / per_line, chunk = q % per_line;
        uint32_t values[4];
        decode_chunk(side, raw + i * WORDS, values);
        st_shared_x4(to + (line * per_line + (chunk ^ (line & 7))) * 16, values);
    }
}
