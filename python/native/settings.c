/* SPDX-License-Identifier: MIT
 *
 * Settings of the default context as functions of the extension, the version, and the table of
 * environment variables. Called by runtime.py.
 */
#include "launch.h"

static PyObject *none_or_raise(dg_status_t status) {
    if (status != DG_STATUS_OK) return dgpy_raise(status);
    Py_INCREF(Py_None);
    return Py_None;
}

/* An integer setting: get_NAME() -> int and set_NAME(int). */
#define SETTING(name)                                                                              \
    static PyObject *get_##name(PyObject *self, PyObject *ignored) {                               \
        int32_t value;                                                                             \
        (void)self, (void)ignored;                                                                 \
        const dg_status_t status = dg_get_##name(NULL, &value);                                    \
        return status == DG_STATUS_OK ? PyLong_FromLong(value) : dgpy_raise(status);               \
    }                                                                                              \
    static PyObject *set_##name(PyObject *self, PyObject *object) {                                \
        int32_t value;                                                                             \
        (void)self;                                                                                \
        if (!dgpy_read_int32(object, #name, &value)) return NULL;                                  \
        return none_or_raise(dg_set_##name(NULL, value));                                          \
    }

SETTING(num_sms)
SETTING(tc_util)
SETTING(pdl)
SETTING(batch_invariant)
SETTING(mk_alignment_for_contiguous_layout)

static PyObject *get_theoretical_mk_alignment(PyObject *self, PyObject *object) {
    int32_t expected_m, alignment;
    (void)self;
    if (!dgpy_read_int32(object, "expected_m", &expected_m)) return NULL;
    const dg_status_t status =
        dg_get_theoretical_mk_alignment_for_contiguous_layout(NULL, expected_m, &alignment);
    return status == DG_STATUS_OK ? PyLong_FromLong(alignment) : dgpy_raise(status);
}

static PyObject *set_block_size_multiple_of(PyObject *self, PyObject *args) {
    PyObject *m, *n;
    int32_t block_m, block_n;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &m, &n) || !dgpy_read_int32(m, "block_m", &block_m) ||
        !dgpy_read_int32(n, "block_n", &block_n))
        return NULL;
    return none_or_raise(dg_set_block_size_multiple_of(NULL, block_m, block_n));
}

static PyObject *set_compile_only(PyObject *self, PyObject *object) {
    (void)self;
    const int on = PyObject_IsTrue(object);
    if (on < 0) return NULL;
    dgpy_set_compile_only(on != 0);
    return none_or_raise(DG_STATUS_OK);
}

/* num_threads() -> int; set_num_threads(int) */
static PyObject *get_num_threads(PyObject *self, PyObject *ignored) {
    (void)self, (void)ignored;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    const dg_status_t status = dg_context_get_options(NULL, &options);
    return status == DG_STATUS_OK ? PyLong_FromLong(options.num_threads) : dgpy_raise(status);
}

static PyObject *set_num_threads(PyObject *self, PyObject *object) {
    (void)self;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    if (!dgpy_read_int32(object, "num_threads", &options.num_threads)) return NULL;
    return none_or_raise(dg_context_set_options(NULL, &options));
}

static PyObject *version(PyObject *self, PyObject *ignored) {
    (void)self, (void)ignored;
    return PyUnicode_FromString(dg_version());
}

/* environment() -> [(name, meaning, initial, value or None)] */
static PyObject *environment(PyObject *self, PyObject *ignored) {
    (void)self, (void)ignored;
    PyObject *list = PyList_New(0);
    dg_env_entry_t entry;
    for (int32_t i = 0; list != NULL && dg_env_entry(i, &entry) == DG_STATUS_OK; i++) {
        PyObject *row =
            Py_BuildValue("ssss", entry.name, entry.meaning, entry.initial, entry.value);
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

#define GET_SET(name)                                                                              \
    {"get_" #name, get_##name, METH_NOARGS, "dg_get_" #name}, {                                    \
        "set_" #name, set_##name, METH_O, "dg_set_" #name                                          \
    }

PyMethodDef dgpy_setting_methods[] = {
    GET_SET(num_sms),
    GET_SET(tc_util),
    GET_SET(pdl),
    GET_SET(batch_invariant),
    GET_SET(mk_alignment_for_contiguous_layout),
    GET_SET(num_threads),
    {"get_theoretical_mk_alignment", get_theoretical_mk_alignment, METH_O,
        "dg_get_theoretical_mk_alignment_for_contiguous_layout"},
    {"set_block_size_multiple_of", set_block_size_multiple_of, METH_VARARGS,
        "dg_set_block_size_multiple_of"},
    {"set_compile_only", set_compile_only, METH_O, "check arguments, compute nothing"},
    {"version", version, METH_NOARGS, "dg_version"},
    {"environment", environment, METH_NOARGS, "dg_env_entry"},
    {NULL, NULL, 0, NULL},
};
