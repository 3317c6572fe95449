// SPDX-License-Identifier: MIT
//
// Implementation of the registry and of ordinary accesses of global_memory.h; flags and atomics are
// in flags.cpp.
#include "global_memory.h"

#include <cstring>
#include <map>

namespace emu {

struct Buffer {
    size_t bytes;
    bool read_only;
};
static std::map<uintptr_t, Buffer> buffers; // by address

void register_global(const void *buffer, size_t bytes, bool read_only) {
    buffers[reinterpret_cast<uintptr_t>(buffer)] = {bytes, read_only};
}

void unregister_global(const void *buffer) {
    buffers.erase(reinterpret_cast<uintptr_t>(buffer));
}

// The registered buffer that begins at or before the address and reaches past it, or null.
static const Buffer *find(const void *address, size_t bytes) {
    const uintptr_t a = reinterpret_cast<uintptr_t>(address);
    auto it = buffers.upper_bound(a);
    if (it == buffers.begin()) return nullptr;
    --it;
    return a + bytes <= it->first + it->second.bytes ? &it->second : nullptr;
}

bool global_is_registered(const void *address) {
    return find(address, 1) != nullptr;
}

bool global_bounds(const void *address, size_t bytes, bool write, const char *what) {
    if (buffers.empty()) return true;
    const Buffer *buffer = find(address, bytes);
    if (!buffer)
        fail("BOUNDS", "%s of %zu bytes at %p is outside every registered buffer", what, bytes,
            address);
    if (write && buffer->read_only)
        fail("BOUNDS", "%s of %zu bytes at %p writes to a read-only buffer", what, bytes, address);
    return !buffer->read_only;
}

void global_access_by(
    const void *address, size_t bytes, Access access, const Clocks &clocks, const char *what) {
    const bool may_race = global_bounds(address, bytes, access.flags & ACCESS_WRITE, what);
    if (config.check_races && may_race) check_global(address, bytes, access, clocks, what);
}

static void access(const void *address, uint32_t bytes, uint8_t flags, const char *what) {
    if (reinterpret_cast<uintptr_t>(address) % bytes)
        fail("ALIGN", "%s: %p is not %u-byte aligned", what, address, bytes);
    const bool may_race = global_bounds(address, bytes, flags & ACCESS_WRITE, what);
    if (config.check_races && may_race)
        check_global(address, bytes, access_by_thread(current, flags), current->clocks, what);
}

void global_load(void *value, const void *address, uint32_t bytes) {
    access(address, bytes, ACCESS_READ, "ld.global");
    memcpy(value, address, bytes);
}

void global_store(void *address, const void *value, uint32_t bytes) {
    access(address, bytes, ACCESS_WRITE, "st.global");
    memcpy(address, value, bytes);
}

} // namespace emu
