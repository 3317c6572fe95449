/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops, compiled for any processor of the architecture (NEON is part of that
 * on AArch64), and the choice among the tables.
 */
#include "cpu/cast_loops.h"

const dg_cpu_cast_kernels_t dg_cpu_cast_portable = DG_CAST_KERNELS;

const dg_cpu_cast_kernels_t *dg_cpu_cast_kernels(const dg_cpu_pool_t *pool) {
#if defined(__x86_64__)
    const dg_cpu_kernels_t *kernels = dg_cpu_pool_kernels(pool);
    if (kernels == dg_cpu_find_kernels(DG_CPU_ISA_AVX512)) return &dg_cpu_cast_avx512;
    if (kernels == dg_cpu_find_kernels(DG_CPU_ISA_AVX2)) return &dg_cpu_cast_avx2;
#else
    (void)pool;
#endif
    return &dg_cpu_cast_portable;
}
