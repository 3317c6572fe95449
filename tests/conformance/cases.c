/* SPDX-License-Identifier: MIT
 *
 * The table behind cases.h. Descriptor parameters are packed as swizzle mode << 24 | stride << 12 |
 * leading, in units of 16 bytes, as programs.cu unpacks them. */
#include "cases.h"

#include <string.h>

#define DESCRIPTOR(mode, leading, stride) ((mode) << 24 | (stride) / 16 << 12 | (leading) / 16)

/* 64 x 48 elements of 2 bytes, box of one swizzle span by 16 rows */
#define IN_2D(span_bytes, swizzle_bytes)                                                           \
    { 2, CONFORM_BYTES_2, {64, 48, 1}, {(span_bytes) / 2, 16, 1}, 128, swizzle_bytes }
#define LOAD(label, span, swizzle, x, y)                                                           \
    {                                                                                              \
        "load_" label, "load_2d", CONFORM_INDEX, 1, (span)*4, 0, {x, y, 0, (span)*4, 0},           \
            IN_2D(span, swizzle), {                                                                \
            0                                                                                      \
        }                                                                                          \
    }
#define STORE(label, span, swizzle, x, y)                                                          \
    {                                                                                              \
        "store_" label, "store_2d", CONFORM_INDEX, 1, 64 * 48 / 2, 0, {x, y, 0, (span)*4, 0}, {0}, \
            IN_2D(span, swizzle)                                                                   \
    }
#define WARP(label, program, input, words, choice)                                                 \
    {                                                                                              \
        label, program, input, 1, words, 0, {choice, 0, 0, 0, 0}, {0}, {                           \
            0                                                                                      \
        }                                                                                          \
    }
#define PRODUCT(label, program, input, width, a, b)                                                \
    {                                                                                              \
        label, program, input, 1, 64 * (width), 0, {a, b, 0, 0, 1}, {0}, {                         \
            0                                                                                      \
        }                                                                                          \
    }
#define K128 DESCRIPTOR(1, 16, 1024)
#define K64 DESCRIPTOR(2, 16, 512)
#define K32 DESCRIPTOR(3, 16, 256)
#define K_PLAIN DESCRIPTOR(0, 4096, 256)

const conform_case_t conform_cases[] = {
    LOAD("plain", 128, 0, 0, 0),
    LOAD("swizzle_32", 32, 32, 16, 1),
    LOAD("swizzle_64", 64, 64, 0, 2),
    LOAD("swizzle_128", 128, 128, 0, 3),
    LOAD("before_the_start", 128, 128, -8, -3),
    LOAD("past_the_end", 128, 128, 32, 40),
    LOAD("all_outside", 128, 128, 64, 0),
    LOAD("unaligned", 128, 128, 5, 0),
    LOAD("unaligned_plain", 128, 0, 4, 0),
    {"load_ragged", "load_2d", CONFORM_INDEX, 1, 512, 0, {32, 0, 0, 512, 0},
        {2, CONFORM_BYTES_2, {61, 48, 1}, {64, 16, 1}, 128, 128}, {0}},
    {"load_three_dimensions", "load_3d", CONFORM_INDEX, 1, 512, 0, {8, -1, 2, 512, 0},
        {3, CONFORM_BYTES_2, {50, 6, 7}, {64, 4, 4}, 128, 128}, {0}},
    {"load_multicast", "load_multicast", CONFORM_INDEX, 2, 2048, 0, {0, 5, 0, 512, 0},
        IN_2D(128, 128), {0}},
    {"load_3d_multicast", "load_3d_multicast", CONFORM_INDEX, 2, 2048, 0, {8, -1, 2, 512, 0},
        {3, CONFORM_BYTES_2, {50, 6, 12}, {64, 4, 4}, 128, 128}, {0}},
    STORE("plain", 128, 0, 0, 0),
    STORE("swizzle_32", 32, 32, 16, 1),
    STORE("swizzle_64", 64, 64, 8, 2),
    STORE("swizzle_128", 128, 128, 0, 3),
    STORE("before_the_start", 128, 128, -8, -3),
    STORE("past_the_end", 128, 128, 32, 40),
    STORE("left_of_the_start", 128, 128, -8, 0),
    STORE("above_the_start", 128, 128, 0, -3),
    STORE("all_outside", 128, 128, 64, 0),
    STORE("unaligned", 128, 128, 5, 0),
    {"store_ragged", "store_2d", CONFORM_INDEX, 1, 64 * 48 / 2, 0, {32, 0, 0, 512, 0}, {0},
        {2, CONFORM_BYTES_2, {57, 48, 1}, {64, 16, 1}, 128, 128}},
    {"store_three_dimensions", "store_3d", CONFORM_INDEX, 1, 32 * 6 * 7, 0, {24, 3, 4, 512, 0}, {0},
        {3, CONFORM_BYTES_2, {56, 6, 7}, {64, 4, 2}, 128, 128}},
    {"reduce_add_f32", "reduce_add_2d", CONFORM_F32, 1, 32 * 48, 1, {4, 40, 0, 512, 0}, {0},
        {2, CONFORM_BYTES_4, {32, 48, 1}, {32, 16, 1}, 128, 128}},
    {"reduce_add_before_the_start", "reduce_add_2d", CONFORM_F32, 1, 32 * 48, 1,
        {-4, -3, 0, 512, 0}, {0}, {2, CONFORM_BYTES_4, {32, 48, 1}, {32, 16, 1}, 128, 128}},
    {"reduce_add_ragged", "reduce_add_2d", CONFORM_F32, 1, 32 * 48, 1, {16, 0, 0, 512, 0}, {0},
        {2, CONFORM_BYTES_4, {29, 48, 1}, {32, 16, 1}, 128, 128}},
    {"bulk_round_trip", "bulk_round_trip", CONFORM_F32, 1, 512, 0, {0, 0, 0, 512, 0}, {0}, {0}},
    {"send_to_peer", "send_to_peer", CONFORM_INDEX, 2, 640, 0, {0}, {0}, {0}},
    {"read_from_peer", "read_from_peer", CONFORM_INDEX, 2, 1024, 0, {0}, {0}, {0}},
    {"copy_pieces", "copy_pieces", CONFORM_INDEX, 1, 896, 0, {16, 8, 4, 0, 0}, {0}, {0}},
    {"copy_pieces_in_part", "copy_pieces", CONFORM_INDEX, 1, 896, 0, {10, 3, 1, 0, 0}, {0}, {0}},
    {"copy_no_pieces", "copy_pieces", CONFORM_INDEX, 1, 896, 0, {0, 0, 0, 0, 0}, {0}, {0}},
    {"word_widths", "word_widths", CONFORM_INDEX, 1, 128 * 32, 0, {0}, IN_2D(128, 128), {0}},
    {"hand_over", "hand_over", CONFORM_INDEX, 2, 128 + 640, 0, {0}, {0}, {0}},
    {"edit_map", "edit_map", CONFORM_INDEX, 1, 512, 0, {0, 1, 0, 512, 2048}, IN_2D(128, 128), {0}},
    WARP("ldmatrix_x4", "load_matrix", CONFORM_INDEX, 128, 0),
    WARP("ldmatrix_x4_trans", "load_matrix", CONFORM_INDEX, 128, 1),
    WARP("ldmatrix_x2", "load_matrix", CONFORM_INDEX, 128, 2),
    WARP("ldmatrix_x2_trans", "load_matrix", CONFORM_INDEX, 128, 3),
    WARP("stmatrix_x4", "store_matrix", CONFORM_INDEX, 256, 0),
    WARP("stmatrix_x4_trans", "store_matrix", CONFORM_INDEX, 256, 1),
    WARP("stmatrix_x2", "store_matrix", CONFORM_INDEX, 256, 2),
    WARP("stmatrix_x2_trans", "store_matrix", CONFORM_INDEX, 256, 3),
    WARP("mma_bf16", "warp_product", CONFORM_BF16, 128, 0),
    WARP("mma_e4m3", "warp_product", CONFORM_E4M3, 128, 1),
    WARP("mma_tf32", "warp_product", CONFORM_F32, 128, 2),
    WARP("mma_f16", "warp_product", CONFORM_F16, 128, 3),
    WARP("warp_words", "warp_words", CONFORM_INDEX, 256, 0),
    WARP("convert", "convert", CONFORM_ANY_FLOAT, 1024, 0),
    WARP("pick_bytes", "pick_bytes", CONFORM_ANY_FLOAT, 768, 0),
    WARP("barrier_steps", "barrier_steps", CONFORM_INDEX, 9, 0),
    WARP("barrier_early_bytes", "barrier_early_bytes", CONFORM_INDEX, 6, 0),
    PRODUCT("wgmma_e4m3_k128", "wgmma_e4m3_32", CONFORM_E4M3, 32, K128, K128),
    PRODUCT("wgmma_e4m3_k64", "wgmma_e4m3_32", CONFORM_E4M3, 32, K64, K64),
    PRODUCT("wgmma_e4m3_k32", "wgmma_e4m3_32", CONFORM_E4M3, 32, K32, K32),
    PRODUCT("wgmma_e4m3_plain", "wgmma_e4m3_32", CONFORM_E4M3, 32, K_PLAIN, K_PLAIN),
    PRODUCT("wgmma_e4m3_mixed", "wgmma_e4m3_32", CONFORM_E4M3, 32, K_PLAIN, K64),
    {"wgmma_e4m3_second_step", "wgmma_e4m3_32", CONFORM_E4M3, 1, 2048, 0, {K128, K128, 32, 64, 0},
        {0}, {0}},
    PRODUCT("wgmma_e4m3_n8", "wgmma_e4m3_8", CONFORM_E4M3, 8, K128, K128),
    PRODUCT("wgmma_e4m3_n96", "wgmma_e4m3_96", CONFORM_E4M3, 96, K128, K128),
    PRODUCT("wgmma_e4m3_n128", "wgmma_e4m3_128", CONFORM_E4M3, 128, K128, K128),
    PRODUCT("wgmma_e4m3_n192", "wgmma_e4m3_192", CONFORM_E4M3, 192, K128, K128),
    PRODUCT("wgmma_e4m3_n248", "wgmma_e4m3_248", CONFORM_E4M3, 248, K128, K128),
    PRODUCT("wgmma_e4m3_n256", "wgmma_e4m3_256", CONFORM_E4M3, 256, K128, K128),
    PRODUCT("wgmma_e4m3_rs", "wgmma_e4m3_rs_32", CONFORM_E4M3, 32, 0, K128),
    PRODUCT("wgmma_bf16_k128", "wgmma_bf16_32", CONFORM_BF16, 32, K128, K128),
    PRODUCT("wgmma_bf16_k64", "wgmma_bf16_32", CONFORM_BF16, 32, K64, K32),
    PRODUCT("wgmma_bf16_a_mn_128", "wgmma_bf16_a_mn_32", CONFORM_BF16, 32,
        DESCRIPTOR(1, 8192, 1024), K128),
    PRODUCT("wgmma_bf16_a_mn_64", "wgmma_bf16_a_mn_32", CONFORM_BF16, 32, DESCRIPTOR(2, 4096, 512),
        K128),
    PRODUCT("wgmma_bf16_a_mn_32", "wgmma_bf16_a_mn_32", CONFORM_BF16, 32, DESCRIPTOR(3, 2048, 256),
        K128),
    PRODUCT("wgmma_bf16_a_mn_plain", "wgmma_bf16_a_mn_32", CONFORM_BF16, 32,
        DESCRIPTOR(0, 4096, 256), K128),
    PRODUCT("wgmma_bf16_b_mn_64", "wgmma_bf16_b_mn_32", CONFORM_BF16, 32, K128,
        DESCRIPTOR(2, 4096, 512)),
    PRODUCT("wgmma_bf16_b_mn_128", "wgmma_bf16_b_mn_128", CONFORM_BF16, 128, K128,
        DESCRIPTOR(1, 8192, 1024)),
    PRODUCT("wgmma_bf16_ab_mn_128", "wgmma_bf16_ab_mn_128", CONFORM_BF16, 128,
        DESCRIPTOR(1, 8192, 1024), DESCRIPTOR(1, 4096, 2048)),
    PRODUCT("wgmma_bf16_rs", "wgmma_bf16_rs_32", CONFORM_BF16, 32, 0, K128),
    PRODUCT("wgmma_bf16_rs_b_mn", "wgmma_bf16_rs_b_mn_32", CONFORM_BF16, 32, 0,
        DESCRIPTOR(2, 4096, 512)),
    PRODUCT("wgmma_tf32_k128", "wgmma_tf32_32", CONFORM_F32, 32, K128, K128),
    PRODUCT("wgmma_tf32_rs", "wgmma_tf32_rs_32", CONFORM_F32, 32, 0, K128),
};
const size_t conform_case_count = sizeof conform_cases / sizeof conform_cases[0];

static uint32_t draw(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 10;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t draw_word(conform_input_t kind, uint32_t index, uint32_t *state) {
    static const uint8_t e4m3[5] = {0x00, 0x38, 0x40, 0xb8, 0xc0};
    static const uint16_t f16[5] = {0x0000, 0x3c00, 0x4000, 0xbc00, 0xc000};
    static const float small[5] = {0.f, 1.f, 2.f, -1.f, -2.f};
    uint32_t word = 0;
    switch (kind) {
    case CONFORM_INDEX: return (2 * index & 0xffff) | (2 * index + 1) << 16;
    case CONFORM_E4M3:
        for (int i = 0; i < 4; i++) word = word << 8 | e4m3[draw(state) % 5];
        return word;
    case CONFORM_BF16:
        for (int i = 0; i < 2; i++) word = word << 16 | bits_of(small[draw(state) % 5]) >> 16;
        return word;
    case CONFORM_F16:
        for (int i = 0; i < 2; i++) word = word << 16 | f16[draw(state) % 5];
        return word;
    case CONFORM_F32: return bits_of(small[draw(state) % 5]);
    case CONFORM_ANY_FLOAT: break;
    }
    /* sign, exponent from far below e4m3's subnormals to beyond its largest, few or many mantissa
     * bits */
    const uint32_t exponent = 127 - 14 + draw(state) % 26;
    const uint32_t keep = 0xffffffffu << draw(state) % 24;
    word = (draw(state) & 1) << 31 | exponent << 23 | (draw(state) << 3 & 0x7fffff & keep);
    static const uint32_t special[8] = {
        0x7f800000, 0xff800000, 0x7fc00000, 0, 0x80000000, 0x00000001, 0x7f7fffff, 0x43e80000};
    return index < 8 ? special[index] : word;
}

void conform_fill_input(const conform_case_t *c, uint32_t *input) {
    uint32_t state = 12345;
    for (uint32_t i = 0; i < CONFORM_INPUT_WORDS; i++) input[i] = draw_word(c->input, i, &state);
}

void conform_fill_output(const conform_case_t *c, uint32_t *output) {
    for (uint32_t i = 0; i < c->words; i++) output[i] = c->initial ? bits_of(1.f) : 0xccccccccu;
}
