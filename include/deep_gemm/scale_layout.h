/* SPDX-License-Identifier: MIT
 *
 * Layouts of scale factors.
 *
 * Every function of this library reads factors in any strides, FP32 or UE8M0, so nothing here has
 * to be called to get a right result. These functions make the layouts that other programs produce
 * or expect, and the one that GPU kernels load fastest:
 *
 *     MN-major aligned: logical [groups, mn, kb] with strides (align4(mn) kb, 1, align4(mn)):
 *
 *         memory   f(0,0) f(1,0) f(2,0) .. f(mn-1,0) pad..  f(0,1) f(1,1) ..
 *                  |<--------- align4(mn) words --------->|
 *
 *     so that a column of factors starts on a 16-byte boundary, as the tensor memory accelerator
 *     wants it. The padding words are never read or written.
 *
 *     Packed UE8M0 (I32): word w of a row holds the biased exponents of blocks 4w .. 4w + 3, the
 *     lowest in the lowest byte; bytes past the last block are zero. Byte 0 stands for 2^-127, as in
 *     E8M0; an FP32 factor of zero packs to it, so that alone does not come back as it was.
 */
#ifndef DEEP_GEMM_SCALE_LAYOUT_H
#define DEEP_GEMM_SCALE_LAYOUT_H

#include "deep_gemm/grouped.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x rounded up to a multiple of 16 / element_size, so that a row of x elements has a length the
 * tensor memory accelerator takes. -1 if x < 0 or element_size is not 1, 2, 4, 8 or 16. */
DG_API int64_t dg_tma_aligned_size(int64_t x, int64_t element_size);

/* A view of `data` as MN-major aligned factors: [mn, kb], or [groups, mn, kb] if groups > 0. dtype
 * F32 or I32; kb counts elements (words for I32). The memory needed, in bytes, is
 * 4 * max(groups, 1) * align4(mn) * kb. */
DG_ADDRESS_ONLY(1)
DG_API dg_tensor_t dg_scale_mn_major(
    const void *data, dg_dtype_t dtype, int64_t groups, int64_t mn, int64_t kb);

typedef struct dg_scale_convert_args_t {
    size_t struct_size; /* sizeof(dg_scale_convert_args_t) */
    dg_tensor_t src;    /* [mn_src, kb] or [groups, mn_src, kb] F32 or E8M0; I32 with words along
                         * the last axis; any strides */
    dg_tensor_t dst;    /* output, same rank, F32, E8M0 or I32, any strides without overlap;
                         * [.., mn, kb'] */
    int32_t repeat_mn;  /* each row of src serves so many rows of dst: mn_src = ceil(mn /
                         * repeat_mn). 0 or 1: rows match one to one */
    int64_t k_blocks;   /* blocks along k; 0: the larger number that src and dst can both hold */
    dg_groups_t groups; /* optional PSUM over axis -2 of a rank-2 dst: rows in the gaps between
                         * groups are not read; dst gets zeros there */
} dg_scale_convert_args_t;

#define DG_SCALE_CONVERT_ARGS_INIT                                                                 \
    { sizeof(dg_scale_convert_args_t), DG_NO_TENSOR, DG_NO_TENSOR, 0, 0, DG_NO_GROUPS }

/* Copies factors into another type and layout: transpose, repeat, pack, unpack.
 *
 *     int32_t *packed = ...;                               // [m, kb] FP32 to packed, MN-major
 *     dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
 *     args.src = dg_tensor_2d(sf, DG_DTYPE_F32, m, kb);
 *     args.dst = dg_scale_mn_major(packed, DG_DTYPE_I32, 0, m, (kb + 3) / 4);
 *     dg_status_t status = dg_scale_convert(NULL, &args, NULL);
 *
 * FP32 to UE8M0 takes powers of two (and zero, which becomes exponent 0) and refuses anything else
 * with BAD_SCALE, naming the element; nothing is written then. Factors on a GPU, which the host does not
 * read, are rounded up to the next power of two instead, as the casts do. The other errors: as
 * dg_quantize. */
DG_API dg_status_t dg_scale_convert(
    dg_context_t *ctx, const dg_scale_convert_args_t *args, const dg_launch_t *launch);

typedef struct dg_scale_pack_k_grouped_args_t {
    size_t struct_size; /* sizeof(dg_scale_pack_k_grouped_args_t) */
    dg_tensor_t src;    /* [sum of ceil(k_g / gran_k), mn] F32 */
    dg_tensor_t dst;    /* output [>= sum of ceil(k_g / (4 gran_k)), mn] I32; rows past the last
                         * group are not written */
    int32_t gran_k;     /* 32 or 128 */
    dg_groups_t groups; /* SIZES, OFFSETS or PSUM over the tokens */
} dg_scale_pack_k_grouped_args_t;

#define DG_SCALE_PACK_K_GROUPED_ARGS_INIT                                                          \
    { sizeof(dg_scale_pack_k_grouped_args_t), DG_NO_TENSOR, DG_NO_TENSOR, 0, DG_NO_GROUPS }

/* Packs the factors of a K-grouped operand, four blocks of one group a word: each group starts a
 * new row of dst, the tail of its last row is zero. Same refusals as dg_scale_convert. */
DG_API dg_status_t dg_scale_pack_k_grouped(
    dg_context_t *ctx, const dg_scale_pack_k_grouped_args_t *args, const dg_launch_t *launch);

/* What upstream calls transform_sf_into_required_layout: the layout in which the kernels of a GPU
 * generation want a given tensor of factors. */
typedef struct dg_scale_transform_args_t {
    size_t struct_size; /* sizeof(dg_scale_transform_args_t) */
    dg_tensor_t scale;  /* [ceil(mn / gran_mn), ceil(k / gran_k)] F32, or I32 [.., ceil(k /
                         * (4 gran_k))]; with groups > 0 a leading [groups] */
    int64_t mn, k;      /* extents of the operand */
    int32_t gran_mn;    /* 1 or 128, or any positive number */
    int32_t gran_k;     /* 32 or 128 */
    int64_t groups;     /* 0: no leading axis */
    int32_t
        arch_major; /* 9: Hopper, 10: Blackwell; 0: the context's device (the CPU counts as 9) */
    dg_switch_t keep_f32; /* DG_ON: FP32 factors stay FP32 on every generation */
    dg_groups_t psum;     /* optional: as in dg_scale_convert_args_t */
} dg_scale_transform_args_t;

#define DG_SCALE_TRANSFORM_ARGS_INIT                                                               \
    { sizeof(dg_scale_transform_args_t), DG_NO_TENSOR, 0, 0, 0, 0, 0, 0, DG_DEFAULT, DG_NO_GROUPS }

/* Tells what dg_scale_transform would make: *layout gets dtype, shape and strides, and as data the
 * address of `scale` if that already is the layout wanted (nothing needs to be done), else NULL.
 *
 *     scale  gran_mn  generation   layout wanted
 *     F32    1        9            F32, MN-major aligned
 *     F32    > 1      9            as given
 *     F32    any      10           I32, MN-major aligned, one row for each of mn (rows repeated)
 *     F32    1        10 keep_f32  F32, MN-major aligned
 *     F32    > 1      10 keep_f32  as given
 *     I32    1        any          I32, MN-major aligned
 *     I32    > 1      any          I32, MN-major aligned, rows repeated */
DG_API dg_status_t dg_scale_transform_layout(
    dg_context_t *ctx, const dg_scale_transform_args_t *args, dg_tensor_t *layout);

/* Writes the factors into `out`, a tensor as dg_scale_transform_layout described it, in memory of
 * the caller (4 bytes times the largest offset it reaches, see dg_scale_mn_major). */
DG_API dg_status_t dg_scale_transform(dg_context_t *ctx, const dg_scale_transform_args_t *args,
    const dg_tensor_t *out, const dg_launch_t *launch);

/* The pair form: both operands of one product in one call. Nothing is written if either is wrong. */
DG_API dg_status_t dg_scale_transform_pair(dg_context_t *ctx, const dg_scale_transform_args_t *a,
    const dg_tensor_t *out_a, const dg_scale_transform_args_t *b, const dg_tensor_t *out_b,
    const dg_launch_t *launch);

#ifdef __cplusplus
}
#endif
#endif
