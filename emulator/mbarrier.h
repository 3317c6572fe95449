// SPDX-License-Identifier: MIT
//
// mbarriers: counting, phases, waiting, and what they order. Their state lives beside shared
// memory; the 8 bytes hold a token, so that overwriting them is noticed.
#pragma once
#include "machine.h"

namespace emu {

void mbarrier_init(uint32_t address, uint32_t count);
void mbarrier_invalidate(uint32_t address);
void mbarrier_arrive(uint32_t address, uint32_t arrivals, uint32_t bytes);
bool mbarrier_test(uint32_t address, uint32_t parity);
void mbarrier_wait(uint32_t address, uint32_t parity);

// The barrier at an address of c, for copies: an error if it is not one, was overwritten, or its
// initialisation is not ordered before the running thread.
Mbarrier &mbarrier_for_copy(Cta *c, uint32_t address, const char *what);

// The barrier at an address of c, and a later arrival there that brings `released`.
Mbarrier &mbarrier_at(Cta *c, uint32_t address, const char *what);
void mbarrier_arrive_from(Mbarrier &barrier, const Clocks &released);

// A copy of that many bytes has landed; clocks: those of the thread that started it.
void mbarrier_complete(
    Mbarrier &barrier, uint32_t bytes, const Clocks &starter, uint32_t cluster, Clock clock);

} // namespace emu
