// SPDX-License-Identifier: MIT
//
// The inner loop of every emulated matrix product.
#pragma once
#include <cstdint>

namespace emu {

// c: [m x n] += a: [m x k] times b: [k x n], in f32, k ascending
void multiply_add(const float *a, const float *b, float *c, uint32_t m, uint32_t n, uint32_t k);

} // namespace emu
