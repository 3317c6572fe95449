// SPDX-License-Identifier: MIT
//
// Number formats, and the shared bit arithmetic of swizzles and descriptors.
#include "device/arithmetic.cuh"
#include "device/bytes.cuh"
#include "device/convert.cuh"
#include "device/descriptor.cuh"
#include "device/relu.cuh"
#include "device/swizzle.cuh"
#include "number.h"
#include "one_kernel.h"

#include <cmath>

using namespace check;

TEST(e4m3_round_trip_and_ties) {
    for (uint32_t code = 0; code < 256; code++) {
        const uint8_t c = static_cast<uint8_t>(code);
        const float value = emu::f32_from_e4m3(c);
        if ((code & 127) == 127)
            REQUIRE(std::isnan(value));
        else
            REQUIRE(emu::e4m3_from_f32(value) == c);
    }
    for (uint32_t code = 0; code < 126; code++) { // half way: to the even code
        const float low = emu::f32_from_e4m3(static_cast<uint8_t>(code));
        const float high = emu::f32_from_e4m3(static_cast<uint8_t>(code + 1));
        REQUIRE(emu::e4m3_from_f32((low + high) / 2) == code + (code & 1));
        REQUIRE(emu::e4m3_from_f32(std::nextafter((low + high) / 2, 0.f)) == code);
    }
    REQUIRE(emu::e4m3_from_f32(1e9f) == 0x7E && emu::e4m3_from_f32(-INFINITY) == 0xFE);
    REQUIRE(emu::e4m3_from_f32(NAN) == 0x7F && emu::e4m3_from_f32(1e-9f) == 0);
}
TEST(products_are_rounded_before_a_sum) {
    const float a = f32_from_bits(0x3F800001), product = f32_from_bits(0x3F800002); // 1 + 2^-23
    REQUIRE(multiply(a, a) - product == 0.0f && fused_multiply_add(a, a, -product) != 0.0f);
    REQUIRE(
        std::isnan(multiply(INFINITY, 0.f)) && bits_from_f32(multiply(-0.f, 1.f)) == 0x80000000u);
    REQUIRE(count_bits(0) == 0 && count_bits(0xFFFFFFFFu) == 32 && count_bits(0x80000011u) == 3);
}
TEST(bf16_rounds_to_even) {
    REQUIRE(pack_bf16(1.f, -2.f) == 0xC0003F80u);
    REQUIRE(emu::bf16_from_f32(f32_from_bits(0x3F808000)) == 0x3F80);
    REQUIRE(emu::bf16_from_f32(f32_from_bits(0x3F818000)) == 0x3F82);
    REQUIRE(std::isnan(emu::f32_from_bf16(emu::bf16_from_f32(NAN))));
    REQUIRE(pack_e4m3(1.f, -2.f) == 0xC038);
    REQUIRE(bits_from_f32(emu::tf32_from_f32(f32_from_bits(0x3F801FFF))) == 0x3F800000u);
}
TEST(bytes_and_pairs) {
    REQUIRE(max_u16x2(0x7F800001u, 0x00028000u) == 0x7F808000u);
    REQUIRE(encode_e4m3x2(1.f, -2.f) == 0xC038u && encode_e4m3x2(NAN, 1e9f) == 0x7E7Fu);
    REQUIRE(std::isnan(fused_multiply_add(INFINITY, 0.f, INFINITY)));
    REQUIRE(bits_from_f32(fused_multiply_add(-0.f, 0.f, -0.f)) == 0x80000000u);
}
TEST(e4m3_becomes_f16_exactly) {
    for (uint32_t code = 0; code < 256; code++) {
        const uint32_t other = (code * 7 + 3) & 255, pair = f16x2_from_e4m3x2(code | other << 8);
        for (int half = 0; half < 2; half++) {
            const float value = emu::f32_from_f16(static_cast<uint16_t>(pair >> 16 * half));
            const float expected = emu::f32_from_e4m3(static_cast<uint8_t>(half ? other : code));
            REQUIRE(std::isnan(expected) ? std::isnan(value)
                                         : bits_from_f32(value) == bits_from_f32(expected));
        }
    }
    REQUIRE(f16x2_from_e4m3x2(0x7FFF) == 0x7FFF7FFFu); // both NaN
    REQUIRE(
        emu::f32_from_f16(0x3C01) == 1.f + 1.f / 1024 && emu::f32_from_f16(0x8001) == -0x1p-24f);
    REQUIRE(std::isinf(emu::f32_from_f16(0x7C00)) && emu::f32_from_f16(0x7BFF) == 65504.f);
}
// Two encoders of the vocabulary, one for any GPU: the same codes for ties, specials and the rest.
TEST(both_encoders_of_e4m3_agree) {
    for (uint32_t i = 0; i < 0x10000; i++) {
        const float value = f32_from_bits(i << 16 | (i * 0x9E37u & 0xFFFF));
        REQUIRE((encode_e4m3x2(value, -value) & 0x7F7F) == (pack_e4m3(value, -value) & 0x7F7F));
    }
    REQUIRE(encode_e4m3x2(448.f, -1000.f) == 0xFE7E);
    REQUIRE(encode_e4m3x2(0x1p-9f, -0x1.8p-9f) == 0x8201); // the tie goes to the even code
}
TEST(larger_of_each_half) {
    REQUIRE(max_u16x2(0x00018000, 0x7FFF0001) == 0x7FFF8000u);
    REQUIRE(max_u16x2(0xFFFF0000, 0xFFFEFFFF) == 0xFFFFFFFFu);
}
TEST(relu_lets_nan_through) {
    REQUIRE(relu_f32(2.5f) == 2.5f && relu_f32(-2.5f) == 0.f && relu_f32(-0.f) == 0.f);
    REQUIRE(relu_f32(f32_from_bits(0xFF800000u)) == 0.f);
    const float nan = relu_f32(f32_from_bits(0xFFC00000u));
    REQUIRE(nan != nan);
}
TEST(bytes_chosen) {
    REQUIRE(choose_bytes(0x33221100, 0x77665544, 0x7250) == 0x77225500u);
    REQUIRE(choose_bytes(0x33221100, 0x77665544, 0x3210) == 0x33221100u);
}
TEST(bug_bytes_chosen_with_a_sign_bit) {
    expect_bug("CHOICE", shape(1, 32, 0), [] { choose_bytes(1, 2, 0x80); });
}
TEST(bytes_are_picked_by_nibbles) {
    REQUIRE(permute_bytes(0x33221100, 0x77665544, 0x6420) == 0x66442200);
    REQUIRE(permute_bytes(0x33221100, 0x77665544, 0x3175) == 0x33117755);
    REQUIRE(permute_bytes(0x33221100, 0x77665544, 0x3210) == 0x33221100);
}
TEST(swizzles_are_permutations_of_their_rows) {
    for (uint32_t a = 0; a < 8192; a += 4) {
        REQUIRE(swizzle_128(swizzle_128(a)) == a && swizzle_128(a) / 128 == a / 128);
        REQUIRE(swizzle_64(swizzle_64(a)) == a && swizzle_64(a) / 64 == a / 64);
        REQUIRE(swizzle_32(swizzle_32(a)) == a && swizzle_32(a) / 32 == a / 32);
    }
    REQUIRE(swizzle_128(128) == 144 && swizzle_128(7 * 128) == 7 * 128 + 112);
    REQUIRE(
        swizzle_64(128) == 144 && swizzle_64(7 * 128) == 7 * 128 + 48 && swizzle_64(512) == 512);
    REQUIRE(
        swizzle_32(128) == 144 && swizzle_32(7 * 128) == 7 * 128 + 16 && swizzle_32(256) == 256);
}
TEST(bits_of_floats) {
    REQUIRE(f32_from_bits(0x40490FDB) == 3.14159274f && std::isnan(f32_from_bits(0x7FC00000)));
    REQUIRE(bits_from_f32(-0.f) == 0x80000000u && bits_from_f32(1.f) == 0x3F800000u);
}
// A kernel adds to the lower half and joins the two where it multiplies.
TEST(halves_of_a_descriptor) {
    const uint32_t low = descriptor_low_k128(0x12400);
    REQUIRE(low == (0x1240u | 1u << 16));
    REQUIRE(descriptor_from_low_k128(low) == ((64ull | 1ull << 30) << 32 | low));
    REQUIRE(descriptor_from_low_k128(low + 2) == make_descriptor_k128(0x12400 + 32));
    REQUIRE(descriptor_from_low_k128(low + 1024) == make_descriptor_k128(0x12400 + 16384));
}
TEST(descriptor_fields) {
    const uint64_t d = make_descriptor(0x12340, 0x400, 0x800, DESCRIPTOR_SWIZZLE_64);
    REQUIRE((d & 0x3fff) == 0x1234 && (d >> 16 & 0x3fff) == 0x40 && (d >> 32 & 0x3fff) == 0x80);
    REQUIRE(d >> 62 == 2);
    REQUIRE(
        make_descriptor_k128(0x8000) == make_descriptor(0x8000, 16, 1024, DESCRIPTOR_SWIZZLE_128));
}
