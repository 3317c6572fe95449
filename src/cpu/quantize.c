/* SPDX-License-Identifier: MIT
 *
 * Quantises one tile after the other: the largest magnitude of each block, its factor, then the
 * codes, for one or two outputs while the tile is in the cache. dg_cpu_quantize() is called by
 * api/cast.c; cast_plan.c says which tiles there are, cast_kernels.h has the innermost loops,
 * cast_factors.c the factors.
 */
#include <string.h>

#include "base/error.h"
#include "cpu/cast.h"
#include "cpu/cast_kernels.h"
#include "model/dtype.h"
#include "model/tensor.h"

/* Codes wait in panels of so many rows and columns; the pitch keeps rows off one another's cache
 * sets when a panel is read column by column. */
enum { ROW_AXIS = DG_CAST_FAST - 1 };
enum { PANEL_ROWS = 64, PANEL_COLS = 512, PANEL_PITCH = PANEL_COLS + 16 };

/* Two outputs whose common tile is larger than this take a pass over x each. */
enum { FUSED_ELEMENTS = 128 * 1024 };

/* A worker's scratch memory. */
typedef struct dg_cast_scratch_t {
    float values[PANEL_COLS];
    uint8_t codes[PANEL_ROWS * PANEL_PITCH];
    uint32_t blocks[]; /* dg_cast_blocks_t.amax, .factor and .inverse, [blocks of a tile] each */
} dg_cast_scratch_t;

typedef struct dg_quantize_work_t {
    const dg_cast_plan_t *plan;
    const dg_cpu_cast_kernels_t *kernels;
    dg_cpu_pool_t *pool;
} dg_quantize_work_t;

/* A side of a tile in progress. */
typedef struct dg_cast_job_t {
    const dg_cast_plan_t *plan;
    const dg_cast_side_t *side;
    const dg_cast_tile_t *tile;
    const dg_cpu_cast_kernels_t *kernels;
    const dg_cpu_source_kernels_t *source; /* of x's type */
    dg_cast_scratch_t *scratch;
    dg_cast_blocks_t blocks;
} dg_cast_job_t;

/* `count` values of x from `position` on along the last axis, side by side: in place where they lie
 * so, else in `buffer`. */
static const void *load_run(
    const dg_cast_view_t *x, const int64_t *position, int64_t count, void *buffer) {
    const int64_t offset = dg_cast_offset(x, position);
    const int64_t step = x->stride[DG_CAST_FAST];
    if (x->dtype == DG_DTYPE_F32) {
        const float *values = (const float *)x->data + offset;
        if (step == 1) return values;
        float *run = buffer;
        for (int64_t i = 0; i < count; ++i) run[i] = values[i * step];
    } else {
        const uint16_t *values = (const uint16_t *)x->data + offset;
        if (step == 1) return values;
        uint16_t *run = buffer;
        for (int64_t i = 0; i < count; ++i) run[i] = values[i * step];
    }
    return buffer;
}

/* Index among the tile's blocks of the first one on the line through `position`. */
static int64_t block_line(const dg_cast_job_t *job, const int64_t *position) {
    int64_t index = 0;
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        index *= job->blocks.count[i];
        if (i == DG_CAST_FAST) break;
        index += (position[i] - job->tile->begin[i]) / job->side->gran[i];
    }
    return index;
}

/* The run of x from `position` on, and the index of the first block of its line. */
static dg_cast_run_t take_run(
    const dg_cast_job_t *job, const int64_t *position, int64_t count, int64_t *line) {
    *line = block_line(job, position);
    return (dg_cast_run_t){
        .values = load_run(&job->plan->x, position, count, job->scratch->values),
        .count = count,
        .first = position[DG_CAST_FAST] - job->tile->begin[DG_CAST_FAST],
        .gran = job->side->gran[DG_CAST_FAST],
    };
}

/* Magnitudes of `rows` runs along the axis before the last, which end in one block of it. */
static void measure_runs(
    const dg_cast_job_t *job, const int64_t *position, int64_t rows, int64_t count) {
    int64_t line;
    const dg_cast_run_t run = take_run(job, position, count, &line);
    uint32_t *amax = &job->blocks.amax[line];
    if (run.gran == 1) {
        const int64_t stride = job->plan->x.stride[ROW_AXIS];
        job->source->max_columns(run.values, stride, rows, count, amax + run.first);
    } else {
        job->source->max_blocks(&run, amax);
    }
}

static void encode_run(
    const dg_cast_job_t *job, const int64_t *position, int64_t count, uint8_t *codes) {
    const dg_cpu_source_kernels_t *source = job->source;
    const bool e4m3 = job->side->data.dtype == DG_DTYPE_E4M3;
    int64_t line;
    const dg_cast_run_t run = take_run(job, position, count, &line);
    const float *inverse = &job->blocks.inverse[line];
    if (run.gran == 1) {
        (e4m3 ? source->encode_e4m3_columns : source->encode_e2m1_columns)(
            run.values, count, inverse + run.first, codes);
    } else {
        (e4m3 ? source->encode_e4m3_blocks : source->encode_e2m1_blocks)(&run, inverse, codes);
    }
}

/* Rows from p[ROW_AXIS] on that max_columns can take at once. */
static int64_t rows_together(const dg_cast_job_t *job, const int64_t *p) {
    const int64_t gran = job->side->gran[ROW_AXIS];
    if (job->side->gran[DG_CAST_FAST] != 1 || job->plan->x.stride[DG_CAST_FAST] != 1) return 1;
    const int64_t from = p[ROW_AXIS] - job->tile->begin[ROW_AXIS];
    const int64_t block = gran - from % gran, left = job->tile->count[ROW_AXIS] - from;
    return block < left ? block : left;
}

static void measure_tile(const dg_cast_job_t *job) {
    const dg_cast_tile_t *tile = job->tile;
    const float least = 1e-4f;
    for (int64_t b = 0; b < job->blocks.total; ++b) job->blocks.amax[b] = dg_float_bits(least);
    int64_t p[DG_CAST_AXES];
    const int64_t *begin = tile->begin, *count = tile->count;
    for (p[0] = begin[0]; p[0] < begin[0] + count[0]; ++p[0]) {
        for (p[1] = begin[1]; p[1] < begin[1] + count[1]; ++p[1]) {
            for (p[2] = begin[2]; p[2] < begin[2] + count[2];) {
                const int64_t rows = rows_together(job, p);
                for (int64_t j = 0; j < count[3]; j += PANEL_COLS) {
                    p[3] = begin[3] + j;
                    const int64_t left = count[3] - j;
                    measure_runs(job, p, rows, left < PANEL_COLS ? left : PANEL_COLS);
                }
                p[2] += rows;
            }
        }
    }
}

/* The axis along which an output's neighbours lie, if x's lie along another; else the one before
 * the last. Panels run along it and the last axis. */
static int panel_row_axis(const dg_cast_side_t *side) {
    for (int i = DG_CAST_FAST - 1; i >= 0; --i) {
        if (side->pair_axis == i) return i;
    }
    for (int i = DG_CAST_FAST - 1; i >= 0; --i) {
        if (side->data.stride[i] == 1) return i;
    }
    return DG_CAST_FAST - 1;
}

/* Encodes rows [position, + rows) along row_axis by [position, + cols) along the last axis. */
static void encode_panel(const dg_cast_job_t *job, dg_cast_panel_t panel) {
    const dg_cast_view_t *data = &job->side->data;
    const bool in_place = data->dtype == DG_DTYPE_E4M3 && data->stride[DG_CAST_FAST] == 1;
    int64_t position[DG_CAST_AXES];
    memcpy(position, panel.position, sizeof position);
    for (int64_t i = 0; i < panel.rows; ++i) {
        uint8_t *codes = in_place ? (uint8_t *)data->data + dg_cast_offset(data, position)
                                  : &job->scratch->codes[i * PANEL_PITCH];
        encode_run(job, position, panel.cols, codes);
        ++position[panel.row_axis];
    }
    if (!in_place) dg_cast_store_panel(job->kernels, job->side, &panel);
}

static void encode_tile(const dg_cast_job_t *job) {
    const int row_axis = panel_row_axis(job->side);
    const int outer = row_axis == 0 ? 1 : 0;
    const int middle = row_axis == 2 ? 1 : 2;
    dg_cast_panel_t panel = {
        .codes = job->scratch->codes, .pitch = PANEL_PITCH, .row_axis = row_axis};
    const int64_t *begin = job->tile->begin, *count = job->tile->count;
    int64_t *p = panel.position;
    for (p[outer] = begin[outer]; p[outer] < begin[outer] + count[outer]; ++p[outer]) {
        for (p[middle] = begin[middle]; p[middle] < begin[middle] + count[middle]; ++p[middle]) {
            for (int64_t i = 0; i < count[row_axis]; i += PANEL_ROWS) {
                const int64_t rows = count[row_axis] - i;
                p[row_axis] = begin[row_axis] + i;
                panel.rows = rows < PANEL_ROWS ? rows : PANEL_ROWS;
                for (int64_t j = 0; j < count[3]; j += PANEL_COLS) {
                    const int64_t cols = count[3] - j;
                    p[3] = begin[3] + j;
                    panel.cols = cols < PANEL_COLS ? cols : PANEL_COLS;
                    encode_panel(job, panel);
                }
            }
        }
    }
}

static dg_status_t quantize_tile(
    const dg_cast_plan_t *plan, const dg_cast_tile_t *tile, void *context, int worker) {
    const dg_quantize_work_t *work = context;
    const size_t bytes = sizeof(dg_cast_scratch_t) + 3 * plan->block_count * sizeof(uint32_t);
    dg_cast_scratch_t *scratch = dg_cpu_scratch(work->pool, worker, bytes);
    DG_REQUIRE(scratch != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for %zu bytes of scratch; free some", bytes);
    for (int s = 0; s < plan->sides; ++s) {
        const dg_cast_side_t *side = &plan->side[s];
        const dg_cpu_source_kernels_t *source =
            plan->x.dtype == DG_DTYPE_F32 ? &work->kernels->f32 : &work->kernels->bf16;
        dg_cast_job_t job = {plan, side, tile, work->kernels, source, scratch,
            dg_cast_tile_blocks(plan, side, tile)};
        job.blocks.amax = scratch->blocks;
        job.blocks.factor = (float *)(scratch->blocks + plan->block_count);
        job.blocks.inverse = job.blocks.factor + plan->block_count;
        measure_tile(&job);
        dg_cast_finish_factors(side, &job.blocks);
        encode_tile(&job);
    }
    return DG_STATUS_OK;
}

static dg_status_t quantize_task(void *context, int64_t index, int worker) {
    const dg_quantize_work_t *work = context;
    return dg_cast_each_tile(work->plan, index, quantize_tile, context, worker);
}

static dg_status_t run_plan(dg_cpu_pool_t *pool, const dg_cast_plan_t *plan) {
    dg_quantize_work_t work = {plan, dg_cpu_cast_kernels(pool), pool};
    const int threads = dg_cpu_pool_threads(pool);
    return dg_cpu_run_tasks(pool, quantize_task, &work, plan->tasks, threads);
}

/* Whole rows for one output and whole columns for the other have no small tile in common: such
 * outputs take a pass each. */
dg_status_t dg_cpu_quantize(dg_cpu_pool_t *pool, const dg_quantize_args_t *args,
    const dg_group_range_t *ranges, int64_t group_count) {
    const dg_quantized_t *const out[2] = {&args->out[0], &args->out[1]};
    const bool grouped = args->groups.form != DG_GROUPS_NONE;
    const int outputs = dg_tensor_given(&args->out[1].data) ? 2 : 1;
    int together = outputs;
    dg_status_t status = DG_STATUS_OK;
    for (int done = 0; done < outputs && status == DG_STATUS_OK;) {
        dg_cast_plan_t plan;
        DG_TRY(
            dg_cast_make_plan(&plan, &args->x, &out[done], together, grouped, ranges, group_count));
        if (together == 2 && dg_cast_tile_elements(&plan) > FUSED_ELEMENTS) {
            together = 1;
        } else {
            status = run_plan(pool, &plan);
            done += together;
        }
        dg_cast_release_plan(&plan);
    }
    return status;
}
