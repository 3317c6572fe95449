/* SPDX-License-Identifier: MIT
 *
 * Tensor copies by the TMA unit, started by one thread. Coordinates count elements, fastest
 * dimension first, and may lie past the end, and before the start in loads: loads give zeros there,
 * stores write nothing. A load reports the bytes of the whole box to its mbarrier, clipped or not.
 * Stores are collected in bulk groups (device/bulk.cuh). Destinations and sources in shared memory
 * are 128-byte aligned.
 *
 * Three rules that an H200 showed. The first coordinate is a multiple of 16 bytes and a store's are
 * not negative, or the grid is stopped ("an illegal instruction was encountered"). A store writes
 * whole pieces of 16 bytes: if rows of the tensor end inside one, it overwrites what lies behind
 * them, up to the end of the piece. */
#pragma once
#include "device/language.cuh"

DEVICE void tma_load_2d(
    uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(x), "r"(y)
                 : "memory");
}

DEVICE void tma_load_3d(
    uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* Into every CTA of the cluster whose bit is set, at the same address, reporting to the barrier at
 * the same address there. */
DEVICE void tma_load_2d_multicast(uint32_t destination, const dg_tensor_map_t *map,
    uint32_t barrier, int x, int y, uint16_t ranks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(ranks)
                 : "memory");
}

DEVICE void tma_load_3d_multicast(uint32_t destination, const dg_tensor_map_t *map,
    uint32_t barrier, int x, int y, int z, uint16_t ranks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(ranks)
                 : "memory");
}

DEVICE void tma_store_2d(const dg_tensor_map_t *map, uint32_t source, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], "
                 "[%1];" ::"l"(map),
                 "r"(source), "r"(x), "r"(y)
                 : "memory");
}

DEVICE void tma_store_3d(const dg_tensor_map_t *map, uint32_t source, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], "
                 "[%1];" ::"l"(map),
                 "r"(source), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* Adds to global memory in the map's element type. */
DEVICE void tma_reduce_add_2d(const dg_tensor_map_t *map, uint32_t source, int x, int y) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
                 "[%0, {%2, %3}], [%1];" ::"l"(map),
                 "r"(source), "r"(x), "r"(y)
                 : "memory");
}
