/* SPDX-License-Identifier: MIT
 *
 * From the arguments of a product to its problem, every check of the family's header included but
 * struct_size. Each stands in its family's file, gemm.c, m_grouped.c and k_grouped.c, which call it
 * before they compute; plan.c calls all three.
 */
#ifndef DG_API_PRODUCTS_H
#define DG_API_PRODUCTS_H

#include "deep_gemm/grouped.h"
#include "model/problem.h"

dg_status_t dg_check_gemm(const dg_gemm_args_t *args, dg_gemm_problem_t *problem);
dg_status_t dg_check_m_grouped_gemm(const dg_m_grouped_gemm_args_t *args,
    const dg_context_options_t *options, dg_m_grouped_problem_t *problem);
dg_status_t dg_check_k_grouped_gemm(const dg_k_grouped_gemm_args_t *args,
    const dg_context_options_t *options, dg_k_grouped_problem_t *problem);

#endif
