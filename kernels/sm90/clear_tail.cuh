/* SPDX-License-Identifier: MIT
 *
 * The end of a group of tokens that lies inside a block of 128 k. TMA knows the whole tensor and not
 * the group, so the block also holds tokens of the next one, which may be NaN; as NaN times zero is
 * NaN, they are cleared in both operands, in shared memory, before the block is multiplied. Included
 * by fp8_gemm_vector; afterwards the caller meets the other warp and fences. */
#pragma once
#include "device/shared.cuh"
#include "sm90/mn_major.cuh"

/* Writes zeros over k `count` .. 127 of an operand of `rows` m or n; two warps together, an even and
 * an odd one. */
DEVICE void clear_tail(uint32_t tile, uint32_t rows, bool mn_fastest, uint32_t count) {
    const uint32_t thread = (warp_index() & 1) * 32 + lane_index();
    const uint32_t zeros[4] = {0, 0, 0, 0};
    if (mn_fastest) { /* whole rows of every [128 k x 128 mn] */
        for (uint32_t at = 0; at < rows / 128 * MN_TILE_BYTES; at += MN_TILE_BYTES)
            for (uint32_t byte = count * 128 + thread * 16; byte < MN_TILE_BYTES; byte += 64 * 16)
                st_shared_x4(tile + at + byte, zeros);
        return;
    }
    for (uint32_t row = thread; row < rows; row += 64) {
        for (uint32_t column = (count + 15) / 16; column < 8; column++)
            st_shared_x4(tile + mn_offset(row, column), zeros);
        for (uint32_t byte = count; byte % 16 != 0; byte = (byte & ~3u) + 4) {
            const uint32_t at = tile + mn_offset(row, byte / 16) + (byte & 12);
            st_shared_u32(at, ld_shared_u32(at) & ((1u << byte % 4 * 8) - 1));
        }
    }
}
