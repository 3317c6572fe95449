/* SPDX-License-Identifier: MIT
 *
 * MQA logits and their schedule as functions of the extension. Called by mqa_logits.py; reads
 * tensors through tensor.c, computes through launch.c.
 */
#include <string.h>

#include "launch.h"

static dg_status_t run_logits(const void *args, const dg_launch_t *launch) {
    return dg_mqa_logits(NULL, args, launch);
}

static dg_status_t run_paged(const void *args, const dg_launch_t *launch) {
    return dg_paged_mqa_logits(NULL, args, launch);
}

static dg_status_t run_schedule(const void *args, const dg_launch_t *launch) {
    return dg_paged_mqa_logits_schedule(NULL, args, launch);
}

static bool read_switch(PyObject *object, dg_switch_t *out) {
    const int truth = PyObject_IsTrue(object);
    *out = truth > 0 ? DG_ON : DG_OFF;
    return truth >= 0;
}

/* mqa_logits(q, q_scale, kv, kv_scale, weights, starts, ends, compressed, clean, logits) */
static PyObject *mqa_logits(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("mqa_logits", count, 10)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_mqa_logits_args_t logits = DG_MQA_LOGITS_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed =
        dgpy_read_output(&call, args[9], "logits", DGPY_PLAIN, &logits.logits) &&
        dgpy_find_stream(&call, args[9], &logits.logits) &&
        dgpy_require_tensor(&call, args[0], "q", DGPY_OPERAND, &logits.q) &&
        dgpy_read_tensor(&call, args[1], "q_scale", DGPY_SCALE, &logits.q_scale) &&
        dgpy_require_tensor(&call, args[2], "kv", DGPY_OPERAND, &logits.kv) &&
        dgpy_read_tensor(&call, args[3], "kv_scale", DGPY_SCALE, &logits.kv_scale) &&
        dgpy_require_tensor(&call, args[4], "weights", DGPY_PLAIN, &logits.weights) &&
        dgpy_require_tensor(&call, args[5], "cu_seq_len_k_start", DGPY_PLAIN, &logits.starts) &&
        dgpy_require_tensor(&call, args[6], "cu_seq_len_k_end", DGPY_PLAIN, &logits.ends) &&
        read_switch(args[7], &logits.compressed) && read_switch(args[8], &logits.clean);
    if (parsed && !call.wrapped)
        parsed = dgpy_multiply(&call, args[9], &logits.logits, run_logits, &logits, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* paged_mqa_logits(q, q_scale, kv_cache, weights, context_lens, block_table, indices, schedule,
 *     clean, logits) */
static PyObject *paged_mqa_logits(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("paged_mqa_logits", count, 10)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_paged_mqa_logits_args_t logits = DG_PAGED_MQA_LOGITS_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed =
        dgpy_read_output(&call, args[9], "logits", DGPY_PLAIN, &logits.logits) &&
        dgpy_find_stream(&call, args[9], &logits.logits) &&
        dgpy_require_tensor(&call, args[0], "q", DGPY_OPERAND, &logits.q) &&
        dgpy_read_tensor(&call, args[1], "q_scale", DGPY_SCALE, &logits.q_scale) &&
        dgpy_require_tensor(&call, args[2], "kv_cache", DGPY_PLAIN, &logits.kv_cache) &&
        dgpy_require_tensor(&call, args[3], "weights", DGPY_PLAIN, &logits.weights) &&
        dgpy_require_tensor(&call, args[4], "context_lens", DGPY_PLAIN, &logits.context_lens) &&
        dgpy_require_tensor(&call, args[5], "block_table", DGPY_PLAIN, &logits.block_table) &&
        dgpy_read_tensor(&call, args[6], "indices", DGPY_PLAIN, &logits.indices) &&
        dgpy_read_tensor(&call, args[7], "schedule_meta", DGPY_PLAIN, &logits.schedule) &&
        read_switch(args[8], &logits.clean);
    if (parsed && !call.wrapped)
        parsed = dgpy_multiply(&call, args[9], &logits.logits, run_paged, &logits, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* mqa_logits_schedule(context_lens, schedule) */
static PyObject *mqa_logits_schedule(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("mqa_logits_schedule", count, 2)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_paged_mqa_logits_schedule_args_t schedule = DG_PAGED_MQA_LOGITS_SCHEDULE_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed =
        dgpy_read_output(&call, args[1], "schedule", DGPY_PLAIN, &schedule.schedule) &&
        dgpy_find_stream(&call, args[1], &schedule.schedule) &&
        dgpy_require_tensor(&call, args[0], "context_lens", DGPY_PLAIN, &schedule.context_lens);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[1], &schedule.schedule, run_schedule, &schedule, &status);
    return dgpy_end_call(&call, parsed, status);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

PyMethodDef dgpy_mqa_logits_methods[] = {
    {"mqa_logits", FAST(mqa_logits), "dg_mqa_logits"},
    {"paged_mqa_logits", FAST(paged_mqa_logits), "dg_paged_mqa_logits"},
    {"mqa_logits_schedule", FAST(mqa_logits_schedule), "dg_paged_mqa_logits_schedule"},
    {NULL, NULL, 0, NULL},
};
