// SPDX-License-Identifier: MIT
//
// Implementation of tensor_map_edit.h. A map that lives in writable global memory has a version,
// raised by each publication; a thread may use it only after acquiring the current one.
#include "tensor_map_edit.h"
#include "global_memory.h"
#include "shared_memory.h"
#include "tensor_map.h"
#include "warp.h"

#include <cstring>

namespace emu {

static std::unordered_map<const void *, Clock> versions; // of published maps

void tensor_maps_reset() {
    versions.clear();
}

template <class Change> static void edit(uint32_t address, Change change) {
    Cta *c = current->cta;
    uint8_t *memory = shared_pointer(c, address, 128, 128, "tensormap.replace");
    if (config.check_races) {
        check_shared(c, shared_offset(address), 128, access_by_thread(current, ACCESS_READ),
            current->clocks, "tensormap.replace");
        check_shared(c, shared_offset(address), 128, access_by_thread(current, ACCESS_WRITE),
            current->clocks, "tensormap.replace");
    }
    dg_tensor_map_t encoded;
    memcpy(&encoded, memory, sizeof encoded);
    TensorMap map;
    memcpy(&map, &encoded, sizeof map);
    map = decode_tensor_map(&encoded, map.rank);
    change(map);
    memcpy(memory, &map, sizeof map);
}

void tensormap_set_address(uint32_t address, const void *base) {
    if (reinterpret_cast<uintptr_t>(base) % 16)
        fail("TENSORMAP", "address %p is not aligned", base);
    edit(address,
        [base](TensorMap &map) { map.base = static_cast<uint8_t *>(const_cast<void *>(base)); });
}

void tensormap_set_extent(uint32_t address, uint32_t dimension, uint32_t extent) {
    edit(address, [=](TensorMap &map) {
        if (dimension >= map.rank || !extent)
            fail("TENSORMAP", "dimension %u, extent %u", dimension, extent);
        map.extent[dimension] = extent;
    });
}

void tensormap_set_stride(uint32_t address, uint32_t dimension, uint64_t bytes) {
    edit(address, [=](TensorMap &map) {
        if (!dimension || dimension >= map.rank || bytes % 16)
            fail("TENSORMAP", "dimension %u, stride %llu", dimension,
                static_cast<unsigned long long>(bytes));
        map.stride[dimension] = bytes;
    });
}

void tensormap_publish(dg_tensor_map_t *destination, uint32_t source) {
    uint64_t in[2] = {reinterpret_cast<uintptr_t>(destination), source};
    const uint8_t *from = shared_pointer(current->cta, source, 128, 128, "tensormap.cp_fenceproxy");
    const uintptr_t to = reinterpret_cast<uintptr_t>(destination);
    if (to % 128)
        fail("ALIGN", "tensormap.cp_fenceproxy: %p is not 128-byte aligned",
            static_cast<void *>(destination));
    // Each lane moves 4 of the 128 bytes.
    const uint32_t at = current->lane * 4;
    uint32_t word;
    shared_load(&word, source + at, 4);
    global_store(reinterpret_cast<uint8_t *>(destination) + at, &word, 4);
    if (current->lane == 0) global_bounds(destination, 128, true, "tensormap.cp_fenceproxy");
    warp_exchange("tensormap.cp_fenceproxy", in, 2, nullptr, 0, [=](WarpExchange &w) {
        for (int lane = 1; lane < 32; lane++)
            if (w.in[lane][0] != w.in[0][0] || w.in[lane][1] != w.in[0][1])
                fail("DIVERGED", "lanes publish different tensor maps");
        memcpy(destination, from, 128);
        versions[destination]++;
    });
    warp_sync(); // .sync: the lanes' stores are ordered before what any of them does next
}

void tensormap_acquire(const dg_tensor_map_t *map) {
    current->maps_acquired[map] = versions[map];
}

void tensormap_check_use(const dg_tensor_map_t *map, Access access, const char *what) {
    const auto version = versions.find(map);
    if (version == versions.end()) return;
    const auto mine = current->maps_acquired.find(map);
    if (mine == current->maps_acquired.end() || mine->second != version->second)
        fail("TENSORMAP", "%s uses a map published by a kernel without tensormap_acquire since",
            what);
    // The tensor-map proxy has its own fence, checked above: of the accesses only the order
    // matters.
    access.flags = ACCESS_READ;
    global_access_by(map, 128, access, current->clocks, what);
}

} // namespace emu
