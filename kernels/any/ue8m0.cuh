/* SPDX-License-Identifier: MIT
 *
 * Factors as exponents and back. Used by the casts and the kernels that lay factors out. */
#pragma once
#include "device/convert.cuh"

/* 2^(code - 127); 255 is NaN. */
DEVICE float decode_e8m0(uint32_t code) {
    const uint32_t finite = code == 0 ? 1u << 22 : code << 23;
    return f32_from_bits(code == 255 ? 0x7FC00000u : finite);
}

/* The exponent of a power of two. What is none is rounded up to the next, as the casts do; up to 2^-127,
 * zero among it, the code is 0. A sign is dropped, infinity and NaN are 2^127. */
DEVICE uint32_t exponent_of(float value) {
    const uint32_t bits = bits_from_f32(value) & 0x7FFFFFFFu;
    const uint32_t exponent = (bits >> 23) + ((bits & 0x7FFFFFu) != 0);
    return bits <= 0x00400000u ? 0 : exponent < 254 ? exponent : 254;
}
