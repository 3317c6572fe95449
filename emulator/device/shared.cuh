// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/shared.cuh.
#pragma once
#include "bulk.h"
#include "device/language.cuh"
#include "shared_memory.h"

DEVICE uint32_t ld_shared_u32(uint32_t address) {
    uint32_t value;
    emu::shared_load(&value, address, 4);
    return value;
}

DEVICE float ld_shared_f32(uint32_t address) {
    float value;
    emu::shared_load(&value, address, 4);
    return value;
}

DEVICE void ld_shared_f32x2(float *values, uint32_t address) {
    emu::shared_load(values, address, 8);
}

DEVICE void ld_shared_x4(uint32_t *values, uint32_t address) {
    emu::shared_load(values, address, 16);
}

DEVICE void st_shared_u32(uint32_t address, uint32_t value) {
    emu::shared_store(address, &value, 4);
}

DEVICE void st_shared_f32(uint32_t address, float value) {
    emu::shared_store(address, &value, 4);
}

DEVICE void st_shared_x2(uint32_t address, uint32_t low, uint32_t high) {
    const uint32_t values[2] = {low, high};
    emu::shared_store(address, values, 8);
}

DEVICE void st_shared_x4(uint32_t address, const uint32_t *values) {
    emu::shared_store(address, values, 16);
}

DEVICE uint32_t peer_address(uint32_t address, uint32_t rank) {
    return emu::peer_address(address, rank);
}

DEVICE uint32_t ld_peer_u32(uint32_t mapped) {
    uint32_t value;
    emu::shared_load(&value, mapped, 4);
    return value;
}

DEVICE void ld_peer_x4(uint32_t *values, uint32_t mapped) {
    emu::shared_load(values, mapped, 16);
}

DEVICE void st_peer_u32(uint32_t mapped, uint32_t value) {
    emu::shared_store(mapped, &value, 4);
}

DEVICE void st_async_u32(uint32_t mapped, uint32_t value, uint32_t mapped_barrier) {
    emu::store_async(mapped, value, mapped_barrier);
}
