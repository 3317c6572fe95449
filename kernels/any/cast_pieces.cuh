/* SPDX-License-Identifier: MIT
 *
 * Values and codes one by one, with factors that are there: what cast_codes.cu (x to codes) and
 * cast_values.cu (codes to x) have in common. They are for what no faster kernel takes, so plain
 * indices do. The includer defines convert_byte(), which does one byte of codes.
 *
 * A CTA takes pieces of 32 x 512 bytes of codes. Where rows lie in groups, each thread first marks the
 * rows of its groups in shared memory, behind that of cast_groups.cuh:
 *
 *     MARKS  [64 rows of x][2] i64: first row of the group, -1 for none; number along scale of that
 *            group's first block */
#pragma once
#define GRAN_SHIFTS 0
#include "any/cast_groups.cuh"
#include "any/cast_numbers.cuh"
#include "any/ue8m0.cuh"

#define AT_MARKS AT_CAST
#define MARKED_ROWS (2 * DG_CAST_PIECE_ROWS)
#define SHARED_BYTES (AT_MARKS + MARKED_ROWS * 16)
static_assert(SHARED_BYTES == DG_CAST_PIECE_SHARED_BYTES(THREADS), "as the host counts");

/* Where a piece begins, in bytes of codes; rows_of_byte: rows of x that share one, 1 or 2. */
typedef struct piece {
    int64_t begin[DG_CAST_AXES], extent[DG_CAST_AXES];
    int32_t rows_of_byte;
} piece_t;

/* Marks the rows of x that a piece has. All threads. */
DEVICE void mark_rows(const dg_any_cast_args_t *args, const group_walk_t *walk, int64_t first_row) {
    const uint32_t at = shared_base() + AT_MARKS;
    const uint32_t own = shared_base() + AT_WALKS + thread_index() * 24;
    const int64_t end_row = first_row + MARKED_ROWS;
    cta_sync(); /* marks of the piece before may still be read */
    if (thread_index() < MARKED_ROWS) st_shared_i64(at + thread_index() * 16, -1);
    cta_sync();
    int64_t begin = ld_shared_i64(own), factors = ld_shared_i64(own + 8);
    for (int64_t g = walk->stretch.first; g < walk->stretch.last; g++) {
        const range_t range = next_range(&args->groups, g, &begin);
        const int64_t block = first_block(&args->side[0], range.begin, factors);
        for (int64_t row = larger(range.begin, first_row); row < smaller(range.end, end_row);
             row++) {
            const uint32_t mark = at + (uint32_t)(row - first_row) * 16;
            st_shared_i64(mark, range.begin);
            st_shared_i64(mark + 8, block);
        }
        factors += factor_rows(&args->side[0], range.end - range.begin);
    }
    cta_sync();
}

/* The factor of the value at `at`; false if it is in no group, or scale has no room for it. */
DEVICE bool load_factor(
    const dg_any_cast_args_t *args, const piece_t *piece, const int64_t *at, float *factor) {
    const dg_any_cast_side_t *side = &args->side[0];
    int64_t group = 0, block = 0, offset = 0, byte = 0;
    if (args->groups.form != 0) {
        const int64_t row = at[2] - piece->begin[2] * piece->rows_of_byte;
        const uint32_t mark = shared_base() + AT_MARKS + (uint32_t)row * 16;
        group = ld_shared_i64(mark);
        if (group < 0) return false;
        block = ld_shared_i64(mark + 8);
    }
    block += row_block(side, at[2] - group);
    if (block >= block_limit(side)) return false;
    UNROLL
    for (int a = 0; a < DG_CAST_AXES; a++) {
        const int64_t number = a == 2 ? block : at[a] / side->gran[a];
        const int word = a == side->word_axis;
        offset += (number >> 2 * word) * side->scale_stride[a];
        byte += (number & 3) * word;
    }
    if (side->scale_dtype == DG_CODE_F32) {
        *factor = ld_global_f32((const float *)side->scale + offset);
        return true;
    }
    const int64_t place = side->scale_dtype == DG_CODE_I32 ? 4 * offset + byte : offset;
    *factor = decode_e8m0(ld_global_u8((const uint8_t *)side->scale + place));
    return true;
}

/* Offset of x's value at `at`, in elements. */
DEVICE int64_t value_offset(const dg_any_cast_args_t *args, const int64_t *at) {
    return at[0] * args->x_stride[0] + at[1] * args->x_stride[1] + at[2] * args->x_stride[2] +
           at[3] * args->x_stride[3];
}

/* The byte of codes that holds the value at `at`, and those after it along pair_axis. */
DEVICE void convert_byte(
    const dg_any_cast_args_t *args, const piece_t *piece, const int64_t *at, uint8_t *byte);

DEVICE void convert_piece(const dg_any_cast_args_t *args, const piece_t *piece) {
    const dg_any_cast_side_t *side = &args->side[0];
    const int64_t rows = smaller(DG_CAST_PIECE_ROWS, piece->extent[2] - piece->begin[2]);
    const int64_t columns = smaller(DG_CAST_PIECE_COLUMNS, piece->extent[3] - piece->begin[3]);
    for (uint32_t i = thread_index(); i < (uint32_t)(rows * columns); i += THREADS) {
        int64_t at[DG_CAST_AXES] = {piece->begin[0], piece->begin[1],
            piece->begin[2] + i / (uint32_t)columns, piece->begin[3] + i % (uint32_t)columns};
        int64_t offset = 0;
        UNROLL
        for (int a = 0; a < DG_CAST_AXES; a++) {
            offset += at[a] * side->data_stride[a];
            at[a] <<= (int)(a == side->pair_axis); /* an `if` would index at[] by pair_axis */
        }
        convert_byte(args, piece, at, (uint8_t *)side->data + offset);
    }
}

DEVICE void convert_all(const dg_any_cast_args_t *args) {
    const bool grouped = args->groups.form != 0;
    piece_t piece;
    UNROLL
    for (int a = 0; a < DG_CAST_AXES; a++)
        piece.extent[a] = args->extent[a] >> (int)(a == args->side[0].pair_axis);
    piece.rows_of_byte = args->side[0].pair_axis == 2 ? 2 : 1;
    const int64_t rows = round_up_quotient(piece.extent[2], DG_CAST_PIECE_ROWS);
    const int64_t columns = round_up_quotient(piece.extent[3], DG_CAST_PIECE_COLUMNS);
    const int64_t all = rows * columns * piece.extent[0] * piece.extent[1];
    group_walk_t walk = {};
    if (grouped) walk = start_walk(args, 1);
    for (int64_t index = block_index(); index < all; index += block_count()) {
        const int64_t line = index / columns, batch = line / rows;
        piece.begin[3] = index % columns * DG_CAST_PIECE_COLUMNS;
        piece.begin[2] = line % rows * DG_CAST_PIECE_ROWS;
        piece.begin[1] = batch % piece.extent[1];
        piece.begin[0] = batch / piece.extent[1];
        if (grouped) mark_rows(args, &walk, piece.begin[2] * piece.rows_of_byte);
        convert_piece(args, &piece);
    }
}
