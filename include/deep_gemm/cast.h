/* SPDX-License-Identifier: MIT
 *
 * Quantisation: FP32 or BF16 values to FP8 or FP4 with fine-grained scale factors, and back.
 *
 * A tensor is cut into blocks of gran[0] x gran[1] x ... values; each block gets one factor:
 *
 *     amax   = max(|x| over the block, 1e-4)            in FP32; NaN if the block holds a NaN
 *     factor = amax / 448 (E4M3)  or  amax / 6 (E2M1)   rounded up to a power of two if asked
 *     q      = code nearest to  x * (1 / factor)        FP32, division and reciprocal correctly
 *                                                       rounded
 *
 * The usual recipes for x [m, n]:
 *
 *     per token     gran {1, 128}      factors [m, ceil(n / 128)]              activations
 *     per channel   gran {128, 1}      factors [ceil(m / 128), n]              weight gradients
 *     per block     gran {128, 128}    factors [ceil(m / 128), ceil(n / 128)]  weights
 *     custom dims   gran 1 along the kept axes, 0 (the whole axis) along the others
 *
 * The last block of an axis covers what is left. E4M3 codes round to nearest even; beyond 464, or
 * for NaN and infinity, the code is NaN (0x7F). E2M1 codes round to nearest with ties toward zero;
 * a zero code has no sign. A block whose amax is infinite has the factor infinity: NaN codes for its
 * infinities, zeros for its finite values. Rounded up to a power of two, a factor that is infinite or
 * NaN is 2^127.
 */
#ifndef DEEP_GEMM_CAST_H
#define DEEP_GEMM_CAST_H

#include "deep_gemm/grouped.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which axis of x the coming product sums over: the axis along which packed factors (I32) take four
 * blocks a word. */
typedef enum dg_k_axis_t {
    DG_K_AXIS_LAST = 0, /* per token, per block */
    DG_K_AXIS_ROWS =
        1 /* the axis before the last. Per channel: x is [tokens, channels], summed over
                         * tokens. Weights [groups, n, k] for the data gradient: summed over n */
} dg_k_axis_t;

/* Quantised values and their factors, [m, n] standing for x's shape.
 *
 * Strides are free, so a transposed result is asked for by a transposed view: data =
 * dg_tensor_transpose(dg_tensor_2d(p, DG_DTYPE_E4M3, n, m)) puts [n, m] into p. E2M1X2 is packed
 * along the axis whose extent is halved, [m, n / 2] or [m / 2, n]; that axis must be even and have
 * stride 1. */
typedef struct dg_quantized_t {
    dg_tensor_t data;          /* E4M3 [m, n] or E2M1X2; x's rank */
    dg_tensor_t scale;         /* [ceil(m / gran[0]), ceil(n / gran[1])]
                                *   F32   the factors; powers of two if power_of_two is set
                                *   E8M0  powers of two, one byte each
                                *   I32   powers of two, four along k_axis a word (that extent is
                                *         ceil(blocks / 4)); bytes past the last block are zero */
    int32_t gran[DG_MAX_RANK]; /* block extents, 0 = the whole axis */
    dg_switch_t power_of_two;  /* F32: round factors up to powers of two (DG_DEFAULT: no) */
    dg_k_axis_t k_axis;        /* I32 only */
} dg_quantized_t;

#define DG_NO_QUANTIZED                                                                            \
    { DG_NO_TENSOR, DG_NO_TENSOR, {0, 0, 0, 0}, DG_DEFAULT, DG_K_AXIS_LAST }

typedef struct dg_quantize_args_t {
    size_t struct_size;    /* sizeof(dg_quantize_args_t) */
    dg_tensor_t x;         /* F32 or BF16, rank 1..4, any strides (0 included: broadcast) */
    dg_quantized_t out[2]; /* outputs; the second is optional (data DG_NO_TENSOR): both casts of a
                            * tensor, say per token and per channel, from one pass over x */
    dg_groups_t groups;    /* optional, over axis 0 of a rank-2 x; SIZES, OFFSETS or PSUM */
} dg_quantize_args_t;

#define DG_QUANTIZE_ARGS_INIT                                                                      \
    { sizeof(dg_quantize_args_t), DG_NO_TENSOR, {DG_NO_QUANTIZED, DG_NO_QUANTIZED}, DG_NO_GROUPS }

/* Quantises x. With `groups`, blocks along axis 0 never cross from one group to the next: group g
 * of k_g rows has ceil(k_g / gran[0]) rows of factors, the last one over its remaining rows, and
 * the factors of all groups follow each other with no gaps (for I32 along axis 0, each group starts
 * a new word): just what dg_k_grouped_gemm reads. Where gran[0] is 1, each row has its own factors
 * and they stay with it: factor row i is that of row i of x, gaps between groups included, as
 * dg_m_grouped_gemm reads them. Rows outside the groups are not written, nor are their factors.
 *
 *     dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;      // x [tokens, n], both ways
 *     args.x = dg_tensor_2d(x, DG_DTYPE_BF16, tokens, n);
 *     args.out[0].data = dg_tensor_2d(q, DG_DTYPE_E4M3, tokens, n);
 *     args.out[0].scale = dg_tensor_2d(s, DG_DTYPE_F32, tokens, (n + 127) / 128);
 *     args.out[0].gran[0] = 1, args.out[0].gran[1] = 128;
 *     args.out[1].data = dg_tensor_2d(qc, DG_DTYPE_E4M3, tokens, n);
 *     args.out[1].scale = dg_tensor_2d(sc, DG_DTYPE_F32, scale_rows, n);
 *     args.out[1].gran[0] = 128, args.out[1].gran[1] = 1;
 *     args.groups.form = DG_GROUPS_SIZES;
 *     args.groups.values = dg_tensor_1d(tokens_of_expert, DG_DTYPE_I32, experts);
 *     dg_status_t status = dg_quantize(NULL, &args, NULL);
 *
 * CUDA tensors: the same bits, on launch->stream, nothing waited for. Group values on the device are
 * clamped to the rows there are, and blocks for whose factors `scale` has no room are left out.
 * host_sizes without values take a launch for each group, and are UNSUPPORTED where two rows share a
 * byte of E2M1X2.
 *
 * Needs no workspace. Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_CONTEXT, BAD_ENUM, BAD_DTYPE,
 * BAD_RANK, BAD_SHAPE, BAD_STRIDE, MISALIGNED, OVERLAP, BAD_SCALE, BAD_VALUE, BAD_DEVICE,
 * UNSUPPORTED, OUT_OF_MEMORY. */
DG_API dg_status_t dg_quantize(
    dg_context_t *ctx, const dg_quantize_args_t *args, const dg_launch_t *launch);

typedef struct dg_dequantize_args_t {
    size_t struct_size; /* sizeof(dg_dequantize_args_t) */
    dg_quantized_t q;   /* as dg_quantize wrote it, read here; power_of_two is not looked at */
    dg_tensor_t x;      /* output F32 or BF16, any strides without overlap */
    dg_groups_t groups; /* as given to dg_quantize */
} dg_dequantize_args_t;

#define DG_DEQUANTIZE_ARGS_INIT                                                                    \
    { sizeof(dg_dequantize_args_t), DG_NO_QUANTIZED, DG_NO_TENSOR, DG_NO_GROUPS }

/* x = value of the code * factor, in FP32, rounded to x's type. Rows outside the groups are not
 * written. Errors: as dg_quantize. */
DG_API dg_status_t dg_dequantize(
    dg_context_t *ctx, const dg_dequantize_args_t *args, const dg_launch_t *launch);

/* Rows of factors that groups of the given sizes take along k: the sum of ceil(sizes[g] / gran_k),
 * or with `packed` of ceil(sizes[g] / (4 gran_k)). Negative sizes count as 0.
 *     sizes: [count] in host memory. Returns -1 if gran_k < 1 or count < 0. */
DG_API int64_t dg_k_grouped_scale_rows(
    const int64_t *sizes, int64_t count, int32_t gran_k, int32_t packed);

#ifdef __cplusplus
}
#endif
#endif
