/* SPDX-License-Identifier: MIT
 *
 * Quantisation on the CPU: dg_quantize() and dg_dequantize() behind their checks.
 *
 * Arguments are brought into one form first (cast_plan.c): four axes, ordered so that values of x
 * that are neighbours in memory lie along the last one; groups as ranges of rows along one of the
 * axes, an ungrouped tensor being a single group. The tensor is cut into tiles, unions of whole
 * blocks that fit the cache, and each tile is one task (quantize.c, dequantize.c).
 */
#ifndef DG_CPU_CAST_H
#define DG_CPU_CAST_H

#include <stdbool.h>

#include "cpu/pool.h"
#include "deep_gemm/cast.h"
#include "model/groups.h"
#include "model/quantized.h"

/* args have been checked: shapes agree, outputs are apart, scale tensors are large enough.
 *     ranges: [group_count], of args->groups; not read if the form is NONE
 * Fails with OUT_OF_MEMORY alone, before anything is written. */
dg_status_t dg_cpu_quantize(dg_cpu_pool_t *pool, const dg_quantize_args_t *args,
    const dg_group_range_t *ranges, int64_t group_count);
dg_status_t dg_cpu_dequantize(dg_cpu_pool_t *pool, const dg_dequantize_args_t *args,
    const dg_group_range_t *ranges, int64_t group_count);

/* ---- Between the files of the casts ---- */

#define DG_CAST_AXES 4
#define DG_CAST_FAST 3 /* the axis along which loops run */

/* Values or factors in the plan's order of axes. Strides in elements; an axis of extent 1 has 0. */
typedef struct dg_cast_view_t {
    void *data;
    dg_dtype_t dtype;
    int64_t stride[DG_CAST_AXES];
} dg_cast_view_t;

/* One quantised tensor. */
typedef struct dg_cast_side_t {
    dg_cast_view_t data, scale;
    int64_t gran[DG_CAST_AXES]; /* at least 1, at most the extent (1 where that is 0) */
    int pair_axis;              /* E2M1X2: the axis two of whose codes share a byte; else -1 */
    int word_axis;              /* I32: the axis four of whose factors share a word; else -1 */
    bool power_of_two;
    bool by_row;          /* dg_quantized_by_row() */
    int64_t scale_rows;   /* extent of scale along group_axis, all groups together */
    int64_t *group_scale; /* [groups] where along it the factors of each group begin */
} dg_cast_side_t;

/* A cast in canonical form. Tiles of a group begin at its first row. */
typedef struct dg_cast_plan_t {
    int64_t extent[DG_CAST_AXES];
    dg_cast_view_t x;
    dg_cast_side_t side[2];
    int sides;
    int group_axis;
    const dg_group_range_t *groups; /* [group_count] */
    int64_t group_count;
    int64_t tile[DG_CAST_AXES];       /* extents of a full tile, at least 1 */
    int64_t tile_count[DG_CAST_AXES]; /* along group_axis: of all groups together */
    int64_t *group_tile;              /* [group_count + 1] first tile of each group */
    bool groups_in_order; /* tiles along group_axis share bytes: one task does them all */
    int64_t tasks;
    size_t block_count; /* most blocks of one side in a tile */
    dg_group_range_t whole;
    /* What group_scale and group_tile point into: a plan stays where it was made. */
    int64_t few[3 * 33];
    int64_t *many; /* NULL up to 32 groups */
} dg_cast_plan_t;

/* Fills the plan for x and `sides` quantised tensors; release it with dg_cast_release_plan(). */
dg_status_t dg_cast_make_plan(dg_cast_plan_t *plan, const dg_tensor_t *x,
    const dg_quantized_t *const *sides, int count, bool grouped, const dg_group_range_t *ranges,
    int64_t group_count);
void dg_cast_release_plan(dg_cast_plan_t *plan);

/* Elements in a full tile. */
int64_t dg_cast_tile_elements(const dg_cast_plan_t *plan);

/* A tile: `begin` in rows of x, `count` of them, `origin` the first row of its group (else 0). */
typedef struct dg_cast_tile_t {
    int64_t begin[DG_CAST_AXES], count[DG_CAST_AXES];
    int64_t origin[DG_CAST_AXES];
    int64_t group;
} dg_cast_tile_t;

/* Calls `work` for every tile of task `index`. */
typedef dg_status_t dg_cast_tile_work_t(
    const dg_cast_plan_t *plan, const dg_cast_tile_t *tile, void *context, int worker);
dg_status_t dg_cast_each_tile(const dg_cast_plan_t *plan, int64_t index, dg_cast_tile_work_t *work,
    void *context, int worker);

/* The blocks of one tile: `first` index of block (0, ..) in the scale tensor, in blocks (four a word
 * along word_axis), and `count` of blocks along each axis. */
typedef struct dg_cast_blocks_t {
    int64_t first[DG_CAST_AXES], count[DG_CAST_AXES];
    int64_t total; /* product of the counts */
    /* [total] each, the last axis fastest; quantize.c's alone */
    uint32_t *amax; /* bits of the largest magnitude */
    float *factor;  /* the scale factor */
    float *inverse; /* 1 / factor */
} dg_cast_blocks_t;

dg_cast_blocks_t dg_cast_tile_blocks(
    const dg_cast_plan_t *plan, const dg_cast_side_t *side, const dg_cast_tile_t *tile);

/* From amax: factor, inverse and the tile's part of side->scale (cast_factors.c). */
void dg_cast_finish_factors(const dg_cast_side_t *side, const dg_cast_blocks_t *blocks);

/* Element offset of a position. */
static inline int64_t dg_cast_offset(const dg_cast_view_t *view, const int64_t *position) {
    return position[0] * view->stride[0] + position[1] * view->stride[1] +
           position[2] * view->stride[2] + position[3] * view->stride[3];
}

/* Most rows of a panel: a cache line of an output in which they lie side by side. */
#define DG_CAST_PANEL_ROWS 64

/* Codes of one panel on their way out: [rows, cols], one byte each, `pitch` from row to row. Rows
 * run along row_axis of the tensor, columns along the last axis, from `position` on. */
typedef struct dg_cast_panel_t {
    const uint8_t *codes;
    int64_t rows, cols, pitch;
    int row_axis;
    int64_t position[DG_CAST_AXES];
} dg_cast_panel_t;

struct dg_cpu_cast_kernels_t;

/* Writes a panel to side->data (cast_store.c). A byte that holds a code of the panel and one of
 * a neighbour keeps the neighbour's. */
void dg_cast_store_panel(const struct dg_cpu_cast_kernels_t *kernels, const dg_cast_side_t *side,
    const dg_cast_panel_t *panel);

#endif
