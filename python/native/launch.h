/* SPDX-License-Identifier: MIT
 *
 * How a product on a GPU is launched from Python: on the current stream of the output's device, with
 * workspace from the output's own framework. launch.c implements it; products.c calls it.
 */
#ifndef DGPY_LAUNCH_H
#define DGPY_LAUNCH_H

#include "tensor.h"

/* Finds the stream for a call whose output is `output`, read as `tensor`. On the CPU the launch stays
 * empty. False: a Python exception is set. */
bool dgpy_find_stream(PyObject *output, const dg_tensor_t *tensor, dg_launch_t *launch);

/* Takes `bytes` of workspace on that device; the call holds it until it ends. By then the kernels
 * are queued, and a framework's allocator hands the memory out again in the order of the stream. */
bool dgpy_take_workspace(dgpy_call_t *call, PyObject *output, const dg_tensor_t *tensor,
    size_t bytes, dg_launch_t *launch);

#endif
