// SPDX-License-Identifier: MIT
//
// Number formats of operands, as plain arithmetic: decoding for products, rounding for conversions.
#pragma once
#include <cstdint>

namespace emu {

float f32_from_e4m3(uint8_t code);
uint8_t e4m3_from_f32(float value);   // nearest even, saturates at 448, NaN stays NaN
uint16_t f16_from_e4m3(uint8_t code); // exact
float f32_from_e5m2(uint8_t code);
float f32_from_f16(uint16_t bits);
float f32_from_ue8m0(uint8_t code); // 2^(code - 127); 255 is NaN
float f32_from_bf16(uint16_t bits);
uint16_t bf16_from_f32(float value); // nearest even
float tf32_from_f32(float value);    // the bits that a tf32 operand keeps

} // namespace emu
