// SPDX-License-Identifier: MIT
//
// wgmma: asynchronous products of a warpgroup, its fence, commit and wait. While products are in
// flight the accumulator registers hold a poison, so that a premature read shows and a write is
// caught.
#pragma once
#include "machine.h"

namespace emu {

void wgmma_fence();
void wgmma_commit();
void wgmma_wait(uint32_t groups);

// d: [width / 2] registers of this thread. a, b: descriptors; a: [4] registers in the second form,
// which must live and stay unchanged until the wait.
void wgmma_shared(float *d, uint32_t width, OperandType type, uint64_t a, uint64_t b,
    bool accumulate, bool a_mn_major = false, bool b_mn_major = false);
void wgmma_registers(float *d, uint32_t width, OperandType type, const uint32_t *a, uint64_t b,
    bool accumulate, bool b_mn_major = false);

} // namespace emu
