/* SPDX-License-Identifier: MIT
 *
 * Eight rows of codes turned so that the rows lie side by side. The packer (pack.c) does this to
 * K-major operands, and it is most of the cost of packing them, so it works in 16-byte vectors of
 * the base instruction set (SSE2, NEON) through the compiler's vector types.
 */
#ifndef DG_CPU_TRANSPOSE_H
#define DG_CPU_TRANSPOSE_H

#include <stdint.h>

/* codes[k][0 .. count-1] = rows[0 .. count-1][k] for k in [0, k_count).
 *   rows: 8 pointers to k_count bytes each (all are read; those from `count` on may repeat others);
 *   count: 1 .. 8, even unless 1; pitch: bytes from codes[k] to codes[k + 1]. */
void dg_cpu_transpose_bytes(
    const uint8_t *const rows[8], int count, int64_t k_count, int64_t pitch, uint8_t *codes);

/* The same for 16-bit codes; pitch is in bytes too. */
void dg_cpu_transpose_halves(
    const uint8_t *const rows[8], int count, int64_t k_count, int64_t pitch, uint8_t *codes);

/* The same for 32-bit values, in plain loops: FP32 operands are rare. */
void dg_cpu_transpose_words(
    const uint8_t *const rows[8], int count, int64_t k_count, int64_t pitch, uint8_t *values);

#endif
