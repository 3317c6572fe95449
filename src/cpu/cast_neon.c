/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops for 64-bit Arm; see cast_loops.h.
 */
#include <arm_neon.h>

#include "cpu/cast_loops.h"

/* Codes of a binade 2^e .. 2^(e+1) are 2^(e-3) apart, as floats are just above 2^(e+20): adding that
 * rounds to nearest, ties to even, and leaves 8 .. 16 steps. Below 2^-6 the spacing stays. 480 would
 * be the code of NaN, as all beyond 464 must be. */
static inline uint16x4_t encode_vector(float32x4_t scaled) {
    const uint32x4_t bits = vreinterpretq_u32_f32(scaled);
    const uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(0x7FFFFFFFu));
    const uint32x4_t value = vminq_u32(magnitude, vdupq_n_u32(dg_float_bits(480.0f)));
    const uint32x4_t power = vandq_u32(value, vdupq_n_u32(0x7F800000u));
    const uint32x4_t binade = vmaxq_u32(power, vdupq_n_u32(dg_float_bits(0x1p-6f)));
    const uint32x4_t above = vaddq_u32(binade, vdupq_n_u32(20u << 23));
    const float32x4_t rounded =
        vaddq_f32(vreinterpretq_f32_u32(value), vreinterpretq_f32_u32(above));
    const uint32x4_t steps = vsubq_u32(vreinterpretq_u32_f32(rounded), above);
    const uint32x4_t code =
        vsubq_u32(vaddq_u32(steps, vshrq_n_u32(binade, 20)), vdupq_n_u32(121u << 3));
    const uint32x4_t sign = vshlq_n_u32(vshrq_n_u32(bits, 31), 7);
    const uint32x4_t is_number = vcltq_u32(code, vdupq_n_u32(0x7Fu));
    return vmovn_u32(vorrq_u32(code, vandq_u32(sign, is_number)));
}

static inline void encode_strip_e4m3(const float *restrict scaled, uint8_t *restrict codes) {
    for (int i = 0; i < STRIP; i += 8) {
        const uint16x4_t low = encode_vector(vld1q_f32(scaled + i));
        const uint16x4_t high = encode_vector(vld1q_f32(scaled + i + 4));
        vst1_u8(codes + i, vmovn_u16(vcombine_u16(low, high)));
    }
}

/* All bounds between codes are multiples of a quarter, and a value on one goes down: what counts is
 * the number of quarters, rounded up, of which 21 are as good as more. NaN becomes 0. */
static inline uint16x4_t count_quarters(float32x4_t value) {
    const uint32x4_t count = vcvtpq_u32_f32(vmulq_n_f32(vabsq_f32(value), 4.0f));
    return vmovn_u32(vminq_u32(count, vdupq_n_u32(21)));
}

static inline void encode_strip_e2m1(const float *restrict scaled, uint8_t *restrict codes) {
    static const uint8_t of_quarters[32] = {
        0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7};
    const uint8x16x2_t table = {{vld1q_u8(of_quarters), vld1q_u8(of_quarters + 16)}};
    for (int i = 0; i < STRIP; i += 8) {
        const float32x4_t low = vld1q_f32(scaled + i), high = vld1q_f32(scaled + i + 4);
        const uint8x8_t count = vmovn_u16(vcombine_u16(count_quarters(low), count_quarters(high)));
        const uint8x8_t magnitude = vqtbl2_u8(table, count);
        const uint16x8_t is_negative =
            vcombine_u16(vmovn_u32(vcltzq_f32(low)), vmovn_u32(vcltzq_f32(high)));
        const uint8x8_t has_sign = vand_u8(vmovn_u16(is_negative), vtst_u8(magnitude, magnitude));
        vst1_u8(codes + i, vorr_u8(magnitude, vand_u8(has_sign, vdup_n_u8(8))));
    }
}

const dg_cpu_cast_kernels_t dg_cpu_cast_neon = DG_CAST_KERNELS;
