// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/bulk.cuh.
#pragma once
#include "bulk.h"
#include "device/language.cuh"

DEVICE void bulk_load(uint32_t destination, const void *source, uint32_t bytes, uint32_t barrier) {
    emu::bulk_load(destination, source, bytes, barrier);
}

DEVICE void bulk_store(void *destination, uint32_t source, uint32_t bytes) {
    emu::bulk_store(destination, source, bytes);
}

DEVICE void bulk_reduce_add_f32(float *destination, uint32_t source, uint32_t bytes) {
    emu::bulk_reduce_add_f32(destination, source, bytes);
}

DEVICE void bulk_copy_peer(
    uint32_t mapped_destination, uint32_t source, uint32_t bytes, uint32_t mapped_barrier) {
    emu::bulk_copy_peer(mapped_destination, source, bytes, mapped_barrier);
}

DEVICE void bulk_commit(void) {
    emu::bulk_commit();
}
template <int N> DEVICE void bulk_wait_read(void) {
    emu::bulk_wait(N, true);
}
template <int N> DEVICE void bulk_wait(void) {
    emu::bulk_wait(N, false);
}
