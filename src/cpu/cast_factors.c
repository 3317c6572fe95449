/* SPDX-License-Identifier: MIT
 *
 * Largest magnitudes of a tile's blocks into scale factors, and these into the scale tensor in
 * whatever type and order that has. quantize.c calls this between its two passes over a tile.
 */
#include <string.h>

#include "cpu/cast.h"
#include "model/dtype.h"

/* The next power of two from a positive value on. Infinity and NaN become 2^127, as in the casts
 * that these must equal bit for bit. */
static float round_up_to_power_of_two(float value) {
    const uint32_t bits = dg_float_bits(value);
    const uint32_t exponent = (bits >> 23 & 0xFFu) + ((bits & 0x7FFFFFu) != 0);
    return dg_bits_float((exponent < 1 ? 1u : exponent > 254 ? 254u : exponent) << 23);
}

/* Divisions take longest here: loops of nothing else become vector instructions. */
static void make_factors(const dg_cast_side_t *side, const dg_cast_blocks_t *blocks) {
    const uint32_t *restrict amax = blocks->amax;
    float *restrict factor = blocks->factor, *restrict inverse = blocks->inverse;
    const float largest = side->data.dtype == DG_DTYPE_E4M3 ? 448.0f : 6.0f;
    for (int64_t b = 0; b < blocks->total; ++b) factor[b] = dg_bits_float(amax[b]) / largest;
    if (side->power_of_two) {
        for (int64_t b = 0; b < blocks->total; ++b) {
            factor[b] = round_up_to_power_of_two(factor[b]);
        }
    }
    for (int64_t b = 0; b < blocks->total; ++b) inverse[b] = 1.0f / factor[b];
}

/* Four exponents a word along the line. A word is begun by its lowest block and filled by the next
 * three, which another call may bring. */
static void store_words_along(
    uint32_t *words, int64_t stride, const float *factor, int64_t first, int64_t count) {
    uint32_t *word = words;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t byte = (first + i) & 3;
        const uint32_t rest = byte == 0 ? 0u : *word;
        *word = rest | (uint32_t)dg_encode_e8m0(factor[i]) << 8 * byte;
        if (byte == 3) word += stride;
    }
}

/* The same where four lines fill the words. */
static void store_words_across(
    uint32_t *words, int64_t stride, const float *factor, int64_t byte, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t rest = byte == 0 ? 0u : words[i * stride];
        words[i * stride] = rest | (uint32_t)dg_encode_e8m0(factor[i]) << 8 * byte;
    }
}

/* Factors of the blocks from `at` on, an index into the scale tensor, along the last axis. */
static void store_line(
    const dg_cast_side_t *side, const int64_t *at, const float *factor, int64_t count) {
    int64_t place[DG_CAST_AXES];
    memcpy(place, at, sizeof place);
    if (side->word_axis >= 0) place[side->word_axis] /= 4;
    const int64_t offset = dg_cast_offset(&side->scale, place);
    const int64_t stride = side->scale.stride[DG_CAST_FAST];
    if (side->scale.dtype == DG_DTYPE_F32) {
        float *to = (float *)side->scale.data + offset;
        for (int64_t i = 0; i < count; ++i) to[i * stride] = factor[i];
    } else if (side->scale.dtype == DG_DTYPE_E8M0) {
        uint8_t *to = (uint8_t *)side->scale.data + offset;
        for (int64_t i = 0; i < count; ++i) to[i * stride] = dg_encode_e8m0(factor[i]);
    } else {
        uint32_t *to = (uint32_t *)side->scale.data + offset;
        if (side->word_axis == DG_CAST_FAST) {
            store_words_along(to, stride, factor, at[DG_CAST_FAST], count);
        } else {
            store_words_across(to, stride, factor, at[side->word_axis] & 3, count);
        }
    }
}

void dg_cast_finish_factors(const dg_cast_side_t *side, const dg_cast_blocks_t *blocks) {
    make_factors(side, blocks);
    const int64_t *first = blocks->first, *count = blocks->count;
    const float *factor = blocks->factor;
    int64_t at[DG_CAST_AXES];
    at[DG_CAST_FAST] = first[DG_CAST_FAST];
    for (at[0] = first[0]; at[0] < first[0] + count[0]; ++at[0]) {
        for (at[1] = first[1]; at[1] < first[1] + count[1]; ++at[1]) {
            for (at[2] = first[2]; at[2] < first[2] + count[2]; ++at[2]) {
                store_line(side, at, factor, count[DG_CAST_FAST]);
                factor += count[DG_CAST_FAST];
            }
        }
    }
}
