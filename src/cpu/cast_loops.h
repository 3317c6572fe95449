/* SPDX-License-Identifier: MIT
 *
 * The innermost loops of the casts, over one run of values. They are plain C that compilers
 * vectorise, but for encode_strip_e4m3() and _e2m1(), most of the work, which the including file
 * defines with the instructions at hand (cast_{portable,avx2,avx512,neon}.c). Each of these names the
 * table it makes. Only IEEE operations on single values occur, so all tables give the same bits.
 */
#include <stdint.h>
#include <string.h>

#include "cpu/cast_kernels.h"
#include "model/dtype.h"

/* Values are scaled and encoded so many at a time. */
enum { STRIP = 32 };

/* codes: [STRIP] of scaled: [STRIP], as dg_encode_e4m3() and dg_encode_e2m1() give them. */
static inline void encode_strip_e4m3(const float *restrict scaled, uint8_t *restrict codes);
static inline void encode_strip_e2m1(const float *restrict scaled, uint8_t *restrict codes);

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

static inline uint32_t max_run_f32(const float *restrict x, int64_t count, uint32_t amax) {
    int32_t max = (int32_t)amax;
    for (int64_t i = 0; i < count; ++i) {
        max = larger(max, (int32_t)(dg_float_bits(x[i]) & 0x7FFFFFFFu));
    }
    return (uint32_t)max;
}

static inline uint32_t max_run_bf16(const uint16_t *restrict x, int64_t count, uint32_t amax) {
    int16_t max = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int16_t bits = (int16_t)(x[i] & 0x7FFF);
        max = bits > max ? bits : max;
    }
    return (uint32_t)larger((int32_t)amax, (int32_t)max << 16);
}

/* Columns in strips, down all rows, so that the maxima stay in registers or the first-level cache;
 * BF16 ones at half the width. */
static inline void max_strip_f32(
    const float *restrict x, int64_t stride, int64_t rows, uint32_t *restrict amax) {
    int32_t max[STRIP];
    for (int i = 0; i < STRIP; ++i) max[i] = (int32_t)amax[i];
    for (int64_t r = 0; r < rows; ++r) {
        const float *restrict row = x + r * stride;
        for (int i = 0; i < STRIP; ++i) {
            max[i] = larger(max[i], (int32_t)(dg_float_bits(row[i]) & 0x7FFFFFFFu));
        }
    }
    for (int i = 0; i < STRIP; ++i) amax[i] = (uint32_t)max[i];
}

static inline void max_strip_bf16(
    const uint16_t *restrict x, int64_t stride, int64_t rows, uint32_t *restrict amax) {
    int16_t max[STRIP] = {0};
    for (int64_t r = 0; r < rows; ++r) {
        const uint16_t *restrict row = x + r * stride;
        for (int i = 0; i < STRIP; ++i) {
            const int16_t bits = (int16_t)(row[i] & 0x7FFF);
            max[i] = bits > max[i] ? bits : max[i];
        }
    }
    for (int i = 0; i < STRIP; ++i) {
        amax[i] = (uint32_t)larger((int32_t)amax[i], (int32_t)max[i] << 16);
    }
}

/* The loops that differ in nothing but the type of x. */
#define DG_SOURCE_LOOPS(type, element)                                                             \
    static void max_blocks_##type(const dg_cast_run_t *run, uint32_t *restrict amax) {             \
        const element *x = run->values;                                                            \
        int64_t block = run->first / run->gran, end = run->gran - run->first % run->gran;          \
        for (int64_t i = 0; i < run->count; ++block) {                                             \
            const int64_t count = (end < run->count ? end : run->count) - i;                       \
            amax[block] = max_run_##type(x + i, count, amax[block]);                               \
            i = end;                                                                               \
            end += run->gran;                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void max_columns_##type(const void *values, int64_t stride, int64_t rows,               \
        int64_t count, uint32_t *restrict amax) {                                                  \
        const element *x = values;                                                                 \
        int64_t i = 0;                                                                             \
        for (; i + STRIP <= count; i += STRIP) max_strip_##type(x + i, stride, rows, amax + i);    \
        for (int64_t r = 0; r < rows; ++r) {                                                       \
            for (int64_t j = i; j < count; ++j) {                                                  \
                const uint32_t bits = dg_float_bits(widen_##type(x[r * stride + j]));              \
                amax[j] = (uint32_t)larger((int32_t)amax[j], (int32_t)(bits & 0x7FFFFFFFu));       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    DG_ENCODE_LOOPS(e4m3, type, element)                                                           \
    DG_ENCODE_LOOPS(e2m1, type, element)

/* codes = codes of x[i] * inverse_at(i). The last strip is filled up with zeros. */
#define DG_ENCODE_STRIPS(code, type, inverse_at)                                                   \
    float scaled[STRIP];                                                                           \
    int64_t i = 0;                                                                                 \
    for (; i + STRIP <= count; i += STRIP) {                                                       \
        for (int j = 0; j < STRIP; ++j) scaled[j] = widen_##type(x[i + j]) * inverse_at(i + j);    \
        encode_strip_##code(scaled, codes + i);                                                    \
    }                                                                                              \
    if (i < count) {                                                                               \
        uint8_t last[STRIP];                                                                       \
        memset(scaled, 0, sizeof scaled);                                                          \
        for (int64_t j = i; j < count; ++j) scaled[j - i] = widen_##type(x[j]) * inverse_at(j);    \
        encode_strip_##code(scaled, last);                                                         \
        memcpy(codes + i, last, (size_t)(count - i));                                              \
    }

#define DG_SAME(i) inverse
#define DG_EACH(i) inverse[i]

#define DG_ENCODE_LOOPS(code, type, element)                                                       \
    static inline void encode_##code##_run_##type(                                                 \
        const element *restrict x, int64_t count, float inverse, uint8_t *restrict codes) {        \
        DG_ENCODE_STRIPS(code, type, DG_SAME)                                                      \
    }                                                                                              \
    static void encode_##code##_blocks_##type(                                                     \
        const dg_cast_run_t *run, const float *inverse, uint8_t *codes) {                          \
        const element *x = run->values;                                                            \
        int64_t block = run->first / run->gran, end = run->gran - run->first % run->gran;          \
        for (int64_t i = 0; i < run->count; ++block) {                                             \
            const int64_t count = (end < run->count ? end : run->count) - i;                       \
            encode_##code##_run_##type(x + i, count, inverse[block], codes + i);                   \
            i = end;                                                                               \
            end += run->gran;                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void encode_##code##_columns_##type(const void *values, int64_t count,                  \
        const float *restrict inverse, uint8_t *restrict codes) {                                  \
        const element *restrict x = values;                                                        \
        DG_ENCODE_STRIPS(code, type, DG_EACH)                                                      \
    }

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
        .f32 = {max_blocks_f32, max_columns_f32, encode_e4m3_blocks_f32, encode_e4m3_columns_f32,  \
            encode_e2m1_blocks_f32, encode_e2m1_columns_f32},                                      \
        .bf16 = {max_blocks_bf16, max_columns_bf16, encode_e4m3_blocks_bf16,                       \
            encode_e4m3_columns_bf16, encode_e2m1_blocks_bf16, encode_e2m1_columns_bf16},          \
        .decode_e4m3_run = decode_e4m3_run, .decode_e4m3_columns = decode_e4m3_columns,            \
        .decode_e2m1_run = decode_e2m1_run, .decode_e2m1_columns = decode_e2m1_columns,            \
        .narrow_bf16 = narrow_bf16, .pack_pairs = pack_pairs                                       \
    }
