/* SPDX-License-Identifier: MIT
 *
 * The few words of CUDA C that differ between a GPU and the emulator: how a device function and a
 * kernel are declared, where shared memory comes from, and who the running thread is. Every other
 * file of this folder includes it. The emulator has a file of the same name with the same words. */
#pragma once
#include "args/types.h"

#define DEVICE static __device__ __forceinline__

/* Opens a kernel definition: `KERNEL(384) name(...) {`. The ", 1" matters: without a minimum of one
 * block per SM, ptxas ignores setmaxnreg (C7508) and spills. */
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
/* The same where `per_sm` blocks shall fit an SM at a time. */
#define KERNEL_PER_SM(threads, per_sm) extern "C" __global__ void __launch_bounds__(threads, per_sm)
#define KERNEL_PARAMETER const __grid_constant__

/* A loop the compiler must flatten, because registers cannot be indexed. */
#define UNROLL _Pragma("unroll")
/* The same a given number of times; the number may be a macro, which a pragma would not expand. */
#define UNROLL_BY(n) PRAGMA(unroll n)
#define PRAGMA(words) _Pragma(#words)

/* The address in the shared window of the CTA's dynamic shared memory; 1024-byte aligned, which the
 * 128-byte swizzle needs. All of shared memory is addressed by such 32-bit numbers. */
DEVICE uint32_t shared_base(void) {
    extern __shared__ __align__(1024) uint8_t dynamic_shared_memory[];
    return (uint32_t)__cvta_generic_to_shared(dynamic_shared_memory);
}

DEVICE uint32_t thread_index(void) {
    return threadIdx.x;
}
DEVICE uint32_t block_index(void) {
    return blockIdx.x;
}
DEVICE uint32_t block_count(void) {
    return gridDim.x;
}
DEVICE uint32_t lane_index(void) {
    return threadIdx.x & 31;
}
/* The shuffle tells the compiler that the value is the same in all lanes of a warp. */
DEVICE uint32_t warp_index(void) {
    return __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
}

/* Stops the grid with an error; used where going on would hang or write in the wrong place. */
DEVICE void trap(void) {
    asm volatile("trap;");
}

/* Keeps the compiler from moving reads and writes of this register across the point where it
 * stands: around wgmma the registers change behind the compiler's back. */
DEVICE void pin_f32(float &value) {
    asm volatile("" : "+f"(value)::"memory");
}

DEVICE void pin_f32_array(float *values, int count) {
    UNROLL
    for (int i = 0; i < count; i++) asm volatile("" : "+f"(values[i])::"memory");
}

/* The same for an integer. What is computed from it afterwards is computed there, and not kept in
 * registers through a loop in front of it. */
DEVICE void pin_u32(uint32_t &value) {
    asm volatile("" : "+r"(value)::"memory");
}

/* The same for A operands in registers: they stay what they are until the products are done. */
DEVICE void pin_u32_array(uint32_t *values, int count) {
    UNROLL
    for (int i = 0; i < count; i++) asm volatile("" : "+r"(values[i])::"memory");
}

DEVICE uint64_t clock_cycles(void) {
    uint64_t value;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
    return value;
}
