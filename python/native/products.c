/* SPDX-License-Identifier: MIT
 *
 * Dense and M-grouped products, contractions and the hyper-connection product as functions of the
 * extension. They turn tensors and recipes into argument structs. Called by gemm.py, grouped.py,
 * contractions.py, hyper_connection.py and legacy; reads tensors through tensor.c, computes through
 * launch.c. K-grouped products are in k_grouped.c.
 *
 * Each returns None, or NotImplemented if a tensor only stands for one (tracing): Python then goes
 * through torch's dispatcher. In compile mode arguments are checked and nothing is computed.
 */
#include <string.h>

#include "launch.h"

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

static dg_status_t run_gemm(const void *args, const dg_launch_t *launch) {
    return dg_gemm(NULL, args, launch);
}

static dg_status_t run_m_grouped(const void *args, const dg_launch_t *launch) {
    return dg_m_grouped_gemm(NULL, args, launch);
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
    bool parsed = dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                  dgpy_find_stream(&call, args[2], &gemm.d) &&
                  dgpy_read_pair(&call, args[0], "a", "a.scale", &gemm.a.data, &gemm.a.scale) &&
                  dgpy_read_pair(&call, args[1], "b", "b.scale", &gemm.b.data, &gemm.b.scale) &&
                  dgpy_read_tensor(&call, args[3], "c", DGPY_PLAIN, &gemm.c) &&
                  read_recipe(args[4], args[5], args[6], &gemm.a, &gemm.b) &&
                  dgpy_read_int32(args[7], "transposed", &transposed);
    if (parsed && !call.wrapped) {
        if (transposed & 1) transpose_operand(&gemm.a);
        if (transposed & 2) transpose_operand(&gemm.b);
        parsed = dgpy_multiply(&call, args[2], &gemm.d, run_gemm, &gemm, &status);
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
    bool parsed = dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                  dgpy_find_stream(&call, args[2], &gemm.d) &&
                  dgpy_read_pair(&call, args[0], "a", "a.scale", &gemm.a.data, &gemm.a.scale) &&
                  dgpy_read_pair(&call, args[1], "b", "b.scale", &gemm.b.data, &gemm.b.scale) &&
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
        parsed = dgpy_multiply(&call, args[2], &gemm.d, run_m_grouped, &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

static dg_status_t run_skip_head_mid(const void *args, const dg_launch_t *launch) {
    return dg_gemm_skip_head_mid(NULL, args, launch);
}

static dg_status_t run_einsum(const void *args, const dg_launch_t *launch) {
    return dg_einsum(NULL, args, launch);
}

static dg_status_t run_hc_prenorm(const void *args, const dg_launch_t *launch) {
    return dg_tf32_hc_prenorm_gemm(NULL, args, launch);
}

/* gemm_skip_head_mid(a, b, d, head_splits, recipe) */
static PyObject *gemm_skip_head_mid(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("gemm_skip_head_mid", count, 5)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_gemm_skip_head_mid_args_t gemm = DG_GEMM_SKIP_HEAD_MID_ARGS_INIT;
    int32_t splits[3];
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &gemm.d) &&
                  dgpy_find_stream(&call, args[2], &gemm.d) &&
                  dgpy_read_pair(&call, args[0], "a", "a.scale", &gemm.a.data, &gemm.a.scale) &&
                  dgpy_read_pair(&call, args[1], "b", "b.scale", &gemm.b.data, &gemm.b.scale) &&
                  read_ints(args[3], "head_splits", splits, 3) &&
                  read_recipe(args[4], Py_None, Py_None, &gemm.a, &gemm.b);
    if (parsed && !call.wrapped) {
        gemm.left = splits[0], gemm.mid = splits[1], gemm.right = splits[2];
        parsed = dgpy_multiply(&call, args[2], &gemm.d, run_skip_head_mid, &gemm, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

/* einsum(expression, a, b, d, c, recipe)
 *     expression  dg_einsum_expression_t
 *     a, b        pairs */
static PyObject *einsum(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("einsum", count, 6)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_einsum_args_t einsum = DG_EINSUM_ARGS_INIT;
    int32_t expression;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_int32(args[0], "expression", &expression) &&
                  dgpy_read_output(&call, args[3], "d", DGPY_PLAIN, &einsum.d) &&
                  dgpy_find_stream(&call, args[3], &einsum.d) &&
                  dgpy_read_pair(&call, args[1], "a", "a.scale", &einsum.a.data, &einsum.a.scale) &&
                  dgpy_read_pair(&call, args[2], "b", "b.scale", &einsum.b.data, &einsum.b.scale) &&
                  dgpy_read_tensor(&call, args[4], "c", DGPY_PLAIN, &einsum.c) &&
                  read_recipe(args[5], Py_None, Py_None, &einsum.a, &einsum.b);
    if (parsed && !call.wrapped) {
        einsum.expression = (dg_einsum_expression_t)expression;
        parsed = dgpy_multiply(&call, args[3], &einsum.d, run_einsum, &einsum, &status);
    }
    return dgpy_end_call(&call, parsed, status);
}

/* Whether d has the axes that num_splits (None: no axis for it) asks for. */
static bool match_splits(PyObject *num_splits, const dg_tensor_t *d) {
    int64_t splits = 0;
    if (num_splits != Py_None && !dgpy_read_int64(num_splits, "num_splits", &splits)) return false;
    if (num_splits == Py_None ? d->rank == 2 : d->rank == 3 && d->shape[0] == splits) return true;
    PyErr_Format(dgpy_argument_error,
        "d: %d axes with num_splits = %R, expected [m, n] without and [num_splits, m, n] with it",
        (int)d->rank, num_splits);
    return false;
}

/* hc_prenorm(a, b, d, sqr_sum, num_splits) */
static PyObject *hc_prenorm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!dgpy_expect_arguments("hc_prenorm", count, 5)) return NULL;
    dgpy_call_t call;
    memset(&call, 0, sizeof call);
    dg_tf32_hc_prenorm_gemm_args_t product = DG_TF32_HC_PRENORM_GEMM_ARGS_INIT;
    dg_status_t status = DG_STATUS_OK;
    bool parsed = dgpy_read_output(&call, args[2], "d", DGPY_PLAIN, &product.d) &&
                  dgpy_find_stream(&call, args[2], &product.d) &&
                  dgpy_read_output(&call, args[3], "sqr_sum", DGPY_PLAIN, &product.sqr_sum) &&
                  dgpy_require_tensor(&call, args[0], "a", DGPY_PLAIN, &product.a) &&
                  dgpy_require_tensor(&call, args[1], "b", DGPY_PLAIN, &product.b);
    if (parsed && !call.wrapped)
        parsed = match_splits(args[4], &product.d) &&
                 dgpy_multiply(&call, args[2], &product.d, run_hc_prenorm, &product, &status);
    return dgpy_end_call(&call, parsed, status);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

PyMethodDef dgpy_product_methods[] = {
    {"gemm", FAST(gemm), "dg_gemm"},
    {"m_grouped_gemm", FAST(m_grouped_gemm), "dg_m_grouped_gemm"},
    {"gemm_skip_head_mid", FAST(gemm_skip_head_mid), "dg_gemm_skip_head_mid"},
    {"einsum", FAST(einsum), "dg_einsum"},
    {"hc_prenorm", FAST(hc_prenorm), "dg_tf32_hc_prenorm_gemm"},
    {NULL, NULL, 0, NULL},
};
