/* SPDX-License-Identifier: MIT
 *
 * What the GEMM engine asks of an instruction set: a micro-kernel and two decoders.
 *
 * The engine (engine.c) and the packer (pack.c) are portable C and call the innermost loops through
 * one table per instruction set. All tables give the same bits: a kernel forms each element by the
 * same chain of fused multiply-adds, only more or fewer of them at once. Each table lives in its own
 * file, compiled with the flags of its instruction set; isa.c picks one at run time.
 */
#ifndef DG_CPU_ISA_H
#define DG_CPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/context.h" /* dg_cpu_isa_t and its names are public */

#define DG_CPU_ISA_COUNT 5

/* Upper bounds on the tile of any micro-kernel. */
#define DG_CPU_MAX_ROWS 14
#define DG_CPU_MAX_COLS 32

/* One block of K for one micro-tile of `rows` x `cols`:
 *   sum[i][j]    = fma chain over k = 0 .. k_count-1, in this order, from +0, of a[k][i] * b[k][j]
 *   total[i][j] <- fma(scale_a[i] * scale_b[j], sum[i][j], total[i][j])
 * for i < used_rows (1 .. rows); the other rows of total may or may not change.
 *   a: [k_count, rows] f32; b: [k_count, cols] f32; scale_a: [rows] f32; scale_b: [cols] f32;
 *   total: [rows, cols] f32; b, scale_b and total are aligned to 64 bytes. */
typedef void dg_cpu_multiply_t(int64_t k_count, int used_rows, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total);

typedef struct dg_cpu_kernels_t {
    const char *name; /* "portable", "avx2", ... */
    int rows, cols;   /* the micro-tile */
    dg_cpu_multiply_t *multiply;
    /* codes: [count] e4m3 or bf16; values: [count] f32, aligned to 64 bytes. Both buffers reach to
     * the next multiple of 32 elements, and the decoder may touch all of it. */
    void (*decode_e4m3)(const uint8_t *codes, int64_t count, float *values);
    void (*decode_bf16)(const uint16_t *codes, int64_t count, float *values);
} dg_cpu_kernels_t;

/* The table of that kind, or NULL where the build or this CPU does not have it. */
const dg_cpu_kernels_t *dg_cpu_find_kernels(dg_cpu_isa_t kind);

/* The tables themselves, for isa.c. */
extern const dg_cpu_kernels_t dg_cpu_kernels_portable;
extern const dg_cpu_kernels_t dg_cpu_kernels_avx2;
extern const dg_cpu_kernels_t dg_cpu_kernels_avx512;
extern const dg_cpu_kernels_t dg_cpu_kernels_neon;

#endif
