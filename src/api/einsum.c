/* SPDX-License-Identifier: MIT
 *
 * Contractions by their letters, the entry points: each expression is a problem that another family
 * has. See deep_gemm/einsum.h.
 *
 *     one product for each h    M-grouped, MASKED with all rows valid: tensors seen with h in front
 *     BMK_BNK_MN                K-grouped, FLAT: b groups of k tokens, and their SUM
 */
#include "deep_gemm/einsum.h"

#include <inttypes.h>
#include <string.h>

#include "api/context.h"
#include "api/gpu.h"
#include "api/products.h"
#include "base/error.h"
#include "cpu/k_grouped.h"
#include "cpu/m_grouped.h"
#include "model/arguments.h"
#include "model/groups.h"
#include "model/operand.h"

/* The letters of the tensors, and those that are batch, row, column and summed index of the
 * product. */
typedef struct dg_expression_t {
    const char *text, *a, *b, *d;
    char batch, m, n, k;
} dg_expression_t;

static const dg_expression_t expressions[] = {
    [DG_EINSUM_BMK_BNK_MN] = {"bmk,bnk->mn", "bmk", "bnk", "mn", 'b', 'm', 'n', 'k'},
    [DG_EINSUM_BHR_HDR_BHD] = {"bhr,hdr->bhd", "bhr", "hdr", "bhd", 'h', 'b', 'd', 'r'},
    [DG_EINSUM_BHD_HDR_BHR] = {"bhd,hdr->bhr", "bhd", "hdr", "bhr", 'h', 'b', 'r', 'd'},
    [DG_EINSUM_BHD_BHR_HDR] = {"bhd,bhr->hdr", "bhd", "bhr", "hdr", 'h', 'd', 'r', 'b'},
};

/* One call while it is checked; then one of the problems is what there is to compute. */
typedef struct dg_einsum_call_t {
    const dg_expression_t *expression;
    bool sums; /* BMK_BNK_MN: k_grouped is filled, else m_grouped */
    dg_m_grouped_problem_t m_grouped;
    dg_k_grouped_problem_t k_grouped;
    bool empty; /* d has no elements */
} dg_einsum_call_t;

/* ---- letters */

/* The axis of a letter. The letter is there. */
static int32_t axis_of(const char *letters, char letter) {
    return (int32_t)(strchr(letters, letter) - letters);
}

/* The tensor with these axes, of the ones it has, in another order. */
static dg_tensor_t permute(
    const dg_tensor_t *tensor, const char *letters, char batch, char row, char column) {
    const char order[3] = {batch, row, column};
    dg_tensor_t view = *tensor;
    if (!dg_tensor_given(tensor)) return view;
    for (int i = 0; i < 3; i++) {
        view.shape[i] = tensor->shape[axis_of(letters, order[i])];
        view.stride[i] = tensor->stride[axis_of(letters, order[i])];
    }
    return view;
}

/* Extents of letters, -1 while unknown. */
typedef struct dg_extents_t {
    int64_t of[128];
} dg_extents_t;

/* Every letter has one extent, that of the first tensor it is met in. */
static dg_status_t check_letters(const dg_expression_t *expression, const dg_tensor_t *tensor,
    const char *letters, const char *name, const char *field, dg_extents_t *extents) {
    int64_t expected[3];
    bool fits = true;
    for (int32_t i = 0; i < tensor->rank; i++) {
        int64_t *extent = &extents->of[(int)letters[i]];
        if (*extent < 0) *extent = tensor->shape[i];
        expected[i] = *extent;
        fits = fits && tensor->shape[i] == expected[i];
    }
    DG_REQUIRE(fits, DG_STATUS_BAD_SHAPE, name, field,
        "shape %s, expected %s: its axes are %s in %s, and a letter has the same extent wherever "
        "it stands; pass tensors that agree",
        dg_format_list(tensor->shape, tensor->rank).bytes,
        dg_format_list(expected, tensor->rank).bytes, letters, expression->text);
    return DG_STATUS_OK;
}

/* ---- one product for each h */

static dg_status_t check_scale(const dg_expression_t *expression, const dg_operand_t *operand,
    const char *letters, const char *name, char mn) {
    const dg_tensor_t *scale = &operand->scale;
    int64_t expected[3];
    DG_TRY(dg_check_scale_presence(scale, name, operand->data.dtype));
    if (!dg_tensor_given(scale)) return DG_STATUS_OK;
    DG_REQUIRE(operand->gran_mn >= 1, DG_STATUS_BAD_VALUE, name, ".gran_mn",
        "%d, expected 1, 128 or another positive number: what one factor covers along %c; set it "
        "as it was when the operand was quantised",
        operand->gran_mn, mn);
    DG_TRY(dg_check_gran_k(operand->gran_k, name));
    DG_TRY(dg_check_tensor(scale, name, ".scale", DG_SCALE_DTYPES, 3));
    for (int32_t i = 0; i < 3; i++) {
        const int64_t extent = operand->data.shape[i];
        expected[i] = letters[i] == expression->batch ? extent
                      : letters[i] == mn ? dg_scale_extent(extent, operand->gran_mn, DG_DTYPE_F32)
                                         : dg_scale_extent(extent, operand->gran_k, scale->dtype);
    }
    return dg_check_shape(scale, name, ".scale", expected,
        "one factor (I32: a word of four along the summed axis) for each block of the operand, "
        "whose axes it has in the same order; pass the factors dg_quantize wrote for it");
}

/* One of the two axes that are not h has stride 1. */
static dg_status_t check_unit_stride(const dg_expression_t *expression, const dg_tensor_t *data,
    const char *letters, const char *name) {
    bool found = dg_tensor_elements(data) == 0;
    for (int32_t i = 0; i < 3; i++) {
        const bool unit = data->shape[i] == 1 || data->stride[i] == 1;
        found = found || (unit && letters[i] != expression->batch);
    }
    DG_REQUIRE(found, DG_STATUS_BAD_STRIDE, name, ".data",
        "strides %s of axes %s, expected 1 along one that is not %c; copy the tensor to a "
        "contiguous one",
        dg_format_list(data->stride, 3).bytes, letters, expression->batch);
    return DG_STATUS_OK;
}

static dg_status_t check_operand(const dg_expression_t *expression, const dg_operand_t *operand,
    const char *letters, const char *name, char mn, dg_extents_t *extents) {
    const dg_dtype_set_t dtypes = DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_BF16);
    DG_TRY(dg_check_tensor(&operand->data, name, ".data", dtypes, 3));
    DG_TRY(check_letters(expression, &operand->data, letters, name, ".data", extents));
    DG_TRY(check_unit_stride(expression, &operand->data, letters, name));
    return check_scale(expression, operand, letters, name, mn);
}

/* Elements of d have places of their own, whichever of its outer axes lies outermost. */
static dg_status_t check_result(const dg_tensor_t *d) {
    dg_tensor_t ordered = *d;
    if (d->stride[0] < d->stride[1]) {
        ordered.shape[0] = d->shape[1], ordered.shape[1] = d->shape[0];
        ordered.stride[0] = d->stride[1], ordered.stride[1] = d->stride[0];
    }
    return dg_check_result(&ordered, 3);
}

static dg_status_t check_batch(const dg_einsum_args_t *args, dg_einsum_call_t *call) {
    const dg_expression_t *e = call->expression;
    dg_m_grouped_problem_t *problem = &call->m_grouped;
    dg_extents_t extents;
    memset(&extents, 0xFF, sizeof extents);
    DG_TRY(check_operand(e, &args->a, e->a, "a", e->m, &extents));
    DG_TRY(check_operand(e, &args->b, e->b, "b", e->n, &extents));
    DG_TRY(dg_check_tensor(
        &args->d, "d", "", DG_DTYPE_BIT(DG_DTYPE_BF16) | DG_DTYPE_BIT(DG_DTYPE_F32), 3));
    DG_TRY(check_letters(e, &args->d, e->d, "d", "", &extents));

    dg_operand_t a = args->a, b = args->b;
    a.data = permute(&args->a.data, e->a, e->batch, e->m, e->k);
    a.scale = permute(&args->a.scale, e->a, e->batch, e->m, e->k);
    b.data = permute(&args->b.data, e->b, e->batch, e->n, e->k);
    b.scale = permute(&args->b.scale, e->b, e->batch, e->n, e->k);
    const dg_tensor_t d = permute(&args->d, e->d, e->batch, e->m, e->n);
    DG_TRY(check_result(&args->d));
    problem->group_count = d.shape[0];
    problem->rows = d.shape[1];
    problem->n = d.shape[2];
    const dg_operand_rule_t rule_a = {"a", "m", d.shape[0], d.shape[1], true};
    const dg_operand_rule_t rule_b = {"b", "n", d.shape[0], d.shape[2], true};
    DG_TRY(dg_check_operand_pair(&a, &rule_a, &problem->a, &b, &rule_b, &problem->b, &problem->k));
    dg_tensor_t c = args->c;
    if (dg_tensor_given(&c)) {
        DG_TRY(dg_check_tensor(&c, "c", "", DG_DTYPE_BIT(d.dtype), 3));
        DG_TRY(check_letters(e, &c, e->d, "c", "", &extents));
        c = permute(&c, e->d, e->batch, e->m, e->n);
    }
    DG_TRY(dg_check_accumulator(&c, &d, &problem->out));
    problem->groups.form = DG_GROUPS_MASKED;
    problem->groups.host_count = problem->group_count;
    problem->expected_m = (int32_t)(problem->rows < INT32_MAX ? problem->rows : INT32_MAX);
    call->empty = problem->group_count == 0 || problem->rows == 0 || problem->n == 0;
    return DG_STATUS_OK;
}

/* ---- BMK_BNK_MN */

/* Contiguous [b, mn, k] as the values of all groups end to end. */
static dg_status_t flatten(const dg_expression_t *expression, const dg_operand_t *operand,
    const char *letters, const char *name, dg_extents_t *extents, dg_k_operand_t *flat) {
    const dg_tensor_t *data = &operand->data;
    DG_TRY(dg_check_tensor(data, name, ".data", DG_DTYPE_BIT(DG_DTYPE_BF16), 3));
    DG_TRY(check_letters(expression, data, letters, name, ".data", extents));
    DG_TRY(dg_check_scale_presence(&operand->scale, name, data->dtype));
    int64_t dense = 1;
    for (int32_t i = 2; i >= 0 && dg_tensor_elements(data) > 0; i--) {
        DG_REQUIRE(data->shape[i] == 1 || data->stride[i] == dense, DG_STATUS_BAD_STRIDE, name,
            ".data", "strides %s of shape %s, expected a contiguous tensor; copy it to one",
            dg_format_list(data->stride, 3).bytes, dg_format_list(data->shape, 3).bytes);
        dense *= data->shape[i];
    }
    flat->form = DG_K_FLAT;
    flat->data = dg_tensor_1d(data->data, data->dtype, dg_tensor_elements(data));
    flat->data.device = data->device;
    return DG_STATUS_OK;
}

static dg_status_t check_sum(
    const dg_einsum_args_t *args, const dg_context_options_t *options, dg_einsum_call_t *call) {
    const dg_expression_t *e = call->expression;
    dg_k_grouped_gemm_args_t grouped = DG_K_GROUPED_GEMM_ARGS_INIT;
    dg_extents_t extents;
    memset(&extents, 0xFF, sizeof extents);
    DG_TRY(flatten(e, &args->a, e->a, "a", &extents, &grouped.a));
    DG_TRY(flatten(e, &args->b, e->b, "b", &extents, &grouped.b));
    DG_TRY(dg_check_result(&args->d, 2));
    DG_TRY(check_letters(e, &args->d, e->d, "d", "", &extents));
    const int64_t k = extents.of['k'];
    call->empty = extents.of['m'] == 0 || extents.of['n'] == 0;
    const int64_t count = call->empty || k == 0 ? 0 : extents.of['b'];
    grouped.c = args->c;
    grouped.d = args->d;
    grouped.output = DG_K_OUTPUT_SUM;
    grouped.groups.form = DG_GROUPS_SIZES;
    grouped.groups.host_sizes = &k; /* a stand-in: the check reads no sizes */
    grouped.groups.host_count = count;
    DG_TRY(dg_check_k_grouped_gemm(&grouped, options, &call->k_grouped));
    call->k_grouped.groups.host_sizes = NULL; /* all equal: model/groups.h */
    return DG_STATUS_OK;
}

/* ---- entry points */

static dg_status_t check(
    const dg_call_t *call, const dg_einsum_args_t *args, dg_einsum_call_t *einsum) {
    const dg_input_t inputs[] = {
        {&args->a.data, "a", ".data"}, {&args->a.scale, "a", ".scale"},
        {&args->b.data, "b", ".data"}, {&args->b.scale, "b", ".scale"},
        {&args->c, "c", ""}, /* last: it alone may be d */
    };
    const int count = sizeof inputs / sizeof *inputs;
    const int expression = (int)args->expression;
    DG_TRY(dg_check_devices(&args->d, "d", inputs, count));
    DG_REQUIRE(expression > DG_EINSUM_NONE && expression <= DG_EINSUM_BHD_BHR_HDR,
        DG_STATUS_BAD_ENUM, "expression", "",
        "%d, expected DG_EINSUM_BMK_BNK_MN (1), _BHR_HDR_BHD (2), _BHD_HDR_BHR (3) or _BHD_BHR_HDR "
        "(4); choose one",
        expression);
    einsum->expression = &expressions[expression];
    einsum->sums = expression == DG_EINSUM_BMK_BNK_MN;
    DG_TRY(einsum->sums ? check_sum(args, &call->options, einsum) : check_batch(args, einsum));
    return dg_check_apart(&args->d, "d", inputs, count - 1);
}

static dg_gpu_product_t gpu_product(const dg_einsum_args_t *args, const dg_einsum_call_t *einsum) {
    return (dg_gpu_product_t){.m_grouped = einsum->sums ? NULL : &einsum->m_grouped,
        .k_grouped = einsum->sums ? &einsum->k_grouped : NULL,
        .ordinal = args->d.device.id};
}

static dg_status_t compute(dg_call_t *call, const dg_einsum_args_t *args,
    const dg_einsum_call_t *einsum, const dg_launch_t *launch) {
    if (einsum->empty) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA) {
        const dg_gpu_product_t product = gpu_product(args, einsum);
        return dg_gpu_multiply(call, &product, launch);
    }
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return einsum->sums ? dg_cpu_k_grouped(pool, &einsum->k_grouped, &call->options)
                        : dg_cpu_m_grouped(pool, &einsum->m_grouped, &call->options);
}

static dg_status_t run(dg_call_t *call, const dg_einsum_args_t *args, const dg_launch_t *launch) {
    dg_einsum_call_t einsum = {0};
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_einsum_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check(call, args, &einsum));
    return compute(call, args, &einsum, launch);
}

dg_status_t dg_einsum(dg_context_t *ctx, const dg_einsum_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_einsum", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(const dg_call_t *call, const dg_einsum_args_t *args, size_t *bytes) {
    dg_einsum_call_t einsum = {0};
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_einsum_args_t"));
    DG_TRY(dg_check_size(bytes));
    DG_TRY(check(call, args, &einsum));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || einsum.empty) return DG_STATUS_OK;
    const dg_gpu_product_t product = gpu_product(args, &einsum);
    return dg_gpu_workspace(call, &product, bytes);
}

dg_status_t dg_einsum_workspace(dg_context_t *ctx, const dg_einsum_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_einsum_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
