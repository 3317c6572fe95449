/* SPDX-License-Identifier: MIT
 *
 * dg_quantize and dg_dequantize as functions of the extension. Called by utils/math.py and nn.py;
 * reads tensors through tensor.c.
 */
#include <string.h>

#include "launch.h"

/* Reads (data, scale, gran, power_of_two, k_axis); gran is one integer for each axis. */
static bool read_quantized(dgpy_call_t *call, PyObject *tuple, bool output, dg_quantized_t *out) {
    bool (*const read)(dgpy_call_t *, PyObject *, const char *, dgpy_role_t, dg_tensor_t *) =
        output ? dgpy_read_output : dgpy_require_tensor;
    PyObject *data, *scale, *gran;
    int power_of_two, k_axis;
    if (tuple == Py_None) return true;
    if (!PyArg_ParseTuple(tuple, "OOOpi", &data, &scale, &gran, &power_of_two, &k_axis))
        return false;
    const Py_ssize_t rank = PySequence_Size(gran);
    if (rank < 0 || rank > DG_MAX_RANK) {
        PyErr_Format(dgpy_argument_error, "gran: expected one integer for each of at most 4 axes");
        return false;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        PyObject *item = PySequence_GetItem(gran, i);
        if (item == NULL) return false;
        const bool fine = dgpy_read_int32(item, "gran", &out->gran[i]);
        Py_DECREF(item);
        if (!fine) return false;
    }
    out->power_of_two = power_of_two ? DG_ON : DG_OFF;
    out->k_axis = (dg_k_axis_t)k_axis;
    return read(call, data, "data", DGPY_OPERAND, &out->data) &&
           read(call, scale, "scale", DGPY_SCALE, &out->scale);
}

static dg_status_t run_quantize(const void *args, const dg_launch_t *launch) {
    return dg_quantize(NULL, args, launch);
}

static dg_status_t run_dequantize(const void *args, const dg_launch_t *launch) {
    return dg_dequantize(NULL, args, launch);
}

/* quantize(x, first, second, groups): `first` and `second` (or None) are read by read_quantized. */
static PyObject *quantize(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("quantize", count, 4)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_quantize_args_t cast = DG_QUANTIZE_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_tensor(&call, args[0], "x", DGPY_PLAIN, &cast.x) &&
                  dgpy_find_stream(&call, args[0], &cast.x) &&
                  read_quantized(&call, args[1], true, &cast.out[0]) &&
                  read_quantized(&call, args[2], true, &cast.out[1]) &&
                  dgpy_read_groups(&call, args[3], &cast.groups);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[0], &cast.x, run_quantize, &cast, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* dequantize(q, x, groups): writes x. */
static PyObject *dequantize(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("dequantize", count, 3)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_dequantize_args_t cast = DG_DEQUANTIZE_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[1], "x", DGPY_PLAIN, &cast.x) &&
                  dgpy_find_stream(&call, args[1], &cast.x) &&
                  read_quantized(&call, args[0], false, &cast.q) &&
                  dgpy_read_groups(&call, args[2], &cast.groups);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[1], &cast.x, run_dequantize, &cast, &status);
    return dgpy_end_call(&call, parsed, status);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

PyMethodDef dgpy_cast_methods[] = {
    {"quantize", FAST(quantize), "dg_quantize"},
    {"dequantize", FAST(dequantize), "dg_dequantize"},
    {NULL, NULL, 0, NULL},
};
