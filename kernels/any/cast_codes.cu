/* SPDX-License-Identifier: MIT
 *
 * Codes of x whose factors are in scale already, where cast_factors.cu put them: any blocks, strides and
 * pairs of FP4 codes. A byte belongs to one thread, so that two blocks, or two groups, may share it.
 * Parameters: args/cast.h, side[0]. */
#include "any/cast_pieces.cuh"

DEVICE uint32_t encode(const dg_any_cast_args_t *args, const int64_t *at, float factor) {
    const int64_t offset = value_offset(args, at);
    const uint32_t bits = args->x_dtype == DG_CODE_F32
                              ? ld_global_u32((const float *)args->x + offset)
                              : (uint32_t)ld_global_u16((const uint16_t *)args->x + offset) << 16;
    const float inverse = 1.0f / factor, scaled = f32_from_bits(bits) * inverse;
    if (args->side[0].dtype != DG_CODE_E4M3) return encode_e2m1(scaled);
    return encode_e4m3x2(nan_for_infinite(scaled), 0.0f) & 0xFFu;
}

DEVICE void convert_byte(
    const dg_any_cast_args_t *args, const piece_t *piece, const int64_t *at, uint8_t *byte) {
    const int32_t pair_axis = args->side[0].pair_axis;
    float factor = 1.0f;
    const bool low = load_factor(args, piece, at, &factor);
    uint32_t code = low ? encode(args, at, factor) : 0;
    if (pair_axis >= 0) {
        int64_t next[DG_CAST_AXES];
        UNROLL
        for (int a = 0; a < DG_CAST_AXES; a++) next[a] = at[a] + (a == pair_axis);
        const bool high = load_factor(args, piece, next, &factor);
        if (!low && !high) return;
        if (high) code |= encode(args, next, factor) << 4;
        if (!high) code |= ld_global_u8(byte) & 0xF0u;
        if (!low) code |= ld_global_u8(byte) & 0x0Fu;
    } else if (!low) {
        return;
    }
    st_global_u8(byte, code);
}

KERNEL(THREADS)
dg_any_cast_codes(KERNEL_PARAMETER dg_any_cast_args_t args) {
    dependency_wait();
    convert_all(&args);
}
