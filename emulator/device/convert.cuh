// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/convert.cuh.
#pragma once
#include "device/language.cuh"
#include "number.h"

#include <cstring>

DEVICE float f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

DEVICE uint32_t bits_from_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

DEVICE uint32_t pack_bf16(float low, float high) {
    return emu::bf16_from_f32(low) | static_cast<uint32_t>(emu::bf16_from_f32(high)) << 16;
}

DEVICE uint16_t pack_e4m3(float low, float high) {
    return static_cast<uint16_t>(emu::e4m3_from_f32(low) | emu::e4m3_from_f32(high) << 8);
}
