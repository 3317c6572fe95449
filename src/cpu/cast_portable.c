/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops, compiled for any processor of the architecture, and the choice among
 * the tables.
 */
#include "cpu/cast_loops.h"

static inline void encode_strip_e4m3(const float *restrict scaled, uint8_t *restrict codes) {
    uint32_t words[STRIP]; /* narrowed afterwards: gcc would narrow every term by itself */
    for (int i = 0; i < STRIP; ++i) words[i] = dg_encode_e4m3(scaled[i]);
    for (int i = 0; i < STRIP; ++i) codes[i] = (uint8_t)words[i];
}

static inline void encode_strip_e2m1(const float *restrict scaled, uint8_t *restrict codes) {
    uint32_t words[STRIP];
    for (int i = 0; i < STRIP; ++i) words[i] = dg_encode_e2m1(scaled[i]);
    for (int i = 0; i < STRIP; ++i) codes[i] = (uint8_t)words[i];
}

const dg_cpu_cast_kernels_t dg_cpu_cast_portable = DG_CAST_KERNELS;

const dg_cpu_cast_kernels_t *dg_cpu_cast_kernels(const dg_cpu_pool_t *pool) {
    const dg_cpu_kernels_t *kernels = dg_cpu_pool_kernels(pool);
#if defined(__x86_64__)
    if (kernels == &dg_cpu_kernels_avx512) return &dg_cpu_cast_avx512;
    if (kernels == &dg_cpu_kernels_avx2) return &dg_cpu_cast_avx2;
#elif defined(__aarch64__)
    if (kernels == &dg_cpu_kernels_neon) return &dg_cpu_cast_neon;
#else
    (void)kernels;
#endif
    return &dg_cpu_cast_portable;
}
