/* SPDX-License-Identifier: MIT
 *
 * Quantises x with factors for blocks that fit a tile of 128 x 128: rows of 8 to 128 values, columns
 * of 16 to 128, or rectangles of both; for one output or for two of different blocks, in one pass
 * over x. Groups of rows may have any size. Parameters: args/cast.h.
 *
 * A CTA takes a tile at a time, all of it in registers, so that x is read once whatever is made of it:
 *
 *     thread   8 neighbouring columns of 8 rows     16 threads side by side make a row of the tile,
 *     warp     16 neighbouring rows                  two rows lie in a warp at a time
 *
 *     blocks of one row    largest magnitude by shuffles among the threads of the row
 *     others               by registers down the rows, one shuffle, then over the warps in shared
 *                          memory, where factors are made and their reciprocals come back
 *
 * Loads of one tile hide behind the arithmetic of the tiles of other CTAs on the SM, so nothing is
 * fetched ahead.
 *
 * Shared memory:
 *
 *     groups   cast_groups.cuh
 *     MAXIMA   [8 warps][128 columns] of x's type, or [8 warps][16] u32 for rectangles
 *     INVERSE  [row blocks][128 columns] f32, or [row blocks][16] */
#include "args/cast.h"

#define THREADS DG_CAST_TILE_THREADS
#define GRAN_SHIFTS 1
#include "any/cast_groups.cuh"
#include "any/cast_numbers.cuh"

#define TILE DG_CAST_TILE
#define ROWS 8 /* of a thread */
#define COLUMNS 8
#define WARP_ROWS 16
#define VALUE_BYTES (WIDE ? 4 : 2)
#define WORDS (COLUMNS * VALUE_BYTES / 4) /* of a thread's part of a row */
#define AT_MAXIMA AT_CAST
#define AT_INVERSE (AT_MAXIMA + 8 * 512)
#define SHARED_BYTES (AT_INVERSE + 8 * 512)

static_assert(SHARED_BYTES == DG_CAST_TILE_SHARED_BYTES, "as the host counts");

/* A tile, and where in it this thread stands: at columns [column, column + 8) and rows row, row + 2, ..
 * row + 14. */
typedef struct tile {
    cast_rows_t rows;
    uint32_t batch_0, batch_1;
    int64_t column;  /* of x */
    int32_t row;     /* of the tile */
    int32_t columns; /* of this thread that exist, at most 8 */
} tile_t;

/* What one output takes of it. */
typedef struct part {
    const dg_any_cast_side_t *side;
    int64_t block;       /* number along scale of the tile's first block row */
    int64_t local_block; /* the same in its group */
    int64_t group_blocks;
    int32_t rows; /* of the tile, as far as scale has room for factors */
} part_t;

/* Bit patterns of a thread's values. */
typedef uint32_t values_t[ROWS][WORDS];

/* ---- x to registers */

/* A row value by value, where it ends, or does not lie as vectors want it: each moves the ones before
 * up by a value, so that registers are named by constants in a loop that stays one. */
DEVICE void load_values(const char *at, int64_t stride, int columns, uint32_t *words) {
    uint32_t row[WORDS] = {};
    UNROLL_BY(1)
    for (int c = COLUMNS - 1; c >= 0; c--) {
        uint32_t bits = 0; /* changes no maximum */
        if (c < columns)
            bits = WIDE ? ld_global_u32(at + c * stride) : ld_global_u16(at + c * stride);
        UNROLL
        for (int w = WORDS - 1; w > 0; w--)
            row[w] = WIDE ? row[w - 1] : row[w] << 16 | row[w - 1] >> 16;
        row[0] = WIDE ? bits : row[0] << 16 | bits;
    }
    UNROLL
    for (int w = 0; w < WORDS; w++) words[w] = row[w];
}

DEVICE void load_tile(const dg_any_cast_args_t *args, const tile_t *tile, values_t values) {
    const int64_t *stride = args->x_stride;
    const char *at = (const char *)args->x +
                     (tile->batch_0 * stride[0] + tile->batch_1 * stride[1] +
                         (tile->rows.begin + tile->row) * stride[2] + tile->column * stride[3]) *
                         VALUE_BYTES;
    const int64_t step = 2 * stride[2] * VALUE_BYTES;
    const bool vector = args->x_vector && tile->columns == COLUMNS;
    const int32_t rows = tile->columns > 0 ? tile->rows.count - tile->row : 0;
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        UNROLL
        for (int w = 0; w < WORDS; w++) values[i][w] = 0;
        UNROLL
        for (int w = 0; w < WORDS; w += 4)
            if (vector && 2 * i < rows) ld_global_x4(&values[i][w], at + i * step + 4 * w);
    }
    if (vector) return;
    UNROLL
    for (int i = 0; i < ROWS; i++)
        if (2 * i < rows)
            load_values(at + i * step, stride[3] * VALUE_BYTES, tile->columns, values[i]);
}

DEVICE float value_of(const uint32_t *words, int column) {
    if (WIDE) return f32_from_bits(words[column % WORDS]);
    const uint32_t pair = words[column / 2];
    return f32_from_bits(column % 2 ? pair & 0xFFFF0000u : pair << 16);
}

/* ---- largest magnitudes: of single F32, of pairs of BF16 */

#define MAGNITUDE (WIDE ? 0x7FFFFFFFu : 0x7FFF7FFFu)

DEVICE uint32_t max_words(uint32_t a, uint32_t b) {
    return WIDE ? max_u32(a, b) : max_u16x2(a, b);
}

/* The larger value of a word, as bits of f32. */
DEVICE uint32_t larger_half(uint32_t word) {
    return WIDE ? word : max_u32(word & 0xFFFF0000u, word << 16);
}

/* The largest magnitude of a row of this thread, as bits of f32. */
DEVICE uint32_t row_max(const uint32_t *words) {
    uint32_t max = words[0] & MAGNITUDE;
    UNROLL
    for (int w = 1; w < WORDS; w++) max = max_words(max, words[w] & MAGNITUDE);
    return larger_half(max);
}

/* ---- codes */

DEVICE void store_codes(
    const dg_any_cast_side_t *side, int columns, uint8_t *at, const uint32_t *codes) {
    if (side->vector && columns == COLUMNS) {
        if (FP4)
            st_global_u32(at, codes[0]);
        else
            st_global_x2(at, codes);
        return;
    }
    const uint64_t all = codes[0] | (uint64_t)codes[1] << 32;
    const int bytes = FP4 ? columns / 2 : columns;
    UNROLL_BY(1)
    for (int c = 0; c < bytes; c++)
        st_global_u8(at + c * side->data_stride[3], (uint32_t)(all >> 8 * c) & 0xFFu);
}

/* Eight codes of a row: each value times its inverse, a byte each or four bits. */
DEVICE void encode_row(
    const uint32_t *words, const float *inverse, bool infinite, uint32_t *codes) {
    float scaled[COLUMNS];
    UNROLL
    for (int c = 0; c < COLUMNS; c++) scaled[c] = value_of(words, c) * inverse[c];
    codes[0] = codes[1] = 0;
    if (FP4) {
        UNROLL
        for (int c = 0; c < COLUMNS; c++) codes[0] |= encode_e2m1(scaled[c]) << 4 * c;
        return;
    }
    if (infinite) {
        UNROLL
        for (int c = 0; c < COLUMNS; c++) scaled[c] = nan_for_infinite(scaled[c]);
    }
    UNROLL
    for (int w = 0; w < 2; w++)
        codes[w] = encode_e4m3x2(scaled[4 * w], scaled[4 * w + 1]) |
                   encode_e4m3x2(scaled[4 * w + 2], scaled[4 * w + 3]) << 16;
}

/* Encodes and stores this thread's rows: row i of them times row_inverse[i], or if that is NULL column c
 * times column_inverse[c]. */
DEVICE void encode_tile(const tile_t *tile, const part_t *part, const values_t values,
    const float *row_inverse, const float *column_inverse) {
    const dg_any_cast_side_t *side = part->side;
    const int64_t *stride = side->data_stride;
    const int64_t column = FP4 ? tile->column / 2 : tile->column;
    uint8_t *at = (uint8_t *)side->data + tile->batch_0 * stride[0] + tile->batch_1 * stride[1] +
                  (tile->rows.begin + tile->row) * stride[2] + column * stride[3];
    bool infinite = false;
    UNROLL
    for (int i = 0; i < ROWS; i++)
        infinite |= bits_from_f32(row_inverse != NULL ? row_inverse[i] : column_inverse[i]) ==
                    INVERSE_OF_INFINITE;
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        float inverse[COLUMNS];
        uint32_t codes[2];
        UNROLL
        for (int c = 0; c < COLUMNS; c++)
            inverse[c] = row_inverse != NULL ? row_inverse[i] : column_inverse[c];
        encode_row(values[i], inverse, infinite, codes);
        if (tile->row + 2 * i < part->rows) store_codes(side, tile->columns, at, codes);
        at += 2 * stride[2];
    }
}

/* ---- factors */

DEVICE part_t find_part(const dg_any_cast_side_t *side, const cast_rows_t *rows, int64_t factors) {
    part_t part;
    part.side = side;
    part.local_block = row_block(side, rows->local);
    part.block = first_block(side, rows->begin - rows->local, factors) + part.local_block;
    part.group_blocks = row_block(side, rows->group_rows + side->gran[2] - 1);
    const int64_t room = larger(0, block_limit(side) - part.block);
    part.rows = room >= TILE ? rows->count : (int32_t)smaller(rows->count, room << side->row_shift);
    return part;
}

/* The factor of block row `row` of the tile, in the block column of x's column. */
DEVICE void store_block_factor(const dg_any_cast_args_t *args, const tile_t *tile,
    const part_t *part, uint32_t row, int64_t column, float factor) {
    const dg_any_cast_side_t *side = part->side;
    const int64_t *stride = side->scale_stride;
    const int64_t block = part->block + row, column_block = column >> side->column_shift;
    const int64_t last_column = (args->extent[3] - 1) >> side->column_shift;
    const bool down = side->word_axis == 2, along = side->word_axis == 3;
    const int64_t offset = tile->batch_0 * stride[0] + tile->batch_1 * stride[1] +
                           (down ? block >> 2 : block) * stride[2] +
                           (along ? column_block >> 2 : column_block) * stride[3];
    const bool last =
        down ? part->local_block + row == part->group_blocks - 1 : column_block == last_column;
    store_factor(side, offset, (uint32_t)(down ? block : column_block) & 3, last, factor);
}

/* ---- blocks of one row */

/* amax: [ROWS] bits of f32, of whole blocks, each `lanes` wide. A word holds two rows of BF16. */
DEVICE void reduce_rows(const values_t values, uint32_t lanes, uint32_t *amax) {
    UNROLL
    for (int i = 0; i < ROWS; i++) amax[i] = row_max(values[i]);
    for (uint32_t step = 1; step < lanes; step *= 2) {
        UNROLL
        for (int i = 0; i < ROWS; i += WIDE ? 1 : 2) {
            uint32_t max = WIDE ? amax[i] : amax[i] >> 16 | amax[(i + 1) % ROWS];
            max = max_words(max, shuffle_xor_u32(max, step));
            amax[i] = WIDE ? max : max << 16;
            if (!WIDE) amax[(i + 1) % ROWS] = max & 0xFFFF0000u;
        }
    }
}

/* Lanes of a block share its rows: lane number j makes the factor of row j, j + lanes, .. for all,
 * because a division costs more than eight shuffles. */
DEVICE void cast_flat_blocks(
    const dg_any_cast_args_t *args, const tile_t *tile, const part_t *part, const values_t values) {
    const dg_any_cast_side_t *side = part->side;
    const uint32_t lane = lane_index(), lanes = (uint32_t)side->gran[3] / COLUMNS;
    const uint32_t number = lane & (lanes - 1), first_lane = lane - number;
    const int64_t first_column = tile->column - number * COLUMNS;
    uint32_t amax[ROWS];
    float inverse[ROWS];
    reduce_rows(values, lanes, amax);
    UNROLL
    for (int i = 0; i < ROWS; i++) inverse[i] = 0.0f;
    UNROLL_BY(1)
    for (uint32_t first = 0; first < ROWS; first += lanes) {
        const uint32_t own = first + number;
        uint32_t max = amax[0];
        UNROLL
        for (uint32_t i = 1; i < ROWS; i++) max = own == i ? amax[i] : max;
        const float factor = factor_of(side, max), own_inverse = 1.0f / factor;
        const uint32_t row = (uint32_t)tile->row + 2 * own;
        if (own < ROWS && (int32_t)row < part->rows && first_column < args->extent[3])
            store_block_factor(args, tile, part, row, first_column, factor);
        UNROLL
        for (uint32_t i = 0; i < ROWS; i++) {
            const float one = shuffle_f32(own_inverse, first_lane + ((i - first) & (lanes - 1)));
            if (i >= first && i - first < lanes) inverse[i] = one;
        }
    }
    encode_tile(tile, part, values, inverse, NULL);
}

/* ---- blocks of several rows */

/* Largest magnitudes of this warp's rows to shared memory: of each column, or of each 8 columns
 * together with the rest of their block. */
DEVICE void share_maxima(const dg_any_cast_side_t *side, const values_t values) {
    const uint32_t lane = lane_index(), number = warp_index() * 16 + lane;
    const uint32_t at = shared_base() + AT_MAXIMA;
    uint32_t max[WORDS];
    UNROLL
    for (int w = 0; w < WORDS; w++) {
        max[w] = values[0][w] & MAGNITUDE;
        UNROLL
        for (int i = 1; i < ROWS; i++) max[w] = max_words(max[w], values[i][w] & MAGNITUDE);
        max[w] = max_words(max[w], shuffle_xor_u32(max[w], 16));
    }
    if (side->column_shift == 0) {
        UNROLL
        for (int w = 0; w < WORDS; w += 4) {
            if (lane < 16) st_shared_x4(at + number * WORDS * 4 + 4 * w, &max[w]);
        }
        return;
    }
    uint32_t one = row_max(max);
    for (uint32_t step = 1; step * COLUMNS < (uint32_t)side->gran[3]; step *= 2)
        one = max_u32(one, shuffle_xor_u32(one, step));
    if (lane < 16) st_shared_u32(at + number * 4, one);
}

/* Bits of the largest magnitude of a warp's rows in column `column`, or in columns 8 column and on. */
DEVICE uint32_t shared_maximum(bool columns, uint32_t warp, uint32_t column) {
    const uint32_t at = shared_base() + AT_MAXIMA;
    if (!columns) return ld_shared_u32(at + (warp * 16 + column) * 4);
    if (WIDE) return ld_shared_u32(at + (warp * TILE + column) * 4);
    const uint32_t pair = ld_shared_u32(at + (warp * TILE + (column & ~1u)) * 2);
    return column & 1 ? pair & 0xFFFF0000u : pair << 16;
}

/* Factors of the tile's blocks to memory, and their reciprocals to shared memory. */
DEVICE void make_factors(const dg_any_cast_args_t *args, const tile_t *tile, const part_t *part) {
    const dg_any_cast_side_t *side = part->side;
    const bool columns = side->column_shift == 0;
    const uint32_t width = columns ? 7 : 4; /* log2 of the columns in MAXIMA */
    const uint32_t step = columns ? 1 : COLUMNS, gran = (uint32_t)side->gran[2];
    const int64_t first_column = tile->column - lane_index() % 16 * COLUMNS;
    for (uint32_t e = thread_index(); e < (uint32_t)TILE >> side->row_shift << width;
         e += THREADS) {
        const uint32_t row = e >> width, c = e & ((1u << width) - 1);
        uint32_t max = 0;
        for (uint32_t w = 0; w < gran / WARP_ROWS; w++)
            max = max_u32(max, shared_maximum(columns, row * (gran / WARP_ROWS) + w, c));
        const float factor = factor_of(side, max);
        st_shared_f32(shared_base() + AT_INVERSE + e * 4, 1.0f / factor);
        const int64_t column = first_column + c * step;
        if ((c * step & ((uint32_t)side->gran[3] - 1)) == 0 && column < args->extent[3] &&
            (int32_t)(row * gran) < part->rows)
            store_block_factor(args, tile, part, row, column, factor);
    }
}

DEVICE void cast_tall_blocks(
    const dg_any_cast_args_t *args, const tile_t *tile, const part_t *part, const values_t values) {
    const dg_any_cast_side_t *side = part->side;
    const uint32_t lane = lane_index() % 16;
    const uint32_t row = warp_index() * WARP_ROWS >> side->row_shift;
    share_maxima(side, values);
    cta_sync();
    make_factors(args, tile, part);
    cta_sync();
    const uint32_t from = shared_base() + AT_INVERSE;
    float inverse[COLUMNS];
    if (side->column_shift == 0) {
        UNROLL
        for (int c = 0; c < COLUMNS; c += 4) {
            uint32_t bits[4];
            ld_shared_x4(bits, from + (row * TILE + lane * COLUMNS + c) * 4);
            UNROLL
            for (int j = 0; j < 4; j++) inverse[c + j] = f32_from_bits(bits[j]);
        }
    } else {
        const float one = ld_shared_f32(from + (row * 16 + lane) * 4);
        UNROLL
        for (int c = 0; c < COLUMNS; c++) inverse[c] = one;
    }
    encode_tile(tile, part, values, NULL, inverse);
}

/* ---- tiles */

DEVICE void cast_tile(const dg_any_cast_args_t *args, tile_t *tile, uint32_t column_tile) {
    const uint32_t lane = lane_index();
    tile->column = (int64_t)column_tile * TILE + lane % 16 * COLUMNS;
    tile->row = (int32_t)(warp_index() * WARP_ROWS + lane / 16);
    tile->columns = (int32_t)larger(0, smaller(COLUMNS, args->extent[3] - tile->column));
    values_t values;
    load_tile(args, tile, values);
    UNROLL_BY(1)
    for (int s = 0; s < args->sides; s++) {
        const part_t part = find_part(&args->side[s], &tile->rows, tile->rows.factors[0]);
        tile->rows.factors[0] = tile->rows.factors[1];
        if (part.side->row_shift == 0)
            cast_flat_blocks(args, tile, &part, values);
        else
            cast_tall_blocks(args, tile, &part, values);
    }
}

/* Tiles by number: column of tiles, unit of rows, batch. There are fewer than 2^31. */
KERNEL_PER_SM(THREADS, WIDE ? 2 : 3)
dg_any_cast_tile(KERNEL_PARAMETER dg_any_cast_args_t args) {
    const uint32_t column_tiles = (uint32_t)round_up_quotient(args.extent[3], TILE);
    const bool grouped = args.groups.form != 0;
    dependency_wait();
    group_walk_t walk = {};
    if (grouped) walk = start_walk(&args, TILE);
    const uint32_t units = (uint32_t)(grouped ? walk.all : round_up_quotient(args.extent[2], TILE));
    const uint32_t batches = (uint32_t)(args.extent[0] * args.extent[1]);
    const uint32_t inner = (uint32_t)args.extent[1], all = units * column_tiles * batches;
    uint32_t turn = 0;
    for (uint32_t index = block_index(); index < all; index += block_count()) {
        const uint32_t line = index / column_tiles, batch = line / units, unit = line % units;
        tile_t tile;
        tile.batch_0 = batch / inner;
        tile.batch_1 = batch % inner;
        tile.rows =
            grouped ? find_unit(&args, &walk, TILE, unit, turn++) : plain_unit(&args, TILE, unit);
        cast_tile(&args, &tile, index % column_tiles);
    }
}
