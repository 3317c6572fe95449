/* SPDX-License-Identifier: MIT
 *
 * The inside of dg_cuda_device_t, for the files of src/cuda.
 */
#ifndef DG_CUDA_DEVICE_STATE_H
#define DG_CUDA_DEVICE_STATE_H

#include <stdatomic.h>

#include "cuda/device.h"
#include "cuda/driver.h"

typedef struct dg_cublaslt_t dg_cublaslt_t; /* cublaslt.c */

struct dg_cuda_device_t {
    const dg_driver_t *driver;
    dg_cu_device_t handle;
    int32_t ordinal;
    int32_t major, minor;
    uint64_t memory;
    dg_machine_t machine;
    char name[96];
    _Atomic(dg_cu_context_t) primary;  /* NULL until a call comes with no context of the device */
    _Atomic(dg_cublaslt_t *) cublaslt; /* NULL until a product of cuBLASLt is asked for */
};

struct dg_cuda_function_t {
    dg_cu_library_t library; /* stays loaded with the function */
    dg_cu_kernel_t kernel;
    const char *symbol; /* behind the struct */
};

#endif
