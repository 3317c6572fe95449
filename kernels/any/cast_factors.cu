/* SPDX-License-Identifier: MIT
 *
 * Factors of one quantised output for blocks of any extents: whole axes, several axes, odd sizes. What
 * cast_tile.cu does not take is done by this kernel and then cast_codes.cu. Parameters: args/cast.h,
 * side[0].
 *
 * A CTA takes a row of blocks; its warps take a block each, or all of them one block after the other
 * where blocks are large. Shared memory: groups (cast_groups.cuh), then a maximum of each warp. */
#include "args/cast.h"

#define GRAN_SHIFTS 0
#include "any/cast_groups.cuh"
#include "any/cast_numbers.cuh"

#define AT_MAXIMA AT_CAST
#define SHARED_BYTES (AT_MAXIMA + WARPS * 4)
static_assert(SHARED_BYTES == DG_CAST_FACTORS_SHARED_BYTES(THREADS), "as the host counts");

/* Blocks of more values than this are shared by the warps of the CTA. */
#define MOST_OF_A_WARP 2048

/* A box of values, and its block's place in scale. */
typedef struct block {
    int64_t begin[DG_CAST_AXES], count[DG_CAST_AXES];
    int64_t at[DG_CAST_AXES];
    bool last; /* of its line along word_axis */
} block_t;

/* The largest magnitude of every lanes-th value from number `lane` on. */
DEVICE uint32_t measure(
    const dg_any_cast_args_t *args, const block_t *block, uint32_t lane, uint32_t lanes) {
    const int64_t *count = block->count, *stride = args->x_stride;
    const int64_t all = count[0] * count[1] * count[2] * count[3];
    uint32_t max = 0;
    for (int64_t i = lane; i < all; i += lanes) {
        int64_t rest = i, offset = 0;
        UNROLL
        for (int a = DG_CAST_AXES - 1; a >= 0; a--) {
            offset += (block->begin[a] + rest % count[a]) * stride[a];
            rest /= count[a];
        }
        const uint32_t bits = args->x_dtype == DG_CODE_F32
                                  ? ld_global_u32((const float *)args->x + offset)
                                  : (uint32_t)ld_global_u16((const uint16_t *)args->x + offset)
                                        << 16;
        max = max_u32(max, bits & 0x7FFFFFFFu);
    }
    return max;
}

DEVICE uint32_t reduce_warp(uint32_t max) {
    UNROLL
    for (uint32_t step = 1; step < 32; step *= 2) max = max_u32(max, shuffle_xor_u32(max, step));
    return max;
}

/* All threads. */
DEVICE uint32_t reduce_cta(uint32_t max) {
    const uint32_t at = shared_base() + AT_MAXIMA, warp = warp_index();
    max = reduce_warp(max);
    cta_sync(); /* those of the block before may still be read */
    if (lane_index() == 0) st_shared_u32(at + warp * 4, max);
    cta_sync();
    max = 0;
    for (uint32_t w = 0; w < WARPS; w++) max = max_u32(max, ld_shared_u32(at + w * 4));
    return max;
}

DEVICE void store_block(const dg_any_cast_side_t *side, const block_t *block, uint32_t max) {
    int64_t offset = 0, byte = 0;
    UNROLL
    for (int a = 0; a < DG_CAST_AXES; a++) {
        const int word = a == side->word_axis; /* an `if` would index at[] by word_axis */
        offset += (block->at[a] >> 2 * word) * side->scale_stride[a];
        byte += (block->at[a] & 3) * word;
    }
    store_factor(side, offset, (uint32_t)byte, block->last, factor_of(side, max));
}

/* A row of blocks: [batch 0, batch 1, rows], all columns. */
DEVICE void make_row(
    const dg_any_cast_args_t *args, const cast_rows_t *rows, const int64_t *batch) {
    const dg_any_cast_side_t *side = &args->side[0];
    const int64_t local_block = row_block(side, rows->local);
    const int64_t group_blocks = row_block(side, rows->group_rows + side->gran[2] - 1);
    const int64_t columns = round_up_quotient(args->extent[3], side->gran[3]);
    block_t block;
    UNROLL
    for (int a = 0; a < 2; a++) {
        block.at[a] = batch[a];
        block.begin[a] = batch[a] * side->gran[a];
        block.count[a] = smaller(side->gran[a], args->extent[a] - block.begin[a]);
    }
    block.begin[2] = rows->begin;
    block.count[2] = smaller(side->gran[2], rows->group_rows - rows->local);
    block.at[2] = first_block(side, rows->begin - rows->local, rows->factors[0]) + local_block;
    if (block.at[2] >= block_limit(side)) return;
    const int64_t most = block.count[0] * block.count[1] * block.count[2] * side->gran[3];
    const bool together = most > MOST_OF_A_WARP;
    const uint32_t warp = warp_index(), lane = lane_index();
    for (int64_t c = together ? 0 : warp; c < columns; c += together ? 1 : WARPS) {
        block.at[3] = c;
        block.begin[3] = c * side->gran[3];
        block.count[3] = smaller(side->gran[3], args->extent[3] - block.begin[3]);
        block.last = side->word_axis == 2   ? local_block == group_blocks - 1
                     : side->word_axis == 3 ? c == columns - 1
                                            : false;
        uint32_t max =
            measure(args, &block, together ? thread_index() : lane, together ? THREADS : 32);
        max = together ? reduce_cta(max) : reduce_warp(max);
        if (lane == 0 && (warp == 0 || !together)) store_block(side, &block, max);
    }
}

KERNEL(THREADS)
dg_any_cast_factors(KERNEL_PARAMETER dg_any_cast_args_t args) {
    const dg_any_cast_side_t *side = &args.side[0];
    const bool grouped = args.groups.form != 0;
    dependency_wait();
    group_walk_t walk = {};
    if (grouped) walk = start_walk(&args, side->gran[2]);
    const int64_t units = grouped ? walk.all : round_up_quotient(args.extent[2], side->gran[2]);
    const int64_t outer = round_up_quotient(args.extent[0], side->gran[0]);
    const int64_t inner = round_up_quotient(args.extent[1], side->gran[1]);
    uint32_t turn = 0;
    for (int64_t index = block_index(); index < units * inner * outer; index += block_count()) {
        const int64_t unit = index % units, rest = index / units;
        const int64_t batch[2] = {rest / inner, rest % inner};
        const cast_rows_t rows = grouped ? find_unit(&args, &walk, side->gran[2], unit, turn++)
                                         : plain_unit(&args, side->gran[2], unit);
        make_row(&args, &rows, batch);
    }
}
