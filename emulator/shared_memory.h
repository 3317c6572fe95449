// SPDX-License-Identifier: MIT
//
// Shared memory: 32-bit addresses as on hardware, checked for bounds, alignment, races and reads of
// what was never written. A cluster address (peer_address) has the rank + 1 of its CTA in the top
// byte; an address without one is the running CTA's own.
#pragma once
#include "machine.h"

namespace emu {

// The CTA an address belongs to; an error if it has exited.
Cta *cta_of(uint32_t address);
uint32_t peer_address(uint32_t address, uint32_t rank);

// Host pointer to `length` bytes of c's shared memory. Checks bounds and alignment only.
uint8_t *shared_pointer(
    const Cta *c, uint32_t address, uint32_t length, uint32_t alignment, const char *what);
inline uint32_t shared_offset(uint32_t address) {
    return (address & 0xffffff) - SHARED_BASE;
}

// Ordinary accesses by the running thread.
void shared_load(void *value, uint32_t address, uint32_t bytes);
void shared_store(uint32_t address, const void *value, uint32_t bytes);

// Remembers that `agent` of a peer touched c, so that c may not exit before.
void note_remote(Cta *c, uint32_t agent, Clock clock);

} // namespace emu
