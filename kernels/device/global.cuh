/* SPDX-License-Identifier: MIT
 *
 * Loads, stores and atomics of global memory, with the scope and order of the memory model spelt
 * out. Ordinary loads and stores order nothing; flags between CTAs go through ld_flag, st_flag and
 * the atomics. The order and scope arguments must be constants: the branches fold away. */
#pragma once
#include "device/language.cuh"

enum memory_order { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL };
enum memory_scope { SCOPE_CTA, SCOPE_GPU, SCOPE_SYS };

DEVICE uint32_t ld_global_u32(const void *address) {
    uint32_t value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

DEVICE uint16_t ld_global_u16(const void *address) {
    uint16_t value;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(value) : "l"(address) : "memory");
    return value;
}

DEVICE uint64_t ld_global_u64(const void *address) {
    uint64_t value;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

DEVICE float ld_global_f32(const float *address) {
    float value;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(address) : "memory");
    return value;
}

/* For data nobody writes while the kernel runs: may be cached and moved by the compiler. */
DEVICE float ld_constant_f32(const float *address) {
    return __ldg(address);
}

DEVICE uint32_t ld_global_u8(const void *address) {
    uint32_t value;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

/* values: [2], 8 bytes from an 8-byte aligned address */
DEVICE void ld_global_x2(uint32_t *values, const void *address) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(values[0]), "=r"(values[1])
                 : "l"(address)
                 : "memory");
}

/* values: [4], 16 bytes from a 16-byte aligned address */
DEVICE void ld_global_x4(uint32_t *values, const void *address) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
                 : "l"(address)
                 : "memory");
}

DEVICE void st_global_u32(void *address, uint32_t value) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

DEVICE void st_global_u16(void *address, uint16_t value) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(value) : "memory");
}

DEVICE void st_global_f32(float *address, float value) {
    asm volatile("st.global.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}

DEVICE void st_global_u64(void *address, uint64_t value) {
    asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

/* values: [2], 8 bytes to an 8-byte aligned address */
DEVICE void st_global_x2(void *address, const uint32_t *values) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(values[0]), "r"(values[1])
                 : "memory");
}

/* values: [4], 16 bytes to a 16-byte aligned address */
DEVICE void st_global_x4(void *address, const uint32_t *values) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(values[0]),
                 "r"(values[1]), "r"(values[2]), "r"(values[3])
                 : "memory");
}

/* Brings the line of an address into the L2 cache. */
DEVICE void prefetch_global(const void *address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

#define LOAD_FLAG(words)                                                                           \
    asm volatile("ld." words ".global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory")

/* One look at a flag that another CTA sets; order is ORDER_RELAXED or ORDER_ACQUIRE. */
DEVICE uint32_t ld_flag(const uint32_t *address, memory_order order, memory_scope scope) {
    uint32_t value;
    if (order == ORDER_RELAXED) {
        if (scope == SCOPE_CTA)
            LOAD_FLAG("relaxed.cta");
        else if (scope == SCOPE_GPU)
            LOAD_FLAG("relaxed.gpu");
        else
            LOAD_FLAG("relaxed.sys");
    } else {
        if (scope == SCOPE_CTA)
            LOAD_FLAG("acquire.cta");
        else if (scope == SCOPE_GPU)
            LOAD_FLAG("acquire.gpu");
        else
            LOAD_FLAG("acquire.sys");
    }
    return value;
}
#undef LOAD_FLAG

#define STORE_FLAG(words)                                                                          \
    asm volatile("st." words ".global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory")

/* order is ORDER_RELAXED or ORDER_RELEASE. */
DEVICE void st_flag(uint32_t *address, uint32_t value, memory_order order, memory_scope scope) {
    if (order == ORDER_RELAXED) {
        if (scope == SCOPE_CTA)
            STORE_FLAG("relaxed.cta");
        else if (scope == SCOPE_GPU)
            STORE_FLAG("relaxed.gpu");
        else
            STORE_FLAG("relaxed.sys");
    } else {
        if (scope == SCOPE_CTA)
            STORE_FLAG("release.cta");
        else if (scope == SCOPE_GPU)
            STORE_FLAG("release.gpu");
        else
            STORE_FLAG("release.sys");
    }
}
#undef STORE_FLAG

#define ADD(words)                                                                                 \
    asm volatile("atom." words ".global.add.u32 %0, [%1], %2;"                                     \
                 : "=r"(old)                                                                       \
                 : "l"(address), "r"(value)                                                        \
                 : "memory")
#define ADD_IN_SCOPE(order_word)                                                                   \
    do {                                                                                           \
        if (scope == SCOPE_CTA)                                                                    \
            ADD(order_word ".cta");                                                                \
        else if (scope == SCOPE_GPU)                                                               \
            ADD(order_word ".gpu");                                                                \
        else                                                                                       \
            ADD(order_word ".sys");                                                                \
    } while (0)

/* Adds and returns what was there before. */
DEVICE uint32_t atomic_add_u32(
    uint32_t *address, uint32_t value, memory_order order, memory_scope scope) {
    uint32_t old;
    if (order == ORDER_RELAXED)
        ADD_IN_SCOPE("relaxed");
    else if (order == ORDER_ACQUIRE)
        ADD_IN_SCOPE("acquire");
    else if (order == ORDER_RELEASE)
        ADD_IN_SCOPE("release");
    else
        ADD_IN_SCOPE("acq_rel");
    return old;
}
#undef ADD_IN_SCOPE
#undef ADD
