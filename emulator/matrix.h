// SPDX-License-Identifier: MIT
//
// ldmatrix, stmatrix and mma.sync of one warp.
#pragma once
#include "machine.h"

namespace emu {

// values: [count] registers, count 2 or 4, one for each 8 x 8 matrix of 16-bit elements
void ldmatrix(uint32_t *values, uint32_t row_address, uint32_t count, bool transposed);
void stmatrix(uint32_t row_address, const uint32_t *values, uint32_t count, bool transposed);

// d: [4] += a: [4] x b: [2], one 16 x 8 tile, 32 bytes of k
void mma_sync(float *d, OperandType type, const uint32_t *a, const uint32_t *b);

} // namespace emu
