/* SPDX-License-Identifier: MIT
 *
 * See plan_arguments.h. The shapes of tensors are those of deep_gemm/gemm.h and grouped.h.
 */
#include "plan_arguments.h"

#include <stdio.h>

#include "operand.h"

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static dg_dtype_t factor_type(int scale) {
    return scale == CLI_SCALE_UE8M0  ? DG_DTYPE_I32
           : scale == CLI_SCALE_E8M0 ? DG_DTYPE_E8M0
                                     : DG_DTYPE_F32;
}

/* [outer, inner], [groups, outer, inner] with groups; inner fastest. */
static dg_tensor_t make_tensor(dg_dtype_t dtype, int64_t groups, int64_t outer, int64_t inner) {
    return groups > 0 ? dg_tensor_3d(NULL, dtype, groups, outer, inner)
                      : dg_tensor_2d(NULL, dtype, outer, inner);
}

/* [rows, blocks] factors; rows fastest with an aligned pitch where each row has its own. */
static dg_tensor_t make_factors(
    const cli_shape_t *shape, int64_t groups, int64_t mn, int64_t k, int64_t gran_mn) {
    const dg_dtype_t dtype = factor_type(shape->scale);
    const int64_t unit = shape->scale == CLI_SCALE_UE8M0 ? 4 : 1;
    const int64_t rows = divide_up(mn, gran_mn), words = divide_up(k, shape->gran * unit);
    dg_tensor_t factors = make_tensor(dtype, groups, rows, words);
    if (gran_mn > 1) return factors;
    const int64_t pitch = dg_tma_aligned_size(rows, dg_dtype_size(dtype));
    const int32_t axis = factors.rank - 2;
    factors.stride[axis] = 1;
    factors.stride[axis + 1] = pitch;
    if (groups > 0) factors.stride[0] = pitch * words;
    return factors;
}

static dg_operand_t make_operand(
    const cli_shape_t *shape, bool second, int64_t groups, int64_t mn) {
    const bool k_fastest = second ? shape->layout == CLI_NT || shape->layout == CLI_TT
                                  : shape->layout == CLI_NT || shape->layout == CLI_NN;
    const int64_t gran_mn = second ? shape->gran_n : shape->gran_m;
    dg_operand_t operand = DG_NO_OPERAND;
    const dg_dtype_t dtype = cli_dtype_of(shape->dtype, second);
    const int64_t per_element = dtype == DG_DTYPE_E2M1X2 ? 2 : 1;
    const int64_t outer = k_fastest ? mn : shape->k, inner = k_fastest ? shape->k : mn;
    operand.data = make_tensor(dtype, groups, outer, divide_up(inner, per_element));
    if (!k_fastest) operand.data = dg_tensor_transpose(operand.data);
    if (shape->scale == CLI_SCALE_NONE) return operand;
    operand.scale = make_factors(shape, groups, mn, shape->k, gran_mn);
    operand.gran_mn = (int32_t)gran_mn;
    operand.gran_k = (int32_t)shape->gran;
    return operand;
}

static dg_tensor_t make_output(const cli_shape_t *shape, int64_t groups, int64_t rows) {
    const dg_dtype_t dtype = shape->out == CLI_OUT_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    dg_tensor_t d = make_tensor(dtype, groups, rows, shape->n);
    const int64_t pitch = shape->n + shape->pad;
    d.device = (dg_device_t){DG_DEVICE_CUDA, 0}; /* whose plan it is where no machine is named */
    d.stride[d.rank - 2] = pitch;
    if (groups > 0) d.stride[0] = rows * pitch;
    return d;
}

static bool is_aligned_form(const cli_shape_t *shape) {
    return shape->form == CLI_FORM_PSUM || shape->form == CLI_FORM_BLOCK_INDEX;
}

/* Rows that the groups take, their alignment included. */
static int64_t count_rows(const cli_shape_t *shape, int64_t total) {
    int64_t rows = 0;
    if (!is_aligned_form(shape)) return total;
    for (int64_t g = 0; g < shape->num_sizes; g++)
        rows += divide_up(shape->sizes[g], shape->align) * shape->align;
    return rows > total ? rows : total;
}

static int64_t sum_sizes(const cli_shape_t *shape) {
    int64_t sum = 0;
    for (int64_t g = 0; g < shape->num_sizes; g++) sum += shape->sizes[g];
    return sum;
}

/* `shape` is one that stays: host sizes are its own. */
static dg_groups_t make_groups(const cli_shape_t *shape, int64_t rows) {
    static const dg_group_form_t forms[] = {[CLI_FORM_SIZES] = DG_GROUPS_SIZES,
        [CLI_FORM_HOST] = DG_GROUPS_SIZES,
        [CLI_FORM_OFFSETS] = DG_GROUPS_OFFSETS,
        [CLI_FORM_PSUM] = DG_GROUPS_PSUM,
        [CLI_FORM_INDEX] = DG_GROUPS_INDEX,
        [CLI_FORM_BLOCK_INDEX] = DG_GROUPS_BLOCK_INDEX,
        [CLI_FORM_MASKED] = DG_GROUPS_MASKED};
    const bool indexed = shape->form == CLI_FORM_INDEX || shape->form == CLI_FORM_BLOCK_INDEX;
    dg_groups_t groups = DG_NO_GROUPS;
    groups.form = forms[shape->form];
    if (is_aligned_form(shape)) groups.alignment = (int32_t)shape->align;
    if (shape->form == CLI_FORM_HOST) {
        groups.host_sizes = shape->sizes;
        groups.host_count = shape->groups;
    } else {
        groups.values = dg_tensor_1d(NULL, DG_DTYPE_I32, indexed ? rows : shape->groups);
    }
    return groups;
}

static void make_gemm(cli_plan_arguments_t *self) {
    const cli_shape_t *shape = &self->shape;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = make_operand(shape, false, 0, shape->m);
    args.b = make_operand(shape, true, 0, shape->n);
    args.d = make_output(shape, 0, shape->m);
    if (shape->accumulate) args.c = args.d;
    self->gemm = args;
    self->request.gemm = &self->gemm;
    self->flop = 2 * (double)shape->m * (double)shape->n * (double)shape->k;
}

static void make_m_grouped(cli_plan_arguments_t *self) {
    const cli_shape_t *shape = &self->shape;
    const int64_t stacked = shape->form == CLI_FORM_MASKED ? shape->groups : 0;
    const int64_t rows = count_rows(shape, shape->m), valid = sum_sizes(shape);
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = make_operand(shape, false, stacked, rows);
    args.b = make_operand(shape, true, shape->groups, shape->n);
    args.d = make_output(shape, stacked, rows);
    if (shape->accumulate) args.c = args.d;
    args.groups = make_groups(shape, rows);
    if (shape->gather) args.a_rows = dg_tensor_1d(NULL, DG_DTYPE_I32, rows);
    args.expected_m = (int32_t)divide_up(valid, shape->groups);
    self->m_grouped = args;
    self->request.m_grouped = &self->m_grouped;
    self->flop = 2 * (double)valid * (double)shape->n * (double)shape->k;
}

static dg_k_operand_t make_k_operand(
    const cli_shape_t *shape, bool second, int64_t mn, int64_t tokens) {
    const dg_dtype_t dtype = cli_dtype_of(shape->dtype, second);
    const int64_t pack = dtype == DG_DTYPE_E2M1X2 ? 2 : 1;
    const int64_t unit = shape->gran * (shape->scale == CLI_SCALE_UE8M0 ? 4 : 1);
    const bool last = shape->operand == CLI_TOKENS_LAST || (shape->operand == CLI_MIXED && second);
    int64_t elements = 0, factor_rows = 0;
    dg_k_operand_t operand = DG_NO_K_OPERAND;
    for (int64_t g = 0; g < shape->groups; g++) {
        elements += mn * divide_up(shape->sizes[g], pack);
        factor_rows += divide_up(shape->sizes[g], unit);
    }
    if (shape->operand == CLI_FLAT) {
        operand.form = DG_K_FLAT;
        operand.data = dg_tensor_1d(NULL, dtype, elements);
    } else if (last) {
        operand.form = DG_K_TOKENS_LAST;
        operand.data = dg_tensor_2d(NULL, dtype, mn, divide_up(tokens, pack));
    } else {
        operand.form = DG_K_TOKENS_FIRST;
        operand.data = dg_tensor_2d(NULL, dtype, tokens, divide_up(mn, pack));
        if (shape->gather) operand.rows = dg_tensor_1d(NULL, DG_DTYPE_I32, tokens);
    }
    if (shape->scale == CLI_SCALE_NONE) return operand;
    operand.scale = dg_tensor_2d(NULL, factor_type(shape->scale), factor_rows, mn);
    operand.gran_k = (int32_t)shape->gran;
    return operand;
}

static void make_k_grouped(cli_plan_arguments_t *self) {
    static const dg_k_output_t outputs[] = {[CLI_STACK] = DG_K_OUTPUT_STACK,
        [CLI_LIST] = DG_K_OUTPUT_LIST,
        [CLI_SUM] = DG_K_OUTPUT_SUM};
    const cli_shape_t *shape = &self->shape;
    const int64_t tokens = count_rows(shape, shape->k);
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = make_k_operand(shape, false, shape->m, tokens);
    args.b = make_k_operand(shape, true, shape->n, tokens);
    args.output = outputs[shape->result];
    args.d = make_output(shape, shape->result == CLI_STACK ? shape->groups : 0, shape->m);
    if (shape->accumulate && shape->result != CLI_LIST) args.c = args.d;
    args.groups = make_groups(shape, tokens);
    args.num_tokens = tokens;
    self->k_grouped = args;
    self->request.k_grouped = &self->k_grouped;
    self->flop = 2 * (double)sum_sizes(shape) * (double)shape->m * (double)shape->n;
}

bool cli_make_plan_arguments(
    const cli_shape_t *shape, cli_plan_arguments_t *arguments, char *error) {
    *arguments = (cli_plan_arguments_t){.shape = *shape};
    if (!cli_shape_complete(&arguments->shape, error)) return false;
    switch (shape->family) {
    case CLI_GEMM: make_gemm(arguments); return true;
    case CLI_M_GROUPED: make_m_grouped(arguments); return true;
    case CLI_K_GROUPED: make_k_grouped(arguments); return true;
    default: break;
    }
    snprintf(error, CLI_TEXT, "%s has no plan: gemm, m_grouped and k_grouped have one",
        cli_family_name(shape->family));
    return false;
}

dg_status_t cli_plan_arguments(dg_context_t *ctx, const cli_plan_arguments_t *arguments,
    const dg_plan_query_t *query, dg_plan_info_t *info) {
    const dg_plan_request_t *request = &arguments->request;
    if (request->gemm != NULL) return dg_gemm_plan(ctx, request->gemm, query, info);
    if (request->m_grouped != NULL)
        return dg_m_grouped_gemm_plan(ctx, request->m_grouped, query, info);
    return dg_k_grouped_gemm_plan(ctx, request->k_grouped, query, info);
}
