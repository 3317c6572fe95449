/* SPDX-License-Identifier: MIT
 *
 * Blocks of tokens that TMA cannot fetch. Where tokens are contiguous it needs groups that begin at
 * multiples of 16 bytes, and for FLAT groups sizes that are. Plans are made for such groups, from sizes
 * that the host knows; those on the device are what counts, and may be others. Then the warps that
 * prepare stages bring such a group byte by byte: slow, and right. Included by fp8_gemm_vector. */
#pragma once
#include "device/global.cuh"
#include "device/shared.cuh"
#include "sm90/mn_major.cuh"

/* Writes a block [rows x 128 k] as TMA would, by two warps, an even and an odd one. from: first byte
 * of the block's first row; valid: rows that there are; count: of k that there are, zeros follow */
DEVICE void gather_block(
    uint32_t tile, int rows, const uint8_t *from, int64_t pitch, int valid, int count) {
    const int thread = (int)((warp_index() & 1) * 32 + lane_index());
    UNROLL_BY(1) /* a word at a time: a piece of 16 bytes takes more registers than there are */
    for (int i = thread; i < rows * 32; i += 64) {
        const int row = i / 32, at = i % 32 * 4;
        const uint8_t *bytes = from + row * pitch + at;
        uint32_t word = 0;
        UNROLL_BY(1)
        for (int byte = 0; byte < 4 && row < valid && at + byte < count; byte++)
            word |= ld_global_u8(bytes + byte) << byte * 8;
        st_shared_u32(tile + mn_offset((uint32_t)row, (uint32_t)at / 16) + (uint32_t)at % 16, word);
    }
}
