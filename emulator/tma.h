// SPDX-License-Identifier: MIT
//
// Tensor copies: load, multicast load, store and reduction through a tensor map. coordinates:
// [rank].
#pragma once
#include "args/types.h"

#include <cstdint>

namespace emu {

// ranks: bit r for each CTA of the cluster that gets the box; 0: the running CTA alone.
void tma_load(uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, uint32_t rank,
    const int *coordinates, uint32_t ranks);
void tma_store(const dg_tensor_map_t *map, uint32_t source, uint32_t rank, const int *coordinates);
void tma_reduce_add(
    const dg_tensor_map_t *map, uint32_t source, uint32_t rank, const int *coordinates);

} // namespace emu
