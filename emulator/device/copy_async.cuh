// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/copy_async.cuh.
#pragma once
#include "copy_async.h"
#include "device/language.cuh"

template <int BYTES>
DEVICE void copy_async(uint32_t destination, const void *source, uint32_t valid) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "what cp.async can move");
    emu::copy_async(destination, source, BYTES, valid);
}

DEVICE void copy_async_commit(void) {
    emu::copy_async_commit();
}
template <int N> DEVICE void copy_async_wait(void) {
    emu::copy_async_wait(N);
}
DEVICE void copy_async_arrive(uint32_t barrier) {
    emu::copy_async_arrive(barrier);
}
