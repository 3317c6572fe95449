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
    UNROLL_BY(1)
    for (int i = thread; i < rows * 8; i += 64) {
        const int row = i / 8, column = i % 8;
        uint32_t words[4] = {0, 0, 0, 0};
        UNROLL
        for (int byte = 0; byte < 16; byte++)
            if (row < valid && column * 16 + byte < count)
                words[byte / 4] |= ld_global_u8(from + row * pitch + column * 16 + byte)
                                   << byte % 4 * 8;
        st_shared_x4(tile + mn_offset((uint32_t)row, (uint32_t)column), words);
    }
}
