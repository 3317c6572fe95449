/* SPDX-License-Identifier: MIT
 *
 * Factors copied into another type and layout: transposed, repeated, packed, unpacked. Parameters:
 * args/scale_copy.h.
 *
 * A CTA takes pieces of 64 rows by 16 columns of dst; neighbouring threads write along the axis that
 * lies together in dst, and read four values of theirs, which mostly lie together in src. */
#include "any/group_scan.cuh"
#include "any/ue8m0.cuh"
#include "args/scale_copy.h"
#include "device/bytes.cuh"

#define ROWS DG_SCALE_COPY_ROWS
#define COLUMNS DG_SCALE_COPY_COLUMNS
#undef SHARED_BYTES /* the scan's */
#define AT_MARKS DG_GROUP_SCAN_SHARED_BYTES(THREADS)
#define SHARED_BYTES (AT_MARKS + ROWS * 4)
static_assert(SHARED_BYTES == DG_SCALE_COPY_SHARED_BYTES(THREADS), "as the host counts");
static_assert(THREADS == ROWS * COLUMNS / 4, "a thread has four values");

/* Where a row of a matrix begins, in elements. */
typedef struct line {
    int64_t src, dst;
} line_t;

DEVICE uint32_t load_exponent(const dg_any_scale_copy_args_t *args, int64_t line, int64_t block) {
    const int64_t *stride = args->src_stride;
    if (args->src_dtype == DG_CODE_F32)
        return exponent_of(ld_global_f32((const float *)args->src + line + block * stride[2]));
    if (args->src_dtype == DG_CODE_E8M0)
        return ld_global_u8((const uint8_t *)args->src + line + block * stride[2]);
    const uint32_t *words = (const uint32_t *)args->src;
    return ld_global_u32(words + line + (block >> 2) * stride[2]) >> 8 * (block & 3) & 0xFFu;
}

DEVICE float load_f32(const dg_any_scale_copy_args_t *args, int64_t line, int64_t block) {
    if (args->src_dtype == DG_CODE_F32)
        return ld_global_f32((const float *)args->src + line + block * args->src_stride[2]);
    return decode_e8m0(load_exponent(args, line, block));
}

DEVICE uint32_t load_word(const dg_any_scale_copy_args_t *args, int64_t line, int64_t word) {
    uint32_t bytes = 0;
    UNROLL
    for (int i = 0; i < 4; i++) {
        if (4 * word + i < args->blocks) bytes |= load_exponent(args, line, 4 * word + i) << 8 * i;
    }
    return bytes;
}

/* One element of dst; `inside`: its row is in a group. */
DEVICE void copy_element(
    const dg_any_scale_copy_args_t *args, line_t line, int64_t column, bool inside) {
    const int64_t at = line.dst + column * args->dst_stride[2];
    if (args->dst_dtype == DG_CODE_F32)
        st_global_f32((float *)args->dst + at, inside ? load_f32(args, line.src, column) : 0.0f);
    else if (args->dst_dtype == DG_CODE_E8M0)
        st_global_u8((uint8_t *)args->dst + at, inside ? load_exponent(args, line.src, column) : 0);
    else
        st_global_u32((uint32_t *)args->dst + at, inside ? load_word(args, line.src, column) : 0);
}

/* Marks rows [first, first + ROWS) that lie in groups. All threads. */
DEVICE void mark_rows(
    const dg_group_source_t *values, stretch_t stretch, int64_t begin, int64_t first) {
    const uint32_t at = shared_base() + AT_MARKS;
    cta_sync(); /* marks of the piece before may still be read */
    if (thread_index() < ROWS) st_shared_u32(at + thread_index() * 4, 0);
    cta_sync();
    for (int64_t g = stretch.first; g < stretch.last; g++) {
        const range_t range = next_range(values, g, &begin);
        for (int64_t row = larger(range.begin, first); row < smaller(range.end, first + ROWS);
             row++)
            st_shared_u32(at + (uint32_t)(row - first) * 4, 1);
    }
    cta_sync();
}

KERNEL(THREADS)
dg_any_scale_copy(KERNEL_PARAMETER dg_any_scale_copy_args_t args) {
    const bool grouped = args.groups.form != 0, words = args.dst_dtype == DG_CODE_I32;
    const int64_t columns = words ? round_up_quotient(args.blocks, 4) : args.blocks;
    const int64_t row_pieces = round_up_quotient(args.rows, ROWS);
    const int64_t column_pieces = round_up_quotient(columns, COLUMNS);
    const bool down = args.dst_stride[1] <= args.dst_stride[2]; /* rows lie together */
    const uint32_t thread = thread_index();
    stretch_t stretch = {0, 0};
    int64_t begin = 0;
    dependency_wait();
    if (grouped) {
        stretch = find_stretch(args.groups.count);
        begin = find_begin(&args.groups, stretch);
    }
    for (int64_t index = block_index(); index < row_pieces * column_pieces * args.matrices;
         index += block_count()) {
        const int64_t rest = index / column_pieces, matrix = rest / row_pieces;
        const int64_t first_row = rest % row_pieces * ROWS;
        const int64_t first_column = index % column_pieces * COLUMNS;
        if (grouped) mark_rows(&args.groups, stretch, begin, first_row);
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t local = down ? thread % ROWS : thread / COLUMNS + i * (ROWS / 4);
            const int64_t row = first_row + local;
            const int64_t column = first_column + (down ? thread / ROWS * 4 + i : thread % COLUMNS);
            if (row >= args.rows || column >= columns) continue;
            const int64_t src_row = args.repeat == 1 ? row : row / args.repeat;
            const line_t line = {matrix * args.src_stride[0] + src_row * args.src_stride[1],
                matrix * args.dst_stride[0] + row * args.dst_stride[1]};
            const bool inside =
                !grouped || ld_shared_u32(shared_base() + AT_MARKS + local * 4) != 0;
            copy_element(&args, line, column, inside);
        }
    }
}
