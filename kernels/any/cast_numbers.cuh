/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the casts, equal bit for bit to that of src/cpu: largest magnitude to factor,
 * factor to a type of scale, values to codes and back. Divisions are IEEE ones, and nothing here can
 * be fused to a multiply-add. Used by all kernels of cast_*.cu. */
#pragma once
#include "args/cast.h"
#include "device/bytes.cuh"
#include "device/convert.cuh"
#include "device/global.cuh"

#define LEAST_AMAX 0x38D1B717u /* 1e-4f */
#define INFINITE 0x7F800000u

/* 1 / 2^127: the reciprocal of a factor that stands for infinity or NaN, and of no other, since the
 * largest number divided by 6 is below 2^126. */
#define INVERSE_OF_INFINITE 0x00400000u

/* Magnitudes order as their bits do, NaN above infinity. */
DEVICE uint32_t max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* The next power of two from a positive value on; infinity and NaN become 2^127. */
DEVICE float round_up_to_power_of_two(float value) {
    const uint32_t bits = bits_from_f32(value);
    const uint32_t exponent = (bits >> 23 & 0xFFu) + ((bits & 0x7FFFFFu) != 0);
    return f32_from_bits((exponent < 1 ? 1u : exponent > 254 ? 254u : exponent) << 23);
}

/* amax: bits of a block's largest magnitude. */
DEVICE float factor_of(const dg_any_cast_side_t *side, uint32_t amax) {
    const float largest = side->dtype == DG_CODE_E4M3 ? 448.0f : 6.0f;
    const float factor = f32_from_bits(max_u32(amax, LEAST_AMAX)) / largest;
    return side->power_of_two ? round_up_to_power_of_two(factor) : factor;
}

/* Stores a factor at an offset into scale, in its elements; I32: at byte number `byte` of the word. A
 * word is filled byte by byte, and its last block also clears the bytes past it. */
DEVICE void store_factor(
    const dg_any_cast_side_t *side, int64_t offset, uint32_t byte, bool last, float factor) {
    const uint32_t exponent = bits_from_f32(factor) >> 23 & 0xFFu;
    if (side->scale_dtype == DG_CODE_F32) {
        st_global_f32((float *)side->scale + offset, factor);
        return;
    }
    const bool word = side->scale_dtype == DG_CODE_I32;
    uint8_t *at = (uint8_t *)side->scale + (word ? 4 * offset + byte : offset);
    st_global_u8(at, exponent);
    for (uint32_t i = byte + 1; word && last && i < 4; i++) st_global_u8(++at, 0);
}

/* Infinity becomes NaN, whose code e4m3 has: an infinite value is beyond 448 as a NaN is. 0 x infinity
 * is NaN; what is finite stays what it is, zeros their sign among it. */
DEVICE float nan_for_infinite(float value) {
    return fused_multiply_add(value, 0.0f, value);
}

/* 0 0.5 1 1.5 2 3 4 6, ties toward zero, zero without a sign, NaN 0. From 1 on codes are the bits of
 * the number with one bit of mantissa, 252 higher. */
DEVICE uint32_t encode_e2m1(float value) {
    const uint32_t bits = bits_from_f32(value), magnitude = bits & 0x7FFFFFFFu;
    const float positive = f32_from_bits(magnitude);
    const uint32_t small = (positive > 0.25f) + (positive > 0.75f);
    const uint32_t normal = ((magnitude + 0x1FFFFFu) >> 22) - 252u;
    const uint32_t code = !(positive > 1.0f) ? small : normal < 7u ? normal : 7u;
    return code | (code != 0 ? bits >> 28 & 8u : 0u);
}
