/* SPDX-License-Identifier: MIT
 *
 * Values of FP8, FP4, BF16 and E8M0 codes, decoded by this program itself: what checks the library
 * must not ask the library. Called by operand.c, reference.c and the cases.
 */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdint.h>

#include "deep_gemm/deep_gemm.h"

float cli_e4m3_value(uint8_t code); /* S.EEEE.MMM, bias 7; 0x7F and 0xFF are NaN */
float cli_e2m1_value(uint8_t code); /* S.EE.M in the low nibble: 0 .5 1 1.5 2 3 4 6 */
float cli_e8m0_value(uint8_t code); /* 2^(code - 127); 255 is NaN */
float cli_bf16_value(uint16_t code);
uint16_t cli_bf16_code(float value); /* round to nearest even */

/* Code of the nearest value. E4M3: ties to even, NaN beyond 464. E2M1: ties toward zero, no
 * negative zero. `value` is finite. */
uint8_t cli_e4m3_code(float value);
uint8_t cli_e2m1_code(float value);

/* Value `index` of memory holding `dtype` (E2M1X2: index counts values, not bytes). */
double cli_load(const void *data, dg_dtype_t dtype, int64_t index);

#endif
