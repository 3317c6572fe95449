/* SPDX-License-Identifier: MIT
 *
 * See launch.h. torch from 2.10 on answers both questions through the C functions of its exchange
 * table. For older torch and for CuPy, whose current stream and allocator have Python functions,
 * deep_gemm._tensor asks them. Anything else runs on the device's default stream.
 */
#include "launch.h"

#include "dlpack_abi.h"

enum { WORKSPACE_ALIGNMENT = 256 };

/* The result of deep_gemm._tensor.<function>(output, number); a new reference. */
static PyObject *ask_python(const char *function, PyObject *output, Py_ssize_t number) {
    PyObject *module = PyImport_ImportModule("deep_gemm._tensor");
    if (module == NULL) return NULL;
    PyObject *result = PyObject_CallMethod(module, function, "On", output, number);
    Py_DECREF(module);
    return result;
}

bool dgpy_find_stream(dgpy_call_t *call, PyObject *output, const dg_tensor_t *tensor) {
    if (call->wrapped || tensor->device.type != DG_DEVICE_CUDA) return true;
    call->on_gpu = true;
    const dlpack_exchange_t *exchange = dgpy_exchange_of(output);
    if (exchange != NULL && exchange->current_stream != NULL) {
        return exchange->current_stream(DG_DEVICE_CUDA, tensor->device.id, &call->stream) == 0;
    }
    PyObject *stream = ask_python("current_stream", output, tensor->device.id);
    if (stream == NULL) return false;
    call->stream = PyLong_AsVoidPtr(stream);
    Py_DECREF(stream);
    return !PyErr_Occurred();
}

static void name_failure(void *ignored, const char *kind, const char *message) {
    (void)ignored;
    (void)kind;
    PyErr_Format(PyExc_MemoryError, "workspace: %s", message);
}

/* Through the table: a managed tensor, which the call's end gives back. */
static bool allocate(dgpy_call_t *call, const dlpack_exchange_t *exchange,
    const dg_tensor_t *tensor, size_t bytes, void **address) {
    int64_t extent = (int64_t)bytes;
    dlpack_tensor_t like = {.device_type = DG_DEVICE_CUDA,
        .device_id = tensor->device.id,
        .ndim = 1,
        .code = 1,
        .bits = 8,
        .lanes = 1,
        .shape = &extent};
    if (exchange->allocate(&like, &call->workspace, NULL, name_failure) != 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_MemoryError, "workspace: none to be had");
        call->workspace = NULL;
        return false;
    }
    *address = (char *)call->workspace->tensor.data + call->workspace->tensor.byte_offset;
    return true;
}

/* Through Python: (object that owns the memory, address). */
static bool ask_for_memory(dgpy_call_t *call, PyObject *output, size_t bytes, void **address) {
    PyObject *pair = ask_python("workspace", output, (Py_ssize_t)bytes);
    if (pair == NULL) return false;
    PyObject *number = PySequence_GetItem(pair, 1);
    if (number != NULL) *address = PyLong_AsVoidPtr(number);
    Py_XDECREF(number);
    return dgpy_hold(call, pair) && !PyErr_Occurred();
}

/* What the library calls back with while no Python lock is held. */
typedef struct frame_t {
    dgpy_call_t *call;
    PyObject *output;
    const dg_tensor_t *tensor;
    PyThreadState *thread;
} frame_t;

static void *take_workspace(void *user, size_t bytes) {
    frame_t *frame = user;
    PyEval_RestoreThread(frame->thread);
    const dlpack_exchange_t *exchange = dgpy_exchange_of(frame->output);
    const size_t room = bytes + WORKSPACE_ALIGNMENT;
    void *address = NULL;
    const bool had = exchange != NULL && exchange->allocate != NULL
                         ? allocate(frame->call, exchange, frame->tensor, room, &address)
                         : ask_for_memory(frame->call, frame->output, room, &address);
    frame->thread = PyEval_SaveThread();
    if (!had) return NULL;
    const uintptr_t begin = (uintptr_t)address + WORKSPACE_ALIGNMENT - 1;
    return (void *)(begin - begin % WORKSPACE_ALIGNMENT);
}

static bool run(dgpy_call_t *call, PyObject *output, const dg_tensor_t *tensor,
    dgpy_run_fn *function, const void *args, bool prepare, dg_status_t *status) {
    frame_t frame = {call, output, tensor, NULL};
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.allocate = take_workspace;
    launch.allocate_user = &frame;
    launch.stream = call->stream;
    launch.prepare = prepare;
    frame.thread = PyEval_SaveThread();
    *status = function(args, &launch);
    PyEval_RestoreThread(frame.thread);
    return *status == DG_STATUS_OK || !PyErr_Occurred(); /* the framework's own exception stays */
}

bool dgpy_launch(dgpy_call_t *call, PyObject *output, const dg_tensor_t *tensor,
    dgpy_run_fn *function, const void *args, dg_status_t *status) {
    return run(call, output, tensor, function, args, false, status);
}

static bool compile_only; /* set_compile_mode(1), see settings.c */

void dgpy_set_compile_only(bool on) {
    compile_only = on;
}

bool dgpy_multiply(dgpy_call_t *call, PyObject *output, const dg_tensor_t *d, dgpy_run_fn *function,
    const void *args, dg_status_t *status) {
    return run(call, output, d, function, args, compile_only, status);
}
