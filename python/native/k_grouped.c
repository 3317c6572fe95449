/* SPDX-License-Identifier: MIT
 *
 * K-grouped products as a function of the extension. The C API is told how operands lie in memory;
 * here that is found out from their shapes, as deep_gemm/k_grouped.py describes it, since m and n are
 * known from d. Called by k_grouped.py and legacy; reads tensors through tensor.c, computes through
 * launch.c.
 */
#include <string.h>

#include "launch.h"

#define MAX_LIST 1024

/* Outputs and what is added to them, one matrix a group where they are lists. */
typedef struct outputs_t {
    void *d[MAX_LIST], *c[MAX_LIST];
} outputs_t;

static PyObject *make_list(const int64_t *values, int32_t count) {
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = PyLong_FromLongLong(values[i]);
        if (item == NULL || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* Refuses the shape of an operand whose axis `axis` has that extent; of d, where axis is NULL. */
static bool refuse_shape(
    const char *name, const dg_tensor_t *tensor, const char *axis, int64_t extent) {
    PyObject *shape = make_list(tensor->shape, tensor->rank);
    if (shape != NULL && axis == NULL) {
        PyErr_Format(dgpy_argument_error,
            "%s: shape %R, expected [G, m, n], or [m, n] for the sum over groups", name, shape);
    } else if (shape != NULL) {
        PyErr_Format(dgpy_argument_error,
            "%s: shape %R, expected one axis of %s = %lld, as d has it: [tokens, %s] or "
            "[%s, tokens], or a flat tensor of all groups' matrices",
            name, shape, axis, (long long)extent, axis, axis);
    }
    Py_XDECREF(shape);
    return false;
}

/* Rank 1 is flat. Of rank 2 the axis that is not mn counts the tokens; where both fit, tokens come
 * first, but `nt` goes by the stride. */
static bool find_form(
    const char *name, const char *axis, int64_t mn, bool nt, dg_k_operand_t *operand) {
    const dg_tensor_t *data = &operand->data;
    const int64_t columns = data->dtype == DG_DTYPE_E2M1X2 ? mn / 2 : mn;
    const bool first = data->rank == 2 && data->shape[1] == columns;
    const bool last = data->rank == 2 && data->shape[0] == mn;
    const bool turned = nt && data->stride[0] == 1 && data->stride[1] != 1;
    if (data->rank == 1) {
        operand->form = DG_K_FLAT;
    } else if (first || last) {
        operand->form = first && !(last && turned) ? DG_K_TOKENS_FIRST : DG_K_TOKENS_LAST;
    } else {
        return refuse_shape(name, data, axis, mn);
    }
    return true;
}

/* Factors become [rows, mn]: they come so or as [mn, rows], and where both fit, as the name says. */
static void turn_factors(dg_tensor_t *scale, int64_t mn, bool nt) {
    const bool first = scale->rank == 2 && scale->shape[0] == mn;
    const bool last = scale->rank == 2 && scale->shape[1] == mn;
    if (first == last ? nt : first) *scale = dg_tensor_transpose(*scale);
}

/* Reads a pair (values, factors) or values alone, and the list of rows to gather, or None. */
static bool read_operand(dgpy_call_t *call, PyObject *object, PyObject *rows, const char *name,
    const char *scale_name, dg_k_operand_t *out) {
    if (!dgpy_read_tensor(call, rows, "rows", DGPY_PLAIN, &out->rows)) return false;
    if (!PyTuple_Check(object) && !PyList_Check(object))
        return dgpy_require_tensor(call, object, name, DGPY_OPERAND, &out->data);
    return dgpy_read_pair(call, object, name, scale_name, &out->data, &out->scale);
}

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

static bool read_lists(dgpy_call_t *call, PyObject *d, PyObject *c, outputs_t *outputs,
    dg_k_grouped_gemm_args_t *gemm) {
    Py_ssize_t d_count, c_count;
    dg_tensor_t c_like;
    gemm->output = DG_K_OUTPUT_LIST;
    gemm->d_list = outputs->d;
    if (!read_list(call, d, "d", outputs->d, &d_count, &gemm->d)) return false;
    PyObject *first = PySequence_GetItem(d, 0);
    const bool found = first != NULL && dgpy_find_stream(call, first, &gemm->d);
    Py_XDECREF(first);
    if (!found || c == Py_None) return found;
    gemm->c_list = (const void *const *)outputs->c;
    if (!read_list(call, c, "c", outputs->c, &c_count, &c_like)) return false;
    if (call->wrapped || (c_count == d_count && memcmp(&c_like, &gemm->d, sizeof c_like) == 0))
        return true;
    PyErr_SetString(
        dgpy_argument_error, "c: expected as many matrices as d, of d's type, shape and strides");
    return false;
}

static bool read_outputs(dgpy_call_t *call, PyObject *d, PyObject *c, outputs_t *outputs,
    dg_k_grouped_gemm_args_t *gemm) {
    if (PyList_Check(d) || PyTuple_Check(d)) return read_lists(call, d, c, outputs, gemm);
    if (!dgpy_read_output(call, d, "d", DGPY_PLAIN, &gemm->d) ||
        !dgpy_find_stream(call, d, &gemm->d) ||
        !dgpy_read_tensor(call, c, "c", DGPY_PLAIN, &gemm->c))
        return false;
    gemm->output = gemm->d.rank == 2 ? DG_K_OUTPUT_SUM : DG_K_OUTPUT_STACK;
    return true;
}

static bool find_forms(dg_k_grouped_gemm_args_t *gemm, bool nt) {
    if (gemm->d.rank < 2) return refuse_shape("d", &gemm->d, NULL, 0);
    const int64_t m = gemm->d.shape[gemm->d.rank - 2], n = gemm->d.shape[gemm->d.rank - 1];
    if (!find_form("a", "m", m, nt, &gemm->a) || !find_form("b", "n", n, nt, &gemm->b))
        return false;
    turn_factors(&gemm->a.scale, m, nt);
    turn_factors(&gemm->b.scale, n, nt);
    return true;
}

static dg_status_t run_k_grouped(const void *args, const dg_launch_t *launch) {
    return dg_k_grouped_gemm(NULL, args, launch);
}

/* The first of a list of outputs stands for all of them. */
static bool multiply(
    dgpy_call_t *call, PyObject *d, const dg_k_grouped_gemm_args_t *gemm, dg_status_t *status) {
    const bool listed = gemm->output == DG_K_OUTPUT_LIST;
    PyObject *output = listed ? PySequence_GetItem(d, 0) : d;
    if (output == NULL) return false;
    const bool fine = dgpy_multiply(call, output, &gemm->d, run_k_grouped, gemm, status);
    if (listed) Py_DECREF(output);
    return fine;
}

/* k_grouped_gemm(a, b, d, c, groups, gran_k, nt, a_rows, b_rows)
 *     a, b            pairs, or values alone
 *     d, c            tensors, or lists of one matrix a group; d of rank 2 is the sum over groups
 *     nt              whether an `nt` name was called: it decides where shapes do not
 *     a_rows, b_rows  rows to gather, or None */
static PyObject *k_grouped_gemm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("k_grouped_gemm", count, 9)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_k_grouped_gemm_args_t gemm = DG_K_GROUPED_GEMM_ARGS_INIT;
    outputs_t outputs;
    int32_t nt;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = read_outputs(&call, args[2], args[3], &outputs, &gemm) &&
                  read_operand(&call, args[0], args[7], "a", "a.scale", &gemm.a) &&
                  read_operand(&call, args[1], args[8], "b", "b.scale", &gemm.b) &&
                  dgpy_read_groups(&call, args[4], &gemm.groups) &&
                  dgpy_read_int32(args[5], "gran_k", &gemm.a.gran_k) &&
                  dgpy_read_int32(args[6], "nt", &nt);
    if (parsed && !call.wrapped) {
        gemm.b.gran_k = gemm.a.gran_k;
        parsed = find_forms(&gemm, nt != 0) && multiply(&call, args[2], &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

PyMethodDef dgpy_k_grouped_methods[] = {
    {"k_grouped_gemm", (PyCFunction)(void (*)(void))k_grouped_gemm, METH_FASTCALL,
        "dg_k_grouped_gemm"},
    {NULL, NULL, 0, NULL},
};
