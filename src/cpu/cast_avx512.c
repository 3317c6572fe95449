/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops, compiled for AVX-512; see cast_loops.h.
 */
#include <immintrin.h>

#include "cpu/cast_loops.h"

/* Codes of a binade 2^e .. 2^(e+1) are 2^(e-3) apart, as floats are just above 2^(e+20): adding that
 * rounds to nearest, ties to even, and leaves 8 .. 16 steps. Below 2^-6 the spacing stays. 480 would
 * be the code of NaN, as all beyond 464 must be. */
static inline __m128i encode_vector(__m512i bits) {
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
    const __m512i most = _mm512_castps_si512(_mm512_set1_ps(480.0f));
    const __m512i least = _mm512_castps_si512(_mm512_set1_ps(0x1p-6f));
    const __m512i value = _mm512_min_epi32(magnitude, most);
    const __m512i power = _mm512_and_si512(value, _mm512_set1_epi32(0x7F800000));
    const __m512i binade = _mm512_max_epi32(power, least);
    const __m512i above = _mm512_add_epi32(binade, _mm512_set1_epi32(20 << 23));
    const __m512 rounded = _mm512_add_ps(_mm512_castsi512_ps(value), _mm512_castsi512_ps(above));
    const __m512i steps = _mm512_sub_epi32(_mm512_castps_si512(rounded), above);
    const __m512i code = _mm512_sub_epi32(
        _mm512_add_epi32(steps, _mm512_srli_epi32(binade, 20)), _mm512_set1_epi32(121 << 3));
    const __mmask16 is_number = _mm512_cmplt_epi32_mask(code, _mm512_set1_epi32(0x7F));
    const __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(bits, 31), 7);
    return _mm512_cvtepi32_epi8(_mm512_mask_or_epi32(code, is_number, code, sign));
}

static inline void encode_strip_e4m3(const float *restrict scaled, uint8_t *restrict codes) {
    for (int i = 0; i < STRIP; i += 16) {
        _mm_storeu_si128((__m128i *)(codes + i), encode_vector(_mm512_loadu_si512(scaled + i)));
    }
}

/* All bounds between codes are multiples of a quarter, and a value on one goes down: what counts is
 * the number of quarters, rounded up, of which 21 are as good as more. NaN becomes 0. */
static inline void encode_strip_e2m1(const float *restrict scaled, uint8_t *restrict codes) {
    const __m512i table[2] = {
        _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6),
        _mm512_setr_epi32(6, 6, 6, 6, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    };
    for (int i = 0; i < STRIP; i += 16) {
        const __m512 value = _mm512_loadu_ps(scaled + i);
        const __m512 quarters = _mm512_mul_ps(_mm512_abs_ps(value), _mm512_set1_ps(4.0f));
        const __m512 limited = _mm512_min_ps(_mm512_set1_ps(21.0f), quarters); /* NaN stays */
        const __m512i count = /* NaN: INT32_MIN, of which the table sees the low bits */
            _mm512_cvt_roundps_epi32(limited, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
        const __m512i magnitude = _mm512_permutex2var_epi32(table[0], count, table[1]);
        const __mmask16 is_negative = _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_LT_OQ);
        const __mmask16 has_sign =
            _mm512_mask_cmpneq_epi32_mask(is_negative, magnitude, _mm512_setzero_si512());
        const __m512i code =
            _mm512_mask_or_epi32(magnitude, has_sign, magnitude, _mm512_set1_epi32(8));
        _mm_storeu_si128((__m128i *)(codes + i), _mm512_cvtepi32_epi8(code));
    }
}

const dg_cpu_cast_kernels_t dg_cpu_cast_avx512 = DG_CAST_KERNELS;
