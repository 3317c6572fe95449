/* SPDX-License-Identifier: MIT
 *
 * Codecs in their plainest form. Encoding searches for the nearest value instead of shifting bits:
 * slow, but obviously right, and unlike what it checks.
 */
#include "number.h"

#include <math.h>
#include <string.h>

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float cli_e4m3_value(uint8_t code) {
    const uint32_t sign = (uint32_t)(code & 0x80) << 24;
    const uint32_t magnitude = code & 0x7F;
    if (magnitude == 0x7F) return NAN;
    if (magnitude < 8) return from_bits(sign | 0x3F800000) * (float)magnitude / 512;
    return from_bits(sign | ((magnitude << 20) + (UINT32_C(120) << 23)));
}

float cli_e2m1_value(uint8_t code) {
    static const float values[16] = {
        0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    return values[code & 15];
}

float cli_e8m0_value(uint8_t code) {
    return code == 255 ? NAN : ldexpf(1, code - 127);
}

float cli_bf16_value(uint16_t code) {
    return from_bits((uint32_t)code << 16);
}

uint16_t cli_bf16_code(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

uint8_t cli_e4m3_code(float value) {
    const float magnitude = fabsf(value);
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    if (magnitude > 464) return 0x7F;
    uint8_t low = 0, high = 0x7E; /* the codes around the value, by halving */
    while (high - low > 1) {
        const uint8_t middle = (uint8_t)((low + high) / 2);
        *(cli_e4m3_value(middle) <= magnitude ? &low : &high) = middle;
    }
    const float below = magnitude - cli_e4m3_value(low);
    const float above = cli_e4m3_value(high) - magnitude;
    const int up = above < below || (above == below && (low & 1));
    return (uint8_t)(sign | (up ? high : low));
}

uint8_t cli_e2m1_code(float value) {
    const float magnitude = fabsf(value);
    uint8_t code = 0;
    while (code < 7 &&
           magnitude - cli_e2m1_value(code) > cli_e2m1_value((uint8_t)(code + 1)) - magnitude) {
        code++;
    }
    return (uint8_t)(code != 0 && value < 0 ? code | 8 : code);
}

double cli_load(const void *data, dg_dtype_t dtype, int64_t index) {
    switch (dtype) {
    case DG_DTYPE_E4M3: return (double)cli_e4m3_value(((const uint8_t *)data)[index]);
    case DG_DTYPE_E2M1X2: {
        const uint8_t byte = ((const uint8_t *)data)[index / 2];
        return (double)cli_e2m1_value((uint8_t)(index % 2 ? byte >> 4 : byte & 15));
    }
    case DG_DTYPE_E8M0: return (double)cli_e8m0_value(((const uint8_t *)data)[index]);
    case DG_DTYPE_BF16: return (double)cli_bf16_value(((const uint16_t *)data)[index]);
    case DG_DTYPE_F32: return (double)((const float *)data)[index];
    default: return NAN;
    }
}
