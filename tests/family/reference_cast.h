/* SPDX-License-Identifier: MIT
 *
 * Reference of dg_quantize, written from cast.h: one value at a time, codes found by searching the
 * table of all values, FP32 only where the header says FP32.
 */
#ifndef DG_TESTS_FAMILY_REFERENCE_CAST_H
#define DG_TESTS_FAMILY_REFERENCE_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/tensor.h"

/* A cast to check. Every tensor has four axes here, leading ones of extent 1 put in front. */
typedef struct ref_cast_t {
    int64_t shape[DG_MAX_RANK];
    int64_t gran[DG_MAX_RANK]; /* 0: the whole axis */
    int first_axis;            /* the axis that groups divide: the first of the real ones */
    bool fp4;
    bool power_of_two;
    const int64_t *begin, *size; /* [groups] along first_axis; NULL: one group, all of it */
    int64_t groups;
    int64_t blocks[DG_MAX_RANK]; /* result: extents of factor */
    float *factor;               /* result: [blocks] */
    uint8_t *code;               /* result: [shape], only rows of groups; E4M3 or E2M1 codes */
    float *value;                /* result: [shape], code value * factor in FP32 */
} ref_cast_t;

/* x: [shape], last axis fastest. Fills the results, in memory of guard_scratch(). */
void ref_cast(ref_cast_t *cast, const float *x);

/* A positive factor rounded up to a power of two. */
float ref_power_of_two(float factor);

#endif
