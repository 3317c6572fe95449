// SPDX-License-Identifier: MIT
//
// Implementation of number.h.
#include "number.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace emu {

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static float decode_e4m3(uint32_t code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    float magnitude;
    if ((code & 127) == 127)
        magnitude = NAN;
    else if (exponent)
        magnitude = std::ldexp(1.f + static_cast<float>(mantissa) / 8, exponent - 7);
    else
        magnitude = std::ldexp(static_cast<float>(mantissa), -9);
    return code >> 7 ? -magnitude : magnitude;
}

float f32_from_e4m3(uint8_t code) {
    static const std::vector<float> table = [] {
        std::vector<float> values(256);
        for (uint32_t i = 0; i < 256; i++) values[i] = decode_e4m3(i);
        return values;
    }();
    return table[code];
}

uint8_t e4m3_from_f32(float value) {
    const uint32_t sign = bits_of(value) >> 24 & 0x80;
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return 0x7F;
    if (magnitude >= 448) return static_cast<uint8_t>(sign | 0x7E);
    // Codes are monotonic in the magnitude, and ties go to the even code.
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int unit = exponent - 1 < -6 ? -9 : exponent - 4;
    const float steps = std::nearbyint(std::ldexp(magnitude, -unit));
    const float rounded = std::ldexp(steps, unit);
    for (uint32_t code = 0; code < 127; code++)
        if (f32_from_e4m3(static_cast<uint8_t>(code)) == rounded)
            return static_cast<uint8_t>(sign | code);
    return static_cast<uint8_t>(sign | 0x7E);
}

uint16_t f16_from_e4m3(uint8_t code) {
    const uint32_t sign = (code & 0x80u) << 8, magnitude = code & 0x7F;
    if (magnitude == 0x7F) return 0x7FFF; // NaN loses its sign, as on an H200
    if (magnitude >= 8) return static_cast<uint16_t>(sign | ((magnitude << 7) + (8 << 10)));
    // The seven subnormal numbers are normal ones of f16: magnitude times 2^-9.
    if (magnitude == 0) return static_cast<uint16_t>(sign);
    uint32_t exponent = 9, mantissa = magnitude << 7;
    for (; !(mantissa & 1 << 10); exponent--) mantissa <<= 1;
    return static_cast<uint16_t>(sign | exponent << 10 | (mantissa & 0x3FF));
}

float f32_from_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 0x3FF;
    float magnitude;
    if (exponent == 31)
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent)
        magnitude = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    else
        magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return bits >> 15 ? -magnitude : magnitude;
}

// e5m2 is f16 without its lower byte.
float f32_from_e5m2(uint8_t code) {
    return f32_from_f16(static_cast<uint16_t>(code << 8));
}

float f32_from_ue8m0(uint8_t code) {
    return code == 255 ? NAN : std::ldexp(1.f, code - 127);
}

float f32_from_bf16(uint16_t bits) {
    return float_of(static_cast<uint32_t>(bits) << 16);
}

uint16_t bf16_from_f32(float value) {
    const uint32_t bits = bits_of(value);
    if (std::isnan(value)) return 0x7FFF;
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float tf32_from_f32(float value) {
    return float_of(bits_of(value) & 0xFFFFE000u);
}

} // namespace emu
