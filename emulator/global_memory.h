// SPDX-License-Identifier: MIT
//
// Global memory: the registered buffers, ordinary loads and stores, and the flags and atomics by
// which CTAs pass data on. Release and acquire carry clocks; a relaxed access does only next to a
// fence.
#pragma once
#include "machine.h"

namespace emu {

enum class MemoryOrder { Relaxed, Acquire, Release, AcqRel };
enum class MemoryScope { Cta, Gpu, Sys };

// Checks bounds (an error kind of its own); true if the bytes can change while kernels run, so that
// races are worth checking.
bool global_bounds(const void *address, size_t bytes, bool write, const char *what);
bool global_is_registered(const void *address);

// Access by an asynchronous engine; clocks are those of the thread that started it.
void global_access_by(
    const void *address, size_t bytes, Access access, const Clocks &clocks, const char *what);

void global_load(void *value, const void *address, uint32_t bytes);
void global_store(void *address, const void *value, uint32_t bytes);

uint32_t flag_load(const uint32_t *address, MemoryOrder order, MemoryScope scope);
void flag_store(uint32_t *address, uint32_t value, MemoryOrder order, MemoryScope scope);
uint32_t atomic_add(uint32_t *address, uint32_t value, MemoryOrder order, MemoryScope scope);
void memory_fence(MemoryScope scope);

// Between launch sequences.
void flags_reset();

} // namespace emu
