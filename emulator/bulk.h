// SPDX-License-Identifier: MIT
//
// Asynchronous copies: what a copy into shared memory and a store out of it have in common, bulk
// groups, and the copies of contiguous bytes. Tensor copies (tma.h) are built on it.
#pragma once
#include "machine.h"

#include <functional>

namespace emu {

// Starts a copy into `bytes` bytes at `destination` of CTA d, reported to an mbarrier of d (of a peer if `barrier` says so). The target
// holds 0xFF until it lands; land() then writes it. source_read: called at once with the access
// that the copy makes, to check what it reads.
void start_copy(Cta *d, uint32_t destination, uint32_t bytes, uint32_t barrier, const char *what,
    const std::function<void(const Access &)> &source_read, std::function<void()> land);

// Starts a store of `bytes` bytes at `source` of the running CTA, in the thread's open bulk group.
// Reading and writing are two effects: read() fetches the bytes, write() puts them into global
// memory. target_write: called at once with the access of the writing half.
void start_store(uint32_t source, uint32_t bytes, const char *what,
    const std::function<void(const Access &)> &target_write,
    const std::function<std::vector<uint8_t>()> &read,
    const std::function<void(const std::vector<uint8_t> &)> &write);

void bulk_commit();
void bulk_wait(uint32_t groups, bool read_only);

void bulk_load(uint32_t destination, const void *source, uint32_t bytes, uint32_t barrier);
void bulk_store(void *destination, uint32_t source, uint32_t bytes);
void bulk_reduce_add_f32(float *destination, uint32_t source, uint32_t bytes);
void bulk_copy_peer(uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier);
void store_async(uint32_t destination, uint32_t value, uint32_t barrier);

} // namespace emu
