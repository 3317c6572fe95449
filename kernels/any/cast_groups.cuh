/* SPDX-License-Identifier: MIT
 *
 * Groups of rows as the casts walk them: in units of so many rows, none of which crosses from one
 * group to the next. Used by cast_tile.cu and cast_factors.cu, which define GRAN_SHIFTS: 1 if gran is a
 * power of two along rows, given as row_shift.
 *
 * No list is made anywhere: every CTA reads the groups once, each of its threads keeps what lies in
 * front of its stretch of them, and whoever's stretch holds a unit says where it is. Unit after unit
 * uses the two places in shared memory by turns, so that one barrier for each is enough.
 *
 * Shared memory, behind that of the scans: two places of rows, then what each thread keeps. */
#pragma once
#include "any/group_scan.cuh"
#include "args/cast.h"

#undef SHARED_BYTES /* the scan's */
#define AT_ROWS_OF_UNIT DG_GROUP_SCAN_SHARED_BYTES(THREADS)
#define AT_WALKS (AT_ROWS_OF_UNIT + 2 * DG_CAST_ROWS_BYTES)
#define AT_CAST (AT_WALKS + THREADS * 24)
static_assert(AT_CAST == DG_CAST_WALK_BYTES(THREADS), "as the host counts");

/* Rows of x: of one unit, or of all. */
typedef struct cast_rows {
    int64_t begin;      /* first row */
    int64_t local;      /* its number in its group */
    int64_t group_rows; /* rows of the group */
    int64_t factors[2]; /* rows of factors (of words) in front of the group's, for each side */
    int32_t count;
} cast_rows_t;

/* The groups of this thread. What lies in front of them is in shared memory: where the first may begin,
 * and rows of factors (of words) of each side. */
typedef struct group_walk {
    stretch_t stretch;
    int64_t first, last; /* units [first, last) are theirs */
    int64_t all;         /* units of all groups */
} group_walk_t;

DEVICE void st_shared_i64(uint32_t address, int64_t value) {
    st_shared_x2(address, (uint32_t)value, (uint32_t)((uint64_t)value >> 32));
}

DEVICE int64_t ld_shared_i64(uint32_t address) {
    return (int64_t)(ld_shared_u32(address) | (uint64_t)ld_shared_u32(address + 4) << 32);
}

/* Blocks along rows in front of row `row` of a group. */
DEVICE int64_t row_block(const dg_any_cast_side_t *side, int64_t row) {
    return GRAN_SHIFTS ? row >> side->row_shift : row / side->gran[2];
}

/* Rows of factors, or of words, of a group of so many rows. */
DEVICE int64_t factor_rows(const dg_any_cast_side_t *side, int64_t rows) {
    const int64_t blocks = row_block(side, rows + side->gran[2] - 1);
    return side->word_axis == 2 ? (blocks + 3) >> 2 : blocks;
}

/* Number along scale of the first block of the group that has `factors` rows of factors in front of
 * it and begins at row `begin`. */
DEVICE int64_t first_block(const dg_any_cast_side_t *side, int64_t begin, int64_t factors) {
    return side->by_row ? begin : side->word_axis == 2 ? 4 * factors : factors;
}

/* Blocks along rows for which scale has room. */
DEVICE int64_t block_limit(const dg_any_cast_side_t *side) {
    return side->word_axis == 2 ? 4 * side->scale_rows : side->scale_rows;
}

/* All threads. */
DEVICE group_walk_t start_walk(const dg_any_cast_args_t *args, int64_t unit_rows) {
    const dg_group_source_t *values = &args->groups;
    const joint_t sum = {false, MOST};
    const uint32_t place = shared_base() + AT_ROWS_OF_UNIT;
    const uint32_t own = shared_base() + AT_WALKS + thread_index() * 24;
    group_walk_t walk;
    walk.stretch = find_stretch(values->count);
    int64_t begin = find_begin(values, walk.stretch);
    int64_t units = 0, factors_0 = 0, factors_1 = 0;
    st_shared_i64(own, begin);
    for (int64_t g = walk.stretch.first; g < walk.stretch.last; g++) {
        const range_t range = next_range(values, g, &begin);
        const int64_t size = range.end - range.begin;
        units += round_up_quotient(size, unit_rows);
        factors_0 += factor_rows(&args->side[0], size);
        factors_1 += args->sides > 1 ? factor_rows(&args->side[1], size) : 0;
    }
    walk.first = scan_cta(sum, units);
    walk.last = walk.first + units;
    st_shared_i64(own + 8, scan_cta(sum, factors_0));
    st_shared_i64(own + 16, scan_cta(sum, factors_1));
    if (thread_index() == THREADS - 1) st_shared_i64(place, walk.last);
    cta_sync();
    walk.all = ld_shared_i64(place);
    cta_sync();
    return walk;
}

/* Says where a unit is that this thread's stretch holds. */
DEVICE void place_unit(const dg_any_cast_args_t *args, const group_walk_t *walk, int64_t unit_rows,
    int64_t unit, uint32_t at) {
    const uint32_t own = shared_base() + AT_WALKS + thread_index() * 24;
    int64_t begin = ld_shared_i64(own), skipped = walk->first;
    int64_t factors_0 = ld_shared_i64(own + 8), factors_1 = ld_shared_i64(own + 16);
    for (int64_t g = walk->stretch.first; g < walk->stretch.last; g++) {
        const range_t range = next_range(&args->groups, g, &begin);
        const int64_t size = range.end - range.begin, units = round_up_quotient(size, unit_rows);
        if (unit - skipped < units) {
            const int64_t local = (unit - skipped) * unit_rows;
            st_shared_i64(at, range.begin + local);
            st_shared_i64(at + 8, local);
            st_shared_i64(at + 16, size);
            st_shared_i64(at + 24, factors_0);
            st_shared_i64(at + 32, factors_1);
            st_shared_u32(at + 40, (uint32_t)smaller(size - local, unit_rows));
            return;
        }
        skipped += units;
        factors_0 += factor_rows(&args->side[0], size);
        factors_1 += args->sides > 1 ? factor_rows(&args->side[1], size) : 0;
    }
}

/* Rows of unit number `unit`, below walk->all; turn: counts the calls. All threads. */
DEVICE cast_rows_t find_unit(const dg_any_cast_args_t *args, const group_walk_t *walk,
    int64_t unit_rows, int64_t unit, uint32_t turn) {
    const uint32_t at = shared_base() + AT_ROWS_OF_UNIT + (turn & 1) * DG_CAST_ROWS_BYTES;
    if (unit >= walk->first && unit < walk->last) place_unit(args, walk, unit_rows, unit, at);
    cta_sync();
    return {ld_shared_i64(at), ld_shared_i64(at + 8), ld_shared_i64(at + 16),
        {ld_shared_i64(at + 24), ld_shared_i64(at + 32)}, (int32_t)ld_shared_u32(at + 40)};
}

/* The same where all rows are one group. */
DEVICE cast_rows_t plain_unit(const dg_any_cast_args_t *args, int64_t unit_rows, int64_t unit) {
    const int64_t begin = unit * unit_rows, all = args->extent[2];
    return {begin, begin, all, {0, 0}, (int32_t)smaller(all - begin, unit_rows)};
}
