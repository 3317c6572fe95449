/* SPDX-License-Identifier: MIT
 *
 * Random products for the tests of the CPU engine, each with everything around it poisoned, and two
 * references that share no code with the engine: the sum in long double, and the documented order
 * of FP32 operations spelt out with fmaf. test_engine.c and test_isa.c build their cases here.
 */
#ifndef DG_TESTS_ENGINE_CASE_H
#define DG_TESTS_ENGINE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/engine.h"

typedef enum case_layout_t { K_MAJOR, MN_MAJOR, STRIDED, LAYOUT_COUNT } case_layout_t;

/* How one operand is drawn. */
typedef struct case_side_spec_t {
    dg_dtype_t dtype;
    case_layout_t layout;
    bool gather_rows, gather_ks; /* in random order, some absent, some twice */
    dg_dtype_t scale_dtype;      /* NONE: no scales */
    int32_t gran_mn, gran_k;
    bool scale_rows_fast; /* factors of neighbouring rows adjoin; else those of neighbouring k */
} case_side_spec_t;

typedef struct case_spec_t {
    int64_t m, n, k; /* k: sum of the segments */
    case_side_spec_t a, b;
    int segment_count;
    bool integers; /* small integers and power-of-two scales: every sum is exact */
    bool with_c, c_is_d, scatter;
    dg_dtype_t d_dtype;
} case_spec_t;

typedef struct case_side_t {
    dg_cpu_operand_t operand;
    void *data, *scale; /* storage, owned */
    int32_t *rows, *ks;
    float *values;  /* [rows, k_end] decoded by the test, 0 where absent */
    float *factors; /* [rows, k_end] factor in force */
} case_side_t;

typedef struct case_t {
    case_spec_t spec;
    case_side_t a, b;
    dg_cpu_segment_t *segments;
    int64_t k_end;
    void *c, *d, *before; /* d as it was poisoned; c may be d */
    size_t d_bytes;
    int64_t d_rows_total;
    int32_t *d_rows;
    dg_cpu_product_t product;
} case_t;

/* A random specification: sizes among 0, 1, odd, 127, 128, 129, 257, small ones more often; `large`
 * bounds the product m n k. Everything follows from the seed. */
case_spec_t draw_case(uint64_t seed, double large);

/* Allocates and fills a case; the same specification and seed give the same case. */
void make_case(case_t *made, const case_spec_t *spec, uint64_t seed);
void free_case(case_t *made);

/* Poisons d again (or, where d is c, fills it with c). */
void reset_output(case_t *made);

/* Asserts that d holds the result: the documented operations bit for bit, the long-double sum within
 * the project's bounds, and not a byte changed outside. */
void check_case(const case_t *made);

/* Asserts that two runs of the same case left the same bytes, where any NaN equals any other. */
void check_same(const case_t *made, const void *expected);

#endif
