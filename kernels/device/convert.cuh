/* SPDX-License-Identifier: MIT
 *
 * Number formats in registers. Packing rounds to nearest even; e4m3 saturates. */
#pragma once
#include "device/language.cuh"

DEVICE float f32_from_bits(uint32_t bits) {
    return __uint_as_float(bits);
}
DEVICE uint32_t bits_from_f32(float value) {
    return __float_as_uint(value);
}

/* Four bytes out of eight: nibble i of selector names the byte (0..3 of low, 4..7 of high) that
 * becomes byte i. */
DEVICE uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    return __byte_perm(low, high, selector);
}

/* two bf16 in one register, `low` in the low half */
DEVICE uint32_t pack_bf16(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

/* two e4m3 in the low 16 bits, `low` in the low byte; NaN stays NaN, the rest saturates at 448 */
DEVICE uint16_t pack_e4m3(float low, float high) {
    uint16_t packed;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
    return packed;
}
