/* SPDX-License-Identifier: MIT
 *
 * Layouts of scale factors as functions of the extension, and `describe`, which tells Python how the
 * library sees a tensor. Called by layout.py and _tensor.py; reads tensors through tensor.c.
 */
#include <stdlib.h>
#include <string.h>

#include "launch.h"

static PyObject *make_extents(const int64_t *values, int32_t rank) {
    PyObject *tuple = PyTuple_New(rank);
    for (int32_t i = 0; tuple != NULL && i < rank; i++) {
        PyObject *item = PyLong_FromLongLong(values[i]);
        if (item == NULL || PyTuple_SetItem(tuple, i, item) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

/* describe(x, role) -> (dtype, shape, strides); role "operand", "scale" or "plain". */
static PyObject *describe(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("describe", count, 2)) return NULL;
    const dgpy_role_t role = PyUnicode_CompareWithASCIIString(args[1], "operand") == 0
                                 ? DGPY_OPERAND
                             : PyUnicode_CompareWithASCIIString(args[1], "scale") == 0 ? DGPY_SCALE
                                                                                       : DGPY_PLAIN;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_tensor_t tensor;
    const bool parsed = dgpy_require_tensor(&call, args[0], "tensor", role, &tensor);
    PyObject *result = dgpy_end_call(&call, parsed, DG_STATUS_OK);
    if (result != Py_None) return result;
    Py_DECREF(result);
    return Py_BuildValue("sNN", dg_dtype_string(tensor.dtype),
        make_extents(tensor.shape, tensor.rank), make_extents(tensor.stride, tensor.rank));
}

static dg_status_t run_convert(const void *args, const dg_launch_t *launch) {
    return dg_scale_convert(NULL, args, launch);
}

static dg_status_t run_pack(const void *args, const dg_launch_t *launch) {
    return dg_scale_pack_k_grouped(NULL, args, launch);
}

typedef struct transform_call_t {
    const dg_scale_transform_args_t *args;
    const dg_tensor_t *out;
} transform_call_t;

static dg_status_t run_transform(const void *both, const dg_launch_t *launch) {
    const transform_call_t *transform = both;
    return dg_scale_transform(NULL, transform->args, transform->out, launch);
}

/* scale_convert(src, dst, repeat_mn, k_blocks, groups): writes dst. */
static PyObject *scale_convert(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("scale_convert", count, 5)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_scale_convert_args_t convert = DG_SCALE_CONVERT_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[1], "out", DGPY_SCALE, &convert.dst) &&
                  dgpy_find_stream(&call, args[1], &convert.dst) &&
                  dgpy_require_tensor(&call, args[0], "sf", DGPY_SCALE, &convert.src) &&
                  dgpy_read_int32(args[2], "repeat_mn", &convert.repeat_mn) &&
                  dgpy_read_int64(args[3], "k_blocks", &convert.k_blocks) &&
                  dgpy_read_groups(&call, args[4], &convert.groups);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[1], &convert.dst, run_convert, &convert, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* scale_pack_k_grouped(src, dst, gran_k, groups): writes dst. */
static PyObject *scale_pack_k_grouped(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("scale_pack_k_grouped", count, 4)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_scale_pack_k_grouped_args_t pack = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[1], "out", DGPY_SCALE, &pack.dst) &&
                  dgpy_find_stream(&call, args[1], &pack.dst) &&
                  dgpy_require_tensor(&call, args[0], "sf", DGPY_SCALE, &pack.src) &&
                  dgpy_read_int32(args[2], "gran_k", &pack.gran_k) &&
                  dgpy_read_groups(&call, args[3], &pack.groups);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[1], &pack.dst, run_pack, &pack, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* Reads (sf, mn, k, gran_mn, gran_k, groups, keep_f32, psum). */
static bool read_transform(dgpy_call_t *call, PyObject *tuple, dg_scale_transform_args_t *out) {
    PyObject *sf, *mn, *k, *gran_mn, *gran_k, *groups, *psum;
    int keep_f32;
    if (!PyArg_ParseTuple(
            tuple, "OOOOOOpO", &sf, &mn, &k, &gran_mn, &gran_k, &groups, &keep_f32, &psum))
        return false;
    out->keep_f32 = keep_f32 ? DG_ON : DG_OFF;
    return dgpy_require_tensor(call, sf, "sf", DGPY_SCALE, &out->scale) &&
           dgpy_read_int64(mn, "mn", &out->mn) && dgpy_read_int64(k, "k", &out->k) &&
           dgpy_read_int32(gran_mn, "gran_mn", &out->gran_mn) &&
           dgpy_read_int32(gran_k, "gran_k", &out->gran_k) &&
           dgpy_read_int64(groups, "num_groups", &out->groups) &&
           dgpy_read_groups(call, psum, &out->psum);
}

/* scale_layout(transform) -> None if sf is in the wanted layout, else (dtype, shape, strides). */
static PyObject *scale_layout(PyObject *self, PyObject *transform_tuple) {
    (void)self;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_scale_transform_args_t transform = DG_SCALE_TRANSFORM_ARGS_INIT;
    dg_tensor_t layout;
    memset(&layout, 0, sizeof layout);
    dg_status_t status = DG_STATUS_OK;
    const bool parsed = read_transform(&call, transform_tuple, &transform);
    if (parsed && !call.wrapped) status = dg_scale_transform_layout(NULL, &transform, &layout);
    const bool ready = layout.data != NULL && layout.data == transform.scale.data;
    PyObject *result = dgpy_end_call(&call, parsed, status);
    if (result != Py_None || ready) return result;
    Py_DECREF(result);
    return Py_BuildValue("sNN", dg_dtype_string(layout.dtype),
        make_extents(layout.shape, layout.rank), make_extents(layout.stride, layout.rank));
}

/* scale_transform(transform, out): writes out, which scale_layout described. */
static PyObject *scale_transform(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("scale_transform", count, 2)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_scale_transform_args_t transform = DG_SCALE_TRANSFORM_ARGS_INIT;
    dg_tensor_t out;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[1], "out", DGPY_SCALE, &out) &&
                  dgpy_find_stream(&call, args[1], &out) &&
                  read_transform(&call, args[0], &transform);
    const transform_call_t both = {&transform, &out};
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[1], &out, run_transform, &both, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* tma_aligned_size(x, element_size) -> int */
static PyObject *tma_aligned_size(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    int64_t x, size;
    if (!dgpy_expect_arguments("get_tma_aligned_size", count, 2)) return NULL;
    if (!dgpy_read_int64(args[0], "x", &x) || !dgpy_read_int64(args[1], "element_size", &size))
        return NULL;
    const int64_t aligned = dg_tma_aligned_size(x, size);
    if (aligned >= 0) return PyLong_FromLongLong(aligned);
    return PyErr_Format(dgpy_argument_error,
        "get_tma_aligned_size: x = %lld, element_size = %lld, expected x >= 0 and 1, 2, 4, 8 or 16 "
        "bytes",
        (long long)x, (long long)size);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

PyMethodDef dgpy_layout_methods[] = {
    {"describe", FAST(describe), "describe(x, role) -> (dtype, shape, strides)"},
    {"scale_convert", FAST(scale_convert), "dg_scale_convert"},
    {"scale_pack_k_grouped", FAST(scale_pack_k_grouped), "dg_scale_pack_k_grouped"},
    {"scale_layout", scale_layout, METH_O, "dg_scale_transform_layout"},
    {"scale_transform", FAST(scale_transform), "dg_scale_transform"},
    {"tma_aligned_size", FAST(tma_aligned_size), "dg_tma_aligned_size"},
    {NULL, NULL, 0, NULL},
};
