/* SPDX-License-Identifier: MIT
 *
 * The words that host code, kernels and emulator agree on: fixed-width integers and the 128-byte
 * TMA descriptor. Every header of kernels/args and every file of kernels/device includes it. NVRTC
 * has no system headers, so there the integers are declared here. */
#ifndef DG_KERNEL_ARGS_TYPES_H
#define DG_KERNEL_ARGS_TYPES_H

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#else
#    include <stdint.h>
#endif

#ifdef __cplusplus
#    define DG_ALIGNED(n) alignas(n)
#    define DG_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#    define DG_ALIGNED(n) _Alignas(n)
#    define DG_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* What cuTensorMapEncodeTiled fills and the TMA unit reads; the emulator keeps its own fields in
 * the same 128 bytes. 64-byte alignment is what the hardware asks for. */
typedef struct dg_tensor_map {
    DG_ALIGNED(64) uint64_t opaque[16];
} dg_tensor_map_t;

#endif
