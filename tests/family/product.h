/* SPDX-License-Identifier: MIT
 *
 * One product of each family from random operands, called through the public API and judged element
 * by element: values, untouched surroundings, unchanged inputs. The tables of test_gemm.c,
 * test_m_grouped.c, test_k_grouped.c and others are lists of these cases.
 */
#ifndef DG_TESTS_FAMILY_PRODUCT_H
#define DG_TESTS_FAMILY_PRODUCT_H

#include "deep_gemm/deep_gemm.h"
#include "grouping.h"
#include "k_operand.h"
#include "operand.h"
#include "output.h"

typedef struct gemm_case_t {
    operand_spec_t a, b;
    dg_dtype_t d;
    addend_t c;
    int64_t d_pad;
    judge_t judge;
} gemm_case_t;

typedef struct m_grouped_case_t {
    operand_spec_t a, b;
    dg_dtype_t d;
    addend_t c;
    int64_t d_pad;
    judge_t judge;
    dg_group_form_t form;
    dg_dtype_t value_type; /* I32 or I64; 0: I32 */
    int64_t tail;          /* rows past the groups (INDEX: of no group) */
    int32_t alignment;     /* PSUM, BLOCK_INDEX; 0: 32 */
    dg_switch_t zero_padding;
    bool gather;
} m_grouped_case_t;

typedef struct k_grouped_case_t {
    k_spec_t a, b;
    dg_dtype_t d;
    addend_t c;
    int64_t d_pad;
    judge_t judge;
    dg_k_output_t output;
    dg_group_form_t form;  /* 0: SIZES */
    dg_dtype_t value_type; /* I32 or I64; 0: I32 */
    int64_t tail;
    int32_t alignment;  /* PSUM; 0: 32 */
    int64_t host_sizes; /* 1: host_sizes beside values, 2: host_sizes alone */
} k_grouped_case_t;

/* Each makes the arguments from `seed`, calls, judges, and frees all guarded memory. */
void gemm_verify(
    dg_context_t *ctx, const gemm_case_t *test, int64_t m, int64_t n, int64_t k, uint64_t seed);

/* sizes: [groups] */
void m_grouped_verify(dg_context_t *ctx, const m_grouped_case_t *test, const int64_t *sizes,
    int64_t groups, int64_t n, int64_t k, uint64_t seed);
void k_grouped_verify(dg_context_t *ctx, const k_grouped_case_t *test, const int64_t *sizes,
    int64_t groups, int64_t m, int64_t n, uint64_t seed);

/* Specs that many tables use: E4M3, k contiguous, F32 factors 1 x 128 and 128 x 128; BF16. */
operand_spec_t fp8_1x128(void);
operand_spec_t fp8_128x128(void);
operand_spec_t bf16_plain(void);

/* A context with this many threads and this instruction set; 0: the default's. */
dg_context_t *context_make(int32_t threads, dg_cpu_isa_t isa);

#endif
