/* SPDX-License-Identifier: MIT
 *
 * Group placement in each of the forms of grouped.h. The meaning (group_of_row) is written from
 * the sizes directly, never from the values that the library gets, so that a wrong reading of a
 * form on either side shows.
 */
#include "placement.h"

#include <stdlib.h>

static dg_tensor_t make_values(
    cli_pool_t *pool, const int64_t *values, int64_t count, cli_random_t *random) {
    if (cli_random_below(random, 2) == 0) {
        int64_t *wide = cli_pool_take(pool, (size_t)count * sizeof *wide);
        for (int64_t i = 0; i < count; i++) wide[i] = values[i];
        return dg_tensor_1d(wide, DG_DTYPE_I64, count);
    }
    int32_t *narrow = cli_pool_take(pool, (size_t)count * sizeof *narrow);
    for (int64_t i = 0; i < count; i++) narrow[i] = (int32_t)values[i];
    return dg_tensor_1d(narrow, DG_DTYPE_I32, count);
}

static int64_t round_up(int64_t x, int64_t to) {
    return (x + to - 1) / to * to;
}

static void shuffle(int64_t *values, int64_t count, cli_random_t *random) {
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t j = cli_random_below(random, i + 1);
        const int64_t kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

/* INDEX: the sizes' rows in random order, rows of no group among them. BLOCK_INDEX: the same with
 * blocks in place of rows; what stands in a block's other rows means nothing and is random. */
static void place_by_index(cli_placement_t *place, int32_t *group_of_row, int64_t *values,
    int64_t *units, int64_t block, cli_random_t *random) {
    const int64_t count = (place->rows + block - 1) / block;
    int64_t next = 0;
    for (int64_t g = 0; g < place->groups; g++) {
        for (int64_t i = 0; i < (place->size[g] + block - 1) / block; i++) units[next++] = g;
    }
    while (next < count) units[next++] = -1;
    shuffle(units, count, random);
    for (int64_t row = 0; row < place->rows; row++) {
        const int64_t group = units[row / block];
        group_of_row[row] = group < 0 ? CLI_ROW_ZERO : (int32_t)group;
        values[row] = row % block == 0 ? group : cli_random_below(random, place->groups);
    }
}

static void place_back_to_back(cli_placement_t *place, int32_t *group_of_row, int64_t *begin) {
    int64_t row = 0;
    for (int64_t g = 0; g < place->groups; g++) {
        begin[g] = row;
        for (int64_t i = 0; i < place->size[g]; i++) group_of_row[row++] = (int32_t)g;
    }
}

static void place_aligned(
    cli_placement_t *place, int32_t *group_of_row, int64_t *begin, int64_t align) {
    int64_t row = 0;
    for (int64_t g = 0; g < place->groups; g++) {
        begin[g] = row;
        for (int64_t i = 0; i < place->size[g]; i++) group_of_row[row++] = (int32_t)g;
        for (; row % align != 0 && row < place->rows; row++) group_of_row[row] = CLI_ROW_ZERO;
    }
}

static void place_masked(cli_placement_t *place, int32_t *group_of_row, int64_t *begin) {
    const int64_t max_m = place->rows / place->groups;
    for (int64_t g = 0; g < place->groups; g++) {
        begin[g] = g * max_m;
        for (int64_t i = 0; i < place->size[g]; i++) group_of_row[begin[g] + i] = (int32_t)g;
    }
}

static int64_t count_rows(const cli_shape_t *shape, int64_t total) {
    int64_t row = 0;
    for (int64_t g = 0; g < shape->groups; g++) {
        if (shape->form == CLI_FORM_PSUM) row = round_up(row, shape->align) + shape->sizes[g];
        if (shape->form == CLI_FORM_BLOCK_INDEX) row += round_up(shape->sizes[g], shape->align);
    }
    if (shape->form == CLI_FORM_MASKED) return shape->groups * total;
    return row > total ? row : total;
}

cli_placement_t cli_place_groups(
    cli_pool_t *pool, const cli_shape_t *shape, int64_t total, cli_random_t *random) {
    const int64_t groups = shape->groups, rows = count_rows(shape, total);
    int32_t *group_of_row = cli_pool_take(pool, (size_t)rows * sizeof *group_of_row);
    int64_t *begin = cli_pool_take(pool, (size_t)groups * sizeof *begin);
    int64_t *size = cli_pool_take(pool, (size_t)groups * sizeof *size);
    const int64_t num_values = rows > groups ? rows : groups;
    int64_t *values = cli_allocate((size_t)num_values * sizeof *values);
    int64_t *units = cli_allocate((size_t)rows * sizeof *units);
    cli_placement_t place = {
        .groups = groups, .rows = rows, .size = size, .begin = begin, .group_of_row = group_of_row};
    for (int64_t row = 0; row < rows; row++) group_of_row[row] = CLI_ROW_UNTOUCHED;
    for (int64_t g = 0; g < groups; g++) size[g] = shape->sizes[g];

    int64_t count = groups;
    switch (shape->form) {
    case CLI_FORM_INDEX:
    case CLI_FORM_BLOCK_INDEX: {
        const bool blocks = shape->form == CLI_FORM_BLOCK_INDEX;
        place_by_index(&place, group_of_row, values, units, blocks ? shape->align : 1, random);
        place.view.form = blocks ? DG_GROUPS_BLOCK_INDEX : DG_GROUPS_INDEX;
        count = rows;
        break;
    }
    case CLI_FORM_MASKED:
        place_masked(&place, group_of_row, begin);
        place.view.form = DG_GROUPS_MASKED;
        for (int64_t g = 0; g < groups; g++) values[g] = size[g];
        break;
    case CLI_FORM_PSUM:
        place_aligned(&place, group_of_row, begin, shape->align);
        place.view.form = DG_GROUPS_PSUM;
        for (int64_t g = 0; g < groups; g++) values[g] = begin[g] + size[g];
        break;
    case CLI_FORM_OFFSETS:
        place_back_to_back(&place, group_of_row, begin);
        place.view.form = DG_GROUPS_OFFSETS;
        for (int64_t g = 0; g < groups; g++) values[g] = begin[g] + size[g];
        break;
    default:
        place_back_to_back(&place, group_of_row, begin);
        place.view.form = DG_GROUPS_SIZES;
        for (int64_t g = 0; g < groups; g++) values[g] = size[g];
        break;
    }
    if (shape->form == CLI_FORM_HOST) {
        place.view.host_sizes = size;
        place.view.host_count = groups;
    } else {
        place.view.values = make_values(pool, values, count, random);
    }
    place.view.alignment = (int32_t)shape->align;
    for (int64_t row = 0; row < rows; row++) place.valid += group_of_row[row] >= 0;
    free(units);
    free(values);
    return place;
}
