// SPDX-License-Identifier: MIT
//
// cp.async: copies that a thread starts for itself, in groups. Until the thread has waited, nobody
// may touch the target, not even the thread.
#pragma once
#include "machine.h"

namespace emu {

void copy_async(uint32_t destination, const void *source, uint32_t bytes, uint32_t valid);
void copy_async_commit();
void copy_async_wait(uint32_t groups);
void copy_async_arrive(uint32_t barrier);

} // namespace emu
