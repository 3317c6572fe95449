/* SPDX-License-Identifier: MIT
 *
 * Single values of the narrow element types, to and from FP32, exactly.
 *
 * Everything that touches FP8, FP4, UE8M0 or BF16 numbers on the host goes through these functions:
 * the casts, the CPU backend's portable paths, the tests. They are inline and free of branches on
 * the common path, so that a loop over them vectorises. Rounding is to nearest, ties to even, except
 * where a comment says otherwise; no function depends on the rounding or flush mode of the thread
 * beyond IEEE defaults.
 */
#ifndef DG_MODEL_DTYPE_H
#define DG_MODEL_DTYPE_H

#include <stdint.h>
#include <string.h>

#include "deep_gemm/tensor.h"

static inline uint32_t dg_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float dg_bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* S.EEEE.MMM, bias 7, no infinity; S.1111.111 is NaN (returned quiet, with the sign). */
static inline float dg_decode_e4m3(uint8_t code) {
    const uint32_t magnitude = code & 0x7Fu;
    const uint32_t sign = (uint32_t)(code & 0x80u) << 24;
    const uint32_t normal = (magnitude << 20) + (120u << 23);
    const uint32_t subnormal = dg_float_bits((float)(int32_t)magnitude * 0x1p-9f);
    const uint32_t finite = magnitude < 8 ? subnormal : normal;
    return dg_bits_float((magnitude == 0x7Fu ? 0x7FC00000u : finite) | sign);
}

/* Beyond 464 in magnitude, infinities and NaN give 0x7F; 448..464 rounds to 448. */
static inline uint8_t dg_encode_e4m3(float value) {
    const uint32_t bits = dg_float_bits(value) & 0x7FFFFFFFu;
    const uint32_t sign = dg_float_bits(value) >> 24 & 0x80u;
    const uint32_t normal = ((bits + 0x7FFFFu + (bits >> 20 & 1u)) >> 20) - (120u << 3);
    /* Below 2^-6 codes are 2^-9 apart, as floats are just above 2^14: the addition rounds. */
    const float shifted = dg_bits_float(bits) + 0x1p14f;
    const uint32_t subnormal = dg_float_bits(shifted) - dg_float_bits(0x1p14f);
    const uint32_t finite = (bits < dg_float_bits(0x1p-6f) ? subnormal : normal) | sign;
    return (uint8_t)(bits > dg_float_bits(464.0f) ? 0x7Fu : finite);
}

/* S.EE.M, bias 1: 0 0.5 1 1.5 2 3 4 6. Only the low four bits of code count. */
static inline float dg_decode_e2m1(uint8_t code) {
    const uint32_t magnitude = code & 7u;
    const uint32_t sign = (uint32_t)(code & 8u) << 28;
    const uint32_t normal = (magnitude << 22) + (126u << 23);
    const uint32_t finite = magnitude == 0 ? 0u : magnitude == 1 ? 126u << 23 : normal;
    return dg_bits_float(finite | sign);
}

/* Ties go to the smaller magnitude, zero loses its sign, beyond 6 saturates, NaN gives 0: the rule
 * of the FP4 casts in use, which is not IEEE rounding. */
static inline uint8_t dg_encode_e2m1(float value) {
    const float magnitude = dg_bits_float(dg_float_bits(value) & 0x7FFFFFFFu);
    const int code = (magnitude > 0.25f) + (magnitude > 0.75f) + (magnitude > 1.25f) +
                     (magnitude > 1.75f) + (magnitude > 2.5f) + (magnitude > 3.5f) +
                     (magnitude > 5.0f);
    return (uint8_t)(code + (value < 0.0f && code != 0 ? 8 : 0));
}

/* 2^(code - 127); 0 is the subnormal 2^-127, 255 is NaN. */
static inline float dg_decode_e8m0(uint8_t code) {
    const uint32_t finite = code == 0 ? 1u << 22 : (uint32_t)code << 23;
    return dg_bits_float(code == 255 ? 0x7FC00000u : finite);
}

/* The exponent field of value. Exact for powers of two from 2^-126 on, and the code the packed
 * scale layout gives to zero is 0; a sign or a mantissa is dropped, so check before. */
static inline uint8_t dg_encode_e8m0(float value) {
    return (uint8_t)(dg_float_bits(value) >> 23 & 0xFFu);
}

static inline float dg_decode_bf16(uint16_t code) {
    return dg_bits_float((uint32_t)code << 16);
}

/* S.EEEEE.MMMMMMMMMM, bias 15, as IEEE has it. */
static inline float dg_decode_f16(uint16_t code) {
    const uint32_t magnitude = code & 0x7FFFu;
    const uint32_t sign = (uint32_t)(code & 0x8000u) << 16;
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t subnormal = dg_float_bits((float)(int32_t)magnitude * 0x1p-24f);
    const uint32_t special = (magnitude << 13) + (224u << 23); /* infinities and NaN */
    const uint32_t bits = magnitude < 0x400u ? subnormal : magnitude < 0x7C00u ? normal : special;
    return dg_bits_float(bits | sign);
}

/* A NaN keeps its sign and upper payload and becomes quiet. */
static inline uint16_t dg_encode_bf16(float value) {
    const uint32_t bits = dg_float_bits(value);
    const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    const uint32_t quiet = bits >> 16 | 0x40u;
    return (uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
}

#endif
