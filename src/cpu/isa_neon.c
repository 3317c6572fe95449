/* SPDX-License-Identifier: MIT
 *
 * The innermost loops for 64-bit Arm: a micro-tile of 6 x 16, whose 24 sums, 4 vectors of b and 2 of
 * a fill 30 of the 32 registers. NEON is part of the base architecture, so no flags are needed.
 */
#include "cpu/isa.h"

#include <arm_neon.h>

#include "cpu/inline.h"

enum { ROWS = 6, COLS = 16, LANES = 4, VECTORS = COLS / LANES };

/* `rows` is a constant in every call: the arrays become registers. */
DG_ALWAYS_INLINE void multiply_rows(const int rows, int64_t k_count, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    float32x4_t sum[ROWS][VECTORS];
    DG_UNROLL
    for (int i = 0; i < rows; i++) {
        DG_UNROLL
        for (int j = 0; j < VECTORS; j++) sum[i][j] = vdupq_n_f32(0.0f);
    }
    for (int64_t k = 0; k < k_count; k++) {
        float32x4_t bk[VECTORS];
        DG_UNROLL
        for (int j = 0; j < VECTORS; j++) bk[j] = vld1q_f32(b + k * COLS + j * LANES);
        DG_UNROLL
        for (int i = 0; i < rows; i++) {
            const float ai = a[k * ROWS + i];
            DG_UNROLL
            for (int j = 0; j < VECTORS; j++) sum[i][j] = vfmaq_n_f32(sum[i][j], bk[j], ai);
        }
    }
    DG_UNROLL
    for (int i = 0; i < rows; i++) {
        DG_UNROLL
        for (int j = 0; j < VECTORS; j++) {
            const float32x4_t scale = vmulq_n_f32(vld1q_f32(scale_b + j * LANES), scale_a[i]);
            float *to = total + i * COLS + j * LANES;
            vst1q_f32(to, vfmaq_f32(vld1q_f32(to), scale, sum[i][j]));
        }
    }
}

static void multiply(int64_t k_count, int used_rows, const float *a, const float *b,
    const float *scale_a, const float *scale_b, float *total) {
    if (used_rows == 1) {
        multiply_rows(1, k_count, a, b, scale_a, scale_b, total);
    } else if (used_rows <= 3) {
        multiply_rows(3, k_count, a, b, scale_a, scale_b, total);
    } else {
        multiply_rows(ROWS, k_count, a, b, scale_a, scale_b, total);
    }
}

/* An e4m3 code moved into binary16's fields is the value times 2^-8, subnormals included. The NaN
 * code becomes 16-bit NaN. */
static void decode_e4m3(const uint8_t *codes, int64_t count, float *values) {
    const uint16x8_t magnitude_mask = vdupq_n_u16(0x7F);
    const uint16x8_t nan_bits = vdupq_n_u16(0x7E00);
    for (int64_t i = 0; i < count; i += 8) {
        const uint16x8_t code = vmovl_u8(vld1_u8(codes + i));
        const uint16x8_t magnitude = vandq_u16(code, magnitude_mask);
        const uint16x8_t sign = vshlq_n_u16(veorq_u16(code, magnitude), 8);
        const uint16x8_t nan = vandq_u16(vceqq_u16(magnitude, magnitude_mask), nan_bits);
        const uint16x8_t bits = vorrq_u16(vorrq_u16(vshlq_n_u16(magnitude, 7), sign), nan);
        const float16x8_t half = vreinterpretq_f16_u16(bits);
        const float32x4_t low = vcvt_f32_f16(vget_low_f16(half));
        vst1q_f32(values + i, vmulq_n_f32(low, 0x1p8f));
        vst1q_f32(values + i + LANES, vmulq_n_f32(vcvt_high_f32_f16(half), 0x1p8f));
    }
}

static void decode_bf16(const uint16_t *codes, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i += LANES) {
        const uint32x4_t bits = vshll_n_u16(vld1_u16(codes + i), 16);
        vst1q_f32(values + i, vreinterpretq_f32_u32(bits));
    }
}

const dg_cpu_kernels_t dg_cpu_kernels_neon = {
    .name = "neon",
    .rows = ROWS,
    .cols = COLS,
    .multiply = multiply,
    .decode_e4m3 = decode_e4m3,
    .decode_bf16 = decode_bf16,
};
