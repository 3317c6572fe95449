/* SPDX-License-Identifier: MIT
 *
 * Tensor maps edited by a kernel: a copy in shared memory is changed field by field, published to
 * global memory by a whole warp, and acquired by each thread that starts copies with it. A map that
 * a copy in flight still uses must not be published over: keep a ring of two or more. */
#pragma once
#include "device/language.cuh"

/* Fetches a map into the descriptor cache; a cold one costs about a microsecond. */
DEVICE void tensormap_prefetch(const dg_tensor_map_t *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* map: address in shared memory of 128 bytes, 128-byte aligned */
DEVICE void tensormap_set_address(uint32_t map, const void *address) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(map),
                 "l"(address)
                 : "memory");
}

/* DIMENSION counts from the fastest */
template <int DIMENSION> DEVICE void tensormap_set_extent(uint32_t map, uint32_t extent) {
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], %1, %2;" ::"r"(map),
                 "n"(DIMENSION), "r"(extent)
                 : "memory");
}

/* Bytes from one index of dimension DIMENSION to the next; DIMENSION >= 1. */
template <int DIMENSION> DEVICE void tensormap_set_stride(uint32_t map, uint64_t bytes) {
    asm volatile(
        "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], %1, %2;" ::"r"(map),
        "n"(DIMENSION - 1), "l"(bytes)
        : "memory");
}

/* Copies the edited map to global memory and releases it to the tensor-map proxy; all 32 lanes. */
DEVICE void tensormap_publish(dg_tensor_map_t *destination, uint32_t map) {
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                 ".aligned [%0], [%1], 128;" ::"l"(destination),
                 "r"(map)
                 : "memory");
}

/* By the thread that is about to use a published map. */
DEVICE void tensormap_acquire(const dg_tensor_map_t *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
