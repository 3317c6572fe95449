/* SPDX-License-Identifier: MIT
 *
 * A dense product whose columns are heads, stored with a gap in the middle of each head: the place
 * for values that something else writes, such as rotary positions.
 *
 *     product   | left | right | left | right | ..         n = heads (left + right) columns
 *     d         | left | mid | right | left | mid | right | ..      n + heads mid columns
 *
 * The mid columns of d are never touched.
 */
#ifndef DEEP_GEMM_SKIP_HEAD_MID_H
#define DEEP_GEMM_SKIP_HEAD_MID_H

#include "deep_gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_gemm_skip_head_mid_args_t {
    size_t struct_size; /* sizeof(dg_gemm_skip_head_mid_args_t) */
    dg_operand_t a;     /* [m, k] E4M3 or BF16, as in gemm.h */
    dg_operand_t b;     /* [n, k] of a's type; n > 0, a multiple of left + right */
    dg_tensor_t d;      /* output [m, n + n / (left + right) mid] BF16 or F32, last stride 1 */
    int32_t left, mid, right; /* columns, each at least 0, left + right at least 1 */
} dg_gemm_skip_head_mid_args_t;

#define DG_GEMM_SKIP_HEAD_MID_ARGS_INIT                                                            \
    { sizeof(dg_gemm_skip_head_mid_args_t), DG_NO_OPERAND, DG_NO_OPERAND, DG_NO_TENSOR, 0, 0, 0 }

/* Computes the columns of d outside of the gaps, with the arithmetic of dg_gemm. Any split: it need
 * not fit blocks of factors or of anything else. m = 0: nothing to do. k = 0: zeros. Errors: as
 * dg_gemm. */
DG_API dg_status_t dg_gemm_skip_head_mid(
    dg_context_t *ctx, const dg_gemm_skip_head_mid_args_t *args, const dg_launch_t *launch);

/* Bytes of workspace that dg_gemm_skip_head_mid wants (0 on the CPU). */
DG_API dg_status_t dg_gemm_skip_head_mid_workspace(
    dg_context_t *ctx, const dg_gemm_skip_head_mid_args_t *args, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
