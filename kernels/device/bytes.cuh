/* SPDX-License-Identifier: MIT
 *
 * What kernels that make narrow numbers need beyond the rest of the vocabulary: stores of a byte, pairs
 * of 16-bit integers, E4M3 on any GPU. */
#pragma once
#include "device/language.cuh"

/* a * b + c, rounded once */
DEVICE float fused_multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}

DEVICE void st_global_u8(void *address, uint32_t value) {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/* The larger of each half, as unsigned numbers. */
DEVICE uint32_t max_u16x2(uint32_t a, uint32_t b) {
    uint32_t larger;
#if __CUDA_ARCH__ >= 900
    asm("max.u16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
#else
    const uint32_t low = (a & 0xFFFFu) > (b & 0xFFFFu) ? a : b, high = a > b ? a : b;
    larger = (low & 0xFFFFu) | (high & 0xFFFF0000u);
#endif
    return larger;
}

/* two e4m3 in the low 16 bits, `low` in the low byte; NaN becomes 0x7F, the rest saturates at 448.
 * Before sm_89 with integers: below 2^-6 codes are 2^-9 apart, as floats are just above 2^14, so that
 * an addition rounds. */
DEVICE uint32_t encode_e4m3x2(float low, float high) {
#if __CUDA_ARCH__ >= 890
    uint16_t packed;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
    return packed;
#else
    uint32_t codes = 0;
    UNROLL
    for (int i = 0; i < 2; i++) {
        const uint32_t all = __float_as_uint(i == 0 ? low : high), bits = all & 0x7FFFFFFFu;
        const uint32_t normal = ((bits + 0x7FFFFu + (bits >> 20 & 1u)) >> 20) - (120u << 3);
        const uint32_t small = __float_as_uint(__uint_as_float(bits) + 16384.0f) - 0x46800000u;
        const uint32_t finite = bits >= 0x43E00000u ? 0x7Eu : bits < 0x3C800000u ? small : normal;
        codes |= (bits > 0x7F800000u ? 0x7Fu : finite | (all >> 24 & 0x80u)) << 8 * i;
    }
    return codes;
#endif
}
