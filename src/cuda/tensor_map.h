/* SPDX-License-Identifier: MIT
 *
 * TMA descriptors: what a kernel's args call dg_tensor_map_t, made by cuTensorMapEncodeTiled. Used
 * by the run_*.c files, inside a scope (device.h).
 */
#ifndef DG_CUDA_TENSOR_MAP_H
#define DG_CUDA_TENSOR_MAP_H

#include "deep_gemm/tensor.h"
#include "kernels/args/types.h"

/* A tensor of up to five axes, the contiguous one first. */
typedef struct dg_map_shape_t {
    const void *data;
    dg_dtype_t dtype; /* E4M3, BF16, F32, I32, or bytes: U8, E8M0, E2M1X2 */
    int32_t rank;
    int64_t extent[5];
    int64_t stride[5]; /* elements; [0] is 1; that of an axis of extent 1 may be anything */
    int32_t box[5];
    int32_t swizzle_bytes; /* 0, 32, 64, 128 */
    const char *name;      /* the argument, for messages: "a", "a.scale"; NULL: none */
} dg_map_shape_t;

/* Elements outside the extents arrive in shared memory as zeros, and are not stored. MISALIGNED,
 * BAD_STRIDE or BAD_SHAPE, naming the argument, if TMA cannot read such a tensor: the planner keeps
 * such work for other kernels, so to get that far is a fault of the library. */
dg_status_t dg_cuda_encode_map(const dg_map_shape_t *shape, dg_tensor_map_t *map);

#endif
