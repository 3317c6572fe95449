// SPDX-License-Identifier: MIT
//
// Blackwell's tensor memory: allocation, the loads and stores of warps, the two fences, and the
// check that every access of tcgen05 goes through. An address is lane << 16 | column.
#pragma once
#include "machine.h"

namespace emu {

// Of a CTA; made at the first call. ctas: the cta_group of the instruction, which may not change.
TensorMemory &tensor_memory(Cta *c, uint32_t ctas);

// Warp collectives.
void tensor_allocate(uint32_t ctas, uint32_t destination, uint32_t columns);
void tensor_relinquish(uint32_t ctas);
void tensor_deallocate(uint32_t ctas, uint32_t address, uint32_t columns);
void tensor_load(uint32_t *values, uint32_t count, uint32_t address);
void tensor_store(uint32_t address, const uint32_t *values, uint32_t count);
void tensor_wait_load();
void tensor_wait_store();

void tensor_fence_before();
void tensor_fence_after();

// An access of the running thread to columns of c: bounds, allocation, order. Checked against what
// the thread's last fence_after saw, and against its own agent up to `own_clock`. quarter: of the
// lanes; 4 for all of them.
constexpr uint32_t ALL_QUARTERS = 4;
void check_tensor(Cta *c, uint32_t address, uint32_t columns, uint32_t quarter,
    const Access &access, Clock own_clock, const char *what);

} // namespace emu
