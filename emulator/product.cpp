// SPDX-License-Identifier: MIT
//
// Implementation of product.h, the one place where the emulator's speed is arithmetic. Blocks of up
// to 64 columns stay in registers; vector code for the machine at hand is picked at load time.
#include "product.h"
#include "vector_clones.h"

#include <algorithm>

namespace emu {

EMU_VECTOR_CLONES
static void full_block(const float *a, const float *b, float *c, uint32_t n, uint32_t k) {
    float sum[64];
    for (int j = 0; j < 64; j++) sum[j] = c[j];
    for (uint32_t i = 0; i < k; i++)
        for (int j = 0; j < 64; j++) sum[j] += a[i] * b[i * n + static_cast<uint32_t>(j)];
    for (int j = 0; j < 64; j++) c[j] = sum[j];
}

static void part_block(
    const float *a, const float *b, float *c, uint32_t n, uint32_t k, uint32_t columns) {
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = 0; j < columns; j++) c[j] += a[i] * b[i * n + j];
}

void multiply_add(const float *a, const float *b, float *c, uint32_t m, uint32_t n, uint32_t k) {
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j += 64) {
            const uint32_t columns = std::min(64u, n - j);
            if (columns == 64)
                full_block(a + i * k, b + j, c + i * n + j, n, k);
            else
                part_block(a + i * k, b + j, c + i * n + j, n, k, columns);
        }
}

} // namespace emu
