/* SPDX-License-Identifier: MIT
 *
 * Forced inlining, for the micro-kernels: each is written once for any number of rows and inlined
 * with a constant, so that the compiler unrolls it and keeps its arrays in registers.
 */
#ifndef DG_CPU_INLINE_H
#define DG_CPU_INLINE_H

#define DG_ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
