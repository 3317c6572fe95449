/* SPDX-License-Identifier: MIT
 *
 * A GPU as the library uses it: opened once per ordinal through libcuda (dlopen), with its facts.
 * Works in the caller's current context if that belongs to the device, in the primary one
 * otherwise. Called by src/api and src/jit.
 */
#ifndef DG_CUDA_DEVICE_H
#define DG_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"
#include "plan/plan.h"

typedef struct dg_cuda_device_t dg_cuda_device_t; /* never freed: lives as long as the process */
typedef struct dg_cuda_function_t dg_cuda_function_t; /* a loaded kernel (CUfunction or CUkernel) */

/* The state of GPU `ordinal`, made at first use. After that: one atomic load. */
dg_status_t dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device);

const dg_machine_t *dg_cuda_machine(const dg_cuda_device_t *device);
int32_t dg_cuda_ordinal(const dg_cuda_device_t *device);
int32_t dg_cuda_driver_version(void); /* 13000; 0 if there is no driver */

/* Loads a cubin and finds its symbol, with so much dynamic shared memory allowed. Safe while a
 * stream of this thread captures. */
dg_status_t dg_cuda_load(dg_cuda_device_t *device, const void *cubin, size_t bytes,
    const char *symbol, uint32_t shared_bytes, dg_cuda_function_t **function);

/* Whether `stream` (CUstream) is capturing. */
bool dg_cuda_capturing(dg_cuda_device_t *device, void *stream);

/* One launch. args: the kernel's single parameter, a struct by value. */
typedef struct dg_cuda_launch_t {
    dg_cuda_function_t *function;
    uint32_t grid, threads, cluster, shared_bytes;
    bool pdl; /* may start before the kernel in front of it has finished */
    void *stream;
    const void *args;
} dg_cuda_launch_t;
dg_status_t dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch);

#endif
