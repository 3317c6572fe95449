// SPDX-License-Identifier: MIT
//
// Products of Blackwell's tensor cores, copies of scales into tensor memory, and commits. One thread
// starts them; they run in the order they were started in, later.
#pragma once
#include "machine.h"

namespace emu {

enum class ProductKind { F16, F8F6F4, MXF8F6F4 };

// ctas: 1, or 2 for a pair. a, b: descriptors. scale_a, scale_b: for MXF8F6F4 alone.
void tcgen05_mma(ProductKind kind, uint32_t ctas, uint32_t d, uint64_t a, uint64_t b,
    uint32_t instruction, bool accumulate, uint32_t scale_a = 0, uint32_t scale_b = 0);
void tcgen05_copy_scales(uint32_t ctas, uint32_t address, uint64_t source);
void tcgen05_commit(uint32_t ctas, uint32_t barrier, uint32_t ranks); // ranks 0: that barrier alone

} // namespace emu
