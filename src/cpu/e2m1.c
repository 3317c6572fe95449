/* SPDX-License-Identifier: MIT
 *
 * FP4 to FP8 codes, 32 at a time in 16-byte vectors of the base instruction set, singly where a
 * stretch starts or ends inside a byte. pack.c calls these.
 */
#include "cpu/e2m1.h"

#include <string.h>

typedef uint8_t bytes_t __attribute__((vector_size(16)));

/* 0 0.5 1 1.5 2 3 4 6, then the same with a sign. */
static const uint8_t e4m3_codes[16] = {
    0x00, 0x30, 0x38, 0x3C, 0x40, 0x44, 0x48, 0x4C, 0x80, 0xB0, 0xB8, 0xBC, 0xC0, 0xC4, 0xC8, 0xCC};

/* The table by arithmetic: magnitudes 2 to 7 are 0x30 + 4 x magnitude, 1 is 0x30, 0 is 0. */
static bytes_t convert(bytes_t code) {
    const bytes_t magnitude = code & 7;
    const bytes_t is_zero = (bytes_t)(magnitude == 0);
    const bytes_t is_one = (bytes_t)(magnitude == 1);
    const bytes_t spaced = 0x30 + magnitude + magnitude + magnitude + magnitude;
    return ((spaced - (is_one & 4)) & ~is_zero) | (code & 8) << 4;
}

uint8_t dg_cpu_load_e2m1(const uint8_t *data, int64_t index) {
    return e4m3_codes[data[index >> 1] >> 4 * (index & 1) & 15];
}

void dg_cpu_unpack_e2m1(const uint8_t *data, int64_t first, int64_t count, uint8_t *codes) {
    int64_t i = 0;
    if (first & 1 && count > 0) codes[i++] = dg_cpu_load_e2m1(data, first);
    for (; i + 32 <= count; i += 32) {
        bytes_t packed;
        memcpy(&packed, data + (first + i) / 2, 16);
        const bytes_t even = convert(packed & 15), odd = convert(packed >> 4);
        const bytes_t low = __builtin_shufflevector(
            even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const bytes_t high = __builtin_shufflevector(
            even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        memcpy(codes + i, &low, 16);
        memcpy(codes + i + 16, &high, 16);
    }
    for (; i < count; i++) codes[i] = dg_cpu_load_e2m1(data, first + i);
}
