/* SPDX-License-Identifier: MIT
 *
 * The kernels that write the lists of groups (kernels/any/group_tiles.cu, k_segments.cu, upload.cu)
 * against plain loops over the ranges that the CPU backend finds, for values in and out of range, up
 * to many more groups than threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "kernels/args/group_tiles.h"
#include "model/groups.h"
#include "plan/group_stages.h"
#include "random_data.h"

#define MOST_VALUES 5000

/* Group values in memory that the emulator watches. */
typedef struct source_t {
    dg_groups_t groups;
    dg_group_source_t kernel;
    int64_t *memory;
} source_t;

static void *watched(size_t bytes, int read_only) {
    void *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
    assert_non_null(memory);
    memset(memory, 0xFF, (bytes + 511) / 256 * 256);
    emulate_memory(memory, bytes > 0 ? bytes : 1, read_only);
    return memory;
}

static void drop(void *memory) {
    forget_memory(memory);
    free(memory);
}

/* A value for `rows` rows; `wild`: possibly far out of range. */
static int64_t draw_value(
    rng_t *rng, dg_group_form_t form, int64_t count, int64_t rows, bool wild, int64_t *last) {
    if (wild && rng_range(rng, 0, 9) == 0)
        return rng_range(rng, 0, 1) ? rng_range(rng, -5, -1) : rows + rng_range(rng, 0, 1 << 20);
    if (form == DG_GROUPS_MASKED) return rng_range(rng, 0, rows);
    const int64_t size = rng_range(rng, 0, 2) == 0 ? 0 : rng_range(rng, 0, 2 * rows / count + 1);
    if (form == DG_GROUPS_SIZES) {
        const int64_t left = rows - *last;
        *last += size < left ? size : left;
        return size < left || wild ? size : left;
    }
    *last = *last + size < rows ? *last + size : rows;
    return *last;
}

static source_t make_source(
    rng_t *rng, dg_group_form_t form, int64_t count, int64_t rows, bool wild) {
    source_t source = {.groups = {.form = form, .alignment = (int32_t)rng_range(rng, 1, 200)}};
    const bool wide = rng_range(rng, 0, 1);
    const int64_t stride = rng_range(rng, 1, 3), bytes = (wide ? 8 : 4) * stride * count;
    int64_t last = 0;
    source.memory = watched((size_t)bytes, 1);
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = draw_value(rng, form, count, rows, wild, &last);
        if (wide)
            source.memory[i * stride] = value;
        else
            ((int32_t *)source.memory)[i * stride] = (int32_t)value;
    }
    source.groups.values = dg_tensor_1d(source.memory, wide ? DG_DTYPE_I64 : DG_DTYPE_I32, count);
    source.groups.values.stride[0] = stride;
    source.kernel = (dg_group_source_t){source.memory, stride, count, rows, (int32_t)form, wide,
        source.groups.alignment, (int32_t)count};
    return source;
}

static void launch(const char *kernel, const void *args) {
    static const char *const fields[] = {"THREADS"};
    static const int32_t values[] = {1024};
    static uint32_t schedule = 0;
    const char *wrong = emulate_launch(
        kernel, fields, values, 1, 1, 1024, 1, DG_GROUP_SCAN_SHARED_BYTES(1024), args, schedule++);
    if (wrong != NULL) fail_msg("%s: %s", kernel, wrong);
}

static dg_group_range_t *find_ranges(const source_t *source, int64_t count, int64_t rows) {
    const dg_context_options_t options = {
        .mk_alignment = 128, .group_values = DG_GROUP_VALUES_CLAMP};
    dg_group_range_t *ranges = calloc((size_t)count + 1, sizeof *ranges);
    assert_int_equal(
        dg_group_ranges(&source->groups, "groups", rows, &options, ranges), DG_STATUS_OK);
    return ranges;
}

/* ---- tiles */

typedef struct expected_t {
    dg_group_tile_t *tiles;
    int64_t count;
} expected_t;

static void expect_rows(
    expected_t *expected, int64_t begin, int64_t end, int32_t group, int32_t block) {
    for (int64_t row = begin; row < end; row += block) {
        const int64_t left = end - row;
        expected->tiles[expected->count++] =
            (dg_group_tile_t){row, (int32_t)(left < block ? left : block), group};
    }
}

static void compare_tiles(
    const expected_t *expected, const source_t *source, const dg_work_t *work, int32_t block) {
    const int64_t bound = dg_group_tile_bound(work, block);
    assert_true(expected->count <= bound);
    const size_t bytes = sizeof(dg_group_tiles_t) + (size_t)bound * sizeof(dg_group_tile_t);
    dg_group_tiles_t *tiles = watched(bytes, 0);
    const dg_any_group_tiles_args_t args = {source->kernel, tiles, block, work->zero_padding};
    launch("any_group_tiles", &args);
    assert_int_equal(tiles->count, expected->count);
    assert_memory_equal(
        tiles + 1, expected->tiles, (size_t)expected->count * sizeof *expected->tiles);
    drop(tiles);
}

static void tiles_of_ranges(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static const dg_group_form_t forms[] = {
            DG_GROUPS_SIZES, DG_GROUPS_OFFSETS, DG_GROUPS_PSUM, DG_GROUPS_MASKED};
        rng_t rng = rng_make(seed);
        const dg_group_form_t form = forms[seed % 4];
        const int64_t count = rng_range(&rng, 1,
            seed % 5                   ? 40
            : form == DG_GROUPS_MASKED ? 40
                                       : 3000);
        const int64_t rows = rng_range(&rng, 1, 20000);
        const int32_t block = 64 * (int32_t)rng_range(&rng, 1, 4);
        const bool padding = rng_range(&rng, 0, 1);
        const source_t source = make_source(&rng, form, count, rows, rng_range(&rng, 0, 1));
        const dg_work_t work = {.m = rows,
            .family = DG_FAMILY_M_GROUPED_GEMM,
            .group_count = (int32_t)count,
            .group_form = (uint8_t)form,
            .zero_padding = padding};
        dg_group_range_t *ranges = find_ranges(&source, count, rows);
        expected_t expected = {calloc((size_t)(count * 400 + rows), sizeof(dg_group_tile_t)), 0};
        for (int64_t g = 0; g < count; g++) {
            expect_rows(&expected, ranges[g].begin, ranges[g].end, (int32_t)g, block);
            if (padding) expect_rows(&expected, ranges[g].end, ranges[g].aligned_end, -1, block);
        }
        compare_tiles(&expected, &source, &work, block);
        free(expected.tiles);
        free(ranges);
        drop(source.memory);
    }
}

/* Runs of random length, some as long as several tiles, indices of no group among them. */
static void tiles_of_rows(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rng_t rng = rng_make(seed);
        const dg_group_form_t form = seed % 2 ? DG_GROUPS_INDEX : DG_GROUPS_BLOCK_INDEX;
        const int64_t rows = rng_range(&rng, 1, seed % 4 == 0 ? MOST_VALUES : 300);
        const int32_t block = 64 * (int32_t)rng_range(&rng, 1, 2), groups = 5;
        source_t source = make_source(&rng, form, rows, rows, false);
        const int64_t longest = rng_range(&rng, 1, 300), stride = source.kernel.stride;
        int64_t group = 0, left = 0;
        for (int64_t i = 0; i < rows; i++, left--) {
            if (left <= 0) {
                left = rng_range(&rng, 1, longest);
                group = rng_range(&rng, -2, groups + 1);
            }
            if (source.kernel.wide)
                source.memory[i * stride] = group;
            else
                ((int32_t *)source.memory)[i * stride] = (int32_t)group;
        }
        source.kernel.groups = groups;
        const dg_work_t work = {.m = rows,
            .family = DG_FAMILY_M_GROUPED_GEMM,
            .group_count = groups,
            .group_form = (uint8_t)form,
            .group_alignment = source.groups.alignment};
        expected_t expected = {calloc(MOST_VALUES, sizeof(dg_group_tile_t)), 0};
        const int64_t unit = form == DG_GROUPS_INDEX ? 1 : source.groups.alignment;
        for (int64_t begin = 0, end; begin < rows; begin = end) {
            const int64_t here = dg_integer_at(&source.groups.values, begin / unit * unit);
            const int32_t own = here >= 0 && here < groups ? (int32_t)here : -1;
            for (end = begin; end < rows; end++) {
                const int64_t next = dg_integer_at(&source.groups.values, end / unit * unit);
                if ((next >= 0 && next < groups ? (int32_t)next : -1) != own) break;
            }
            expect_rows(&expected, begin, end, own, block);
        }
        compare_tiles(&expected, &source, &work, block);
        free(expected.tiles);
        drop(source.memory);
    }
}

/* ---- segments */

static int64_t rows_of(int64_t count, int32_t tokens) {
    return tokens > 0 ? (count + tokens - 1) / tokens : 0;
}

static int64_t cut_short(int64_t count, int64_t rows, int64_t begin, int32_t tokens) {
    while (tokens > 0 && count > 0 && begin + rows_of(count, tokens) > rows) count--;
    return count;
}

static void segments(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rng_t rng = rng_make(seed);
        const dg_group_form_t form = (dg_group_form_t)(1 + seed % 3);
        const int64_t count = rng_range(&rng, 1, seed % 5 ? 30 : MOST_VALUES);
        const int64_t rows = rng_range(&rng, 1, 5000);
        const source_t source = make_source(&rng, form, count, rows, rng_range(&rng, 0, 1));
        dg_group_range_t *ranges = find_ranges(&source, count, rows);
        dg_k_segment_t *got = watched((size_t)count * sizeof *got, 0);
        const bool flat = form == DG_GROUPS_SIZES;
        const dg_any_k_segments_args_t args = {source.kernel,
            {rows / 100 + rng_range(&rng, 0, count), flat ? rows : 0, 128, flat ? 1 : 0},
            {rng_range(&rng, 0, rows / 32), flat ? rows / 2 : 0, 32, flat ? 2 : 0}, got};
        launch("any_k_segments", &args);
        dg_k_segment_t want = {0, 0, 0, 0, 0, 0};
        for (int64_t g = 0; g < count; g++) {
            const int64_t size = ranges[g].end - ranges[g].begin;
            want.token_begin = ranges[g].begin;
            int64_t n = cut_short(size, args.a.scale_rows, want.scale_begin_a, 128);
            n = cut_short(n, args.b.scale_rows, want.scale_begin_b, 32);
            n = cut_short(n, args.a.flat_length, want.flat_begin_a, args.a.flat);
            want.token_count = cut_short(n, args.b.flat_length, want.flat_begin_b, args.b.flat);
            assert_memory_equal(&got[g], &want, sizeof want);
            want.scale_begin_a += rows_of(size, 128);
            want.scale_begin_b += rows_of(size, 32);
            want.flat_begin_a += rows_of(size, args.a.flat);
            want.flat_begin_b += rows_of(size, args.b.flat);
        }
        drop(got);
        free(ranges);
        drop(source.memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_of_ranges),
        cmocka_unit_test(tiles_of_rows),
        cmocka_unit_test(segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
