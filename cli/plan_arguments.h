/* SPDX-License-Identifier: MIT
 *
 * A shape as arguments of the planning functions: tensors without memory, laid out as a GPU likes
 * them best (factors of single rows M-major and aligned, as deep_gemm/scale_layout.h makes them).
 * Called by plan.c.
 */
#ifndef CLI_PLAN_ARGUMENTS_H
#define CLI_PLAN_ARGUMENTS_H

#include "deep_gemm/deep_gemm.h"
#include "shape.h"

typedef struct cli_plan_arguments_t {
    cli_shape_t shape; /* completed */
    dg_gemm_args_t gemm;
    dg_m_grouped_gemm_args_t m_grouped;
    dg_k_grouped_gemm_args_t k_grouped;
    dg_plan_request_t request; /* points at one of the three */
    double flop;               /* of one call */
} cli_plan_arguments_t;

/* `arguments` must stay where it is. False: the shape is no product; what is wrong is in
 * error[CLI_TEXT]. */
bool cli_make_plan_arguments(
    const cli_shape_t *shape, cli_plan_arguments_t *arguments, char *error);

/* dg_gemm_plan or its kin. */
dg_status_t cli_plan_arguments(dg_context_t *ctx, const cli_plan_arguments_t *arguments,
    const dg_plan_query_t *query, dg_plan_info_t *info);

#endif
