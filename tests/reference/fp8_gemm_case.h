/* SPDX-License-Identifier: MIT
 *
 * One FP8 GEMM problem with its inputs and the answer it must give, in plain C: the independent
 * reference of the kernel's tests, on the emulator and on a GPU. Inputs are either random, or small
 * integers and powers of two for which every sum is exact, so that all implementations agree bit
 * for bit. */
#ifndef DG_TESTS_FP8_GEMM_CASE_H
#define DG_TESTS_FP8_GEMM_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_fp8_gemm_case {
    int32_t m, n, k;
    int32_t k_blocks, scale_b_rows;        /* ceil(k / 128), ceil(n / 128) */
    int32_t k_pitch, scale_a_pitch, pitch; /* of a and b, of scale_a, of d; multiples of 16 bytes,
                                            * but pitch may be made any other afterwards */
    bool exact;
    uint8_t *a;     /* [m, k_pitch] e4m3, k fastest; NaN beyond k */
    uint8_t *b;     /* [n, k_pitch] e4m3, k fastest; NaN beyond k */
    float *scale_a; /* [k_blocks, scale_a_pitch] f32, m fastest; NaN beyond m */
    float *scale_b; /* [scale_b_rows, k_blocks] f32, k fastest */
} dg_fp8_gemm_case_t;

/* Allocates and fills; false if memory is short. Free with dg_free_fp8_gemm_case in either case. */
bool dg_make_fp8_gemm_case(
    dg_fp8_gemm_case_t *c, int32_t m, int32_t n, int32_t k, bool exact, uint64_t seed);
void dg_free_fp8_gemm_case(dg_fp8_gemm_case_t *c);

size_t dg_fp8_gemm_case_a_bytes(const dg_fp8_gemm_case_t *c);
size_t dg_fp8_gemm_case_b_bytes(const dg_fp8_gemm_case_t *c);
size_t dg_fp8_gemm_case_scale_a_bytes(const dg_fp8_gemm_case_t *c);
size_t dg_fp8_gemm_case_scale_b_bytes(const dg_fp8_gemm_case_t *c);
size_t dg_fp8_gemm_case_d_bytes(const dg_fp8_gemm_case_t *c);

/* What d holds before the kernel runs, so that a byte written outside [m, n] shows. */
#define DG_POISON_BF16 0xffff

/* Compares d: [m, pitch] bf16, n fastest, with the reference in every row_step-th row; the columns
 * beyond n must still hold the poison. An element may be off by 2^-8 of itself plus `slack` times
 * the sum of the magnitudes of its terms; exact cases allow nothing. Returns the number of elements
 * that are wrong and describes the worst in text: [text_size]. */
size_t dg_check_fp8_gemm_case(const dg_fp8_gemm_case_t *c, const uint16_t *d, int32_t row_step,
    double slack, char *text, size_t text_size);

float dg_decode_e4m3(uint8_t code);

#ifdef __cplusplus
}
#endif
#endif
