/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops, compiled for AVX2; see cast_loops.h.
 */
#include <immintrin.h>

#include "cpu/cast_loops.h"

/* Codes of eight magnitudes, plus 121 << 3. Codes of a binade 2^e .. 2^(e+1) are 2^(e-3) apart, as
 * floats are just above 2^(e+20): adding that rounds to nearest, ties to even, and leaves 8 .. 16
 * steps. Below 2^-6 the spacing stays. 480 would be the code of NaN, as all beyond 464 must be. */
static inline __m256i encode_magnitudes(__m256i bits) {
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    const __m256i most = _mm256_castps_si256(_mm256_set1_ps(480.0f));
    const __m256i least = _mm256_castps_si256(_mm256_set1_ps(0x1p-6f));
    const __m256i value = _mm256_min_epi32(magnitude, most);
    const __m256i power = _mm256_and_si256(value, _mm256_set1_epi32(0x7F800000));
    const __m256i binade = _mm256_max_epi32(power, least);
    const __m256i above = _mm256_add_epi32(binade, _mm256_set1_epi32(20 << 23));
    const __m256 rounded = _mm256_add_ps(_mm256_castsi256_ps(value), _mm256_castsi256_ps(above));
    const __m256i steps = _mm256_sub_epi32(_mm256_castps_si256(rounded), above);
    return _mm256_add_epi32(steps, _mm256_srli_epi32(binade, 20));
}

/* Two steps of packing work in halves of a vector and leave words of four bytes out of order. */
static inline __m256i put_in_order(__m256i packed) {
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Signs come along by packing with saturation, which keeps them. */
static inline void encode_strip_e4m3(const float *restrict scaled, uint8_t *restrict codes) {
    const __m256i base = _mm256_set1_epi16(121 << 3), nan = _mm256_set1_epi8(0x7F);
    __m256i magnitudes[2], signs[2];
    for (int i = 0; i < 2; ++i) {
        const __m256i low = _mm256_loadu_si256((const __m256i *)(scaled + 16 * i));
        const __m256i high = _mm256_loadu_si256((const __m256i *)(scaled + 16 * i + 8));
        const __m256i both = _mm256_packs_epi32(encode_magnitudes(low), encode_magnitudes(high));
        magnitudes[i] = _mm256_sub_epi16(both, base);
        signs[i] = _mm256_packs_epi32(low, high);
    }
    const __m256i magnitude = _mm256_packus_epi16(magnitudes[0], magnitudes[1]);
    const __m256i sign =
        _mm256_and_si256(_mm256_packs_epi16(signs[0], signs[1]), _mm256_set1_epi8((char)0x80));
    const __m256i is_nan = _mm256_cmpeq_epi8(magnitude, nan);
    const __m256i code = _mm256_or_si256(magnitude, _mm256_andnot_si256(is_nan, sign));
    _mm256_storeu_si256((__m256i *)codes, put_in_order(code));
}

/* All bounds between codes are multiples of a quarter, and a value on one goes down: what counts is
 * the number of quarters, rounded up, of which 21 are as good as more. NaN becomes 0. */
static inline __m256i count_quarters(__m256 value) {
    const __m256 magnitude =
        _mm256_and_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF)));
    const __m256 quarters = _mm256_mul_ps(magnitude, _mm256_set1_ps(4.0f));
    const __m256 limited = _mm256_min_ps(_mm256_set1_ps(21.0f), quarters); /* NaN stays */
    return _mm256_cvtps_epi32(_mm256_ceil_ps(limited)); /* NaN: INT32_MIN, then 0 by packing */
}

static inline void encode_strip_e2m1(const float *restrict scaled, uint8_t *restrict codes) {
    __m256i quarters[2], signs[2];
    for (int i = 0; i < 2; ++i) {
        const __m256 low = _mm256_loadu_ps(scaled + 16 * i);
        const __m256 high = _mm256_loadu_ps(scaled + 16 * i + 8);
        quarters[i] = _mm256_packs_epi32(count_quarters(low), count_quarters(high));
        signs[i] = _mm256_packs_epi32(_mm256_castps_si256(low), _mm256_castps_si256(high));
    }
    const __m256i count = _mm256_packus_epi16(quarters[0], quarters[1]);
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6)); /* 6 up to 20 */
    const __m256i to_20 = _mm256_shuffle_epi8(table, _mm256_min_epu8(count, _mm256_set1_epi8(15)));
    const __m256i magnitude =
        _mm256_sub_epi8(to_20, _mm256_cmpgt_epi8(count, _mm256_set1_epi8(20)));
    const __m256i zero = _mm256_setzero_si256();
    const __m256i is_negative = _mm256_cmpgt_epi8(zero, _mm256_packs_epi16(signs[0], signs[1]));
    const __m256i has_sign = _mm256_and_si256(is_negative, _mm256_cmpgt_epi8(magnitude, zero));
    const __m256i code =
        _mm256_or_si256(magnitude, _mm256_and_si256(has_sign, _mm256_set1_epi8(8)));
    _mm256_storeu_si256((__m256i *)codes, put_in_order(code));
}

const dg_cpu_cast_kernels_t dg_cpu_cast_avx2 = DG_CAST_KERNELS;
