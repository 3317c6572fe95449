/* SPDX-License-Identifier: MIT
 *
 * Groups in each form; see grouping.h.
 */
#include "grouping.h"

#include <string.h>

#include "guard.h"

static int64_t align_up(int64_t x, int64_t alignment) {
    return (x + alignment - 1) / alignment * alignment;
}

dg_tensor_t integers_make(
    dg_dtype_t dtype, const int64_t *values, int64_t count, int64_t stride, const char *name) {
    const size_t size = dtype == DG_DTYPE_I64 ? 8 : 4;
    uint8_t *memory = guard_take((size_t)(count * stride) * size, 0, name);
    for (int64_t i = 0; i < count; i++) {
        const int32_t narrow = (int32_t)values[i];
        uint8_t *at = memory + (size_t)(i * stride) * size;
        if (dtype == DG_DTYPE_I64) {
            memcpy(at, &values[i], size);
        } else {
            memcpy(at, &narrow, size);
        }
    }
    dg_tensor_t tensor = dg_tensor_1d(memory, dtype, count);
    tensor.stride[0] = stride;
    return tensor;
}

/* SIZES, OFFSETS, PSUM: groups one after the other. Returns what `values` holds. */
static int64_t *place_in_order(grouping_t *grouping, dg_group_form_t form, int64_t tail) {
    int64_t *values = guard_scratch((size_t)grouping->count * sizeof *values);
    int64_t end = 0;
    for (int64_t g = 0; g < grouping->count; g++) {
        const int64_t begin = form == DG_GROUPS_PSUM ? align_up(end, grouping->alignment) : end;
        grouping->begin[g] = begin;
        end = begin + grouping->sizes[g];
        values[g] = form == DG_GROUPS_SIZES ? grouping->sizes[g] : end;
    }
    grouping->rows = end + tail;
    grouping->of_row = guard_scratch((size_t)grouping->rows * sizeof(int32_t));
    for (int64_t i = 0; i < grouping->rows; i++) grouping->of_row[i] = -1;
    for (int64_t g = 0; g < grouping->count; g++) {
        for (int64_t i = 0; i < grouping->sizes[g]; i++) {
            grouping->of_row[grouping->begin[g] + i] = (int32_t)g;
        }
    }
    return values;
}

/* INDEX: every row on its own. */
static int64_t *deal_rows(rng_t *rng, grouping_t *grouping, int64_t tail) {
    grouping->rows = tail;
    for (int64_t g = 0; g < grouping->count; g++) grouping->rows += grouping->sizes[g];
    int64_t *values = guard_scratch((size_t)grouping->rows * sizeof *values);
    int64_t *order = guard_scratch((size_t)grouping->rows * sizeof *order);
    grouping->of_row = guard_scratch((size_t)grouping->rows * sizeof(int32_t));
    rng_permutation(rng, order, grouping->rows);
    int64_t next = 0;
    for (int64_t g = 0; g < grouping->count; g++) {
        for (int64_t i = 0; i < grouping->sizes[g]; i++) {
            values[order[next]] = g;
            grouping->of_row[order[next++]] = (int32_t)g;
        }
    }
    while (next < grouping->rows) {
        values[order[next]] = -rng_range(rng, 1, 1000);
        grouping->of_row[order[next++]] = -1;
    }
    return values;
}

/* BLOCK_INDEX: every block on its own; the last block may be short. */
static int64_t *deal_blocks(rng_t *rng, grouping_t *grouping, int64_t tail) {
    const int64_t alignment = grouping->alignment;
    int64_t blocks = tail > 0 ? 1 : 0;
    for (int64_t g = 0; g < grouping->count; g++) {
        blocks += align_up(grouping->sizes[g], alignment) / alignment;
    }
    int64_t *order = guard_scratch((size_t)blocks * sizeof *order);
    int64_t *owner = guard_scratch((size_t)blocks * sizeof *owner);
    rng_permutation(rng, order, blocks);
    int64_t next = 0;
    for (int64_t g = 0; g < grouping->count; g++) {
        for (int64_t i = 0; i < grouping->sizes[g]; i += alignment) owner[order[next++]] = g;
    }
    while (next < blocks) owner[order[next++]] = -1;
    grouping->rows = blocks * alignment - (blocks > 0 ? rng_range(rng, 0, alignment - 1) : 0);
    int64_t *values = guard_scratch((size_t)grouping->rows * sizeof *values);
    grouping->of_row = guard_scratch((size_t)grouping->rows * sizeof(int32_t));
    for (int64_t i = 0; i < grouping->rows; i++) {
        values[i] = i % alignment == 0 ? owner[i / alignment] : 0x7FFFFFFF;
        grouping->of_row[i] = (int32_t)owner[i / alignment];
    }
    return values;
}

grouping_t grouping_make(rng_t *rng, dg_group_form_t form, dg_dtype_t value_type,
    const int64_t *sizes, int64_t count, int64_t tail, int32_t alignment) {
    grouping_t grouping = {.count = count, .alignment = alignment};
    grouping.sizes = guard_scratch((size_t)count * sizeof *sizes);
    grouping.begin = guard_scratch((size_t)count * sizeof *sizes);
    if (count > 0) memcpy(grouping.sizes, sizes, (size_t)count * sizeof *sizes);
    int64_t *values = grouping.sizes;
    int64_t length = count;
    switch (form) {
    case DG_GROUPS_INDEX:
        values = deal_rows(rng, &grouping, tail);
        length = grouping.rows;
        break;
    case DG_GROUPS_BLOCK_INDEX:
        values = deal_blocks(rng, &grouping, tail);
        length = grouping.rows;
        break;
    case DG_GROUPS_MASKED:
        for (int64_t g = 0; g < count; g++) {
            if (sizes[g] > grouping.rows) grouping.rows = sizes[g];
        }
        grouping.rows += tail;
        break;
    default: values = place_in_order(&grouping, form, tail);
    }
    grouping.view.form = form;
    grouping.view.values =
        integers_make(value_type, values, length, rng_range(rng, 1, 3), "group values");
    if (form == DG_GROUPS_PSUM || form == DG_GROUPS_BLOCK_INDEX) {
        grouping.view.alignment = alignment;
    }
    return grouping;
}

const char *grouping_form_text(dg_group_form_t form) {
    static const char *const text[] = {
        "none", "sizes", "offsets", "psum", "index", "block_index", "masked"};
    return text[form];
}
