/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops as one table for each instruction set, like cpu/isa.h for the GEMMs.
 * quantize.c and dequantize.c call them; cast_loops.h defines them; cast_{portable,avx2,avx512,neon}.c
 * hold the tables. Codes of both types take one byte each here; E2M1 is packed afterwards.
 */
#ifndef DG_CPU_CAST_KERNELS_H
#define DG_CPU_CAST_KERNELS_H

#include <stdint.h>

#include "cpu/pool.h"

/* Consecutive values, cut into blocks of `gran` with a factor each. */
typedef struct dg_cast_run_t {
    const void *values; /* [count] f32 or bf16 */
    int64_t count;
    int64_t first; /* place of values[0], counted from the start of block 0 */
    int64_t gran;
} dg_cast_run_t;

/* For x of one type, f32 or bf16.
 *     max      bits, as f32, of the largest magnitude among `amax` and the values; NaN is the largest
 *     encode   codes = code nearest to values * inverse; codes: [count]
 *     blocks   amax, inverse: [blocks of the run, from block 0 on]
 *     columns  amax, inverse: [count], one for each value */
typedef struct dg_cpu_source_kernels_t {
    void (*max_blocks)(const dg_cast_run_t *run, uint32_t *amax);
    /* values: [rows, count], rows `stride` values apart */
    void (*max_columns)(
        const void *values, int64_t stride, int64_t rows, int64_t count, uint32_t *amax);
    void (*encode_e4m3_blocks)(const dg_cast_run_t *run, const float *inverse, uint8_t *codes);
    void (*encode_e4m3_columns)(
        const void *values, int64_t count, const float *inverse, uint8_t *codes);
    void (*encode_e2m1_blocks)(const dg_cast_run_t *run, const float *inverse, uint8_t *codes);
    void (*encode_e2m1_columns)(
        const void *values, int64_t count, const float *inverse, uint8_t *codes);
} dg_cpu_source_kernels_t;

typedef struct dg_cpu_cast_kernels_t {
    dg_cpu_source_kernels_t f32, bf16;
    /* values = value of codes * factor; values: [count] f32, factor: [count] f32. */
    void (*decode_e4m3_run)(const uint8_t *codes, int64_t count, float factor, float *values);
    void (*decode_e4m3_columns)(
        const uint8_t *codes, int64_t count, const float *factor, float *values);
    void (*decode_e2m1_run)(const uint8_t *codes, int64_t count, float factor, float *values);
    void (*decode_e2m1_columns)(
        const uint8_t *codes, int64_t count, const float *factor, float *values);
    void (*narrow_bf16)(const float *values, int64_t count, uint16_t *codes);
    /* pairs: [count] bytes of two codes out of codes: [2 * count]. */
    void (*pack_pairs)(const uint8_t *codes, int64_t count, uint8_t *pairs);
} dg_cpu_cast_kernels_t;

/* The table that goes with the pool's instruction set. */
const dg_cpu_cast_kernels_t *dg_cpu_cast_kernels(const dg_cpu_pool_t *pool);

extern const dg_cpu_cast_kernels_t dg_cpu_cast_portable;
extern const dg_cpu_cast_kernels_t dg_cpu_cast_avx2;
extern const dg_cpu_cast_kernels_t dg_cpu_cast_avx512;
extern const dg_cpu_cast_kernels_t dg_cpu_cast_neon;

#endif
