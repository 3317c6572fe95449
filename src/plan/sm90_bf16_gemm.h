/* SPDX-License-Identifier: MIT
 *
 * The values of a specialisation of sm90_bf16_gemm by name, for its planning file and for the file
 * in src/cuda that launches it.
 */
#ifndef DG_PLAN_SM90_BF16_GEMM_H
#define DG_PLAN_SM90_BF16_GEMM_H

#include <string.h>

#include "plan/kernel.h"
#include "plan/work.h"

/* In the order of kernels/args/kernels.h; tests/plan checks that. */
typedef struct dg_sm90_bf16_gemm_fields_t {
    int32_t block_m, block_n, stages, math_groups, share, turns, a_mn, b_mn, schedule;
} dg_sm90_bf16_gemm_fields_t;

static inline dg_sm90_bf16_gemm_fields_t dg_sm90_bf16_gemm_fields(
    const dg_specialisation_t *specialisation) {
    dg_sm90_bf16_gemm_fields_t fields;
    memcpy(&fields, specialisation->values, sizeof fields);
    return fields;
}

/* NULL if the kernel can do the work, else what it asks for. sm90_bf16_gemm_swap asks for more. */
const char *dg_sm90_bf16_gemm_obstacle(const dg_work_t *work);

#endif
