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

/* two e4m3 in the low 16 bits to two f16, exactly; NaN stays NaN. GPUs from sm_89 on have it as one
 * instruction. Before that: the fields of e4m3 moved to where f16 has them are the value times
 * 2^-8, subnormal numbers included. */
DEVICE uint32_t f16x2_from_e4m3x2(uint32_t codes) {
    uint32_t values;
#if __CUDA_ARCH__ >= 890
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(values) : "h"((uint16_t)codes));
#else
    const uint32_t spread = (codes & 0xFFu) | (codes & 0xFF00u) << 8;
    const uint32_t small = (spread & 0x7F007Fu) << 7 | (spread & 0x800080u) << 8;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(values) : "r"(small), "r"(0x5C005C00u));
    if ((spread & 0x7Fu) == 0x7Fu) values |= 0x7FFFu;
    if ((spread & 0x7F0000u) == 0x7F0000u) values |= 0x7FFF0000u;
#endif
    return values;
}

/* Four of the eight bytes low (0 .. 3) and high (4 .. 7): byte i of the result is the one that the
 * low three bits of nibble i of `choice` name. Bit 3 of a nibble has to be 0. */
DEVICE uint32_t choose_bytes(uint32_t low, uint32_t high, uint32_t choice) {
    return __byte_perm(low, high, choice);
}
