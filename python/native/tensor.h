/* SPDX-License-Identifier: MIT
 *
 * From a Python object to a dg_tensor_t, for whatever framework the object comes from, and the frame
 * of one call: what it holds on to while the library works, and how it ends. tensor.c implements it;
 * products.c, casts.c and layouts.c call it.
 */
#ifndef DGPY_TENSOR_H
#define DGPY_TENSOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "deep_gemm/deep_gemm.h"

/* What bytes mean depends on where they are passed: int8 and uint8 have no meaning of their own. */
typedef enum dgpy_role_t {
    DGPY_OPERAND, /* uint8 is E4M3 codes, int8 is pairs of E2M1 codes */
    DGPY_SCALE,   /* uint8 is UE8M0, int32 is four UE8M0 */
    DGPY_PLAIN    /* everything is what it says */
} dgpy_role_t;

#define DGPY_MAX_HELD                                                                              \
    2064 /* every tensor of one call, lists of 1024 outputs and of 1024 c included */

/* One call in progress. Zero-initialise; end it with dgpy_end_call() whatever happened. */
typedef struct dgpy_call_t {
    PyObject *few[16]; /* strong references: tensors and capsules, alive until the call ends */
    PyObject **many;   /* instead of `few` once there are more */
    int64_t *sizes;    /* host sizes of groups */
    struct dlpack_versioned_t *workspace; /* of a framework with a C table; given back at the end */
    int32_t held;
    bool wrapped; /* a tensor is one of a tracing or wrapping kind: nothing can be computed on it */
    bool on_gpu;  /* dgpy_find_stream() found the stream below */
    void *stream; /* on which the call will run: producers of inputs make them wait for it */
} dgpy_call_t;

/* Reads `object` into *out. None gives "no tensor". `argument` is the name for error texts.
 * False: a Python exception is set. True with call->wrapped set: do not touch *out; the caller's
 * function returns NotImplemented, and Python goes through torch's dispatcher. */
bool dgpy_read_tensor(
    dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out);

/* The same, but None is refused. */
bool dgpy_require_tensor(
    dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out);

/* The same for an output: refuses None and memory that may not be written. */
bool dgpy_read_output(
    dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out);

/* Reads an operand given as a pair (values, factors). */
bool dgpy_read_pair(dgpy_call_t *call, PyObject *pair, const char *name, const char *scale_name,
    dg_tensor_t *data, dg_tensor_t *scale);

/* The table of C functions of a tensor's type, NULL if it has none. */
const struct dlpack_exchange_t *dgpy_exchange_of(PyObject *object);

/* Keeps `object` (a new reference, stolen) alive until the call ends. */
bool dgpy_hold(dgpy_call_t *call, PyObject *object);

/* Reads (form, values, alignment, host sizes or None), or None for no groups. */
bool dgpy_read_groups(dgpy_call_t *call, PyObject *object, dg_groups_t *out);

/* An int that fits; false with an exception set otherwise. */
bool dgpy_read_int32(PyObject *object, const char *argument, int32_t *out);
bool dgpy_read_int64(PyObject *object, const char *argument, int64_t *out);

/* Ends the call with Py_None, NotImplemented for a wrapped tensor, or the exception for `status`. */
PyObject *dgpy_end_call(dgpy_call_t *call, bool parsed, dg_status_t status);

/* Sets the exception that stands for dg_last_error(). Returns NULL. */
PyObject *dgpy_raise(dg_status_t status);

/* Makes the exception types DtypeError and ArgumentError. errors.c. */
bool dgpy_add_errors(PyObject *module);

/* Exceptions of the extension's own checks, with the types of dgpy_raise(). */
extern PyObject *dgpy_dtype_error;
extern PyObject *dgpy_argument_error;

bool dgpy_expect_arguments(const char *function, Py_ssize_t given, Py_ssize_t expected);

/* Tables of functions, one for each file. */
extern PyMethodDef dgpy_product_methods[];
extern PyMethodDef dgpy_cublaslt_methods[];
extern PyMethodDef dgpy_k_grouped_methods[];
extern PyMethodDef dgpy_mqa_logits_methods[];
extern PyMethodDef dgpy_plan_methods[];
extern PyMethodDef dgpy_cast_methods[];
extern PyMethodDef dgpy_layout_methods[];
extern PyMethodDef dgpy_permute_methods[];
extern PyMethodDef dgpy_setting_methods[];

#endif
