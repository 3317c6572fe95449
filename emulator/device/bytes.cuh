// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/bytes.cuh.
#pragma once
#include "device/language.cuh"
#include "global_memory.h"
#include "number.h"

#include <cmath>

DEVICE float fused_multiply_add(float a, float b, float c) {
    return std::fma(a, b, c);
}

DEVICE void st_global_u8(void *address, uint32_t value) {
    const uint8_t byte = static_cast<uint8_t>(value);
    emu::global_store(address, &byte, 1);
}

DEVICE uint32_t max_u16x2(uint32_t a, uint32_t b) {
    const uint32_t low = (a & 0xFFFF) > (b & 0xFFFF) ? a : b, high = a > b ? a : b;
    return (low & 0xFFFF) | (high & 0xFFFF0000);
}

DEVICE uint32_t encode_e4m3x2(float low, float high) {
    return emu::e4m3_from_f32(low) | static_cast<uint32_t>(emu::e4m3_from_f32(high)) << 8;
}
