/* SPDX-License-Identifier: MIT
 *
 * How a call of the library is made from Python: on the current stream of the output's device, with
 * workspace from the output's own framework, while other Python threads run. launch.c implements it;
 * products.c, k_grouped.c, casts.c, layouts.c and permutes.c call it.
 */
#ifndef DGPY_LAUNCH_H
#define DGPY_LAUNCH_H

#include "tensor.h"

/* Finds the stream of a call whose output is `output`, read as `tensor`. Inputs are read after it, so
 * that those of other frameworks are ready on that stream. False: a Python exception is set. */
bool dgpy_find_stream(dgpy_call_t *call, PyObject *output, const dg_tensor_t *tensor);

/* A function of the library, with the type of its arguments left open. */
typedef dg_status_t dgpy_run_fn(const void *args, const dg_launch_t *launch);

/* Runs it on the call's stream; *status is what it returned. Workspace, if it
 * wants any, is held by the call until that ends. By then the kernels are queued, and a framework's
 * allocator hands the memory out again in the order of the stream. False: a Python exception is set. */
bool dgpy_launch(dgpy_call_t *call, PyObject *output, const dg_tensor_t *tensor,
    dgpy_run_fn *function, const void *args, dg_status_t *status);

/* dgpy_launch() of a product whose output is `d`. In compile mode its arguments are checked, its kernels
 * made ready, and nothing is computed. */
bool dgpy_multiply(dgpy_call_t *call, PyObject *output, const dg_tensor_t *d, dgpy_run_fn *function,
    const void *args, dg_status_t *status);
void dgpy_set_compile_only(bool on);

#endif
