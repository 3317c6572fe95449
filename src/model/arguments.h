/* SPDX-License-Identifier: MIT
 *
 * Checks over all tensors of one call: the same device, outputs apart from inputs, results and
 * accumulators of one type and shape. Called by the GEMM families of the api layer.
 */
#ifndef DG_MODEL_ARGUMENTS_H
#define DG_MODEL_ARGUMENTS_H

#include "deep_gemm/tensor.h"
#include "model/problem.h"

/* A tensor that a call reads, and its name in two parts, ("a", ".scale"). */
typedef struct dg_input_t {
    const dg_tensor_t *tensor; /* DG_NO_TENSOR: passes every check */
    const char *name, *field;
} dg_input_t;

/* Refuses d unless it is BF16 or F32 of `rank` with rows of stride 1. LIST gives it without data. */
dg_status_t dg_check_result(const dg_tensor_t *d, int32_t rank);

/* Refuses an accumulator that is not of d's type and shape with rows of stride 1, or that shares
 * memory with d without being the very same view. Fills `out` from both; c may be DG_NO_TENSOR. */
dg_status_t dg_check_accumulator(const dg_tensor_t *c, const dg_tensor_t *d, dg_output_t *out);

/* Refuses tensors on another device than d, the argument called `name`, and devices of unknown types.
 * Comes before anything that reads a tensor's memory. */
dg_status_t dg_check_devices(
    const dg_tensor_t *d, const char *name, const dg_input_t *inputs, int count);

/* Refuses an output `d`, called `name`, that shares memory with an input. */
dg_status_t dg_check_apart(
    const dg_tensor_t *d, const char *name, const dg_input_t *inputs, int count);

/* Refuses a list of rows that is not [count] I32 or I64. */
dg_status_t dg_check_row_list(
    const dg_tensor_t *rows, const char *name, const char *field, int64_t count);

#endif
