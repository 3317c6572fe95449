/* SPDX-License-Identifier: MIT
 *
 * Reference of dg_quantize; see reference_cast.h.
 */
#include "reference_cast.h"

#include <math.h>

#include "guard.h"
#include "reference.h"

typedef struct range_t {
    int64_t begin[DG_MAX_RANK], end[DG_MAX_RANK];
} range_t;

float ref_power_of_two(float factor) {
    int exponent;
    const float fraction = frexpf(factor, &exponent); /* factor = fraction * 2^exponent */
    return ldexpf(1.0F, fraction == 0.5F ? exponent - 1 : exponent);
}

static int64_t index_of(const int64_t *shape, const int64_t *at) {
    return ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
}

/* Calls nothing back: steps `at` through the range, last axis fastest. False at the end. */
static bool step(const range_t *range, int64_t *at) {
    for (int axis = DG_MAX_RANK - 1; axis >= 0; axis--) {
        if (++at[axis] < range->end[axis]) return true;
        at[axis] = range->begin[axis];
    }
    return false;
}

static void cast_block(ref_cast_t *cast, const float *x, const range_t *range, float *factor) {
    float amax = 1e-4F;
    int64_t at[DG_MAX_RANK];
    for (int axis = 0; axis < DG_MAX_RANK; axis++) at[axis] = range->begin[axis];
    do {
        const float magnitude = fabsf(x[index_of(cast->shape, at)]);
        if (isnan(magnitude) || magnitude > amax) amax = magnitude;
        if (isnan(amax)) break;
    } while (step(range, at));
    *factor = amax / (cast->fp4 ? 6.0F : 448.0F);
    if (cast->power_of_two) *factor = ref_power_of_two(*factor);
    const float reciprocal = 1.0F / *factor;
    for (int axis = 0; axis < DG_MAX_RANK; axis++) at[axis] = range->begin[axis];
    do {
        const int64_t i = index_of(cast->shape, at);
        const float scaled = x[i] * reciprocal;
        if (cast->fp4) {
            cast->code[i] = ref_round_e2m1(scaled);
            cast->value[i] = (float)ref_e2m1(cast->code[i]) * *factor;
        } else {
            cast->code[i] = ref_round_e4m3(scaled);
            cast->value[i] = (float)ref_e4m3(cast->code[i]) * *factor;
        }
    } while (step(range, at));
}

static int64_t blocks_of(int64_t extent, int64_t gran) {
    if (extent == 0) return 0;
    return gran == 0 ? 1 : (extent + gran - 1) / gran;
}

void ref_cast(ref_cast_t *cast, const float *x) {
    int64_t total = 1;
    int64_t factors = 1;
    const int64_t zero = 0;
    const int first = cast->first_axis;
    const bool grouped = cast->begin != NULL;
    const int64_t *begin = grouped ? cast->begin : &zero;
    const int64_t *size = grouped ? cast->size : &cast->shape[first];
    const int64_t groups = grouped ? cast->groups : 1;
    for (int axis = 0; axis < DG_MAX_RANK; axis++) {
        total *= cast->shape[axis];
        cast->blocks[axis] = blocks_of(cast->shape[axis], cast->gran[axis]);
        if (axis == first) {
            cast->blocks[axis] = 0;
            for (int64_t g = 0; g < groups; g++) {
                cast->blocks[axis] += blocks_of(size[g], cast->gran[axis]);
            }
        }
        factors *= cast->blocks[axis];
    }
    cast->factor = guard_scratch((size_t)factors * sizeof(float));
    cast->code = guard_scratch((size_t)total);
    cast->value = guard_scratch((size_t)total * sizeof(float));
    if (factors == 0) return;
    int64_t first_block = 0;
    for (int64_t g = 0; g < groups; g++) {
        range_t blocks = {{0, 0, 0, 0}, {0, 0, 0, 0}};
        for (int axis = 0; axis < DG_MAX_RANK; axis++) blocks.end[axis] = cast->blocks[axis];
        blocks.end[first] = blocks_of(size[g], cast->gran[first]);
        if (blocks.end[first] == 0) continue;
        int64_t block[DG_MAX_RANK] = {0, 0, 0, 0};
        do {
            range_t range;
            for (int axis = 0; axis < DG_MAX_RANK; axis++) {
                const int64_t origin = axis == first ? begin[g] : 0;
                const int64_t extent = axis == first ? size[g] : cast->shape[axis];
                const int64_t gran = cast->gran[axis] > 0 ? cast->gran[axis] : extent;
                const int64_t end = (block[axis] + 1) * gran;
                range.begin[axis] = origin + block[axis] * gran;
                range.end[axis] = origin + (end < extent ? end : extent);
            }
            int64_t place[DG_MAX_RANK];
            for (int axis = 0; axis < DG_MAX_RANK; axis++) place[axis] = block[axis];
            place[first] += first_block;
            cast_block(cast, x, &range, cast->factor + index_of(cast->blocks, place));
        } while (step(&blocks, block));
        first_block += blocks.end[first];
    }
}
