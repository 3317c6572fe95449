/* SPDX-License-Identifier: MIT
 *
 * Loads and stores of shared memory by 32-bit address: one's own, and that of a peer CTA of the
 * cluster. Kernels use these instead of pointers so that the emulator sees every access. */
#pragma once
#include "device/language.cuh"

DEVICE uint32_t ld_shared_u32(uint32_t address) {
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

DEVICE float ld_shared_f32(uint32_t address) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}

/* values: [2], 8 bytes from an 8-byte aligned address */
DEVICE void ld_shared_f32x2(float *values, uint32_t address) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(values[0]), "=f"(values[1])
                 : "r"(address)
                 : "memory");
}

/* values: [4], 16 bytes from a 16-byte aligned address */
DEVICE void ld_shared_x4(uint32_t *values, uint32_t address) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
                 : "r"(address)
                 : "memory");
}

DEVICE void st_shared_u32(uint32_t address, uint32_t value) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

DEVICE void st_shared_f32(uint32_t address, float value) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

/* 8 bytes to an 8-byte aligned address */
DEVICE void st_shared_x2(uint32_t address, uint32_t low, uint32_t high) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(low), "r"(high) : "memory");
}

/* values: [4], 16 bytes to a 16-byte aligned address */
DEVICE void st_shared_x4(uint32_t address, const uint32_t *values) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(values[0]),
                 "r"(values[1]), "r"(values[2]), "r"(values[3])
                 : "memory");
}

/* The address under which CTA `rank` of the cluster keeps what is at `address` in this CTA. */
DEVICE uint32_t peer_address(uint32_t address, uint32_t rank) {
    uint32_t mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

DEVICE uint32_t ld_peer_u32(uint32_t mapped) {
    uint32_t value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(mapped) : "memory");
    return value;
}

/* values: [4], 16 bytes from a 16-byte aligned address */
DEVICE void ld_peer_x4(uint32_t *values, uint32_t mapped) {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
                 : "r"(mapped)
                 : "memory");
}

DEVICE void st_peer_u32(uint32_t mapped, uint32_t value) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapped), "r"(value) : "memory");
}

/* A store to a peer that reports its 4 bytes to the peer's mbarrier when it has landed. */
DEVICE void st_async_u32(uint32_t mapped, uint32_t value, uint32_t mapped_barrier) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(mapped),
        "r"(value), "r"(mapped_barrier)
        : "memory");
}
