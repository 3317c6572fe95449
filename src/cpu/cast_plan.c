/* SPDX-License-Identifier: MIT
 *
 * The canonical form of a cast and its tiles; see cast.h. Nothing here touches tensor memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/integer.h"
#include "cpu/cast.h"

/* A tile of 32 Ki values is 64 or 128 KiB of x: it stays in a second-level cache from the first
 * pass over it (largest magnitudes) to the last (codes of the second output). */
enum { TILE_ELEMENTS = 64 * 1024, TILE_RUN = 512, TILE_LINES = 64 };

/* The axis along which x's neighbours in memory lie: the last one where that has stride 1. */
static int find_fast_axis(const dg_tensor_t *x) {
    for (int a = x->rank - 1; a >= 0; --a) {
        if (x->stride[a] == 1 && x->shape[a] > 1) return a;
    }
    return x->rank - 1;
}

/* order[i]: which axis of the caller's is the plan's axis i; -1: an added one of extent 1. */
static void order_axes(const dg_tensor_t *x, int order[DG_CAST_AXES]) {
    const int fast = find_fast_axis(x);
    int next = DG_CAST_FAST;
    order[next--] = fast;
    for (int a = x->rank - 1; a >= 0; --a) {
        if (a != fast) order[next--] = a;
    }
    while (next >= 0) order[next--] = -1;
}

static dg_cast_view_t order_view(const dg_tensor_t *tensor, const int order[DG_CAST_AXES]) {
    dg_cast_view_t view = {.data = tensor->data, .dtype = tensor->dtype};
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        const int a = order[i];
        if (a >= 0 && tensor->shape[a] != 1) view.stride[i] = tensor->stride[a];
    }
    return view;
}

static void fill_side(dg_cast_side_t *side, const dg_quantized_t *q, const dg_tensor_t *x,
    const int order[DG_CAST_AXES]) {
    side->data = order_view(&q->data, order);
    side->scale = order_view(&q->scale, order);
    side->power_of_two = q->power_of_two == DG_ON || q->scale.dtype != DG_DTYPE_F32;
    side->pair_axis = side->word_axis = -1;
    const int k_axis = dg_quantized_k_axis(q, x->rank);
    side->by_row = dg_quantized_by_row(q, x->rank);
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        const int a = order[i];
        const int64_t extent = a < 0 || x->shape[a] < 1 ? 1 : x->shape[a];
        const int64_t gran = a < 0 || q->gran[a] == 0 ? extent : q->gran[a];
        side->gran[i] = gran < extent ? gran : extent;
        if (a < 0) continue;
        if (q->scale.dtype == DG_DTYPE_I32 && a == k_axis) side->word_axis = i;
        if (q->data.dtype == DG_DTYPE_E2M1X2 && q->data.shape[a] != x->shape[a]) {
            side->pair_axis = i;
            side->data.stride[i] = 1; /* of an axis of one byte, nobody set it */
        }
    }
}

/* Least number of rows of axis i that holds whole blocks, words and bytes of both sides. */
static int64_t whole_rows(const dg_cast_plan_t *plan, int i) {
    const int64_t extent = plan->extent[i] > 0 ? plan->extent[i] : 1;
    int64_t rows = 1;
    for (int s = 0; s < plan->sides; ++s) {
        const dg_cast_side_t *side = &plan->side[s];
        int64_t unit = side->gran[i];
        if (side->word_axis == i) unit = unit > extent / 4 ? extent : 4 * unit;
        if (side->pair_axis == i && unit % 2 != 0) unit = unit > extent / 2 ? extent : 2 * unit;
        int64_t a = rows, b = unit;
        while (b != 0) {
            const int64_t rest = a % b;
            a = b, b = rest;
        }
        if (__builtin_mul_overflow(rows / a, unit, &rows) || rows > extent) return extent;
    }
    return rows;
}

int64_t dg_cast_tile_elements(const dg_cast_plan_t *plan) {
    int64_t elements = 1;
    for (int i = 0; i < DG_CAST_AXES; ++i) elements *= plan->tile[i];
    return elements;
}

/* Makes the tile longer along axis i, up to `most` rows or a full tile. */
static void grow_tile(dg_cast_plan_t *plan, int i, int64_t most) {
    const int64_t room = TILE_ELEMENTS / dg_cast_tile_elements(plan);
    const int64_t wanted = most < plan->extent[i] ? most : plan->extent[i];
    const int64_t times = dg_ceil_div(wanted, plan->tile[i]);
    if (room < 2 || times < 2) return;
    plan->tile[i] *= times < room ? times : room;
    if (plan->tile[i] > plan->extent[i]) plan->tile[i] = plan->extent[i];
}

static void choose_tile(dg_cast_plan_t *plan) {
    for (int i = 0; i < DG_CAST_AXES; ++i) plan->tile[i] = whole_rows(plan, i);
    grow_tile(plan, DG_CAST_FAST, TILE_RUN);
    for (int s = 0; s < plan->sides; ++s) { /* an output across x is written in cache lines */
        for (int i = 0; i < DG_CAST_FAST; ++i) {
            if (plan->side[s].data.stride[i] == 1) grow_tile(plan, i, TILE_LINES);
        }
    }
    for (int i = DG_CAST_FAST; i >= 0; --i) grow_tile(plan, i, INT64_MAX);
}

/* Numbers the tiles and the factors of the groups one after the other. */
static void count_groups(dg_cast_plan_t *plan) {
    const int axis = plan->group_axis;
    int64_t tiles = 0;
    for (int64_t g = 0; g < plan->group_count; ++g) {
        const int64_t rows = plan->groups[g].end - plan->groups[g].begin;
        plan->group_tile[g] = tiles;
        tiles += dg_ceil_div(rows, plan->tile[axis]);
        for (int s = 0; s < plan->sides; ++s) {
            dg_cast_side_t *side = &plan->side[s];
            const int64_t blocks = dg_ceil_div(rows, side->gran[axis]);
            side->group_scale[g] = side->by_row ? plan->groups[g].begin : side->scale_rows;
            side->scale_rows += side->word_axis == axis ? dg_ceil_div(blocks, 4) : blocks;
        }
    }
    plan->group_tile[plan->group_count] = tiles;
}

static void count_tasks(dg_cast_plan_t *plan) {
    plan->tasks = 1;
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        plan->tile_count[i] = i == plan->group_axis ? plan->group_tile[plan->group_count]
                                                    : dg_ceil_div(plan->extent[i], plan->tile[i]);
        if (i != plan->group_axis || !plan->groups_in_order) plan->tasks *= plan->tile_count[i];
    }
    for (int s = 0; s < plan->sides; ++s) {
        size_t blocks = 1;
        for (int i = 0; i < DG_CAST_AXES; ++i) {
            blocks *= (size_t)dg_ceil_div(plan->tile[i], plan->side[s].gran[i]);
        }
        if (blocks > plan->block_count) plan->block_count = blocks;
    }
}

dg_status_t dg_cast_make_plan(dg_cast_plan_t *plan, const dg_tensor_t *x,
    const dg_quantized_t *const *sides, int count, bool grouped, const dg_group_range_t *ranges,
    int64_t group_count) {
    memset(plan, 0, sizeof *plan);
    int order[DG_CAST_AXES];
    order_axes(x, order);
    plan->x = order_view(x, order);
    plan->sides = count;
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        plan->extent[i] = order[i] < 0 ? 1 : x->shape[order[i]];
        if (order[i] == 0) plan->group_axis = i;
    }
    plan->whole = (dg_group_range_t){0, x->shape[0], x->shape[0]};
    plan->groups = grouped ? ranges : &plan->whole;
    plan->group_count = grouped ? group_count : 1;
    const size_t numbers = (size_t)plan->group_count + 1;
    int64_t *memory = plan->few;
    if (numbers > sizeof plan->few / sizeof plan->few[0] / 3) {
        memory = plan->many = calloc(3 * numbers, sizeof *memory);
        DG_REQUIRE(memory != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
            "no memory for the places of %lld groups; free some", (long long)plan->group_count);
    }
    plan->group_tile = memory;
    for (int s = 0; s < count; ++s) {
        fill_side(&plan->side[s], sides[s], x, order);
        plan->side[s].group_scale = memory + (size_t)(s + 1) * numbers;
        if (grouped && plan->side[s].pair_axis == plan->group_axis) plan->groups_in_order = true;
    }
    choose_tile(plan);
    count_groups(plan);
    count_tasks(plan);
    return DG_STATUS_OK;
}

void dg_cast_release_plan(dg_cast_plan_t *plan) {
    free(plan->many);
}

/* The group that tile `index` along group_axis belongs to: the last that begins at or before it. */
static int64_t find_group(const dg_cast_plan_t *plan, int64_t index) {
    int64_t low = 0, high = plan->group_count - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (plan->group_tile[middle] <= index) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static dg_cast_tile_t place_tile(const dg_cast_plan_t *plan, const int64_t at[DG_CAST_AXES]) {
    dg_cast_tile_t tile = {.group = find_group(plan, at[plan->group_axis])};
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        int64_t begin = 0, end = plan->extent[i], index = at[i];
        if (i == plan->group_axis) {
            begin = plan->groups[tile.group].begin;
            end = plan->groups[tile.group].end;
            index -= plan->group_tile[tile.group];
        }
        tile.origin[i] = begin;
        tile.begin[i] = begin + index * plan->tile[i];
        tile.count[i] = end - tile.begin[i] < plan->tile[i] ? end - tile.begin[i] : plan->tile[i];
    }
    return tile;
}

dg_status_t dg_cast_each_tile(const dg_cast_plan_t *plan, int64_t index, dg_cast_tile_work_t *work,
    void *context, int worker) {
    int64_t at[DG_CAST_AXES] = {0, 0, 0, 0};
    for (int i = DG_CAST_FAST; i >= 0; --i) {
        if (i == plan->group_axis && plan->groups_in_order) continue;
        at[i] = index % plan->tile_count[i];
        index /= plan->tile_count[i];
    }
    const int64_t steps = plan->groups_in_order ? plan->tile_count[plan->group_axis] : 1;
    for (int64_t step = 0; step < steps; ++step) {
        const dg_cast_tile_t tile = place_tile(plan, at);
        DG_TRY(work(plan, &tile, context, worker));
        ++at[plan->group_axis];
    }
    return DG_STATUS_OK;
}

dg_cast_blocks_t dg_cast_tile_blocks(
    const dg_cast_plan_t *plan, const dg_cast_side_t *side, const dg_cast_tile_t *tile) {
    dg_cast_blocks_t blocks = {.total = 1};
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        blocks.first[i] = (tile->begin[i] - tile->origin[i]) / side->gran[i];
        blocks.count[i] = dg_ceil_div(tile->count[i], side->gran[i]);
        blocks.total *= blocks.count[i];
        if (i != plan->group_axis) continue;
        const int64_t group_first = side->group_scale[tile->group];
        blocks.first[i] += side->word_axis == i ? 4 * group_first : group_first;
    }
    return blocks;
}
