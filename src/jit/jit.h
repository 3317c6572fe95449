/* SPDX-License-Identifier: MIT
 *
 * From specialisation to loaded kernel: in memory, else embedded in the library, else in the disk
 * cache, else compiled. Called by src/api.
 */
#ifndef DG_JIT_JIT_H
#define DG_JIT_JIT_H

#include "cuda/device.h"
#include "jit/image.h"

/* The loaded kernel of `specialisation` on `device`. Warm: one look-up, no lock. What is embedded or
 * cached is loaded at once; what would have to be compiled is NOT_COMPILED while `stream`, that of the
 * call, captures. A failure is not remembered: the next call tries again. Success leaves the last
 * error as it was.
 * Errors: UNSUPPORTED (the kernel is for another GPU, or there is no compiler), COMPILER with the
 * compiler's log, DRIVER, OUT_OF_MEMORY, NOT_COMPILED. */
dg_status_t dg_jit_function(dg_cuda_device_t *device, const dg_specialisation_t *specialisation,
    uint32_t shared_bytes, void *stream, dg_cuda_function_t **function);

/* Kernels that shall be ready on disk, for an architecture; no GPU is needed. */
typedef struct dg_jit_batch_t {
    const dg_specialisation_t *specialisations; /* [count] */
    int32_t count;
    int32_t architecture;
    int32_t threads; /* compilations at a time */
    bool again;      /* compile also what is embedded or cached */

    /* Told after each, on one thread at a time; NULL: not wanted. error: NULL if it is ready. */
    void (*progress)(
        void *user, int32_t done, const char *name, dg_origin_t origin, const char *error);
    void *user;
} dg_jit_batch_t;

/* Goes on after a failure; returns the first one, with its message. */
dg_status_t dg_jit_compile_batch(const dg_jit_batch_t *batch);

#endif
