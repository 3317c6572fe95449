/* SPDX-License-Identifier: MIT
 *
 * The module deep_gemm._native: the C API of libdeep_gemm for Python, on the limited API (one binary
 * for Python 3.10 and later). The functions are in products.c and its kin, mqa_logits.c, casts.c,
 * layouts.c, permutes.c, plans.c and settings.c.
 */
#include "tensor.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "deep_gemm._native",
    "The C API of libdeep_gemm. Use the functions of deep_gemm instead.",
    -1,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    PyMethodDef *const tables[] = {dgpy_product_methods, dgpy_k_grouped_methods,
        dgpy_mqa_logits_methods, dgpy_plan_methods, dgpy_cast_methods, dgpy_layout_methods,
        dgpy_permute_methods, dgpy_setting_methods, dgpy_cublaslt_methods};
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    bool fine = dgpy_add_errors(module);
    for (size_t i = 0; fine && i < sizeof tables / sizeof tables[0]; i++)
        fine = PyModule_AddFunctions(module, tables[i]) == 0;
    if (fine) return module;
    Py_DECREF(module);
    return NULL;
}
