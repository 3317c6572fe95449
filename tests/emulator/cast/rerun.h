/* SPDX-License-Identifier: MIT
 *
 * One call computed twice: what its outputs were before, what the CPU left in them, and whether the
 * kernels leave the same. Used by backend.c and permute_backend.c.
 */
#ifndef DG_TESTS_EMULATOR_CAST_RERUN_H
#define DG_TESTS_EMULATOR_CAST_RERUN_H

#include <stdbool.h>

#include "model/span.h"
#include "model/tensor.h"

enum { MOST_TENSORS = 8 };

typedef struct rerun_t {
    dg_span_t span[MOST_TENSORS];
    bool written[MOST_TENSORS];
    dg_tensor_t view[MOST_TENSORS];
    unsigned char *before[MOST_TENSORS], *cpu[MOST_TENSORS];
    int count;
} rerun_t;

/* A tensor of the call; `written`: an output. */
void rerun_add(rerun_t *rerun, const dg_tensor_t *tensor, bool written);

/* The CPU is done: keeps what it wrote and takes it back. Outputs of a call may interleave, so all are
 * kept before any is. Tensors are registered with the emulator. */
void rerun_take_back(rerun_t *rerun);

/* The kernels are done, with `status`: compares byte for byte, NaN for NaN. */
dg_status_t rerun_compare(const rerun_t *rerun, dg_status_t status);
void rerun_release(rerun_t *rerun);

static inline void move_to_gpu(dg_tensor_t *tensor) {
    if (dg_tensor_given(tensor)) tensor->device.type = DG_DEVICE_CUDA;
}

/* MOST_VALUES: of a tensor, from CMakeLists.txt. */
static inline bool is_small(const dg_tensor_t *tensor) {
    return dg_tensor_elements(tensor) <= MOST_VALUES && tensor->device.type == DG_DEVICE_CPU;
}

#endif
