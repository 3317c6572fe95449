/* SPDX-License-Identifier: MIT
 *
 * FP8 operands that are contiguous in m or n. wgmma reads 8-bit operands with k fastest only, and
 * activations and gradients of training lie token by token, with m and n fastest. Instead of a
 * transposition in global memory, a tile that TMA brought as [128 k x 128 mn] in 128-byte swizzle is
 * turned on the way to the tensor core:
 *
 *   operand A   ldmatrix.trans + byte permutation give the register fragment of wgmma's RS form.
 *               Row g of the fragment is then row 2g of the warp's 16, row g + 8 is row 2g + 1.
 *   operand B   the same and stmatrix give the tile as [128 n x 128 k], in the place where it was.
 *
 * Why it works. A transposing load of 16-bit pairs gives a lane two neighbouring mn of two k, and a
 * fragment wants four neighbouring k of one mn. So k rows are handed to ldmatrix in such an order
 * that two matrices together hold four neighbouring k for both mn, and one permutation takes the
 * even, one the odd mn out of them. Lanes 16..31 of a group of eight rows take their two pairs of k
 * in the other order, so that the eight addresses of a matrix fall into different banks; stmatrix
 * swaps rows 2r and 2r + 1 in the upper half for the same reason. Included by the FP8 kernels. */
#pragma once
#include "device/convert.cuh"
#include "device/matrix.cuh"
#include "device/warp.cuh"

#define MN_TILE_BYTES (128 * 128)
#define MN_SLAB_BYTES (32 * 128) /* 32 k of such a tile: what one wgmma multiplies */

/* Row and 16-byte column of a tile in 128-byte swizzle, as an offset. */
DEVICE uint32_t mn_offset(uint32_t row, uint32_t column) {
    return row * 128 + ((column ^ (row & 7)) << 4);
}

/* The k row, of 32, whose address this lane gives to ldmatrix: lane 8q + r serves row r of matrix
 * q; matrices 0, 1 make k 0..15, 2, 3 make k 16..31. */
DEVICE uint32_t mn_k_row(uint32_t lane) {
    const uint32_t q = lane >> 3, r = lane & 7;
    return 16 * (q >> 1) + 4 * (r >> 1) + 2 * ((q & 1) ^ (r >> 2)) + (r & 1);
}

/* From two matrices of such pairs, four neighbouring k of the even and of the odd mn. */
DEVICE uint32_t mn_even(uint32_t lane, uint32_t first, uint32_t second) {
    return permute_bytes(first, second, (lane & 2) == 0 ? 0x6420 : 0x2064);
}
DEVICE uint32_t mn_odd(uint32_t lane, uint32_t first, uint32_t second) {
    return permute_bytes(first, second, (lane & 2) == 0 ? 0x7531 : 0x3175);
}

/* This lane's part of the address of 16 mn, column `column` of a tile: the tile's own address is to
 * be added, and MN_SLAB_BYTES for each 32 k. */
DEVICE uint32_t mn_fragment_at(uint32_t lane, uint32_t column) {
    return mn_offset(mn_k_row(lane), column);
}

/* wgmma's fragment of A for 16 mn and 32 k. fragment: [4] */
DEVICE void load_mn_fragment(uint32_t *fragment, uint32_t lane, uint32_t address) {
    uint32_t pairs[4];
    ldmatrix_x4_trans(pairs, address);
    fragment[0] = mn_even(lane, pairs[0], pairs[1]);
    fragment[1] = mn_odd(lane, pairs[0], pairs[1]);
    fragment[2] = mn_even(lane, pairs[2], pairs[3]);
    fragment[3] = mn_odd(lane, pairs[2], pairs[3]);
}

/* The 32 x 32 block (i: 32 k, j: 32 mn) of a tile, turned. block: [8] */
DEVICE void load_mn_block(uint32_t *block, uint32_t tile, uint32_t i, uint32_t j) {
    const uint32_t lane = lane_index();
    const bool upper = lane >= 16; /* rows 4..7 of what stmatrix will write */
    UNROLL
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t *b = block + half * 4, pairs[4];
        ldmatrix_x4_trans(pairs, tile + mn_offset(i * 32 + mn_k_row(lane), j * 2 + half));
        const uint32_t even = mn_even(lane, pairs[0], pairs[1]),
                       odd = mn_odd(lane, pairs[0], pairs[1]);
        const uint32_t even2 = mn_even(lane, pairs[2], pairs[3]),
                       odd2 = mn_odd(lane, pairs[2], pairs[3]);
        b[0] = upper ? odd : even;
        b[1] = upper ? even : odd;
        b[2] = upper ? odd2 : even2;
        b[3] = upper ? even2 : odd2;
    }
}

/* Writes it to rows 32 j .. of mn and bytes 32 i .. of k. */
DEVICE void store_mn_block(const uint32_t *block, uint32_t tile, uint32_t i, uint32_t j) {
    const uint32_t q = lane_index() >> 3, r = lane_index() & 7;
    const uint32_t row = 2 * r + ((q & 1) ^ (r >> 2)), column = 2 * i + (q >> 1);
    UNROLL
    for (uint32_t half = 0; half < 2; half++)
        stmatrix_x4(tile + mn_offset(j * 32 + half * 16 + row, column), block + half * 4);
}

/* Turns blocks (i, j) and (j, i), which change places; i == j is a block by itself. */
DEVICE void transpose_mn_blocks(uint32_t tile, uint32_t i, uint32_t j) {
    uint32_t one[8], other[8];
    load_mn_block(one, tile, i, j);
    if (i != j) load_mn_block(other, tile, j, i);
    warp_sync(); /* every lane has read before any writes */
    store_mn_block(one, tile, i, j);
    if (i != j) store_mn_block(other, tile, j, i);
}

/* Turns a tile [128 k x 128 mn] into [128 mn x 128 k] where it lies; two warps, each half of it. */
DEVICE void transpose_mn_tile(uint32_t tile, uint32_t half) {
    UNROLL_BY(1)
    for (uint32_t step = 0; step < 3; step++) {
        const uint32_t i = half == 0 ? 0 : 1 + (step == 2);
        const uint32_t j = half == 0 ? step + 1 : 2 + (step != 0);
        transpose_mn_blocks(tile, i, j);
    }
    UNROLL_BY(1)
    for (uint32_t step = 0; step < 2; step++)
        transpose_mn_blocks(tile, half * 2 + step, half * 2 + step);
}
