/* SPDX-License-Identifier: MIT
 *
 * The reference that results are judged by, written from the headers alone: element types decoded
 * one code at a time, products as plain sums in FP64, and the bound on the error.
 */
#ifndef DG_TESTS_FAMILY_REFERENCE_H
#define DG_TESTS_FAMILY_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/tensor.h"

double ref_e4m3(uint8_t code);
double ref_e2m1(unsigned code); /* 4 bits */
double ref_e8m0(uint8_t code);
double ref_bf16(uint16_t code);

/* x rounded to nearest even in one step; infinity beyond the range. */
uint16_t ref_round_bf16(double x);

/* Nearest E4M3 code, ties to even; 0x7F beyond 464 and for NaN. */
uint8_t ref_round_e4m3(float x);

/* Nearest E2M1 code, ties toward zero, no sign on a zero code. x is finite. */
uint8_t ref_round_e2m1(float x);

/* Value of element `offset` (counted from data, in elements) of a BF16, F32, E4M3, E8M0, I32 or
 * I64 tensor. */
double ref_read(const dg_tensor_t *tensor, int64_t offset);

/* A sum of products and the sum of their absolute values. */
typedef struct ref_sum_t {
    double value;
    double magnitude;
} ref_sum_t;

/* sum over i of a[i] b[i]; a, b: [k] */
ref_sum_t ref_dot(const double *a, const double *b, int64_t k);

/* How a result is compared. */
typedef enum judge_t {
    JUDGE_BOUND = 0, /* |got - want| <= eps |want| + ref_sum_error magnitude; eps 2^-8 BF16, 2^-23
                      * FP32 */
    JUDGE_EXACT = 1  /* the bits of want, rounded once */
} judge_t;

/* What sums may be off by, of the sum of magnitudes: 2^-20, unless the hardware under test adds with
 * fewer bits. */
extern double ref_sum_error;

/* Compares element `offset` of d (BF16 or F32) with `sum`, already including c; i, j: where it
 * stands, for the message. A NaN is asked for where want is NaN, an infinity where it is infinite. */
void ref_judge(
    judge_t how, const dg_tensor_t *d, int64_t offset, ref_sum_t sum, int64_t i, int64_t j);

#endif
