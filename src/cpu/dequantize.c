/* SPDX-License-Identifier: MIT
 *
 * The way back from codes and factors to values. dg_cpu_dequantize() is called by api/cast.c; it
 * shares the tiles of cast_plan.c with the quantisation, with x as the output.
 */
#include <string.h>

#include "base/error.h"
#include "cpu/cast.h"
#include "cpu/cast_kernels.h"
#include "model/dtype.h"

enum { RUN = 512 };

/* A worker's scratch memory: one run of codes, values and factors. */
typedef struct dg_dequantize_scratch_t {
    float values[RUN], factors[RUN];
    uint16_t narrow[RUN];
    uint8_t codes[RUN];
} dg_dequantize_scratch_t;

typedef struct dg_dequantize_work_t {
    const dg_cast_plan_t *plan;
    const dg_cpu_cast_kernels_t *kernels;
    dg_cpu_pool_t *pool;
} dg_dequantize_work_t;

/* `count` codes from `position` on, one byte each: in place or in `buffer`. */
static const uint8_t *load_codes(
    const dg_cast_side_t *side, const int64_t *position, int64_t count, uint8_t *buffer) {
    const uint8_t *data = side->data.data;
    const int64_t step = side->data.stride[DG_CAST_FAST];
    if (side->pair_axis < 0) {
        data += dg_cast_offset(&side->data, position);
        if (step == 1) return data;
        for (int64_t i = 0; i < count; ++i) buffer[i] = data[i * step];
        return buffer;
    }
    int64_t place[DG_CAST_AXES];
    memcpy(place, position, sizeof place);
    const int64_t odd = position[side->pair_axis] & 1;
    place[side->pair_axis] /= 2;
    data += dg_cast_offset(&side->data, place);
    if (side->pair_axis == DG_CAST_FAST) {
        for (int64_t i = 0; i < count; ++i) {
            buffer[i] = (uint8_t)(data[(odd + i) / 2] >> 4 * ((odd + i) & 1) & 15);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) buffer[i] = (uint8_t)(data[i * step] >> 4 * odd & 15);
    }
    return buffer;
}

/* The factor of the block at `at`, an index into the scale tensor. */
static float load_factor(const dg_cast_side_t *side, const int64_t *at) {
    int64_t place[DG_CAST_AXES];
    memcpy(place, at, sizeof place);
    if (side->word_axis >= 0) place[side->word_axis] /= 4;
    const int64_t offset = dg_cast_offset(&side->scale, place);
    if (side->scale.dtype == DG_DTYPE_F32) return ((const float *)side->scale.data)[offset];
    if (side->scale.dtype == DG_DTYPE_E8M0) {
        return dg_decode_e8m0(((const uint8_t *)side->scale.data)[offset]);
    }
    const uint32_t word = ((const uint32_t *)side->scale.data)[offset];
    return dg_decode_e8m0((uint8_t)(word >> 8 * (at[side->word_axis] & 3)));
}

/* Decodes a run into values; `at` is the index of its first block along all axes but the last. */
static void decode_run(const dg_cpu_cast_kernels_t *kernels, const dg_cast_side_t *side,
    const uint8_t *codes, int64_t count, int64_t begin, int64_t *at,
    dg_dequantize_scratch_t *scratch) {
    const bool e4m3 = side->data.dtype == DG_DTYPE_E4M3;
    const float *factors = scratch->factors;
    const int64_t gran = side->gran[DG_CAST_FAST];
    const int64_t first_block = at[DG_CAST_FAST];
    if (gran == 1) {
        for (int64_t i = 0; i < count; ++i) {
            at[DG_CAST_FAST] = first_block + begin + i;
            scratch->factors[i] = load_factor(side, at);
        }
        if (e4m3) {
            kernels->decode_e4m3_columns(codes, count, factors, scratch->values);
        } else {
            kernels->decode_e2m1_columns(codes, count, factors, scratch->values);
        }
    }
    for (int64_t i = 0; i < count && gran != 1;) {
        const int64_t block = (begin + i) / gran;
        const int64_t left = (block + 1) * gran - begin - i;
        const int64_t piece = left < count - i ? left : count - i;
        at[DG_CAST_FAST] = first_block + block;
        const float factor = load_factor(side, at);
        if (e4m3) {
            kernels->decode_e4m3_run(codes + i, piece, factor, scratch->values + i);
        } else {
            kernels->decode_e2m1_run(codes + i, piece, factor, scratch->values + i);
        }
        i += piece;
    }
    at[DG_CAST_FAST] = first_block;
}

static void store_run(const dg_cpu_cast_kernels_t *kernels, const dg_cast_view_t *x,
    const int64_t *position, int64_t count, dg_dequantize_scratch_t *scratch) {
    const int64_t offset = dg_cast_offset(x, position);
    const int64_t step = x->stride[DG_CAST_FAST];
    if (x->dtype == DG_DTYPE_F32) {
        float *data = (float *)x->data + offset;
        for (int64_t i = 0; i < count; ++i) data[i * step] = scratch->values[i];
        return;
    }
    uint16_t *data = (uint16_t *)x->data + offset;
    if (step == 1) {
        kernels->narrow_bf16(scratch->values, count, data);
        return;
    }
    kernels->narrow_bf16(scratch->values, count, scratch->narrow);
    for (int64_t i = 0; i < count; ++i) data[i * step] = scratch->narrow[i];
}

static dg_status_t dequantize_tile(
    const dg_cast_plan_t *plan, const dg_cast_tile_t *tile, void *context, int worker) {
    const dg_dequantize_work_t *work = context;
    dg_dequantize_scratch_t *scratch = dg_cpu_scratch(work->pool, worker);
    const dg_cast_side_t *side = &plan->side[0];
    const dg_cast_blocks_t blocks = dg_cast_tile_blocks(plan, side, tile);
    const int64_t *begin = tile->begin, *count = tile->count;
    int64_t p[DG_CAST_AXES], at[DG_CAST_AXES];
    at[DG_CAST_FAST] = blocks.first[DG_CAST_FAST];
    for (p[0] = begin[0]; p[0] < begin[0] + count[0]; ++p[0]) {
        for (p[1] = begin[1]; p[1] < begin[1] + count[1]; ++p[1]) {
            for (p[2] = begin[2]; p[2] < begin[2] + count[2]; ++p[2]) {
                for (int i = 0; i < DG_CAST_FAST; ++i) {
                    at[i] = blocks.first[i] + (p[i] - begin[i]) / side->gran[i];
                }
                for (int64_t j = 0; j < count[3]; j += RUN) {
                    const int64_t run = count[3] - j < RUN ? count[3] - j : RUN;
                    p[3] = begin[3] + j;
                    const uint8_t *codes = load_codes(side, p, run, scratch->codes);
                    decode_run(work->kernels, side, codes, run, j, at, scratch);
                    store_run(work->kernels, &plan->x, p, run, scratch);
                }
            }
        }
    }
    return DG_STATUS_OK;
}

static dg_status_t dequantize_task(void *context, int64_t index, int worker) {
    const dg_dequantize_work_t *work = context;
    return dg_cast_each_tile(work->plan, index, dequantize_tile, context, worker);
}

dg_status_t dg_cpu_dequantize(dg_cpu_pool_t *pool, const dg_dequantize_args_t *args,
    const dg_group_range_t *ranges, int64_t group_count) {
    const dg_quantized_t *const sides[1] = {&args->q};
    const bool grouped = args->groups.form != DG_GROUPS_NONE;
    dg_cast_plan_t plan;
    DG_TRY(dg_cast_make_plan(&plan, &args->x, sides, 1, grouped, ranges, group_count));
    dg_dequantize_work_t work = {&plan, dg_cpu_cast_kernels(pool), pool};
    const int threads = dg_cpu_pool_threads(pool);
    const dg_status_t status = dg_cpu_run_tasks(
        pool, dequantize_task, &work, plan.tasks, threads, sizeof(dg_dequantize_scratch_t));
    dg_cast_release_plan(&plan);
    return status;
}
