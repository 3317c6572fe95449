/* SPDX-License-Identifier: MIT
 *
 * The values of a specialisation of sm90_fp8_gemm_block by name, for its planning file and for the
 * file in src/cuda that launches it.
 */
#ifndef DG_PLAN_SM90_FP8_GEMM_BLOCK_H
#define DG_PLAN_SM90_FP8_GEMM_BLOCK_H

#include <string.h>

#include "plan/kernel.h"
#include "plan/work.h"

/* In the order of kernels/args/kernels.h; tests/plan checks that. */
typedef struct dg_sm90_fp8_gemm_block_fields_t {
    int32_t block_m, block_n, stages, math_groups, share, store_n, store_rows, store_buffers;
    int32_t unroll_k, out_f32, add_c, schedule;
} dg_sm90_fp8_gemm_block_fields_t;

static inline dg_sm90_fp8_gemm_block_fields_t dg_sm90_fp8_gemm_block_fields(
    const dg_specialisation_t *specialisation) {
    dg_sm90_fp8_gemm_block_fields_t fields;
    memcpy(&fields, specialisation->values, sizeof fields);
    return fields;
}

/* NULL if the kernel can do the work, else what it asks for. sm90_fp8_gemm_swap takes the same. */
const char *dg_sm90_fp8_gemm_block_obstacle(const dg_work_t *work);

/* Whether d is stored by TMA: its rows begin and end at multiples of 16 bytes. */
static inline bool dg_sm90_fp8_gemm_block_stores_by_tma(const dg_work_t *work) {
    return work->d_alignment >= 16 && work->n % (work->out_dtype == DG_DTYPE_F32 ? 4 : 8) == 0;
}

/* Whether TMA brings the factors of a. */
static inline bool dg_sm90_fp8_gemm_block_scales_by_tma(const dg_work_t *work) {
    return work->a.scale_dtype != DG_DTYPE_NONE && work->a.scale_mn_contiguous == 1 &&
           work->a.scale_alignment >= 16;
}

#endif
