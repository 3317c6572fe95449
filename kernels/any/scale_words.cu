/* SPDX-License-Identifier: MIT
 *
 * Packs the factors of groups along k, four blocks of one group a word; each group starts a row of
 * words of its own. The groups are walked as the casts do: rows are the tokens, side[0].scale the factors
 * to read, [blocks of all groups, mn] F32, side[1].scale the words to write. Parameters: args/cast.h.
 *
 * A CTA takes a row of words, reading up to four rows of factors. */
#define GRAN_SHIFTS 0
#include "any/cast_groups.cuh"
#include "any/ue8m0.cuh"

#define SHARED_BYTES AT_CAST

DEVICE void pack_row(const dg_any_cast_args_t *args, const cast_rows_t *rows) {
    const dg_any_cast_side_t *from = &args->side[0], *to = &args->side[1];
    const int64_t first = row_block(from, rows->local); /* block of the group */
    const int64_t last = row_block(from, rows->group_rows + from->gran[2] - 1);
    const int64_t src_row = rows->factors[0] + first, dst_row = rows->factors[1] + (first >> 2);
    if (dst_row >= to->scale_rows) return;
    const int64_t blocks = smaller(4, smaller(last - first, from->scale_rows - src_row));
    const float *src = (const float *)from->scale + src_row * from->scale_stride[2];
    uint32_t *dst = (uint32_t *)to->scale + dst_row * to->scale_stride[2];
    for (int64_t c = thread_index(); c < args->extent[3]; c += THREADS) {
        uint32_t word = 0;
        UNROLL
        for (int i = 0; i < 4; i++) {
            if (i < blocks)
                word |= exponent_of(ld_global_f32(
                            src + i * from->scale_stride[2] + c * from->scale_stride[3]))
                        << 8 * i;
        }
        st_global_u32(dst + c * to->scale_stride[3], word);
    }
}

KERNEL(THREADS)
dg_any_scale_words(KERNEL_PARAMETER dg_any_cast_args_t args) {
    const int64_t unit_rows = 4 * args.side[0].gran[2];
    const bool grouped = args.groups.form != 0;
    dependency_wait();
    group_walk_t walk = {};
    if (grouped) walk = start_walk(&args, unit_rows);
    const int64_t units = grouped ? walk.all : round_up_quotient(args.extent[2], unit_rows);
    uint32_t turn = 0;
    for (int64_t unit = block_index(); unit < units; unit += block_count()) {
        const cast_rows_t rows = grouped ? find_unit(&args, &walk, unit_rows, unit, turn++)
                                         : plain_unit(&args, unit_rows, unit);
        pack_row(&args, &rows);
    }
}
