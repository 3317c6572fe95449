/* SPDX-License-Identifier: MIT
 *
 * A GPU as the library uses it: opened once per ordinal through libcuda (dlopen), with its facts;
 * its contexts, kernels and launches. Called by src/api and src/jit, and by the run_*.c files here.
 *
 * What one call does with it:
 *
 *     dg_cuda_device_t *device;
 *     dg_cuda_scope_t scope;
 *     DG_TRY(dg_cuda_open(ordinal, &device));
 *     DG_TRY(dg_cuda_enter(device, &scope));      tensor maps and launches need a context
 *     dg_status_t status = dg_cuda_launch(device, &launch);
 *     dg_cuda_leave(&scope);                      the caller finds its own context again
 */
#ifndef DG_CUDA_DEVICE_H
#define DG_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"
#include "plan/plan.h"

typedef struct dg_cuda_device_t dg_cuda_device_t; /* never freed: lives as long as the process */
typedef struct dg_cuda_function_t dg_cuda_function_t; /* a loaded kernel; good in every context */

/* GPUs that the driver shows. UNSUPPORTED, with the reason, and *count = 0 where there is no driver
 * that can be used or no GPU. */
dg_status_t dg_cuda_count(int32_t *count);

/* The state of GPU `ordinal`, made at first use. After that: two atomic loads. Touches no context. */
dg_status_t dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device);

const dg_machine_t *dg_cuda_machine(const dg_cuda_device_t *device);
int32_t dg_cuda_ordinal(const dg_cuda_device_t *device);
int32_t dg_cuda_driver_version(void); /* 13000; 0 if there is no driver */

/* What the driver tells of a device beyond what the planner needs. */
typedef struct dg_cuda_facts_t {
    const char *name; /* "NVIDIA H200" */
    int32_t major, minor;
    uint64_t memory; /* bytes */
} dg_cuda_facts_t;
dg_cuda_facts_t dg_cuda_facts(const dg_cuda_device_t *device);

/* Makes sure that a context of the device is current: the caller's if it belongs to the device, else
 * the primary one. dg_cuda_leave puts back what was current. */
typedef struct dg_cuda_scope_t {
    dg_cuda_device_t *device; /* NULL: nothing was changed */
} dg_cuda_scope_t;
dg_status_t dg_cuda_enter(dg_cuda_device_t *device, dg_cuda_scope_t *scope);
void dg_cuda_leave(const dg_cuda_scope_t *scope);

/* Loads a cubin and finds its symbol, with so much dynamic shared memory allowed. Safe while a
 * stream of this thread captures; enters the device by itself. The image may be freed afterwards.
 * UNSUPPORTED if the cubin is for a newer driver or another GPU: compile it anew, with a compiler of
 * dg_cuda_driver_version() or older. */
dg_status_t dg_cuda_load(dg_cuda_device_t *device, const void *cubin, size_t bytes,
    const char *symbol, uint32_t shared_bytes, dg_cuda_function_t **function);

/* Whether `stream` (CUstream) is capturing; true also if the driver will not tell. */
bool dg_cuda_capturing(dg_cuda_device_t *device, void *stream);

/* One launch, inside a scope. args: the kernel's single parameter, a struct by value. */
typedef struct dg_cuda_launch_t {
    dg_cuda_function_t *function;
    uint32_t grid, threads, cluster, shared_bytes; /* cluster 0 or 1: none */
    bool pdl; /* may start before the kernel in front of it has finished */
    void *stream;
    const void *args;
} dg_cuda_launch_t;
dg_status_t dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch);

#endif
