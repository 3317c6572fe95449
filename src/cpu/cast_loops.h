/* SPDX-License-Identifier: MIT
 *
 * The innermost loops of the casts, over one run of values. They are plain C that compilers
 * vectorise; the including file is compiled once for each instruction set (cast_{portable,avx2,
 * avx512}.c) and names the table it makes. Only IEEE operations on single values occur, so all tables
 * give the same bits.
 */
#include <stdint.h>

#include "cpu/cast_kernels.h"
#include "model/dtype.h"

static inline float widen_f32(float value) {
    return value;
}
static inline float widen_bf16(uint16_t code) {
    return dg_decode_bf16(code);
}

/* Magnitudes order as their bit patterns do, infinity above all numbers and NaN above infinity; so
 * an integer maximum carries NaN along, which a floating-point one would not. Signed, because every
 * instruction set has that maximum. BF16 is the upper half of an FP32. */
static inline int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static uint32_t max_run_f32(const void *values, int64_t count, uint32_t amax) {
    const float *restrict x = values;
    int32_t max = (int32_t)amax;
    for (int64_t i = 0; i < count; ++i) {
        max = larger(max, (int32_t)(dg_float_bits(x[i]) & 0x7FFFFFFFu));
    }
    return (uint32_t)max;
}

static uint32_t max_run_bf16(const void *values, int64_t count, uint32_t amax) {
    const uint16_t *restrict x = values;
    int16_t max = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int16_t bits = (int16_t)(x[i] & 0x7FFF);
        max = bits > max ? bits : max;
    }
    return (uint32_t)larger((int32_t)amax, (int32_t)max << 16);
}

/* The loops that differ in nothing but the type of x. */
#define DG_SOURCE_LOOPS(type, element)                                                             \
    static void max_columns_##type(const void *values, int64_t count, uint32_t *restrict amax) {   \
        const element *restrict x = values;                                                        \
        for (int64_t i = 0; i < count; ++i) {                                                      \
            const uint32_t bits = dg_float_bits(widen_##type(x[i])) & 0x7FFFFFFFu;                 \
            amax[i] = (uint32_t)larger((int32_t)amax[i], (int32_t)bits);                           \
        }                                                                                          \
    }                                                                                              \
    DG_ENCODE_LOOPS(e4m3, type, element)                                                           \
    DG_ENCODE_LOOPS(e2m1, type, element)

/* Codes are made as words and narrowed afterwards: left alone, gcc narrows every term of the
 * encoding on its own and spends half of its instructions on that (measured: AVX2, 1.6 times). */
enum { STRIP = 64 };

static inline void narrow_strip(const uint32_t *restrict words, uint8_t *restrict codes) {
    for (int i = 0; i < STRIP; ++i) codes[i] = (uint8_t)words[i];
}

#define DG_ENCODE_LOOP(code, kind, type, element, inverse_type, inverse_at)                        \
    static void encode_##code##_##kind##_##type(                                                   \
        const void *values, int64_t count, inverse_type inverse, uint8_t *restrict codes) {        \
        const element *restrict x = values;                                                        \
        int64_t i = 0;                                                                             \
        for (; i + STRIP <= count; i += STRIP) {                                                   \
            uint32_t words[STRIP];                                                                 \
            for (int64_t j = i; j < i + STRIP; ++j) {                                              \
                words[j - i] = dg_encode_##code(widen_##type(x[j]) * inverse_at(j));               \
            }                                                                                      \
            narrow_strip(words, codes + i);                                                        \
        }                                                                                          \
        for (; i < count; ++i) codes[i] = dg_encode_##code(widen_##type(x[i]) * inverse_at(i));    \
    }

#define DG_SAME(i) inverse
#define DG_EACH(i) inverse[i]

#define DG_ENCODE_LOOPS(code, type, element)                                                       \
    DG_ENCODE_LOOP(code, run, type, element, float, DG_SAME)                                       \
    DG_ENCODE_LOOP(code, columns, type, element, const float *restrict, DG_EACH)

DG_SOURCE_LOOPS(f32, float)
DG_SOURCE_LOOPS(bf16, uint16_t)

#define DG_DECODE_LOOPS(code)                                                                      \
    static void decode_##code##_run(                                                               \
        const uint8_t *restrict codes, int64_t count, float factor, float *restrict values) {      \
        for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_##code(codes[i]) * factor;       \
    }                                                                                              \
    static void decode_##code##_columns(const uint8_t *restrict codes, int64_t count,              \
        const float *restrict factor, float *restrict values) {                                    \
        for (int64_t i = 0; i < count; ++i) values[i] = dg_decode_##code(codes[i]) * factor[i];    \
    }

DG_DECODE_LOOPS(e4m3)
DG_DECODE_LOOPS(e2m1)

static void narrow_bf16(const float *restrict values, int64_t count, uint16_t *restrict codes) {
    for (int64_t i = 0; i < count; ++i) codes[i] = dg_encode_bf16(values[i]);
}

/* pairs: [count] bytes out of 2 count codes, the even index in the low nibble. */
static void pack_pairs(const uint8_t *restrict codes, int64_t count, uint8_t *restrict pairs) {
    for (int64_t i = 0; i < count; ++i) {
        pairs[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
    }
}

#define DG_CAST_KERNELS                                                                            \
    {                                                                                              \
        .f32 = {max_run_f32, max_columns_f32, encode_e4m3_run_f32, encode_e4m3_columns_f32,        \
            encode_e2m1_run_f32, encode_e2m1_columns_f32},                                         \
        .bf16 = {max_run_bf16, max_columns_bf16, encode_e4m3_run_bf16, encode_e4m3_columns_bf16,   \
            encode_e2m1_run_bf16, encode_e2m1_columns_bf16},                                       \
        .decode_e4m3_run = decode_e4m3_run, .decode_e4m3_columns = decode_e4m3_columns,            \
        .decode_e2m1_run = decode_e2m1_run, .decode_e2m1_columns = decode_e2m1_columns,            \
        .narrow_bf16 = narrow_bf16, .pack_pairs = pack_pairs                                       \
    }
