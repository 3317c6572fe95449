// SPDX-License-Identifier: MIT
//
// Tensor maps that a kernel edits: field changes in shared memory, publication to global memory,
// and the acquire that each user needs. What hardware keeps in its tensor-map proxy is a version
// here.
#pragma once
#include "args/types.h"
#include "machine.h"

namespace emu {

void tensormap_set_address(uint32_t map, const void *address);
void tensormap_set_extent(uint32_t map, uint32_t dimension, uint32_t extent);
void tensormap_set_stride(uint32_t map, uint32_t dimension, uint64_t bytes);
void tensormap_publish(dg_tensor_map_t *destination, uint32_t map);
void tensormap_acquire(const dg_tensor_map_t *map);

// Called by copies before they use a map: an error if it was published and not acquired since, or
// if the publication is not ordered before. access: by the engine that reads the map.
void tensormap_check_use(const dg_tensor_map_t *map, Access access, const char *what);

void tensor_maps_reset();

} // namespace emu
