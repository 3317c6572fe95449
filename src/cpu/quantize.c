/* SPDX-License-Identifier: MIT
 *
 * Quantises one tile after the other: the largest magnitude of each block, its factor, then the
 * codes, for one or two outputs while the tile is in the cache. dg_cpu_quantize() is called by
 * api/cast.c; cast_plan.c says which tiles there are, cast_kernels.h has the innermost loops.
 */
#include <string.h>

#include "base/error.h"
#include "cpu/cast.h"
#include "cpu/cast_kernels.h"
#include "model/dtype.h"
#include "model/tensor.h"

/* Codes wait in panels of so many rows and columns; the pitch keeps rows off one another's cache
 * sets when a panel is read column by column. */
enum { PANEL_ROWS = 64, PANEL_COLS = 512, PANEL_PITCH = PANEL_COLS + 16 };

/* Two outputs whose common tile is larger than this take a pass over x each. */
enum { FUSED_ELEMENTS = 128 * 1024 };

/* A worker's scratch memory. */
typedef struct dg_cast_scratch_t {
    float values[PANEL_COLS];
    uint8_t codes[PANEL_ROWS * PANEL_PITCH];
    union {
        uint32_t amax; /* bits of the largest magnitude, then */
        float inverse; /* 1 / factor */
    } blocks[];        /* [blocks of a tile] */
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

/* The value `count` places on in a run of x. */
static const void *advance(const dg_cast_view_t *x, const void *values, int64_t count) {
    return (const char *)values + count * (x->dtype == DG_DTYPE_F32 ? 4 : 2);
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

static void measure_run(const dg_cast_job_t *job, const int64_t *position, int64_t count) {
    const int64_t gran = job->side->gran[DG_CAST_FAST];
    const dg_cast_view_t *x = &job->plan->x;
    const void *values = load_run(x, position, count, job->scratch->values);
    const int64_t line = block_line(job, position);
    const int64_t first = position[DG_CAST_FAST] - job->tile->begin[DG_CAST_FAST];
    if (gran == 1) {
        job->source->max_columns(values, count, &job->scratch->blocks[line + first].amax);
        return;
    }
    for (int64_t i = 0; i < count;) {
        const int64_t block = (first + i) / gran;
        const int64_t left = (block + 1) * gran - first - i;
        const int64_t piece = left < count - i ? left : count - i;
        uint32_t *amax = &job->scratch->blocks[line + block].amax;
        *amax = job->source->max_run(advance(x, values, i), piece, *amax);
        i += piece;
    }
}

static void encode_run(
    const dg_cast_job_t *job, const int64_t *position, int64_t count, uint8_t *codes) {
    const int64_t gran = job->side->gran[DG_CAST_FAST];
    const bool e4m3 = job->side->data.dtype == DG_DTYPE_E4M3;
    const dg_cast_view_t *x = &job->plan->x;
    const void *values = load_run(x, position, count, job->scratch->values);
    const int64_t line = block_line(job, position);
    const int64_t first = position[DG_CAST_FAST] - job->tile->begin[DG_CAST_FAST];
    if (gran == 1) {
        const float *inverse = &job->scratch->blocks[line + first].inverse;
        if (e4m3) {
            job->source->encode_e4m3_columns(values, count, inverse, codes);
        } else {
            job->source->encode_e2m1_columns(values, count, inverse, codes);
        }
        return;
    }
    for (int64_t i = 0; i < count;) {
        const int64_t block = (first + i) / gran;
        const int64_t left = (block + 1) * gran - first - i;
        const int64_t piece = left < count - i ? left : count - i;
        const float inverse = job->scratch->blocks[line + block].inverse;
        if (e4m3) {
            job->source->encode_e4m3_run(advance(x, values, i), piece, inverse, codes + i);
        } else {
            job->source->encode_e2m1_run(advance(x, values, i), piece, inverse, codes + i);
        }
        i += piece;
    }
}

static void measure_tile(const dg_cast_job_t *job, int64_t block_count) {
    const dg_cast_tile_t *tile = job->tile;
    const float least = 1e-4f;
    for (int64_t b = 0; b < block_count; ++b) job->scratch->blocks[b].amax = dg_float_bits(least);
    int64_t p[DG_CAST_AXES];
    const int64_t *begin = tile->begin, *count = tile->count;
    for (p[0] = begin[0]; p[0] < begin[0] + count[0]; ++p[0]) {
        for (p[1] = begin[1]; p[1] < begin[1] + count[1]; ++p[1]) {
            for (p[2] = begin[2]; p[2] < begin[2] + count[2]; ++p[2]) {
                for (int64_t j = 0; j < count[3]; j += PANEL_COLS) {
                    p[3] = begin[3] + j;
                    measure_run(job, p, count[3] - j < PANEL_COLS ? count[3] - j : PANEL_COLS);
                }
            }
        }
    }
}

/* The next power of two from a positive value on. Infinity and NaN become 2^127, as in the casts
 * that these must equal bit for bit. */
static float round_up_to_power_of_two(float value) {
    const uint32_t bits = dg_float_bits(value);
    const uint32_t exponent = (bits >> 23 & 0xFFu) + ((bits & 0x7FFFFFu) != 0);
    return dg_bits_float((exponent < 1 ? 1u : exponent > 254 ? 254u : exponent) << 23);
}

/* Turns the magnitude of block b into its inverse factor; gives the factor. */
static float finish_block(const dg_cast_job_t *job, int64_t b) {
    const float amax = dg_bits_float(job->scratch->blocks[b].amax);
    const float quotient = amax / (job->side->data.dtype == DG_DTYPE_E4M3 ? 448.0f : 6.0f);
    const float factor = job->side->power_of_two ? round_up_to_power_of_two(quotient) : quotient;
    job->scratch->blocks[b].inverse = 1.0f / factor;
    return factor;
}

/* Stores the factor of the block at `at`, an index into the scale tensor. */
static void store_factor(const dg_cast_side_t *side, const int64_t *at, float factor) {
    int64_t place[DG_CAST_AXES];
    memcpy(place, at, sizeof place);
    if (side->word_axis >= 0) place[side->word_axis] /= 4;
    const int64_t offset = dg_cast_offset(&side->scale, place);
    if (side->scale.dtype == DG_DTYPE_F32) {
        ((float *)side->scale.data)[offset] = factor;
    } else if (side->scale.dtype == DG_DTYPE_E8M0) {
        ((uint8_t *)side->scale.data)[offset] = dg_encode_e8m0(factor);
    } else { /* a word is begun by its lowest block and filled by the next three */
        const int64_t byte = at[side->word_axis] & 3;
        uint32_t *word = (uint32_t *)side->scale.data + offset;
        const uint32_t rest = byte == 0 ? 0u : *word;
        *word = rest | (uint32_t)dg_encode_e8m0(factor) << 8 * byte;
    }
}

static void finish_factors(const dg_cast_job_t *job) {
    const int64_t *first = job->blocks.first, *count = job->blocks.count;
    int64_t b = 0, at[DG_CAST_AXES];
    for (at[0] = first[0]; at[0] < first[0] + count[0]; ++at[0]) {
        for (at[1] = first[1]; at[1] < first[1] + count[1]; ++at[1]) {
            for (at[2] = first[2]; at[2] < first[2] + count[2]; ++at[2]) {
                for (at[3] = first[3]; at[3] < first[3] + count[3]; ++at[3]) {
                    store_factor(job->side, at, finish_block(job, b++));
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
    const size_t bytes = sizeof(dg_cast_scratch_t) + plan->block_count * sizeof(uint32_t);
    dg_cast_scratch_t *scratch = dg_cpu_scratch(work->pool, worker, bytes);
    DG_REQUIRE(scratch != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for %zu bytes of scratch; free some", bytes);
    for (int s = 0; s < plan->sides; ++s) {
        const dg_cast_side_t *side = &plan->side[s];
        const dg_cpu_source_kernels_t *source =
            plan->x.dtype == DG_DTYPE_F32 ? &work->kernels->f32 : &work->kernels->bf16;
        const dg_cast_job_t job = {plan, side, tile, work->kernels, source, scratch,
            dg_cast_tile_blocks(plan, side, tile)};
        int64_t block_count = 1;
        for (int i = 0; i < DG_CAST_AXES; ++i) block_count *= job.blocks.count[i];
        measure_tile(&job, block_count);
        finish_factors(&job);
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
