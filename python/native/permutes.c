/* SPDX-License-Identifier: MIT
 *
 * The functions of deep_gemm/moe.h as functions of the extension. Called by moe.py; reads tensors
 * through tensor.c.
 */
#include <string.h>

#include "launch.h"

static dg_status_t run_route(const void *args, const dg_launch_t *launch) {
    return dg_route_tokens(NULL, args, launch);
}

static dg_status_t run_permute(const void *args, const dg_launch_t *launch) {
    return dg_permute_rows(NULL, args, launch);
}

static dg_status_t run_unpermute(const void *args, const dg_launch_t *launch) {
    return dg_unpermute_rows(NULL, args, launch);
}

static dg_status_t run_dot(const void *args, const dg_launch_t *launch) {
    return dg_dot_rows(NULL, args, launch);
}

/* route_tokens(ids, form, alignment, counts, ends, rows, sources, groups): writes the last five. */
static PyObject *route_tokens(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("route_tokens", count, 8)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_route_tokens_args_t route = DG_ROUTE_TOKENS_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    int32_t form = 0;
    bool parsed = dgpy_read_output(&call, args[3], "counts", DGPY_PLAIN, &route.counts) &&
                  dgpy_find_stream(&call, args[3], &route.counts) &&
                  dgpy_require_tensor(&call, args[0], "ids", DGPY_PLAIN, &route.ids) &&
                  dgpy_read_int32(args[1], "layout", &form) &&
                  dgpy_read_int32(args[2], "alignment", &route.alignment) &&
                  dgpy_read_output(&call, args[4], "ends", DGPY_PLAIN, &route.ends) &&
                  dgpy_read_output(&call, args[5], "rows", DGPY_PLAIN, &route.rows) &&
                  dgpy_read_output(&call, args[6], "sources", DGPY_PLAIN, &route.sources) &&
                  dgpy_read_output(&call, args[7], "groups", DGPY_PLAIN, &route.groups);
    route.form = (dg_group_form_t)form;
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[3], &route.counts, run_route, &route, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* permute_rows(x, rows, weights, sources, factors, out): writes out. factors: x and out are factors. */
static PyObject *permute_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("permute_rows", count, 6)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_permute_rows_args_t permute = DG_PERMUTE_ROWS_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    const int factors = PyObject_IsTrue(args[4]);
    if (factors < 0) return NULL;
    const dgpy_role_t role = factors ? DGPY_SCALE : DGPY_OPERAND;
    bool parsed = dgpy_read_output(&call, args[5], "out", role, &permute.out) &&
                  dgpy_find_stream(&call, args[5], &permute.out) &&
                  dgpy_require_tensor(&call, args[0], "x", role, &permute.x) &&
                  dgpy_require_tensor(&call, args[1], "rows", DGPY_PLAIN, &permute.rows) &&
                  dgpy_read_tensor(&call, args[2], "weights", DGPY_PLAIN, &permute.weights) &&
                  dgpy_read_tensor(&call, args[3], "sources", DGPY_PLAIN, &permute.sources);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[5], &permute.out, run_permute, &permute, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* unpermute_rows(x, rows, weights, out): writes out. */
static PyObject *unpermute_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("unpermute_rows", count, 4)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_unpermute_rows_args_t unpermute = DG_UNPERMUTE_ROWS_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[3], "out", DGPY_PLAIN, &unpermute.out) &&
                  dgpy_find_stream(&call, args[3], &unpermute.out) &&
                  dgpy_require_tensor(&call, args[0], "x", DGPY_PLAIN, &unpermute.x) &&
                  dgpy_require_tensor(&call, args[1], "rows", DGPY_PLAIN, &unpermute.rows) &&
                  dgpy_read_tensor(&call, args[2], "weights", DGPY_PLAIN, &unpermute.weights);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[3], &unpermute.out, run_unpermute, &unpermute, &status);
    return dgpy_end_call(&call, parsed, status);
}

/* dot_rows(a, b, rows, out): writes out. */
static PyObject *dot_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("dot_rows", count, 4)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_dot_rows_args_t dot = DG_DOT_ROWS_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[3], "out", DGPY_PLAIN, &dot.out) &&
                  dgpy_find_stream(&call, args[3], &dot.out) &&
                  dgpy_require_tensor(&call, args[0], "a", DGPY_PLAIN, &dot.a) &&
                  dgpy_require_tensor(&call, args[1], "b", DGPY_PLAIN, &dot.b) &&
                  dgpy_require_tensor(&call, args[2], "rows", DGPY_PLAIN, &dot.rows);
    if (parsed && !call.wrapped)
        parsed = dgpy_launch(&call, args[3], &dot.out, run_dot, &dot, &status);
    return dgpy_end_call(&call, parsed, status);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

PyMethodDef dgpy_permute_methods[] = {
    {"route_tokens", FAST(route_tokens), "dg_route_tokens"},
    {"permute_rows", FAST(permute_rows), "dg_permute_rows"},
    {"unpermute_rows", FAST(unpermute_rows), "dg_unpermute_rows"},
    {"dot_rows", FAST(dot_rows), "dg_dot_rows"},
    {NULL, NULL, 0, NULL},
};
