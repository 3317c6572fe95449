/* SPDX-License-Identifier: MIT
 *
 * The values of a specialisation of sm90_fp8_gemm_vector by name, and where its workspace lies, for
 * its planning file and for the file in src/cuda that launches it.
 */
#ifndef DG_PLAN_SM90_FP8_GEMM_VECTOR_H
#define DG_PLAN_SM90_FP8_GEMM_VECTOR_H

#include <string.h>

#include "plan/kernel.h"
#include "plan/work.h"

/* In the order of kernels/args/kernels.h; tests/plan checks that. */
typedef struct dg_sm90_fp8_gemm_vector_fields_t {
    int32_t block_m, block_n, stages, math_groups, share, a_mn, b_mn, schedule, out_f32, unroll_k;
} dg_sm90_fp8_gemm_vector_fields_t;

static inline dg_sm90_fp8_gemm_vector_fields_t dg_sm90_fp8_gemm_vector_fields(
    const dg_specialisation_t *specialisation) {
    dg_sm90_fp8_gemm_vector_fields_t fields;
    memcpy(&fields, specialisation->values, sizeof fields);
    return fields;
}

/* Whether groups of an operand get tensor maps of their own, made on the device: in workspace, behind
 * what group_stages.h places there, those of a and then those of b. */
static inline bool dg_sm90_fp8_gemm_vector_has_flat(const dg_work_t *work) {
    return work->family == DG_FAMILY_K_GROUPED_GEMM && (work->a.flat || work->b.flat);
}

#endif
