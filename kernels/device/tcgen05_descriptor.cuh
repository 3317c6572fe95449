/* SPDX-License-Identifier: MIT
 *
 * The two descriptions that tcgen05.mma takes (Blackwell): where an operand lies in shared memory,
 * and what is multiplied. The same text serves GPU and emulator.
 *
 * Operand, 64 bits: as wgmma's (device/descriptor.cuh), but for the upper end:
 *
 *     bits  0..13  start address / 16        bits 46..48  always 1
 *     bits 16..29  leading byte offset / 16  bits 61..63  swizzle: 0 none, 2 128, 4 64, 6 32 bytes
 *     bits 32..45  stride byte offset / 16
 *
 * Instruction, 32 bits (types: f16 kind 0 f16, 1 bf16; f8f6f4 kinds 0 e4m3, 1 e5m2):
 *
 *     bits  4..5   type of d, 1 = f32; block-scaled: which byte of a word of b's scales
 *     bits  7..9   type of a                 bits 17..22  n / 8
 *     bits 10..12  type of b                 bit  23      block-scaled: scales are ue8m0
 *     bit  15      a is MN-major             bits 24..28  m / 16
 *     bit  16      b is MN-major             bits 29..30  block-scaled: byte of a's scales */
#pragma once
#include "device/language.cuh"

enum tcgen05_swizzle {
    TCGEN05_NONE = 0,
    TCGEN05_SWIZZLE_128 = 2,
    TCGEN05_SWIZZLE_64 = 4,
    TCGEN05_SWIZZLE_32 = 6
};

enum tcgen05_type { TCGEN05_F16 = 0, TCGEN05_BF16 = 1, TCGEN05_E4M3 = 0, TCGEN05_E5M2 = 1 };

DEVICE uint64_t tcgen05_descriptor(
    uint32_t address, uint32_t leading, uint32_t stride, tcgen05_swizzle swizzle) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)swizzle << 61;
}

/* K-major tile of 128-byte rows in 128-byte swizzle; + 2 for another 32 bytes of k */
DEVICE uint64_t tcgen05_descriptor_k128(uint32_t address) {
    return tcgen05_descriptor(address, 16, 1024, TCGEN05_SWIZZLE_128);
}

/* f32 sums. m: 128 for one CTA, 256 for a pair; n: a multiple of 16 up to 256 (of 32 for a pair) */
DEVICE uint32_t tcgen05_instruction(
    uint32_t m, uint32_t n, tcgen05_type a, tcgen05_type b, bool a_mn_major, bool b_mn_major) {
    return 1u << 4 | (uint32_t)a << 7 | (uint32_t)b << 10 | (uint32_t)a_mn_major << 15 |
           (uint32_t)b_mn_major << 16 | (n >> 3) << 17 | (m >> 4) << 24;
}

/* The same for block-scaled kinds, K-major: ue8m0 scales, one for 32 k, byte `scale` (0..3) of the
 * words that tcgen05_copy_scales brought. */
DEVICE uint32_t tcgen05_instruction_scaled(
    uint32_t m, uint32_t n, tcgen05_type a, tcgen05_type b, uint32_t scale) {
    return scale << 4 | (uint32_t)a << 7 | (uint32_t)b << 10 | (n >> 3) << 17 | 1u << 23 |
           (m >> 4) << 24 | scale << 29;
}
