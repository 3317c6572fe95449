/* SPDX-License-Identifier: MIT
 *
 * Reading tensors of any framework. There are four ways, tried in this order; which one serves a
 * type is found out once and remembered:
 *
 *     exchange    torch >= 2.10: a C function on the type fills a DLPack tensor, about 30 ns
 *     array       numpy, also with ml_dtypes' element types, which numpy's own DLPack refuses
 *     attributes  older torch: data_ptr(), shape, stride(), dtype, device
 *     capsule     all others (JAX, Paddle, CuPy): __dlpack__()
 *
 * foreign.c has the last three. Called by all files that make calls of the library.
 */
#include "tensor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dlpack_abi.h"
#include "foreign.h"

typedef enum reader_t {
    READ_EXCHANGE,
    READ_WRAPPED,
    READ_ARRAY,
    READ_ATTRIBUTES,
    READ_CAPSULE,
    READ_NOTHING
} reader_t;

typedef struct known_type_t {
    PyTypeObject *type; /* strong: an address is never used again for another type */
    reader_t reader;
    bool immutable; /* although its capsules do not say so */
    const dlpack_exchange_t *exchange;
} known_type_t;

/* The types met so far. Programs use two or three; a table that is full is searched no further. The
 * interpreter's lock guards it. */
static known_type_t known_types[32];
static int32_t known_count;

/* A subclass with its own __torch_dispatch__ stands for a tensor without being one: its memory, if
 * it has any, must not be read. */
static bool is_wrapper(PyTypeObject *type) {
    PyObject *dispatch = PyObject_GetAttrString((PyObject *)type, "__torch_dispatch__");
    if (dispatch == NULL) {
        PyErr_Clear();
        return false;
    }
    PyObject *name = PyObject_GetAttrString(dispatch, "__name__");
    bool disabled = false;
    if (name != NULL) {
        disabled = PyUnicode_CompareWithASCIIString(name, "_disabled_torch_dispatch_impl") == 0;
        Py_DECREF(name);
    }
    PyErr_Clear();
    Py_DECREF(dispatch);
    return !disabled;
}

static const dlpack_exchange_t *find_exchange(PyTypeObject *type) {
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const dlpack_exchange_t *table = NULL;
    if (capsule != NULL) table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear();
    Py_XDECREF(capsule); /* the table itself lives as long as the process */
    while (table != NULL && table->version.major != 1) table = table->older;
    return table != NULL && table->view != NULL ? table : NULL;
}

static bool has(PyTypeObject *type, const char *attribute) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, attribute);
    if (found == NULL) PyErr_Clear();
    Py_XDECREF(found);
    return found != NULL;
}

/* JAX's arrays: compiled programs share their memory. */
static bool is_immutable(PyTypeObject *type) {
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    PyObject *ascii = module != NULL ? PyUnicode_AsUTF8String(module) : NULL;
    const char *name = ascii != NULL ? PyBytes_AsString(ascii) : NULL;
    const bool jax = name != NULL && strncmp(name, "jax", 3) == 0;
    PyErr_Clear();
    Py_XDECREF(ascii);
    Py_XDECREF(module);
    return jax;
}

static known_type_t inspect_type(PyTypeObject *type) {
    known_type_t known = {type, READ_NOTHING, is_immutable(type), find_exchange(type)};
    if (is_wrapper(type)) {
        known.reader = READ_WRAPPED;
    } else if (known.exchange != NULL) {
        known.reader = READ_EXCHANGE;
    } else if (has(type, "__array_struct__")) {
        known.reader = READ_ARRAY;
    } else if (has(type, "data_ptr") && has(type, "stride")) {
        known.reader = READ_ATTRIBUTES;
    } else if (has(type, "__dlpack__")) {
        known.reader = READ_CAPSULE;
    }
    return known;
}

static known_type_t know(PyTypeObject *type) {
    for (int32_t i = 0; i < known_count; i++) {
        if (known_types[i].type == type) return known_types[i];
    }
    const known_type_t known = inspect_type(type);
    if (known_count < (int32_t)(sizeof known_types / sizeof known_types[0])) {
        Py_INCREF(type);
        known_types[known_count++] = known;
    }
    return known;
}

const struct dlpack_exchange_t *dgpy_exchange_of(PyObject *object) {
    return know(Py_TYPE(object)).exchange;
}

bool dgpy_hold(dgpy_call_t *call, PyObject *object) {
    const int32_t room = (int32_t)(sizeof call->few / sizeof call->few[0]);
    if (call->held == room && call->many == NULL) {
        call->many = calloc(DGPY_MAX_HELD, sizeof(PyObject *));
        if (call->many != NULL) memcpy(call->many, call->few, sizeof call->few);
    }
    PyObject **slots = call->held < room && call->many == NULL ? call->few : call->many;
    if (slots == NULL || call->held == DGPY_MAX_HELD) {
        Py_DECREF(object);
        PyErr_SetString(PyExc_MemoryError, "no room for so many tensors in one call");
        return false;
    }
    slots[call->held++] = object;
    return true;
}

/* Puts the argument's name before a framework's own exception, of which the first line is kept. */
static bool name_argument(const char *argument) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    PyObject *lines = text != NULL ? PyUnicode_Splitlines(text, 0) : NULL;
    PyObject *first = lines != NULL ? PySequence_GetItem(lines, 0) : NULL;
    if (first != NULL) {
        PyErr_Format(type, "%s: %U; pass a dense tensor on a CPU or a GPU", argument, first);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    } else {
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(first);
    Py_XDECREF(lines);
    Py_XDECREF(text);
    return false;
}

static bool read_any(dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role,
    dg_tensor_t *out, bool *readonly) {
    memset(out, 0, sizeof *out);
    *readonly = false;
    if (object == Py_None) return true;
    const known_type_t known = know(Py_TYPE(object));
    Py_INCREF(object);
    if (!dgpy_hold(call, object)) return false;
    dlpack_tensor_t borrowed;
    switch (known.reader) {
    case READ_WRAPPED: call->wrapped = true; return true;
    case READ_EXCHANGE:
        if (known.exchange->view(object, &borrowed) != 0) return name_argument(argument);
        return dgpy_take_dlpack(&borrowed, argument, role, out);
    case READ_ARRAY: return dgpy_read_array(object, argument, role, out, readonly);
    case READ_ATTRIBUTES: return dgpy_read_attributes(object, argument, role, out);
    case READ_CAPSULE: return dgpy_read_capsule(call, object, argument, role, out, readonly);
    case READ_NOTHING: break;
    }
    PyErr_Format(PyExc_TypeError,
        "%s: a %R is no tensor; pass a tensor of torch, numpy or any framework with DLPack",
        argument, Py_TYPE(object));
    return false;
}

bool dgpy_read_tensor(
    dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out) {
    bool readonly;
    return read_any(call, object, argument, role, out, &readonly);
}

static bool refuse_none(const char *argument) {
    PyErr_Format(PyExc_TypeError, "%s: None, expected a tensor", argument);
    return false;
}

bool dgpy_require_tensor(
    dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out) {
    bool readonly;
    if (object == Py_None) return refuse_none(argument);
    return read_any(call, object, argument, role, out, &readonly);
}

bool dgpy_read_output(
    dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out) {
    bool readonly = know(Py_TYPE(object)).immutable;
    if (object == Py_None) return refuse_none(argument);
    if (!readonly && !read_any(call, object, argument, role, out, &readonly)) return false;
    if (readonly) {
        PyErr_Format(dgpy_argument_error,
            "%s: its memory is read-only, expected a tensor that can be written in place",
            argument);
        return false;
    }
    return true;
}

bool dgpy_read_pair(dgpy_call_t *call, PyObject *pair, const char *name, const char *scale_name,
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

bool dgpy_read_int64(PyObject *object, const char *argument, int64_t *out) {
    PyObject *index = PyNumber_Index(object);
    if (index == NULL) {
        PyErr_Format(PyExc_TypeError, "%s: a %R, expected an integer", argument, Py_TYPE(object));
        return false;
    }
    *out = PyLong_AsLongLong(index);
    const bool fits = *out != -1 || !PyErr_Occurred();
    if (!fits) {
        PyErr_Clear();
        PyErr_Format(dgpy_argument_error, "%s: %R does not fit 64 bits", argument, index);
    }
    Py_DECREF(index);
    return fits;
}

bool dgpy_read_int32(PyObject *object, const char *argument, int32_t *out) {
    int64_t wide;
    if (!dgpy_read_int64(object, argument, &wide)) return false;
    if (wide < INT32_MIN || wide > INT32_MAX) {
        PyErr_Format(
            dgpy_argument_error, "%s: %lld does not fit 32 bits", argument, (long long)wide);
        return false;
    }
    *out = (int32_t)wide;
    return true;
}

static bool read_host_sizes(dgpy_call_t *call, PyObject *object, dg_groups_t *out) {
    if (object == Py_None) return true;
    const Py_ssize_t count = PySequence_Size(object);
    if (count < 0) return false;
    call->sizes = malloc(sizeof(int64_t) * (size_t)(count > 0 ? count : 1));
    if (call->sizes == NULL) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        if (item == NULL) return false;
        const bool fine = dgpy_read_int64(item, "ks_cpu", &call->sizes[i]);
        Py_DECREF(item);
        if (!fine) return false;
    }
    out->host_sizes = call->sizes;
    out->host_count = count;
    return true;
}

bool dgpy_read_groups(dgpy_call_t *call, PyObject *object, dg_groups_t *out) {
    if (object == Py_None) return true;
    int form, alignment;
    PyObject *values, *sizes;
    if (!PyArg_ParseTuple(object, "iOiO", &form, &values, &alignment, &sizes)) return false;
    out->form = (dg_group_form_t)form;
    out->alignment = alignment;
    return dgpy_read_tensor(call, values, "grouped_layout", DGPY_PLAIN, &out->values) &&
           read_host_sizes(call, sizes, out);
}

PyObject *dgpy_end_call(dgpy_call_t *call, bool parsed, dg_status_t status) {
    PyObject **slots = call->many != NULL ? call->many : call->few;
    if (parsed && !call->wrapped && status != DG_STATUS_OK) dgpy_raise(status);
    for (int32_t i = 0; i < call->held; i++) Py_DECREF(slots[i]);
    if (call->workspace != NULL && call->workspace->deleter != NULL)
        call->workspace->deleter(call->workspace);
    free(call->many);
    free(call->sizes);
    if (!parsed || (!call->wrapped && status != DG_STATUS_OK)) return NULL;
    PyObject *result = call->wrapped ? Py_NotImplemented : Py_None;
    Py_INCREF(result);
    return result;
}
