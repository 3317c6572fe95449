/* SPDX-License-Identifier: MIT
 *
 * Codes of 8 and 4 bits as numbers, exactly. Used where no tensor core is. */
#pragma once
#include "device/convert.cuh"

DEVICE float decode_e4m3(uint32_t code) {
    const uint32_t magnitude = code & 0x7Fu, sign = (code & 0x80u) << 24;
    const uint32_t small = bits_from_f32((float)magnitude * (1.0f / 512.0f));
    const uint32_t finite = magnitude < 8 ? small : (magnitude << 20) + (120u << 23);
    return f32_from_bits((magnitude == 0x7Fu ? 0x7FC00000u : finite) | sign);
}

DEVICE float decode_e2m1(uint32_t code) {
    const uint32_t magnitude = code & 7u, sign = (code & 8u) << 28;
    const uint32_t normal = (magnitude << 22) + (126u << 23);
    const uint32_t finite = magnitude == 0 ? 0u : magnitude == 1 ? 126u << 23 : normal;
    return f32_from_bits(finite | sign);
}
