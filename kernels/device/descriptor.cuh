/* SPDX-License-Identifier: MIT
 *
 * wgmma's 64-bit description of an operand in shared memory. The same text serves GPU and emulator.
 *
 *     bits  0..13  start address / 16        bits 32..45  stride byte offset / 16
 *     bits 16..29  leading byte offset / 16  bits 62..63  swizzle: 0 none, 1 128, 2 64, 3 32 bytes
 *
 * Rows are grouped by 8. K-major operand (k fastest): the stride offset leads to the next 8 rows;
 * the leading offset leads to the next 16 bytes of k and counts only without swizzle. MN-major
 * operand (m or n fastest, 16-bit types only): with a swizzle of s bytes, the leading offset leads
 * to the next s bytes of mn and the stride offset to the next 8 k. Tiles start on a multiple of 8 *
 * s bytes. */
#pragma once
#include "device/language.cuh"

enum descriptor_swizzle {
    DESCRIPTOR_NONE = 0,
    DESCRIPTOR_SWIZZLE_128 = 1,
    DESCRIPTOR_SWIZZLE_64 = 2,
    DESCRIPTOR_SWIZZLE_32 = 3
};

DEVICE uint64_t make_descriptor(
    uint32_t address, uint32_t leading, uint32_t stride, descriptor_swizzle swizzle) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride >> 4 & 0x3fff) << 32 | (uint64_t)swizzle << 62;
}

/* K-major tile of 128-byte rows in 128-byte swizzle: what fp8 kernels use. The two halves apart,
 * because the upper one is a constant: a kernel advances the 32-bit lower half (+2 for another 32
 * bytes of k, + bytes / 16 for another tile) and joins them at the instruction. */
DEVICE uint32_t descriptor_low_k128(uint32_t address) {
    return address >> 4 | 1u << 16;
}
DEVICE uint64_t descriptor_from_low_k128(uint32_t low) {
    return (uint64_t)(1024u >> 4 | 1u << 30) << 32 | low;
}
DEVICE uint64_t make_descriptor_k128(uint32_t address) {
    return descriptor_from_low_k128(descriptor_low_k128(address));
}
