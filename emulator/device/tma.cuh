// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/tma.cuh.
#pragma once
#include "device/language.cuh"
#include "tma.h"

DEVICE void tma_load_2d(
    uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, int x, int y) {
    const int at[2] = {x, y};
    emu::tma_load(destination, map, barrier, 2, at, 0);
}

DEVICE void tma_load_3d(
    uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, int x, int y, int z) {
    const int at[3] = {x, y, z};
    emu::tma_load(destination, map, barrier, 3, at, 0);
}

DEVICE void tma_load_2d_multicast(uint32_t destination, const dg_tensor_map_t *map,
    uint32_t barrier, int x, int y, uint16_t ranks) {
    const int at[2] = {x, y};
    emu::tma_load(destination, map, barrier, 2, at, ranks);
}

DEVICE void tma_load_3d_multicast(uint32_t destination, const dg_tensor_map_t *map,
    uint32_t barrier, int x, int y, int z, uint16_t ranks) {
    const int at[3] = {x, y, z};
    emu::tma_load(destination, map, barrier, 3, at, ranks);
}

DEVICE void tma_store_2d(const dg_tensor_map_t *map, uint32_t source, int x, int y) {
    const int at[2] = {x, y};
    emu::tma_store(map, source, 2, at);
}

DEVICE void tma_store_3d(const dg_tensor_map_t *map, uint32_t source, int x, int y, int z) {
    const int at[3] = {x, y, z};
    emu::tma_store(map, source, 3, at);
}

DEVICE void tma_reduce_add_2d(const dg_tensor_map_t *map, uint32_t source, int x, int y) {
    const int at[2] = {x, y};
    emu::tma_reduce_add(map, source, 2, at);
}
