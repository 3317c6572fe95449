/* SPDX-License-Identifier: MIT
 *
 * The three products as functions of the extension, one for each of dg_gemm, dg_m_grouped_gemm and
 * dg_k_grouped_gemm. They turn tensors and recipes into argument structs and let other Python
 * threads run meanwhile. Called by gemm.py and grouped.py; reads tensors through tensor.c.
 *
 * Each returns None, or NotImplemented if a tensor only stands for one (tracing): Python then goes
 * through torch's dispatcher. In compile mode arguments are checked and nothing is computed.
 */
#include <string.h>

#include "launch.h"

static bool compile_only; /* set_compile_mode(1), see settings.c */

void dgpy_set_compile_only(bool on);
void dgpy_set_compile_only(bool on) {
    compile_only = on;
}

/* Reads an operand given as a pair (values, factors). */
static bool read_pair(dgpy_call_t *call, PyObject *pair, const char *name, const char *scale_name,
    dg_tensor_t *data, dg_tensor_t *scale) {
    if (!(PyTuple_Check(pair) || PyList_Check(pair)) || PySequence_Size(pair) != 2) {
        PyErr_Format(PyExc_TypeError, "%s: expected a pair (tensor, scale factors), got a %R", name,
            Py_TYPE(pair));
        return false;
    }
    for (int32_t i = 0; i < 2; i++) {
        PyObject *item = PySequence_GetItem(pair, i);
        if (item == NULL) return false;
        const bool fine = i == 0 ? dgpy_require_tensor(call, item, name, DGPY_OPERAND, data)
                                 : dgpy_read_tensor(call, item, scale_name, DGPY_SCALE, scale);
        Py_DECREF(item);
        if (!fine) return false;
    }
    return true;
}

static bool read_ints(PyObject *sequence, const char *name, int32_t *values, Py_ssize_t count) {
    if (!(PyTuple_Check(sequence) || PyList_Check(sequence)) ||
        PySequence_Size(sequence) != count) {
        PyErr_Format(dgpy_argument_error, "%s: %R, expected %zd integers", name, sequence, count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (item == NULL) return false;
        const bool fine = dgpy_read_int32(item, name, &values[i]);
        Py_DECREF(item);
        if (!fine) return false;
    }
    return true;
}

/* recipe = (gran_m, gran_n, gran_k), or recipe_a and recipe_b = (gran_mn, gran_k). Without any:
 * (1, 128, 128), but (1, 1, 128) where b's factors are packed UE8M0. */
static bool read_recipe(
    PyObject *recipe, PyObject *recipe_a, PyObject *recipe_b, dg_operand_t *a, dg_operand_t *b) {
    int32_t grans[3] = {1, 128, 128};
    const bool separate = recipe_a != Py_None || recipe_b != Py_None;
    if (separate && (recipe != Py_None || recipe_a == Py_None || recipe_b == Py_None)) {
        PyErr_SetString(dgpy_argument_error,
            "recipe: expected either recipe alone, or recipe_a and recipe_b together");
        return false;
    }
    if (separate) {
        int32_t pair_a[2], pair_b[2];
        if (!read_ints(recipe_a, "recipe_a", pair_a, 2)) return false;
        if (!read_ints(recipe_b, "recipe_b", pair_b, 2)) return false;
        a->gran_mn = pair_a[0], a->gran_k = pair_a[1];
        b->gran_mn = pair_b[0], b->gran_k = pair_b[1];
        return true;
    }
    if (recipe == Py_None) {
        if (b->scale.dtype == DG_DTYPE_I32) grans[1] = 1;
    } else if (!read_ints(recipe, "recipe", grans, 3)) {
        return false;
    }
    a->gran_mn = grans[0], b->gran_mn = grans[1];
    a->gran_k = b->gran_k = grans[2];
    return true;
}

static void transpose_operand(dg_operand_t *operand) {
    operand->data = dg_tensor_transpose(operand->data);
    operand->scale = dg_tensor_transpose(operand->scale);
}

/* The two C functions of a family, with the type of their arguments left open. */
typedef dg_status_t workspace_fn(const void *args, size_t *bytes);
typedef dg_status_t run_fn(const void *args, const dg_launch_t *launch);

static dg_status_t workspace_of_gemm(const void *args, size_t *bytes) {
    return dg_gemm_workspace(NULL, args, bytes);
}
static dg_status_t run_gemm(const void *args, const dg_launch_t *launch) {
    return dg_gemm(NULL, args, launch);
}
static dg_status_t workspace_of_m_grouped(const void *args, size_t *bytes) {
    return dg_m_grouped_gemm_workspace(NULL, args, bytes);
}
static dg_status_t run_m_grouped(const void *args, const dg_launch_t *launch) {
    return dg_m_grouped_gemm(NULL, args, launch);
}
static dg_status_t workspace_of_k_grouped(const void *args, size_t *bytes) {
    return dg_k_grouped_gemm_workspace(NULL, args, bytes);
}
static dg_status_t run_k_grouped(const void *args, const dg_launch_t *launch) {
    return dg_k_grouped_gemm(NULL, args, launch);
}

/* Runs a checked call on the device of d, the tensor of `output`, while other Python threads go on.
 * On a GPU stream and workspace come from d's framework. False: a Python exception is set. */
static bool launch(dgpy_call_t *call, PyObject *output, const dg_tensor_t *d,
    workspace_fn *workspace, run_fn *run, const void *args, dg_status_t *status) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    size_t bytes = 0;
    launch.prepare = compile_only;
    if (d->device.type == DG_DEVICE_CUDA) *status = workspace(args, &bytes);
    if (*status != DG_STATUS_OK) return true;
    if (!dgpy_find_stream(output, d, &launch)) return false;
    if (!compile_only && !dgpy_take_workspace(call, output, d, bytes, &launch)) return false;
    PyThreadState *thread = PyEval_SaveThread();
    *status = run(args, &launch);
    PyEval_RestoreThread(thread);
    return true;
}

/* gemm(a, b, d, c, recipe, recipe_a, recipe_b, transposed)
 *     a, b        pairs
 *     transposed  1: a is stored [k, m]; 2: b is stored [k, n]; 3: both */
static PyObject *gemm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("gemm", count, 8)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_gemm_args_t gemm = DG_GEMM_ARGS_INIT;
    int32_t transposed;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = read_pair(&call, args[0], "a", "a.scale", &gemm.a.data, &gemm.a.scale) &&
                  read_pair(&call, args[1], "b", "b.scale", &gemm.b.data, &gemm.b.scale) &&
                  dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                  dgpy_read_tensor(&call, args[3], "c", DGPY_PLAIN, &gemm.c) &&
                  read_recipe(args[4], args[5], args[6], &gemm.a, &gemm.b) &&
                  dgpy_read_int32(args[7], "transposed", &transposed);
    if (parsed && !call.wrapped) {
        if (transposed & 1) transpose_operand(&gemm.a);
        if (transposed & 2) transpose_operand(&gemm.b);
        parsed = launch(&call, args[2], &gemm.d, workspace_of_gemm, run_gemm, &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

/* m_grouped_gemm(a, b, d, c, groups, recipe, recipe_a, recipe_b, transposed, a_rows, zero_padding,
 *     expected_m)
 *     groups      (form, values, alignment, None)
 *     transposed  2: b is stored [G, k, n] */
static PyObject *m_grouped_gemm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("m_grouped_gemm", count, 12)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_m_grouped_gemm_args_t gemm = DG_M_GROUPED_GEMM_ARGS_INIT;
    int32_t transposed, zero_padding;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = read_pair(&call, args[0], "a", "a.scale", &gemm.a.data, &gemm.a.scale) &&
                  read_pair(&call, args[1], "b", "b.scale", &gemm.b.data, &gemm.b.scale) &&
                  dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                  dgpy_read_tensor(&call, args[3], "c", DGPY_PLAIN, &gemm.c) &&
                  dgpy_read_groups(&call, args[4], &gemm.groups) &&
                  read_recipe(args[5], args[6], args[7], &gemm.a, &gemm.b) &&
                  dgpy_read_int32(args[8], "transposed", &transposed) &&
                  dgpy_read_tensor(&call, args[9], "a_rows", DGPY_PLAIN, &gemm.a_rows) &&
                  dgpy_read_int32(args[10], "ensure_zero_padding", &zero_padding) &&
                  dgpy_read_int32(args[11], "expected_m", &gemm.expected_m);
    if (parsed && !call.wrapped) {
        gemm.zero_padding = zero_padding ? DG_ON : DG_OFF;
        if (transposed & 2) transpose_operand(&gemm.b);
        parsed =
            launch(&call, args[2], &gemm.d, workspace_of_m_grouped, run_m_grouped, &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

/* Reads (data, scale, form, scale is [mn, rows], gran_k, rows). */
static bool read_k_operand(dgpy_call_t *call, PyObject *tuple, const char *name,
    const char *scale_name, dg_k_operand_t *out) {
    PyObject *data, *scale, *rows;
    int form, transposed, gran_k;
    if (!PyArg_ParseTuple(tuple, "OOiiiO", &data, &scale, &form, &transposed, &gran_k, &rows))
        return false;
    if (!dgpy_require_tensor(call, data, name, DGPY_OPERAND, &out->data) ||
        !dgpy_read_tensor(call, scale, scale_name, DGPY_SCALE, &out->scale) ||
        !dgpy_read_tensor(call, rows, "rows", DGPY_PLAIN, &out->rows))
        return false;
    if (transposed) out->scale = dg_tensor_transpose(out->scale);
    out->form = (dg_k_form_t)form;
    out->gran_k = gran_k;
    return true;
}

#define MAX_LIST 1024

/* Reads a list of equal matrices, one a group, into addresses; `tensor` describes each. */
static bool read_list(dgpy_call_t *call, PyObject *list, const char *name, void **addresses,
    Py_ssize_t *length, dg_tensor_t *tensor) {
    *length = PySequence_Size(list);
    if (*length < 1 || *length > MAX_LIST) {
        PyErr_Format(
            dgpy_argument_error, "%s: %zd tensors, expected 1 to %d", name, *length, MAX_LIST);
        return false;
    }
    for (Py_ssize_t i = 0; i < *length; i++) {
        dg_tensor_t one;
        PyObject *item = PySequence_GetItem(list, i);
        if (item == NULL) return false;
        const bool fine = dgpy_read_output(call, item, name, DGPY_PLAIN, &one);
        Py_DECREF(item);
        if (!fine) return false;
        if (call->wrapped) return true;
        addresses[i] = one.data;
        one.data = NULL;
        if (i == 0) *tensor = one;
        if (memcmp(tensor, &one, sizeof one) != 0) {
            PyErr_Format(dgpy_argument_error,
                "%s[%zd]: type, shape or strides differ from %s[0]; pass equal matrices", name, i,
                name);
            return false;
        }
    }
    return true;
}

/* d may be a list of tensors, whose first then stands for all. */
static bool launch_k_grouped(dgpy_call_t *call, PyObject *d, bool listed,
    const dg_k_grouped_gemm_args_t *gemm, dg_status_t *status) {
    PyObject *output = listed ? PySequence_GetItem(d, 0) : d;
    if (output == NULL) return false;
    const bool fine =
        launch(call, output, &gemm->d, workspace_of_k_grouped, run_k_grouped, gemm, status);
    if (listed) Py_DECREF(output);
    return fine;
}

/* k_grouped_gemm(a, b, d, c, groups, sum)
 *     a, b    (data, scale, form, scale is [mn, rows], gran_k, rows)
 *     d, c    tensors, or lists of one matrix a group
 *     sum     1: d is the sum over groups */
static PyObject *k_grouped_gemm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("k_grouped_gemm", count, 6)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_k_grouped_gemm_args_t gemm = DG_K_GROUPED_GEMM_ARGS_INIT;
    void *d_list[MAX_LIST], *c_list[MAX_LIST];
    Py_ssize_t d_count = 0, c_count = 0;
    dg_tensor_t c_like;
    int32_t sum;
    dg_status_t status = DG_STATUS_OK;
    const bool listed = PyList_Check(args[2]) || PyTuple_Check(args[2]);
    bool parsed = read_k_operand(&call, args[0], "a", "a.scale", &gemm.a) &&
                  read_k_operand(&call, args[1], "b", "b.scale", &gemm.b) &&
                  dgpy_read_groups(&call, args[4], &gemm.groups) &&
                  dgpy_read_int32(args[5], "sum", &sum);
    if (parsed && listed) {
        parsed = read_list(&call, args[2], "d", d_list, &d_count, &gemm.d);
        gemm.output = DG_K_OUTPUT_LIST;
        gemm.d_list = d_list;
        if (parsed && args[3] != Py_None) {
            parsed = read_list(&call, args[3], "c", c_list, &c_count, &c_like);
            gemm.c_list = (const void *const *)c_list;
        }
        if (parsed && !call.wrapped && args[3] != Py_None &&
            (c_count != d_count || memcmp(&c_like, &gemm.d, sizeof c_like) != 0)) {
            PyErr_SetString(dgpy_argument_error, "c: expected as many matrices as d, of d's type, "
                                                 "shape and strides");
            parsed = false;
        }
    } else if (parsed) {
        gemm.output = sum ? DG_K_OUTPUT_SUM : DG_K_OUTPUT_STACK;
        parsed = dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                 dgpy_read_tensor(&call, args[3], "c", DGPY_PLAIN, &gemm.c);
    }
    if (parsed && !call.wrapped) {
        parsed = launch_k_grouped(&call, args[2], listed, &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

PyMethodDef dgpy_product_methods[] = {
    {"gemm", FAST(gemm), "dg_gemm"},
    {"m_grouped_gemm", FAST(m_grouped_gemm), "dg_m_grouped_gemm"},
    {"k_grouped_gemm", FAST(k_grouped_gemm), "dg_k_grouped_gemm"},
    {NULL, NULL, 0, NULL},
};
