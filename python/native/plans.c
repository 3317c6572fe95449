/* SPDX-License-Identifier: MIT
 *
 * What a GPU call would launch, without launching it: config_key tells which kernels
 * they are. Called by runtime.py; asks the planner of the library.
 */
#include "launch.h"

static dg_tensor_t on_gpu(dg_tensor_t tensor) {
    tensor.device.type = DG_DEVICE_CUDA;
    return tensor;
}

/* rows x k values, in G matrices where groups > 0, with the usual factors if they are FP8. */
static dg_operand_t make_operand(
    bool fp8, int64_t groups, int64_t rows, int64_t k, int32_t gran_mn) {
    const dg_dtype_t dtype = fp8 ? DG_DTYPE_E4M3 : DG_DTYPE_BF16;
    const int64_t blocks = (rows + gran_mn - 1) / gran_mn, k_blocks = (k + 127) / 128;
    dg_operand_t operand = DG_NO_OPERAND;
    operand.data = on_gpu(groups > 0 ? dg_tensor_3d(NULL, dtype, groups, rows, k)
                                     : dg_tensor_2d(NULL, dtype, rows, k));
    if (!fp8) return operand;
    operand.scale = on_gpu(groups > 0 ? dg_tensor_3d(NULL, DG_DTYPE_F32, groups, blocks, k_blocks)
                                      : dg_tensor_2d(NULL, DG_DTYPE_F32, blocks, k_blocks));
    operand.gran_mn = gran_mn;
    operand.gran_k = 128;
    return operand;
}

/* gemm_type and mma as runtime.py numbers them. */
enum { NORMAL = 0, CONTIGUOUS = 1, MASKED = 2 };
enum { FP8_TO_BF16 = 0, BF16_TO_BF16 = 1, BF16_TO_F32 = 2 };

typedef struct shape_t {
    int64_t m, n, k, groups;
} shape_t;

static dg_status_t plan_dense(const shape_t *s, int mma, dg_plan_info_t *plan) {
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = make_operand(mma == FP8_TO_BF16, 0, s->m, s->k, 1);
    args.b = make_operand(mma == FP8_TO_BF16, 0, s->n, s->k, 128);
    args.d =
        on_gpu(dg_tensor_2d(NULL, mma == BF16_TO_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16, s->m, s->n));
    return dg_gemm_plan(NULL, &args, NULL, plan);
}

static dg_status_t plan_m_grouped(const shape_t *s, bool masked, int mma, dg_plan_info_t *plan) {
    const dg_dtype_t out = mma == BF16_TO_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const int64_t leading = masked ? s->groups : 0;
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = make_operand(mma == FP8_TO_BF16, leading, s->m, s->k, 1);
    args.b = make_operand(mma == FP8_TO_BF16, s->groups, s->n, s->k, 128);
    args.d = on_gpu(masked ? dg_tensor_3d(NULL, out, s->groups, s->m, s->n)
                           : dg_tensor_2d(NULL, out, s->m, s->n));
    args.groups.form = masked ? DG_GROUPS_MASKED : DG_GROUPS_INDEX;
    args.groups.values = on_gpu(dg_tensor_1d(NULL, DG_DTYPE_I32, masked ? s->groups : s->m));
    return dg_m_grouped_gemm_plan(NULL, &args, NULL, plan);
}

/* config_key(gemm_type, mma, m, n, k, groups) -> text of all launches; None without a GPU. */
static PyObject *config_key(PyObject *self, PyObject *args) {
    (void)self;
    int gemm_type, mma;
    PyObject *m, *n, *k, *groups;
    shape_t shape;
    if (!PyArg_ParseTuple(args, "iiOOOO", &gemm_type, &mma, &m, &n, &k, &groups) ||
        !dgpy_read_int64(m, "m", &shape.m) || !dgpy_read_int64(n, "n", &shape.n) ||
        !dgpy_read_int64(k, "k", &shape.k) || !dgpy_read_int64(groups, "groups", &shape.groups))
        return NULL;
    int32_t gpus = 0;
    if (dg_device_count(&gpus) != DG_STATUS_OK || gpus == 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    dg_plan_info_t plan = DG_PLAN_INFO_INIT;
    const dg_status_t status = gemm_type == NORMAL
                                   ? plan_dense(&shape, mma, &plan)
                                   : plan_m_grouped(&shape, gemm_type == MASKED, mma, &plan);
    if (status != DG_STATUS_OK) return dgpy_raise(status);
    PyObject *text = PyUnicode_FromString("");
    for (int32_t i = 0; text != NULL && i < plan.stage_count; i++) {
        PyObject *longer = PyUnicode_FromFormat("%U %s", text, plan.stage[i].specialisation);
        Py_DECREF(text);
        text = longer;
    }
    return text;
}

PyMethodDef dgpy_plan_methods[] = {
    {"config_key", config_key, METH_VARARGS, "dg_gemm_plan, dg_m_grouped_gemm_plan"},
    {NULL, NULL, 0, NULL},
};
