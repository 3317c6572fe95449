/* SPDX-License-Identifier: MIT
 *
 * Products through cuBLASLt as a function of the extension. Called by cublaslt.py; reads tensors
 * through tensor.c, computes through launch.c.
 */
#include <string.h>

#include "launch.h"

static dg_status_t run(const void *args, const dg_launch_t *launch) {
    return dg_cublaslt_gemm(NULL, args, launch);
}

/* cublaslt_gemm(a, b, d, c, transposed, handle)
 *     transposed  1: a is stored [k, m]; 2: b is stored [k, n]; 3: both
 *     handle      address of a cuBLASLt handle, 0: the library's own
 * Returns None, or NotImplemented if a tensor only stands for one, as the products of products.c. */
static PyObject *cublaslt_gemm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("cublaslt_gemm", count, 6)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_cublaslt_gemm_args_t gemm = DG_CUBLASLT_GEMM_ARGS_INIT;
    int32_t transposed;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                  dgpy_find_stream(&call, args[2], &gemm.d) &&
                  dgpy_require_tensor(&call, args[0], "a", DGPY_OPERAND, &gemm.a) &&
                  dgpy_require_tensor(&call, args[1], "b", DGPY_OPERAND, &gemm.b) &&
                  dgpy_read_tensor(&call, args[3], "c", DGPY_PLAIN, &gemm.c) &&
                  dgpy_read_int32(args[4], "transposed", &transposed);
    if (parsed && !call.wrapped) {
        gemm.handle = PyLong_AsVoidPtr(args[5]);
        if (transposed & 1) gemm.a = dg_tensor_transpose(gemm.a);
        if (transposed & 2) gemm.b = dg_tensor_transpose(gemm.b);
        parsed = !PyErr_Occurred() && dgpy_multiply(&call, args[2], &gemm.d, run, &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

PyMethodDef dgpy_cublaslt_methods[] = {
    {"cublaslt_gemm", (PyCFunction)(void (*)(void))cublaslt_gemm, METH_FASTCALL,
        "dg_cublaslt_gemm"},
    {NULL, NULL, 0, NULL},
};
