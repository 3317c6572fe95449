/* SPDX-License-Identifier: MIT
 *
 * Where TMA and wgmma put a byte of a swizzled tile. The 16-byte column of an address is
 * exclusive-ored with its row inside a group of rows, so that 8 rows of one column fall into
 * different banks. The same text serves GPU and emulator.
 *
 * 128-byte swizzle, tile rows of 128 bytes, 16-byte columns 0..7:
 *
 *     row 0: 0 1 2 3 4 5 6 7
 *     row 1: 1 0 3 2 5 4 7 6
 *     row 2: 2 3 0 1 6 7 4 5     ... row 8 is like row 0
 *
 * The 64-byte form uses two row bits on columns 0..3, the 32-byte form one on columns 0..1,
 * counting rows of 128 bytes all the same. */
#pragma once
#include "device/language.cuh"

DEVICE uint32_t swizzle_128(uint32_t address) {
    return address ^ ((address >> 7 & 7) << 4);
}
DEVICE uint32_t swizzle_64(uint32_t address) {
    return address ^ ((address >> 7 & 3) << 4);
}
DEVICE uint32_t swizzle_32(uint32_t address) {
    return address ^ ((address >> 7 & 1) << 4);
}
