// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/tensormap.cuh.
#pragma once
#include "device/language.cuh"
#include "tensor_map_edit.h"

DEVICE void tensormap_prefetch(const dg_tensor_map_t *) {}

DEVICE void tensormap_set_address(uint32_t map, const void *address) {
    emu::tensormap_set_address(map, address);
}

template <int DIMENSION> DEVICE void tensormap_set_extent(uint32_t map, uint32_t extent) {
    emu::tensormap_set_extent(map, DIMENSION, extent);
}

template <int DIMENSION> DEVICE void tensormap_set_stride(uint32_t map, uint64_t bytes) {
    emu::tensormap_set_stride(map, DIMENSION, bytes);
}

DEVICE void tensormap_publish(dg_tensor_map_t *destination, uint32_t map, EMU_SITE) {
    emu::warp_together("tensormap_publish", site);
    emu::tensormap_publish(destination, map);
}

DEVICE void tensormap_acquire(const dg_tensor_map_t *map) {
    emu::tensormap_acquire(map);
}
