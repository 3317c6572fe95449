/* SPDX-License-Identifier: MIT
 *
 * Which backend a device means. Called by the files of src/api.
 */
#ifndef DG_API_DEVICE_H
#define DG_API_DEVICE_H

#include "cuda/device.h"
#include "deep_gemm/tensor.h"

/* *gpu: NULL for the CPU, else the open CUDA device. `name`: the argument, for the message. */
dg_status_t dg_open_device(dg_device_t device, const char *name, dg_cuda_device_t **gpu);

#endif
