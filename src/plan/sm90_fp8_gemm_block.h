/* SPDX-License-Identifier: MIT
 *
 * The values of a specialisation of sm90_fp8_gemm_block by name, for its planning file and for the
 * file in src/cuda that launches it.
 */
#ifndef DG_PLAN_SM90_FP8_GEMM_BLOCK_H
#define DG_PLAN_SM90_FP8_GEMM_BLOCK_H

#include <string.h>

#include "plan/kernel.h"

/* In the order of kernels/args/kernels.h; tests/plan checks that. */
typedef struct dg_sm90_fp8_gemm_block_fields_t {
    int32_t block_m, block_n, stages, math_groups, share, store_n, store_buffers, unroll_k;
} dg_sm90_fp8_gemm_block_fields_t;

static inline dg_sm90_fp8_gemm_block_fields_t dg_sm90_fp8_gemm_block_fields(
    const dg_specialisation_t *specialisation) {
    dg_sm90_fp8_gemm_block_fields_t fields;
    memcpy(&fields, specialisation->values, sizeof fields);
    return fields;
}

#endif
