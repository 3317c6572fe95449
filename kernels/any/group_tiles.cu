/* SPDX-License-Identifier: MIT
 *
 * Groups of rows, given in any form, to the list of row tiles that M-grouped GEMM kernels walk; see
 * args/group_tiles.h. One CTA, launched in front of the GEMM. Each thread goes over its stretch of
 * groups (of rows, for INDEX and BLOCK_INDEX) twice: to count its tiles, and, when the counts of the
 * threads before it are known, to write them. */
#include "any/group_scan.cuh"

DEVICE dg_group_tile_t *tile_at(const dg_any_group_tiles_args_t *args, int64_t i) {
    return (dg_group_tile_t *)(args->tiles + 1) + i;
}

/* Cuts rows [begin, end) into tiles number *next and on. */
DEVICE void cut_rows(const dg_any_group_tiles_args_t *args, int64_t begin, int64_t end,
    int32_t group, bool write, int64_t *next) {
    const int64_t block = args->block_rows;
    if (!write) {
        *next += round_up_quotient(end - begin, block);
        return;
    }
    for (int64_t row = begin; row < end; row += block) {
        dg_group_tile_t *tile = tile_at(args, (*next)++);
        st_global_u64(&tile->first_row, (uint64_t)row);
        st_global_u32(&tile->row_count, (uint32_t)smaller(block, end - row));
        st_global_u32(&tile->group, (uint32_t)group);
    }
}

/* Tiles of the groups of a stretch, the first of which begins at `begin` at the earliest. Returns the
 * number of the tile after them. */
DEVICE int64_t walk_groups(const dg_any_group_tiles_args_t *args, stretch_t stretch, int64_t begin,
    bool write, int64_t next) {
    for (int64_t g = stretch.first; g < stretch.last; g++) {
        const range_t range = next_range(&args->values, g, &begin);
        cut_rows(args, range.begin, range.end, (int32_t)g, write, &next);
        if (args->zero_padding) cut_rows(args, range.end, range.aligned_end, -1, write, &next);
    }
    return next;
}

/* Group of a row, -1 for none. */
DEVICE int32_t group_of_row(const dg_group_source_t *values, int64_t row) {
    if (values->form == DG_FORM_BLOCK_INDEX)
        row -= (int64_t)((uint32_t)row % (uint32_t)values->alignment);
    const int64_t group = value_at(values, row);
    return group >= 0 && group < values->groups ? (int32_t)group : -1;
}

DEVICE bool begins_run(const dg_group_source_t *values, int64_t row) {
    return row == 0 || group_of_row(values, row) != group_of_row(values, row - 1);
}

/* The last row of the stretch that begins a run of equal groups; 0 if there is none. */
DEVICE int64_t last_run(const dg_group_source_t *values, stretch_t stretch) {
    for (int64_t row = stretch.last - 1; row >= stretch.first; row--)
        if (begins_run(values, row)) return row;
    return 0;
}

/* Tiles that begin in a stretch of rows; run: where the run begins that the row in front of the
 * stretch belongs to. The length of a tile is written by whoever comes to its end. */
DEVICE int64_t walk_rows(const dg_any_group_tiles_args_t *args, stretch_t stretch, int64_t run,
    bool write, int64_t next) {
    const int32_t block = args->block_rows;
    int32_t length = 0; /* of the tile at hand, up to the row in front */
    int32_t group = -1, before;
    if (stretch.first > 0 && stretch.first < stretch.last) {
        length = (int32_t)((stretch.first - 1 - run) % block) + 1;
        group = group_of_row(&args->values, stretch.first - 1);
    }
    for (int64_t row = stretch.first; row < stretch.last; row++) {
        before = group;
        group = group_of_row(&args->values, row);
        if (row == 0 || group != before || length == block) {
            if (write) {
                if (row > 0) st_global_u32(&tile_at(args, next - 1)->row_count, (uint32_t)length);
                st_global_u64(&tile_at(args, next)->first_row, (uint64_t)row);
                st_global_u32(&tile_at(args, next)->group, (uint32_t)group);
            }
            next++;
            length = 0;
        }
        length++;
        if (write && row == args->values.count - 1)
            st_global_u32(&tile_at(args, next - 1)->row_count, (uint32_t)length);
    }
    return next;
}

KERNEL(THREADS)
dg_any_group_tiles(KERNEL_PARAMETER dg_any_group_tiles_args_t args) {
    const dg_group_source_t *values = &args.values;
    const bool by_row = values->form == DG_FORM_INDEX || values->form == DG_FORM_BLOCK_INDEX;
    const joint_t sum = {false, MOST}, max = {true, 0};
    dependency_wait();
    const stretch_t stretch = find_stretch(values->count);
    const int64_t start =
        by_row ? scan_cta(max, last_run(values, stretch)) : find_begin(values, stretch);
    const int64_t count = by_row ? walk_rows(&args, stretch, start, false, 0)
                                 : walk_groups(&args, stretch, start, false, 0);
    const int64_t first = scan_cta(sum, count);
    if (by_row)
        walk_rows(&args, stretch, start, true, first);
    else
        walk_groups(&args, stretch, start, true, first);
    if (thread_index() == THREADS - 1) st_global_u64(&args.tiles->count, (uint64_t)(first + count));
}
