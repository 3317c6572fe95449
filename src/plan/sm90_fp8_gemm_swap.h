/* SPDX-License-Identifier: MIT
 *
 * The values of a specialisation of sm90_fp8_gemm_swap by name, for its planning file and for the
 * file in src/cuda that launches it.
 */
#ifndef DG_PLAN_SM90_FP8_GEMM_SWAP_H
#define DG_PLAN_SM90_FP8_GEMM_SWAP_H

#include <string.h>

#include "plan/kernel.h"

/* In the order of kernels/args/kernels.h; tests/plan checks that. */
typedef struct dg_sm90_fp8_gemm_swap_fields_t {
    int32_t block_m, block_n, stages, math_groups, splits, per_sm, ring_sums, schedule;
} dg_sm90_fp8_gemm_swap_fields_t;

static inline dg_sm90_fp8_gemm_swap_fields_t dg_sm90_fp8_gemm_swap_fields(
    const dg_specialisation_t *specialisation) {
    dg_sm90_fp8_gemm_swap_fields_t fields;
    memcpy(&fields, specialisation->values, sizeof fields);
    return fields;
}

#endif
