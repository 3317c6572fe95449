/* SPDX-License-Identifier: MIT
 *
 * The GPU side of the casts and of the layouts of factors: launches, kernels, stream. Called at the end
 * of src/api/cast.c, scale_copy.c and scale_layout.c for tensors on a CUDA device; calls plan, jit and
 * cuda. Nothing is allocated, and no value in device memory is waited for.
 */
#ifndef DG_API_GPU_CAST_H
#define DG_API_GPU_CAST_H

#include "api/group_ranges.h"
#include "deep_gemm/cast.h"
#include "deep_gemm/scale_layout.h"

/* Whether values of groups are where the host cannot read them. */
static inline bool dg_groups_on_device(const dg_groups_t *groups) {
    return groups->values.data != NULL && groups->values.device.type == DG_DEVICE_CUDA;
}

/* args have been checked; x has elements. `groups`: those the host knows, read; a launch for each of
 * them. Groups whose values are on the device are walked there. */
dg_status_t dg_gpu_quantize(const dg_call_t *call, const dg_quantize_args_t *args,
    const dg_call_groups_t *groups, const dg_launch_t *launch);
dg_status_t dg_gpu_dequantize(const dg_call_t *call, const dg_dequantize_args_t *args,
    const dg_call_groups_t *groups, const dg_launch_t *launch);

/* blocks: along k, as the shapes of src and dst give them. */
dg_status_t dg_gpu_scale_convert(const dg_call_t *call, const dg_scale_convert_args_t *args,
    int64_t blocks, const dg_launch_t *launch);
dg_status_t dg_gpu_scale_pack_k_grouped(const dg_call_t *call,
    const dg_scale_pack_k_grouped_args_t *args, const dg_call_groups_t *groups,
    const dg_launch_t *launch);

#endif
