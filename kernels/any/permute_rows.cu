/* SPDX-License-Identifier: MIT
 *
 * Tokens to the rows of their groups (deep_gemm/moe.h): copied as bytes, or times a weight. Parameters:
 * args/permute.h.
 *
 * A warp takes a part of a token, 128 pieces or 256 values, reads it once and stores it in the row of
 * each slot: x is read once however many slots a token has. Other warps take 32 rows each, look which of
 * them have no token, and store zeros there. */
#include "any/row_values.cuh"
#include "device/bytes.cuh"
#include "device/warp.cuh"

#define WARPS (THREADS / 32)
#define LANE_PIECES (DG_PERMUTE_PIECES / 32)
#define SHARED_BYTES 0

/* piece: [4], of which the first `bytes` count. */
DEVICE void load_piece(uint32_t *piece, const uint8_t *from, int32_t bytes) {
    if (bytes == 16)
        ld_global_x4(piece, from);
    else if (bytes == 8)
        ld_global_x2(piece, from);
    else if (bytes == 4)
        piece[0] = ld_global_u32(from);
    else if (bytes == 2)
        piece[0] = ld_global_u16(from);
    else
        piece[0] = ld_global_u8(from);
}

DEVICE void store_piece(const uint32_t *piece, uint8_t *to, int32_t bytes) {
    if (bytes == 16)
        st_global_x4(to, piece);
    else if (bytes == 8)
        st_global_x2(to, piece);
    else if (bytes == 4)
        st_global_u32(to, piece[0]);
    else if (bytes == 2)
        st_global_u16(to, (uint16_t)piece[0]);
    else
        st_global_u8(to, piece[0]);
}

DEVICE void copy_part(const dg_any_permute_rows_args_t *args, int64_t token, int64_t part) {
    const int64_t first = part * DG_PERMUTE_PIECES + lane_index();
    const uint8_t *x = (const uint8_t *)args->x + token * args->x_pitch;
    uint32_t pieces[LANE_PIECES][4];
    UNROLL
    for (int i = 0; i < LANE_PIECES; i++) {
        const int64_t at = first + i * 32;
        if (at < args->pieces) load_piece(pieces[i], x + at * args->x_step, args->piece_bytes);
    }
    for (int64_t slot = 0; slot < args->topk; slot++) {
        const int64_t row = row_at(&args->rows, token, slot, args->out_rows);
        if (row < 0) continue;
        uint8_t *out = (uint8_t *)args->out + row * args->out_pitch;
        UNROLL
        for (int i = 0; i < LANE_PIECES; i++) {
            const int64_t at = first + i * 32;
            if (at < args->pieces)
                store_piece(pieces[i], out + at * args->out_step, args->piece_bytes);
        }
    }
}

DEVICE void scale_part(const dg_any_permute_rows_args_t *args, int64_t token, int64_t part) {
    const int64_t column = part * DG_SUM_COLUMNS + lane_index() * 8;
    float values[8], scaled[8];
    if (column >= args->columns) return;
    load_values(&args->x_values, token, column, args->columns, values);
    for (int64_t slot = 0; slot < args->topk; slot++) {
        const int64_t row = row_at(&args->rows, token, slot, args->out_rows);
        if (row < 0) continue;
        const float weight = weight_at(&args->weights, token, slot);
        UNROLL
        for (int i = 0; i < 8; i++) scaled[i] = multiply(values[i], weight);
        store_values(&args->out_values, row, column, args->columns, scaled);
    }
}

DEVICE void clear_row(const dg_any_permute_rows_args_t *args, int64_t row) {
    const uint32_t zeros[4] = {0, 0, 0, 0};
    uint8_t *out = (uint8_t *)args->out + row * args->out_pitch;
    for (int64_t at = lane_index(); at < args->pieces; at += 32)
        store_piece(zeros, out + at * args->out_step, args->piece_bytes);
}

/* Of the 32 rows from `first` on. All lanes. */
DEVICE void clear_rows(const dg_any_permute_rows_args_t *args, int64_t first) {
    const int64_t row = first + lane_index();
    const int32_t *sources = (const int32_t *)args->sources.data;
    const bool empty =
        row < args->out_rows && (int32_t)ld_global_u32(sources + row * args->sources.stride) < 0;
    const uint32_t rows = warp_ballot(empty);
    for (int i = 0; i < 32; i++)
        if (rows >> i & 1) clear_row(args, first + i);
}

KERNEL_PER_SM(THREADS, 4)
dg_any_permute_rows(KERNEL_PARAMETER dg_any_permute_rows_args_t args) {
    const bool weighted = args.weights.data != NULL, clears = args.sources.data != NULL;
    const int64_t parts = weighted ? (args.columns + DG_SUM_COLUMNS - 1) / DG_SUM_COLUMNS
                                   : (args.pieces + DG_PERMUTE_PIECES - 1) / DG_PERMUTE_PIECES;
    const int64_t units = args.tokens * parts,
                  all = units + (clears ? (args.out_rows + 31) / 32 : 0);
    dependency_wait();
    for (int64_t unit = (int64_t)block_index() * WARPS + warp_index(); unit < all;
         unit += (int64_t)block_count() * WARPS) {
        if (unit >= units)
            clear_rows(&args, (unit - units) * 32);
        else if (weighted)
            scale_part(&args, unit / parts, unit % parts);
        else
            copy_part(&args, unit / parts, unit % parts);
    }
}
