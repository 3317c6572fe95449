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
#include "cpu/tiling.h"
#include "model/dtype.h"
#include "model/tensor.h"

/* Rows follow each other along this axis. */
enum { ROW_AXIS = DG_CAST_FAST - 1 };

/* Codes wait in panels of so many columns; the pitch keeps rows off one another's cache
 * sets when a panel is read column by column. */
enum { PANEL_COLS = 512, PANEL_PITCH = PANEL_COLS + 16 };

/* Two outputs whose common tile is larger than this take a pass over x each. */
enum { FUSED_ELEMENTS = 128 * 1024 };

/* Rows of x a multiple of this many bytes apart share few sets of a cache: a tile of many such rows
 * would not stay there from the first pass over it to the last. For two outputs, which take four
 * passes, tiles up to a size are copied: 12 % less time; for one it does not pay. */
enum { CONFLICTING_BYTES = 2048, COPIED_ELEMENTS = 128 * 1024 };

/* A worker's scratch memory. */
typedef struct dg_cast_scratch_t {
    void *values;   /* [PANEL_COLS] of x's type */
    uint8_t *codes; /* [DG_CAST_PANEL_ROWS, PANEL_PITCH] */
    void *tile;     /* a copy of the tile, or NULL */
} dg_cast_scratch_t;

typedef struct dg_quantize_work_t {
    const dg_cast_plan_t *plan;
    const dg_cpu_cast_kernels_t *kernels;
    dg_cpu_pool_t *pool;
} dg_quantize_work_t;

/* A side of a tile in progress. Positions count from the beginning of the tile. */
typedef struct dg_cast_job_t {
    const dg_cast_plan_t *plan;
    const dg_cast_side_t *side;
    const dg_cast_tile_t *tile;
    const dg_cpu_cast_kernels_t *kernels;
    const dg_cpu_source_kernels_t *source; /* of x's type */
    const dg_cast_scratch_t *scratch;
    dg_cast_view_t x; /* the values of the tile */
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
    for (int i = 0; i < DG_CAST_FAST; ++i) {
        const int64_t gran = job->side->gran[i];
        const int64_t block = position[i] < gran ? 0 /* spares most divisions */
                              : gran == 1        ? position[i]
                                                 : position[i] / gran;
        index = (index + block) * job->blocks.count[i + 1];
    }
    return index;
}

/* The run of x from `position` on, and the index of the first block of its line. */
static dg_cast_run_t take_run(
    const dg_cast_job_t *job, const int64_t *position, int64_t count, int64_t *line) {
    *line = block_line(job, position);
    return (dg_cast_run_t){
        .values = load_run(&job->x, position, count, job->scratch->values),
        .count = count,
        .first = position[DG_CAST_FAST],
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
        const int64_t stride = job->x.stride[ROW_AXIS];
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

/* Rows from position[ROW_AXIS] on that max_columns can take at once. */
static int64_t rows_together(const dg_cast_job_t *job, const int64_t *position) {
    if (job->side->gran[DG_CAST_FAST] != 1 || job->x.stride[DG_CAST_FAST] != 1) return 1;
    const int64_t gran = job->side->gran[ROW_AXIS], row = position[ROW_AXIS];
    const int64_t block = gran - row % gran, left = job->tile->count[ROW_AXIS] - row;
    return block < left ? block : left;
}

static void measure_tile(const dg_cast_job_t *job) {
    const int64_t *count = job->tile->count;
    const float least = 1e-4f;
    for (int64_t b = 0; b < job->blocks.total; ++b) job->blocks.amax[b] = dg_float_bits(least);
    int64_t p[DG_CAST_AXES], rows;
    for (p[0] = 0; p[0] < count[0]; ++p[0]) {
        for (p[1] = 0; p[1] < count[1]; ++p[1]) {
            for (p[2] = 0; p[2] < count[2]; p[2] += rows) {
                rows = rows_together(job, p);
                for (p[3] = 0; p[3] < count[3]; p[3] += PANEL_COLS) {
                    const int64_t left = count[3] - p[3];
                    measure_runs(job, p, rows, left < PANEL_COLS ? left : PANEL_COLS);
                }
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
static void encode_panel(const dg_cast_job_t *job, const int64_t *position, dg_cast_panel_t panel) {
    const dg_cast_view_t *data = &job->side->data;
    const bool in_place = data->dtype == DG_DTYPE_E4M3 && data->stride[DG_CAST_FAST] == 1;
    int64_t p[DG_CAST_AXES];
    for (int i = 0; i < DG_CAST_AXES; ++i) {
        p[i] = position[i];
        panel.position[i] = job->tile->begin[i] + position[i];
    }
    uint8_t *codes = job->scratch->codes;
    int64_t pitch = PANEL_PITCH;
    if (in_place) {
        codes = (uint8_t *)data->data + dg_cast_offset(data, panel.position);
        pitch = data->stride[panel.row_axis];
    }
    for (int64_t i = 0; i < panel.rows; ++i) {
        encode_run(job, p, panel.cols, codes + i * pitch);
        ++p[panel.row_axis];
    }
    if (!in_place) dg_cast_store_panel(job->kernels, job->side, &panel);
}

static void encode_tile(const dg_cast_job_t *job) {
    const int row_axis = panel_row_axis(job->side);
    const int outer = row_axis == 0 ? 1 : 0;
    const int middle = row_axis == 2 ? 1 : 2;
    dg_cast_panel_t panel = {
        .codes = job->scratch->codes, .pitch = PANEL_PITCH, .row_axis = row_axis};
    const int64_t *count = job->tile->count;
    int64_t p[DG_CAST_AXES];
    for (p[outer] = 0; p[outer] < count[outer]; ++p[outer]) {
        for (p[middle] = 0; p[middle] < count[middle]; ++p[middle]) {
            for (p[row_axis] = 0; p[row_axis] < count[row_axis];
                 p[row_axis] += DG_CAST_PANEL_ROWS) {
                const int64_t rows = count[row_axis] - p[row_axis];
                panel.rows = rows < DG_CAST_PANEL_ROWS ? rows : DG_CAST_PANEL_ROWS;
                for (p[3] = 0; p[3] < count[3]; p[3] += PANEL_COLS) {
                    const int64_t cols = count[3] - p[3];
                    panel.cols = cols < PANEL_COLS ? cols : PANEL_COLS;
                    encode_panel(job, p, panel);
                }
            }
        }
    }
}

/* x from the tile's beginning on. */
static dg_cast_view_t view_tile(const dg_cast_plan_t *plan, const dg_cast_tile_t *tile) {
    dg_cast_view_t x = plan->x;
    const int64_t offset = dg_cast_offset(&x, tile->begin);
    x.data = (char *)x.data + offset * dg_dtype_size(x.dtype);
    return x;
}

static bool is_copied(const dg_cast_plan_t *plan) {
    const int64_t row_bytes = plan->x.stride[ROW_AXIS] * dg_dtype_size(plan->x.dtype);
    return plan->sides > 1 && plan->x.stride[DG_CAST_FAST] == 1 && row_bytes != 0 &&
           row_bytes % CONFLICTING_BYTES == 0 && dg_cast_tile_elements(plan) <= COPIED_ELEMENTS;
}

/* Copies the tile to scratch memory, rows without gaps, and makes that x. */
static void copy_tile(dg_cast_job_t *job) {
    const int64_t *count = job->tile->count;
    const size_t bytes = (size_t)(count[DG_CAST_FAST] * dg_dtype_size(job->x.dtype));
    char *to = job->scratch->tile;
    int64_t p[DG_CAST_AXES] = {0};
    for (p[0] = 0; p[0] < count[0]; ++p[0]) {
        for (p[1] = 0; p[1] < count[1]; ++p[1]) {
            for (p[2] = 0; p[2] < count[2]; ++p[2]) {
                memcpy(to, load_run(&job->x, p, count[DG_CAST_FAST], NULL), bytes);
                to += bytes;
            }
        }
    }
    job->x.data = job->scratch->tile;
    for (int i = DG_CAST_FAST - 1; i >= 0; --i) {
        job->x.stride[i] = job->x.stride[i + 1] * count[i + 1];
    }
}

/* Bytes of a tile's copy, 0 if tiles are read where they lie. */
static size_t copied_bytes(const dg_cast_plan_t *plan) {
    if (!is_copied(plan)) return 0;
    return (size_t)dg_cast_tile_elements(plan) * (size_t)dg_dtype_size(plan->x.dtype);
}

static size_t scratch_bytes(const dg_cast_plan_t *plan) {
    return dg_cpu_carved_bytes(PANEL_COLS * (size_t)dg_dtype_size(plan->x.dtype)) +
           dg_cpu_carved_bytes(DG_CAST_PANEL_ROWS * PANEL_PITCH) +
           3 * dg_cpu_carved_bytes(plan->block_count * sizeof(float)) +
           dg_cpu_carved_bytes(copied_bytes(plan));
}

static dg_status_t quantize_tile(
    const dg_cast_plan_t *plan, const dg_cast_tile_t *tile, void *context, int worker) {
    const dg_quantize_work_t *work = context;
    const size_t size = (size_t)dg_dtype_size(plan->x.dtype);
    const size_t block_bytes = plan->block_count * sizeof(float);
    const size_t tile_bytes = copied_bytes(plan);
    dg_cpu_carver_t carver = {dg_cpu_scratch(work->pool, worker)};
    const dg_cast_scratch_t scratch = {
        .values = dg_cpu_carve(&carver, PANEL_COLS * size),
        .codes = dg_cpu_carve(&carver, DG_CAST_PANEL_ROWS * PANEL_PITCH),
        .tile = dg_cpu_carve(&carver, tile_bytes),
    };
    float *blocks[3];
    for (int i = 0; i < 3; ++i) blocks[i] = dg_cpu_carve(&carver, block_bytes);
    dg_cast_job_t job = {.plan = plan,
        .tile = tile,
        .kernels = work->kernels,
        .source = plan->x.dtype == DG_DTYPE_F32 ? &work->kernels->f32 : &work->kernels->bf16,
        .scratch = &scratch,
        .x = view_tile(plan, tile)};
    if (tile_bytes > 0) copy_tile(&job);
    for (int s = 0; s < plan->sides; ++s) {
        job.side = &plan->side[s];
        job.blocks = dg_cast_tile_blocks(plan, job.side, tile);
        job.blocks.amax = (uint32_t *)(void *)blocks[0];
        job.blocks.factor = blocks[1];
        job.blocks.inverse = blocks[2];
        measure_tile(&job);
        dg_cast_finish_factors(job.side, &job.blocks);
        encode_tile(&job);
    }
    return DG_STATUS_OK;
}

static dg_status_t quantize_task(void *context, int64_t index, int worker) {
    const dg_quantize_work_t *work = context;
    return dg_cast_each_tile(work->plan, index, quantize_tile, context, worker);
}

/* Threads worth waking: each takes 10 to 20 us to wake. */
static int choose_threads(const dg_cpu_pool_t *pool, const dg_cast_plan_t *plan) {
    const double values_per_thread = 32 * 1024;
    double values = plan->sides;
    for (int i = 0; i < DG_CAST_AXES; ++i) values *= (double)plan->extent[i];
    const int threads = dg_cpu_pool_threads(pool);
    return values > values_per_thread * threads ? threads : 1 + (int)(values / values_per_thread);
}

static dg_status_t run_plan(dg_cpu_pool_t *pool, const dg_cast_plan_t *plan, size_t scratch) {
    dg_quantize_work_t work = {plan, dg_cpu_cast_kernels(pool), pool};
    return dg_cpu_run_tasks(
        pool, quantize_task, &work, plan->tasks, choose_threads(pool, plan), scratch);
}

/* One pass over x makes both outputs, unless they have no small tile in common, like whole rows for
 * one and whole columns for the other: those take a pass each. All memory is had before the first
 * pass, so that a call which fails has written nothing. */
dg_status_t dg_cpu_quantize(dg_cpu_pool_t *pool, const dg_quantize_args_t *args,
    const dg_group_range_t *ranges, int64_t group_count) {
    const dg_quantized_t *const out[2] = {&args->out[0], &args->out[1]};
    const bool grouped = args->groups.form != DG_GROUPS_NONE;
    const int outputs = dg_tensor_given(&args->out[1].data) ? 2 : 1;
    dg_cast_plan_t plans[2];
    DG_TRY(dg_cast_make_plan(&plans[0], &args->x, out, outputs, grouped, ranges, group_count));
    int passes = 1;
    dg_status_t status = DG_STATUS_OK;
    if (outputs == 2 && dg_cast_tile_elements(&plans[0]) > FUSED_ELEMENTS) {
        dg_cast_release_plan(&plans[0]);
        for (passes = 0; passes < 2 && status == DG_STATUS_OK; ++passes) {
            status = dg_cast_make_plan(
                &plans[passes], &args->x, &out[passes], 1, grouped, ranges, group_count);
        }
        if (status != DG_STATUS_OK) --passes; /* the last one was not made */
    }
    size_t scratch = 0;
    for (int i = 0; i < passes; ++i) {
        const size_t bytes = scratch_bytes(&plans[i]);
        if (bytes > scratch) scratch = bytes;
    }
    for (int i = 0; i < passes && status == DG_STATUS_OK; ++i) {
        status = run_plan(pool, &plans[i], scratch);
    }
    for (int i = 0; i < passes; ++i) dg_cast_release_plan(&plans[i]);
    return status;
}
