/* SPDX-License-Identifier: MIT
 *
 * FP4 codes as FP8 codes: every e2m1 value is an e4m3 value, so that after this step the packer
 * (pack.c) treats FP4 operands as FP8 ones.
 */
#ifndef DG_CPU_E2M1_H
#define DG_CPU_E2M1_H

#include <stdint.h>

/* codes[i] = e4m3 code of the e2m1 code first + i, for i in [0, count).
 *   data: e2m1 codes, two a byte, the even one in the low nibble; codes: [count] e4m3. */
void dg_cpu_unpack_e2m1(const uint8_t *data, int64_t first, int64_t count, uint8_t *codes);

/* The e4m3 code of e2m1 code number `index`. */
uint8_t dg_cpu_load_e2m1(const uint8_t *data, int64_t index);

#endif
