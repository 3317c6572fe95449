/* SPDX-License-Identifier: MIT
 *
 * The ways to read a tensor that are not a C function on its type, see tensor.c, which calls this.
 */
#include "foreign.h"

#include <stdio.h>
#include <string.h>

typedef struct type_name_t {
    const char *name;
    uint8_t code, bits;
    uint16_t lanes;
} type_name_t;

/* Names of numpy's and torch's element types as DLPack triples. */
static const type_name_t type_names[] = {
    {"float8_e4m3fn", 10, 8, 1},
    {"float8_e8m0fnu", 14, 8, 1},
    {"float4_e2m1fn_x2", 17, 4, 2},
    {"bfloat16", 4, 16, 1},
    {"float32", 2, 32, 1},
    {"int8", 0, 8, 1},
    {"uint8", 1, 8, 1},
    {"int32", 0, 32, 1},
    {"int64", 0, 64, 1},
    {"float16", 2, 16, 1},
    {"float64", 2, 64, 1}, /* from here on: known by name, to be refused by name */
    {"float8_e5m2", 12, 8, 1},
    {"int16", 0, 16, 1},
    {"bool", 6, 8, 1},
};

static dg_dtype_t element_type(uint8_t code, uint8_t bits, uint16_t lanes, dgpy_role_t role) {
    const bool int8 = code == 0 && bits == 8 && lanes == 1;
    const bool uint8 = code == 1 && bits == 8 && lanes == 1;
    if (int8) return role == DGPY_OPERAND ? DG_DTYPE_E2M1X2 : DG_DTYPE_NONE;
    if (uint8 && role == DGPY_OPERAND) return DG_DTYPE_E4M3;
    if (uint8 && role == DGPY_SCALE) return DG_DTYPE_E8M0;
    return dg_dtype_from_dlpack(code, bits, lanes);
}

static bool refuse_type(const char *argument, const char *name) {
    PyErr_Format(dgpy_dtype_error,
        "%s: element type %s, expected float8_e4m3fn, int8 (pairs of FP4), bfloat16, float16 or "
        "float32 for values, float32, int32 or float8_e8m0fnu for scales, int32 or int64 for groups, "
        "uint8 for pages",
        argument, name);
    return false;
}

static bool refuse_rank(const char *argument, long long rank) {
    PyErr_Format(
        dgpy_argument_error, "%s: %lld axes, expected at most %d", argument, rank, DG_MAX_RANK);
    return false;
}

static void fill_dense_strides(dg_tensor_t *tensor) {
    int64_t stride = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        tensor->stride[i] = stride;
        stride *= tensor->shape[i] > 0 ? tensor->shape[i] : 1;
    }
}

bool dgpy_take_dlpack(
    const dlpack_tensor_t *tensor, const char *argument, dgpy_role_t role, dg_tensor_t *out) {
    if (tensor->ndim < 0 || tensor->ndim > DG_MAX_RANK) return refuse_rank(argument, tensor->ndim);
    out->dtype = element_type(tensor->code, tensor->bits, tensor->lanes, role);
    if (out->dtype == DG_DTYPE_NONE) {
        char name[64];
        snprintf(name, sizeof name, "(DLPack code %d, %d bits, %d lanes)", tensor->code,
            tensor->bits, tensor->lanes);
        for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
            const type_name_t *type = &type_names[i];
            if (type->code == tensor->code && type->bits == tensor->bits)
                snprintf(name, sizeof name, "%s", type->name);
        }
        return refuse_type(argument, name);
    }
    out->data = (char *)tensor->data + tensor->byte_offset;
    out->device.type = (dg_device_type_t)tensor->device_type;
    out->device.id = tensor->device_type == DG_DEVICE_CPU ? 0 : tensor->device_id;
    out->rank = tensor->ndim;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        out->shape[i] = tensor->shape[i];
        if (tensor->strides != NULL) out->stride[i] = tensor->strides[i];
    }
    if (tensor->strides == NULL) fill_dense_strides(out);
    return true;
}

/* Sets out->dtype from a type's name, "torch.float32" or "float32". */
static bool take_type_name(
    PyObject *name, const char *argument, dgpy_role_t role, dg_tensor_t *out) {
    PyObject *ascii = PyUnicode_AsUTF8String(name);
    if (ascii == NULL) return false;
    const char *text = PyBytes_AsString(ascii);
    if (strncmp(text, "torch.", 6) == 0) text += 6;
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        const type_name_t *type = &type_names[i];
        if (strcmp(type->name, text) == 0)
            out->dtype = element_type(type->code, type->bits, type->lanes, role);
    }
    const bool known = out->dtype != DG_DTYPE_NONE || refuse_type(argument, text);
    Py_DECREF(ascii);
    return known;
}

/* Copies a sequence of at most DG_MAX_RANK integers, and their number to *rank. */
static bool take_extents(PyObject *sequence, const char *argument, int64_t *values, int32_t *rank) {
    const Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0) return false;
    if (count > DG_MAX_RANK) return refuse_rank(argument, (long long)count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (item == NULL) return false;
        const bool fine = dgpy_read_int64(item, argument, &values[i]);
        Py_DECREF(item);
        if (!fine) return false;
    }
    *rank = (int32_t)count;
    return true;
}

/* numpy's description of an array in C, capsule __array_struct__. Strides count bytes. */
typedef struct array_struct_t {
    int two; /* 2: this is such a struct */
    int rank;
    char kind;
    int item_size;
    int flags;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    void *data;
    PyObject *description;
} array_struct_t;

#define ARRAY_NOT_SWAPPED 0x200
#define ARRAY_WRITABLE 0x400

/* Element types of numpy met so far: a dtype's name takes microseconds to make. */
typedef struct known_dtype_t {
    PyObject *dtype; /* strong: an address is never used again for another type */
    PyObject *name;
} known_dtype_t;

static known_dtype_t known_dtypes[32];
static int32_t known_count;

/* The dtype's name, a new reference. */
static PyObject *name_dtype(PyObject *dtype) {
    for (int32_t i = 0; i < known_count; i++) {
        if (known_dtypes[i].dtype == dtype) {
            Py_INCREF(known_dtypes[i].name);
            return known_dtypes[i].name;
        }
    }
    PyObject *name = PyObject_GetAttrString(dtype, "name");
    if (name != NULL && known_count < (int32_t)(sizeof known_dtypes / sizeof known_dtypes[0])) {
        Py_INCREF(dtype);
        Py_INCREF(name);
        known_dtypes[known_count++] = (known_dtype_t){dtype, name};
    }
    return name;
}

static bool take_array(
    const array_struct_t *array, const char *argument, dg_tensor_t *out, bool *readonly) {
    if (array->rank < 0 || array->rank > DG_MAX_RANK) return refuse_rank(argument, array->rank);
    if ((array->flags & ARRAY_NOT_SWAPPED) == 0)
        return refuse_type(argument, "of the other byte order");
    *readonly = (array->flags & ARRAY_WRITABLE) == 0;
    out->data = array->data;
    out->device.type = DG_DEVICE_CPU;
    out->rank = array->rank;
    for (int32_t i = 0; i < array->rank; i++) {
        out->shape[i] = array->shape[i];
        if (array->strides[i] % array->item_size != 0 && array->shape[i] > 1) {
            PyErr_Format(dgpy_argument_error, "%s: a stride of %zd bytes, no multiple of %d",
                argument, array->strides[i], array->item_size);
            return false;
        }
        out->stride[i] = array->strides[i] / array->item_size;
    }
    return true;
}

/* Names of attributes as Python objects, made once: making one costs as much as looking it up. */
static PyObject *dtype_word, *array_struct_word;

static bool make_words(void) {
    if (array_struct_word != NULL) return true;
    dtype_word = PyUnicode_InternFromString("dtype");
    if (dtype_word != NULL) array_struct_word = PyUnicode_InternFromString("__array_struct__");
    return array_struct_word != NULL;
}

bool dgpy_read_array(
    PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out, bool *readonly) {
    PyObject *dtype = make_words() ? PyObject_GetAttr(object, dtype_word) : NULL;
    PyObject *name = dtype != NULL ? name_dtype(dtype) : NULL;
    PyObject *capsule = name != NULL ? PyObject_GetAttr(object, array_struct_word) : NULL;
    const array_struct_t *array = capsule != NULL ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    const bool fine = array != NULL && take_type_name(name, argument, role, out) &&
                      take_array(array, argument, out, readonly);
    Py_XDECREF(capsule);
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    return fine;
}

static bool take_device(PyObject *device, const char *argument, dg_tensor_t *out) {
    PyObject *text = PyObject_Str(device);
    PyObject *ascii = text != NULL ? PyUnicode_AsUTF8String(text) : NULL;
    Py_XDECREF(text);
    if (ascii == NULL) return false;
    const char *name = PyBytes_AsString(ascii);
    bool fine = true;
    if (strcmp(name, "cpu") == 0) {
        out->device.type = DG_DEVICE_CPU;
    } else if (sscanf(name, "cuda:%d", &out->device.id) == 1) {
        out->device.type = DG_DEVICE_CUDA;
    } else {
        PyErr_Format(PyExc_RuntimeError, "%s: on device %s, expected cpu or cuda", argument, name);
        fine = false;
    }
    Py_DECREF(ascii);
    return fine;
}

bool dgpy_read_attributes(
    PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out) {
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *name = dtype != NULL ? PyObject_Str(dtype) : NULL;
    PyObject *device = name != NULL ? PyObject_GetAttrString(object, "device") : NULL;
    PyObject *shape = device != NULL ? PyObject_GetAttrString(object, "shape") : NULL;
    PyObject *stride = shape != NULL ? PyObject_CallMethod(object, "stride", NULL) : NULL;
    PyObject *address = stride != NULL ? PyObject_CallMethod(object, "data_ptr", NULL) : NULL;
    bool fine = false;
    int32_t strides = -1;
    if (address != NULL) {
        out->data = PyLong_AsVoidPtr(address);
        fine = !PyErr_Occurred() && take_type_name(name, argument, role, out) &&
               take_device(device, argument, out) &&
               take_extents(shape, argument, out->shape, &out->rank) &&
               take_extents(stride, argument, out->stride, &strides);
    }
    if (fine && strides != out->rank) {
        PyErr_Format(
            dgpy_argument_error, "%s: %d strides for %d axes", argument, strides, out->rank);
        fine = false;
    }
    Py_XDECREF(address);
    Py_XDECREF(stride);
    Py_XDECREF(shape);
    Py_XDECREF(device);
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    return fine;
}

/* The device type that the producer tells, 0 if it does not. */
static long ask_device_type(PyObject *object) {
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    PyObject *type = device != NULL ? PySequence_GetItem(device, 0) : NULL;
    PyObject *index = type != NULL ? PyNumber_Index(type) : NULL;
    const long number = index != NULL ? PyLong_AsLong(index) : 0;
    PyErr_Clear();
    Py_XDECREF(index);
    Py_XDECREF(type);
    Py_XDECREF(device);
    return number;
}

/* The keyword `stream` of __dlpack__: the stream on which the memory shall be ready, 1 for the default
 * one; -1, before the call's stream is known, asks for nothing: then it is the output's own. */
static PyObject *name_stream(const dgpy_call_t *call) {
    if (!call->on_gpu) return PyLong_FromLong(-1);
    return call->stream == NULL ? PyLong_FromLong(1) : PyLong_FromVoidPtr(call->stream);
}

/* A versioned capsule, which says whether memory may be written; older producers know only the call
 * without arguments. */
static PyObject *make_capsule(const dgpy_call_t *call, PyObject *object) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *keywords = method != NULL ? Py_BuildValue("{s(ii)}", "max_version", 1, 1) : NULL;
    PyObject *nothing = PyTuple_New(0);
    PyObject *capsule = NULL;
    bool ready = keywords != NULL && nothing != NULL;
    if (ready && ask_device_type(object) == DG_DEVICE_CUDA) {
        PyObject *stream = name_stream(call);
        ready = stream != NULL && PyDict_SetItemString(keywords, "stream", stream) == 0;
        Py_XDECREF(stream);
    }
    if (ready) {
        capsule = PyObject_Call(method, nothing, keywords);
        if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            if (PyDict_DelItemString(keywords, "max_version") == 0)
                capsule = PyObject_Call(method, nothing, keywords);
        }
    }
    Py_XDECREF(nothing);
    Py_XDECREF(keywords);
    Py_XDECREF(method);
    return capsule;
}

bool dgpy_read_capsule(dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role,
    dg_tensor_t *out, bool *readonly) {
    PyObject *capsule = make_capsule(call, object);
    if (capsule == NULL || !dgpy_hold(call, capsule)) return false;
    /* The capsule keeps its name: its own destructor then frees the tensor when the call lets go. */
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const dlpack_versioned_t *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        *readonly = (managed->flags & DLPACK_FLAG_READ_ONLY) != 0;
        return dgpy_take_dlpack(&managed->tensor, argument, role, out);
    }
    const dlpack_managed_t *managed = PyCapsule_GetPointer(capsule, "dltensor");
    return managed != NULL && dgpy_take_dlpack(&managed->tensor, argument, role, out);
}
