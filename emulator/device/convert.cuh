// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/convert.cuh.
#pragma once
#include "device/language.cuh"
#include "error.h"
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

DEVICE uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    const uint64_t bytes = low | static_cast<uint64_t>(high) << 32;
    uint32_t picked = 0;
    for (uint32_t i = 0; i < 4; i++)
        picked |= static_cast<uint32_t>(bytes >> (selector >> i * 4 & 7) * 8 & 0xff) << i * 8;
    return picked;
}

DEVICE uint32_t pack_bf16(float low, float high) {
    return emu::bf16_from_f32(low) | static_cast<uint32_t>(emu::bf16_from_f32(high)) << 16;
}

DEVICE uint16_t pack_e4m3(float low, float high) {
    return static_cast<uint16_t>(emu::e4m3_from_f32(low) | emu::e4m3_from_f32(high) << 8);
}

DEVICE uint32_t f16x2_from_e4m3x2(uint32_t codes) {
    return emu::f16_from_e4m3(static_cast<uint8_t>(codes)) |
           static_cast<uint32_t>(emu::f16_from_e4m3(static_cast<uint8_t>(codes >> 8))) << 16;
}

DEVICE uint32_t choose_bytes(uint32_t low, uint32_t high, uint32_t choice) {
    if (choice & 0x8888) emu::fail("CHOICE", "choose_bytes: bit 3 of a nibble of 0x%x", choice);
    const uint64_t bytes = low | static_cast<uint64_t>(high) << 32;
    uint32_t chosen = 0;
    for (int i = 0; i < 4; i++)
        chosen |= static_cast<uint32_t>(bytes >> (choice >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
    return chosen;
}
