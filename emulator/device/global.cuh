// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/global.cuh.
#pragma once
#include "device/language.cuh"
#include "global_memory.h"

enum memory_order { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL };
enum memory_scope { SCOPE_CTA, SCOPE_GPU, SCOPE_SYS };

DEVICE uint32_t ld_global_u32(const void *address) {
    uint32_t value;
    emu::global_load(&value, address, 4);
    return value;
}

DEVICE uint16_t ld_global_u16(const void *address) {
    uint16_t value;
    emu::global_load(&value, address, 2);
    return value;
}

DEVICE uint64_t ld_global_u64(const void *address) {
    uint64_t value;
    emu::global_load(&value, address, 8);
    return value;
}

DEVICE float ld_global_f32(const float *address) {
    float value;
    emu::global_load(&value, address, 4);
    return value;
}

DEVICE float ld_constant_f32(const float *address) {
    return ld_global_f32(address);
}

DEVICE uint32_t ld_global_u8(const void *address) {
    uint8_t value;
    emu::global_load(&value, address, 1);
    return value;
}

DEVICE void ld_global_x2(uint32_t *values, const void *address) {
    emu::global_load(values, address, 8);
}

DEVICE void ld_global_x4(uint32_t *values, const void *address) {
    emu::global_load(values, address, 16);
}

DEVICE void st_global_u32(void *address, uint32_t value) {
    emu::global_store(address, &value, 4);
}
DEVICE void st_global_u16(void *address, uint16_t value) {
    emu::global_store(address, &value, 2);
}
DEVICE void st_global_f32(float *address, float value) {
    emu::global_store(address, &value, 4);
}

DEVICE void st_global_u64(void *address, uint64_t value) {
    emu::global_store(address, &value, 8);
}

DEVICE void st_global_x2(void *address, const uint32_t *values) {
    emu::global_store(address, values, 8);
}

DEVICE void st_global_x4(void *address, const uint32_t *values) {
    emu::global_store(address, values, 16);
}

// Changes nothing, but must name memory that is there.
DEVICE void prefetch_global(const void *address) {
    emu::global_bounds(address, 1, false, "prefetch");
}

DEVICE uint32_t ld_flag(const uint32_t *address, memory_order order, memory_scope scope) {
    return emu::flag_load(
        address, static_cast<emu::MemoryOrder>(order), static_cast<emu::MemoryScope>(scope));
}

DEVICE void st_flag(uint32_t *address, uint32_t value, memory_order order, memory_scope scope) {
    emu::flag_store(
        address, value, static_cast<emu::MemoryOrder>(order), static_cast<emu::MemoryScope>(scope));
}

DEVICE uint32_t atomic_add_u32(
    uint32_t *address, uint32_t value, memory_order order, memory_scope scope) {
    return emu::atomic_add(
        address, value, static_cast<emu::MemoryOrder>(order), static_cast<emu::MemoryScope>(scope));
}
