/* SPDX-License-Identifier: MIT
 *
 * Groups of tokens, given in any form, to the list of K segments that K-grouped GEMM kernels walk;
 * see args/group_tiles.h. One CTA, launched in front of the GEMM; each thread has a stretch of
 * groups. */
#include "any/group_scan.cuh"

/* What a group takes up in a tensor that has one row (of factors), or one element, for each `tokens`
 * tokens of it; 0: there is no such tensor. */
DEVICE int64_t rows_of(int64_t count, int32_t tokens) {
    return tokens > 0 ? round_up_quotient(count, tokens) : 0;
}

/* What the groups before this thread's take up. All threads. */
DEVICE int64_t rows_before(
    const dg_group_source_t *values, stretch_t stretch, int64_t begin, int32_t tokens) {
    const joint_t sum = {false, MOST};
    int64_t all = 0;
    if (tokens == 0) return 0;
    for (int64_t g = stretch.first; g < stretch.last; g++) {
        const range_t range = next_range(values, g, &begin);
        all += rows_of(range.end - range.begin, tokens);
    }
    return scan_cta(sum, all);
}

/* Tokens of a group of `count` for which a tensor of `rows` rows has any from row `begin` on. */
DEVICE int64_t tokens_within(int64_t count, int64_t rows, int64_t begin, int32_t tokens) {
    if (tokens == 0) return count;
    const int64_t left = larger(0, rows - begin);
    return left >= rows_of(count, tokens) ? count : left * tokens;
}

KERNEL(THREADS)
dg_any_k_segments(KERNEL_PARAMETER dg_any_k_segments_args_t args) {
    const dg_group_source_t *values = &args.values;
    const dg_k_segment_side_t *a = &args.a, *b = &args.b;
    dependency_wait();
    const stretch_t stretch = find_stretch(values->count);
    int64_t begin = find_begin(values, stretch);
    int64_t scale_a = rows_before(values, stretch, begin, a->tokens_a_row);
    int64_t scale_b = rows_before(values, stretch, begin, b->tokens_a_row);
    int64_t flat_a = rows_before(values, stretch, begin, a->flat);
    int64_t flat_b = rows_before(values, stretch, begin, b->flat);
    for (int64_t g = stretch.first; g < stretch.last; g++) {
        const range_t range = next_range(values, g, &begin);
        const int64_t size = range.end - range.begin;
        int64_t count = tokens_within(size, a->scale_rows, scale_a, a->tokens_a_row);
        count = tokens_within(count, b->scale_rows, scale_b, b->tokens_a_row);
        count = tokens_within(count, a->flat_length, flat_a, a->flat);
        count = tokens_within(count, b->flat_length, flat_b, b->flat);
        dg_k_segment_t *segment = args.segments + g;
        st_global_u64(&segment->token_begin, (uint64_t)range.begin);
        st_global_u64(&segment->token_count, (uint64_t)count);
        st_global_u64(&segment->scale_begin_a, (uint64_t)scale_a);
        st_global_u64(&segment->scale_begin_b, (uint64_t)scale_b);
        st_global_u64(&segment->flat_begin_a, (uint64_t)flat_a);
        st_global_u64(&segment->flat_begin_b, (uint64_t)flat_b);
        scale_a += rows_of(size, a->tokens_a_row);
        scale_b += rows_of(size, b->tokens_a_row);
        flat_a += rows_of(size, a->flat);
        flat_b += rows_of(size, b->flat);
    }
}
