/* SPDX-License-Identifier: MIT
 *
 * Python exceptions for the library's statuses. A wrong argument is a ValueError, a wrong element
 * type a TypeError; both are a RuntimeError too, because that is what callers who come from the
 * original package catch. The text is dg_last_error() as it stands.
 */
#include "tensor.h"

PyObject *dgpy_dtype_error;
PyObject *dgpy_argument_error;

static PyObject *make_error(PyObject *module, const char *name, const char *doc, PyObject *kind) {
    PyObject *bases = PyTuple_Pack(2, kind, PyExc_RuntimeError);
    if (bases == NULL) return NULL;
    PyObject *type = PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
    Py_DECREF(bases);
    if (type == NULL) return NULL;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name + sizeof "deep_gemm." - 1, type) < 0) {
        Py_DECREF(type);
        Py_DECREF(type);
        return NULL;
    }
    return type;
}

bool dgpy_add_errors(PyObject *module) {
    dgpy_dtype_error = make_error(module, "deep_gemm.DtypeError",
        "A tensor has an element type that is not accepted here.", PyExc_TypeError);
    dgpy_argument_error = make_error(module, "deep_gemm.ArgumentError",
        "An argument has a wrong shape, stride, value or scale.", PyExc_ValueError);
    return dgpy_dtype_error != NULL && dgpy_argument_error != NULL;
}

PyObject *dgpy_raise(dg_status_t status) {
    PyObject *type = PyExc_RuntimeError;
    switch (status) {
    case DG_STATUS_BAD_DTYPE: type = dgpy_dtype_error; break;
    case DG_STATUS_NULL_POINTER:
    case DG_STATUS_BAD_ENUM:
    case DG_STATUS_BAD_RANK:
    case DG_STATUS_BAD_SHAPE:
    case DG_STATUS_BAD_STRIDE:
    case DG_STATUS_MISALIGNED:
    case DG_STATUS_OVERLAP:
    case DG_STATUS_BAD_SCALE:
    case DG_STATUS_BAD_VALUE: type = dgpy_argument_error; break;
    case DG_STATUS_OUT_OF_MEMORY: type = PyExc_MemoryError; break;
    default: break;
    }
    PyErr_SetString(type, dg_last_error());
    return NULL;
}

bool dgpy_expect_arguments(const char *function, Py_ssize_t given, Py_ssize_t expected) {
    if (given == expected) return true;
    PyErr_Format(
        PyExc_TypeError, "%s() takes %zd arguments, %zd were given", function, expected, given);
    return false;
}
