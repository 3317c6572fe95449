/* SPDX-License-Identifier: MIT
 *
 * The public GEMM functions, computed by a kernel on the emulator. Tests that link this
 * call dg_gemm() and its sisters on CPU tensors: the library's own checks make the problem, its
 * planner the plan, its run file the launches, and the emulated kernels the result. Every tensor is
 * registered with the emulator, so that an access beside it is a fault.
 */
#ifndef DG_TESTS_ANY_GEMM_BACKEND_H
#define DG_TESTS_ANY_GEMM_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/args/types.h"
#include "plan/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the next calls run: the specialisation (NULL: the general GEMM's, by its tile: 64 or 128; 0: as
 * the planner likes), the SMs, and the schedule: below 5 one of check.h's, else a seed. With `planned`,
 * what the planner chooses of all kernels, under the settings behind it (dg_plan_options_t). */
typedef struct emulated_machine_t {
    int32_t block, sms;
    uint32_t schedule;
    const dg_specialisation_t *only;
    int32_t
        splits; /* CTAs that share a tile, if the kernel leaves it open; 0: as the planner likes */
    int32_t planned, num_sms, block_m_multiple, block_n_multiple, batch_invariant;
} emulated_machine_t;
extern emulated_machine_t emulated_machine;

/* How many calls each kernel has run (DG_KERNEL_*). */
extern int32_t emulated_calls[DG_KERNEL_COUNT];

/* One launch of the kernel of that name whose macros have these values, in the order of
 * kernels/args/kernels.h. NULL, or what the emulator found wrong. */
const char *emulate_launch(const char *kernel, const char *const *fields, const int32_t *values,
    int32_t count, uint32_t grid, uint32_t threads, uint32_t cluster, size_t shared_bytes,
    const void *args, uint32_t schedule);

/* The emulated map of a tensor with these extents, byte strides of axes 1 .. rank - 1, and box.
 * element_bytes: 1, 2 or 4. NULL, or what is wrong with it. */
const char *emulate_map(const void *data, int32_t rank, const uint64_t *extents,
    const uint64_t *strides, const uint32_t *box, int32_t element_bytes, int32_t swizzle_bytes,
    dg_tensor_map_t *map);

/* emu::register_global() and its end. */
void emulate_memory(const void *begin, size_t bytes, int read_only);
void forget_memory(const void *begin);

#ifdef __cplusplus
}
#endif
#endif
