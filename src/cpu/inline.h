/* SPDX-License-Identifier: MIT
 *
 * Forced inlining and unrolling, for the micro-kernels: each is written once for any number of rows
 * and inlined with a constant, so that its loops over rows vanish and its arrays become registers.
 */
#ifndef DG_CPU_INLINE_H
#define DG_CPU_INLINE_H

#define DG_ALWAYS_INLINE static inline __attribute__((always_inline))

/* In front of a loop of at most 16 rounds. */
#if defined(__clang__)
#    define DG_UNROLL _Pragma("clang loop unroll(full)")
#else
#    define DG_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
