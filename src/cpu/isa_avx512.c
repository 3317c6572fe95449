/* SPDX-License-Identifier: MIT
 *
 * The innermost loops for AVX-512 (F and BW): a micro-tile of 14 x 32, whose 28 sums and 2 values of
 * b fill 30 of the 32 registers; a comes in as the broadcast memory operand of the multiply-add.
 * Compiled with its own flags; isa.c hands the table out where the CPU has them.
 */
#include "cpu/isa.h"

#include <immintrin.h>

#include "cpu/inline.h"

enum { ROWS = 14, COLS = 32, LANES = 16 };

/* `rows` is a constant in every call: the arrays become registers. */
DG_ALWAYS_INLINE void multiply_rows(const int rows, int64_t k_count, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    __m512 sum[ROWS][2];
    DG_UNROLL
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (int64_t k = 0; k < k_count; k++) {
        const __m512 b0 = _mm512_load_ps(b + k * COLS);
        const __m512 b1 = _mm512_load_ps(b + k * COLS + LANES);
        DG_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m512 ai = _mm512_set1_ps(a[k * ROWS + i]);
            sum[i][0] = _mm512_fmadd_ps(ai, b0, sum[i][0]);
            sum[i][1] = _mm512_fmadd_ps(ai, b1, sum[i][1]);
        }
    }
    const __m512 s0 = _mm512_load_ps(scale_b);
    const __m512 s1 = _mm512_load_ps(scale_b + LANES);
    DG_UNROLL
    for (int i = 0; i < rows; i++) {
        const __m512 si = _mm512_set1_ps(scale_a[i]);
        float *to = total + i * COLS;
        _mm512_store_ps(to, _mm512_fmadd_ps(_mm512_mul_ps(si, s0), sum[i][0], _mm512_load_ps(to)));
        to += LANES;
        _mm512_store_ps(to, _mm512_fmadd_ps(_mm512_mul_ps(si, s1), sum[i][1], _mm512_load_ps(to)));
    }
}

static void multiply(int64_t k_count, int used_rows, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    if (used_rows == 1) {
        multiply_rows(1, k_count, a, b, scale_a, scale_b, total);
    } else if (used_rows <= 4) {
        multiply_rows(4, k_count, a, b, scale_a, scale_b, total);
    } else if (used_rows <= 8) {
        multiply_rows(8, k_count, a, b, scale_a, scale_b, total);
    } else {
        multiply_rows(ROWS, k_count, a, b, scale_a, scale_b, total);
    }
}

/* An e4m3 code moved into binary16's fields is the value times 2^-8, subnormals included; the
 * conversion from binary16 is exact in every mode of the thread. The NaN code becomes 16-bit NaN. */
static void decode_e4m3(const uint8_t *codes, int64_t count, float *values) {
    const __m512i magnitude_mask = _mm512_set1_epi16(0x7F);
    const __m512i nan_bits = _mm512_set1_epi16(0x7E00);
    const __m512 rescale = _mm512_set1_ps(0x1p8f);
    for (int64_t i = 0; i < count; i += 32) {
        const __m512i code = _mm512_cvtepu8_epi16(_mm256_load_si256((const __m256i *)(codes + i)));
        const __m512i magnitude = _mm512_and_si512(code, magnitude_mask);
        const __m512i sign = _mm512_slli_epi16(_mm512_xor_si512(code, magnitude), 8);
        const __mmask32 is_nan = _mm512_cmpeq_epi16_mask(magnitude, magnitude_mask);
        const __m512i finite = _mm512_or_si512(_mm512_slli_epi16(magnitude, 7), sign);
        const __m512i half =
            _mm512_mask_mov_epi16(finite, is_nan, _mm512_or_si512(finite, nan_bits));
        const __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(half));
        const __m512 high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(half, 1));
        _mm512_store_ps(values + i, _mm512_mul_ps(low, rescale));
        _mm512_store_ps(values + i + LANES, _mm512_mul_ps(high, rescale));
    }
}

static void decode_bf16(const uint16_t *codes, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i += LANES) {
        const __m512i code = _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i *)(codes + i)));
        _mm512_store_ps(values + i, _mm512_castsi512_ps(_mm512_slli_epi32(code, 16)));
    }
}

const dg_cpu_kernels_t dg_cpu_kernels_avx512 = {
    .name = "avx512",
    .rows = ROWS,
    .cols = COLS,
    .multiply = multiply,
    .decode_e4m3 = decode_e4m3,
    .decode_bf16 = decode_bf16,
};
