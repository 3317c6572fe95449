/* SPDX-License-Identifier: MIT
 *
 * The way back from codes and factors to values: x = value of the code * factor in FP32, rounded to x's
 * type. Parameters: args/cast.h, side[0]. */
#include "any/cast_pieces.cuh"
#include "any/codes.cuh"

DEVICE void store_value(const dg_any_cast_args_t *args, const int64_t *at, float value) {
    const int64_t offset = value_offset(args, at);
    if (args->x_dtype == DG_CODE_F32)
        st_global_f32((float *)args->x + offset, value);
    else
        st_global_u16((uint16_t *)args->x + offset, (uint16_t)pack_bf16(value, 0.0f));
}

DEVICE void convert_byte(
    const dg_any_cast_args_t *args, const piece_t *piece, const int64_t *at, uint8_t *byte) {
    const int32_t pair_axis = args->side[0].pair_axis;
    const uint32_t codes = ld_global_u8(byte);
    float factor = 1.0f;
    if (load_factor(args, piece, at, &factor))
        store_value(args, at, (pair_axis < 0 ? decode_e4m3(codes) : decode_e2m1(codes)) * factor);
    if (pair_axis < 0) return;
    int64_t next[DG_CAST_AXES];
    UNROLL
    for (int a = 0; a < DG_CAST_AXES; a++) next[a] = at[a] + (a == pair_axis);
    if (load_factor(args, piece, next, &factor))
        store_value(args, next, decode_e2m1(codes >> 4) * factor);
}

KERNEL(THREADS)
dg_any_cast_values(KERNEL_PARAMETER dg_any_cast_args_t args) {
    dependency_wait();
    convert_all(&args);
}
