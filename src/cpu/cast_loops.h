/* SPDX-License-Identifier: MIT
 *
 * The innermost loops of the casts, over one run of values. They are plain C that compilers
 * vectorise; the including file is compiled once for each instruction set (cast_{portable,avx2,avx512}.c) and names
 * the table it makes. Only IEEE operations on single values occur, so all tables give the same bits.
 */
#include <stdint.h>

#include "cpu/cast_kernels.h"
#include "model/dtype.h"

#define DG_MAGNITUDE 0x7FFFFFFFu

static void widen_bf16(const uint16_t *restrict codes, int64_t count, float *restrict values) {
    for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_bf16(codes[i]);
}

static void narrow_bf16(const float *restrict values, int64_t count, uint16_t *restrict codes) {
    for (int64_t i = 0; i < count; ++i) codes[i] = dg_encode_bf16(values[i]);
}

/* Magnitudes order as their bit patterns do, infinity above all numbers and NaN above infinity; so
 * an integer maximum carries NaN along, which a floating-point one would not. */
static uint32_t max_run(const float *restrict values, int64_t count, uint32_t amax) {
    int32_t max = (int32_t)amax; /* signed: every instruction set has that maximum */
    for (int64_t i = 0; i < count; ++i) {
        const int32_t bits = (int32_t)(dg_float_bits(values[i]) & DG_MAGNITUDE);
        max = bits > max ? bits : max;
    }
    return (uint32_t)max;
}

static void max_columns(const float *restrict values, int64_t count, uint32_t *restrict amax) {
    for (int64_t i = 0; i < count; ++i) {
        const int32_t bits = (int32_t)(dg_float_bits(values[i]) & DG_MAGNITUDE);
        const int32_t max = (int32_t)amax[i];
        amax[i] = (uint32_t)(bits > max ? bits : max);
    }
}

static void encode_e4m3_run(
    const float *restrict values, int64_t count, float inverse, uint8_t *restrict codes) {
    for (int64_t i = 0; i < count; ++i) codes[i] = dg_encode_e4m3(values[i] * inverse);
}

static void encode_e4m3_columns(const float *restrict values, int64_t count,
    const float *restrict inverse, uint8_t *restrict codes) {
    for (int64_t i = 0; i < count; ++i) codes[i] = dg_encode_e4m3(values[i] * inverse[i]);
}

static void encode_e2m1_run(
    const float *restrict values, int64_t count, float inverse, uint8_t *restrict codes) {
    for (int64_t i = 0; i < count; ++i) codes[i] = dg_encode_e2m1(values[i] * inverse);
}

static void encode_e2m1_columns(const float *restrict values, int64_t count,
    const float *restrict inverse, uint8_t *restrict codes) {
    for (int64_t i = 0; i < count; ++i) codes[i] = dg_encode_e2m1(values[i] * inverse[i]);
}

static void decode_e4m3_run(
    const uint8_t *restrict codes, int64_t count, float factor, float *restrict values) {
    for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_e4m3(codes[i]) * factor;
}

static void decode_e4m3_columns(const uint8_t *restrict codes, int64_t count,
    const float *restrict factor, float *restrict values) {
    for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_e4m3(codes[i]) * factor[i];
}

static void decode_e2m1_run(
    const uint8_t *restrict codes, int64_t count, float factor, float *restrict values) {
    for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_e2m1(codes[i]) * factor;
}

static void decode_e2m1_columns(const uint8_t *restrict codes, int64_t count,
    const float *restrict factor, float *restrict values) {
    for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_e2m1(codes[i]) * factor[i];
}

/* pairs: [count] bytes out of 2 count codes, the even index in the low nibble. */
static void pack_pairs(const uint8_t *restrict codes, int64_t count, uint8_t *restrict pairs) {
    for (int64_t i = 0; i < count; ++i) {
        pairs[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
    }
}

#define DG_CAST_KERNELS                                                                            \
    {                                                                                              \
        .widen_bf16 = widen_bf16, .narrow_bf16 = narrow_bf16, .max_run = max_run,                  \
        .max_columns = max_columns, .pack_pairs = pack_pairs,                                      \
        .e4m3 = {encode_e4m3_run, encode_e4m3_columns, decode_e4m3_run, decode_e4m3_columns},      \
        .e2m1 = {encode_e2m1_run, encode_e2m1_columns, decode_e2m1_run, decode_e2m1_columns},      \
    }
