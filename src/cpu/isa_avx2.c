/* SPDX-License-Identifier: MIT
 *
 * The innermost loops for AVX2 with FMA and F16C: a micro-tile of 6 x 16, whose 12 sums, 2 values of
 * b and 1 of a fill 15 of the 16 registers and keep both FMA units busy. Compiled with its own
 * flags; isa.c hands the table out where the CPU has all three.
 */
#include "cpu/isa.h"

#include <immintrin.h>

#include "cpu/inline.h"

enum { ROWS = 6, COLS = 16, LANES = 8 };

/* `rows` is a constant in every call: the arrays become registers. */
DG_ALWAYS_INLINE void multiply_rows(const int rows, int64_t k_count, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    __m256 sum[ROWS][2];
    /* The totals of a tile do not fit in the L2 cache; k_count rounds are time enough to fetch. */
    DG_UNROLL
    for (int i = 0; i < rows; i++) _mm_prefetch((const char *)(total + i * COLS), _MM_HINT_T0);
    DG_UNROLL
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm256_setzero_ps();
    for (int64_t k = 0; k < k_count; k++) {
        const __m256 b0 = _mm256_load_ps(b + k * COLS);
        const __m256 b1 = _mm256_load_ps(b + k * COLS + LANES);
        DG_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m256 ai = _mm256_broadcast_ss(a + k * ROWS + i);
            sum[i][0] = _mm256_fmadd_ps(ai, b0, sum[i][0]);
            sum[i][1] = _mm256_fmadd_ps(ai, b1, sum[i][1]);
        }
    }
    const __m256 s0 = _mm256_load_ps(scale_b);
    const __m256 s1 = _mm256_load_ps(scale_b + LANES);
    DG_UNROLL
    for (int i = 0; i < rows; i++) {
        const __m256 si = _mm256_broadcast_ss(scale_a + i);
        float *to = total + i * COLS;
        _mm256_store_ps(to, _mm256_fmadd_ps(_mm256_mul_ps(si, s0), sum[i][0], _mm256_load_ps(to)));
        to += LANES;
        _mm256_store_ps(to, _mm256_fmadd_ps(_mm256_mul_ps(si, s1), sum[i][1], _mm256_load_ps(to)));
    }
}

static void multiply(int64_t k_count, int used_rows, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    switch (used_rows) {
    case 1: multiply_rows(1, k_count, a, b, scale_a, scale_b, total); break;
    case 2: multiply_rows(2, k_count, a, b, scale_a, scale_b, total); break;
    case 3: multiply_rows(3, k_count, a, b, scale_a, scale_b, total); break;
    case 4: multiply_rows(4, k_count, a, b, scale_a, scale_b, total); break;
    default: multiply_rows(ROWS, k_count, a, b, scale_a, scale_b, total);
    }
}

/* An e4m3 code moved into binary16's fields is the value times 2^-8, subnormals included; the
 * conversion from binary16 is exact in every mode of the thread. The NaN code becomes 16-bit NaN. */
static void decode_e4m3(const uint8_t *codes, int64_t count, float *values) {
    const __m256i magnitude_mask = _mm256_set1_epi16(0x7F);
    const __m256i nan_bits = _mm256_set1_epi16(0x7E00);
    const __m256 rescale = _mm256_set1_ps(0x1p8f);
    for (int64_t i = 0; i < count; i += 16) {
        const __m256i code = _mm256_cvtepu8_epi16(_mm_load_si128((const __m128i *)(codes + i)));
        const __m256i magnitude = _mm256_and_si256(code, magnitude_mask);
        const __m256i sign = _mm256_slli_epi16(_mm256_xor_si256(code, magnitude), 8);
        const __m256i is_nan = _mm256_cmpeq_epi16(magnitude, magnitude_mask);
        const __m256i half = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi16(magnitude, 7), sign),
            _mm256_and_si256(is_nan, nan_bits));
        const __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
        const __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
        _mm256_store_ps(values + i, _mm256_mul_ps(low, rescale));
        _mm256_store_ps(values + i + LANES, _mm256_mul_ps(high, rescale));
    }
}

static void decode_bf16(const uint16_t *codes, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i += LANES) {
        const __m256i code = _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)(codes + i)));
        _mm256_store_ps(values + i, _mm256_castsi256_ps(_mm256_slli_epi32(code, 16)));
    }
}

const dg_cpu_kernels_t dg_cpu_kernels_avx2 = {
    .name = "avx2",
    .rows = ROWS,
    .cols = COLS,
    .multiply = multiply,
    .decode_e4m3 = decode_e4m3,
    .decode_bf16 = decode_bf16,
};
