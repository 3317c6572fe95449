/* SPDX-License-Identifier: MIT
 *
 * Products with a gap in each head, the entry points: arguments are checked and become a
 * dg_skip_head_mid_problem_t. The CPU computes it whole. On a GPU the left parts of all heads are
 * one batch of products and the right parts another, as an M-grouped call whose groups are all
 * full; where parts begin inside a block of b's factors each is a dense product of its own, cut at
 * the blocks. See deep_gemm/skip_head_mid.h.
 */
#include "deep_gemm/skip_head_mid.h"

#include <inttypes.h>

#include "api/context.h"
#include "api/gpu.h"
#include "base/error.h"
#include "cpu/batch.h"
#include "cpu/skip_head_mid.h"
#include "model/arguments.h"
#include "model/operand.h"

/* Rows of b, and with them columns of the product: n, of which the splits make heads. */
static dg_status_t check_heads(
    const dg_gemm_skip_head_mid_args_t *args, dg_skip_head_mid_problem_t *problem) {
    const dg_dtype_set_t dtypes = DG_DTYPE_BIT(DG_DTYPE_E4M3) | DG_DTYPE_BIT(DG_DTYPE_BF16);
    const int64_t columns = (int64_t)args->left + args->right;
    DG_TRY(dg_check_tensor(&args->a.data, "a", ".data", dtypes, 2));
    DG_TRY(dg_check_tensor(&args->b.data, "b", ".data", dtypes, 2));
    const int64_t n = args->b.data.shape[0];
    DG_REQUIRE(args->left >= 0 && args->mid >= 0 && args->right >= 0 && columns > 0,
        DG_STATUS_BAD_VALUE, "left", "",
        "left, mid and right are %d, %d and %d, expected columns of a head: none negative, left + "
        "right at least 1",
        args->left, args->mid, args->right);
    DG_REQUIRE(n > 0 && n % columns == 0 && n <= INT32_MAX, DG_STATUS_BAD_SHAPE, "b", ".data",
        "%" PRId64 " rows, expected a positive multiple of left + right = %" PRId64
        " below 2^31: whole heads",
        n, columns);
    problem->gemm.n = n;
    problem->left = args->left;
    problem->mid = args->mid;
    problem->right = args->right;
    return DG_STATUS_OK;
}

static dg_status_t check_result(
    const dg_gemm_skip_head_mid_args_t *args, dg_skip_head_mid_problem_t *problem) {
    static const dg_tensor_t no_accumulator = DG_NO_TENSOR;
    const int64_t heads = problem->gemm.n / (problem->left + problem->right);
    const int64_t expected = problem->gemm.n + heads * problem->mid;
    DG_TRY(dg_check_result(&args->d, 2));
    DG_REQUIRE(args->d.shape[1] == expected, DG_STATUS_BAD_SHAPE, "d", "",
        "shape %s, expected %" PRId64 " columns: %" PRId64 " of the product and %" PRId64
        " gaps of %" PRId64,
        dg_format_list(args->d.shape, 2).bytes, expected, problem->gemm.n, heads, problem->mid);
    problem->gemm.m = args->d.shape[0];
    return dg_check_accumulator(&no_accumulator, &args->d, &problem->gemm.out);
}

static dg_status_t check(
    const dg_gemm_skip_head_mid_args_t *args, dg_skip_head_mid_problem_t *problem) {
    const dg_input_t inputs[] = {{&args->a.data, "a", ".data"}, {&args->a.scale, "a", ".scale"},
        {&args->b.data, "b", ".data"}, {&args->b.scale, "b", ".scale"}};
    const int count = sizeof inputs / sizeof *inputs;
    dg_gemm_problem_t *gemm = &problem->gemm;
    DG_TRY(dg_check_devices(&args->d, "d", inputs, count));
    DG_TRY(check_heads(args, problem));
    DG_TRY(check_result(args, problem));
    const dg_operand_rule_t rule_a = {"a", "m", DG_NO_AXIS, gemm->m, false};
    const dg_operand_rule_t rule_b = {"b", "n", DG_NO_AXIS, gemm->n, false};
    DG_TRY(
        dg_check_operand_pair(&args->a, &rule_a, &gemm->a, &args->b, &rule_b, &gemm->b, &gemm->k));
    return dg_check_apart(&args->d, "d", inputs, count);
}

/* ---- on a GPU */

typedef dg_status_t dg_part_fn(
    const dg_call_t *call, const dg_gpu_product_t *product, void *context);

/* Rows of b from `begin` on: those of its factors begin with a block, or all lie in one. */
static dg_side_t rows_from(const dg_side_t *b, int64_t begin) {
    dg_side_t part = *b;
    dg_factors_t *scale = &part.scale;
    part.data = dg_cpu_advance(b->data, b->dtype, begin * b->mn_stride);
    if (scale->dtype != DG_DTYPE_NONE)
        scale->data =
            dg_cpu_advance(scale->data, scale->dtype, begin / scale->gran_mn * scale->mn_stride);
    return part;
}

static void *column_of(const dg_output_t *out, int64_t column) {
    return (char *)out->d + column * dg_dtype_size(out->dtype);
}

/* Whether every piece begins with a block of b's factors. */
static bool pieces_fit_blocks(const dg_skip_head_mid_problem_t *problem) {
    const dg_factors_t *scale = &problem->gemm.b.scale;
    if (scale->dtype == DG_DTYPE_NONE) return true;
    return problem->left % scale->gran_mn == 0 && problem->right % scale->gran_mn == 0;
}

/* The left or right parts of all heads: a batch of products that have a in common. */
static dg_m_grouped_problem_t batch_of(const dg_skip_head_mid_problem_t *problem, int64_t part) {
    const dg_gemm_problem_t *gemm = &problem->gemm;
    const int64_t columns = problem->left + problem->right;
    const dg_column_piece_t first = dg_column_piece(problem, part);
    dg_m_grouped_problem_t batch = {.group_count = gemm->n / columns,
        .rows = gemm->m,
        .n = first.count,
        .k = gemm->k,
        .a = gemm->a,
        .b = rows_from(&gemm->b, first.begin),
        .out = gemm->out,
        .groups = {.form = DG_GROUPS_MASKED, .host_count = gemm->n / columns},
        .expected_m = (int32_t)(gemm->m < INT32_MAX ? gemm->m : INT32_MAX)};
    batch.b.group_stride = columns * gemm->b.mn_stride;
    batch.b.gather_extent = first.count;
    if (batch.b.scale.dtype != DG_DTYPE_NONE)
        batch.b.scale.group_stride = columns / batch.b.scale.gran_mn * gemm->b.scale.mn_stride;
    batch.out.d = column_of(&gemm->out, first.d_begin);
    batch.out.group_stride = columns + problem->mid;
    return batch;
}

static dg_status_t for_both_batches(const dg_call_t *call,
    const dg_skip_head_mid_problem_t *problem, int32_t ordinal, dg_part_fn *function,
    void *context) {
    for (int64_t part = 0; part < 2; part++) {
        const dg_m_grouped_problem_t batch = batch_of(problem, part);
        const dg_gpu_product_t product = {.m_grouped = &batch, .ordinal = ordinal};
        if (batch.n > 0) DG_TRY(function(call, &product, context));
    }
    return DG_STATUS_OK;
}

/* Columns from `begin` on, at most `count`, whose factors begin with a block or all lie in one. */
static int64_t count_together(const dg_factors_t *scale, int64_t begin, int64_t count) {
    if (begin % scale->gran_mn == 0) return count;
    const int64_t left = scale->gran_mn - begin % scale->gran_mn;
    return count < left ? count : left;
}

/* The dense product of columns [begin, begin + count), which are columns [d_begin, ..) of d. */
static dg_gemm_problem_t columns_of(
    const dg_gemm_problem_t *gemm, int64_t begin, int64_t count, int64_t d_begin) {
    dg_gemm_problem_t part = *gemm;
    part.n = count;
    part.b = rows_from(&gemm->b, begin);
    part.b.gather_extent = count;
    part.out.d = column_of(&gemm->out, d_begin);
    return part;
}

static dg_status_t for_each_piece(const dg_call_t *call, const dg_skip_head_mid_problem_t *problem,
    int32_t ordinal, dg_part_fn *function, void *context) {
    for (int64_t i = 0; i < dg_count_column_pieces(problem); i++) {
        dg_column_piece_t piece = dg_column_piece(problem, i);
        while (piece.count > 0) {
            const int64_t count = count_together(&problem->gemm.b.scale, piece.begin, piece.count);
            const dg_gemm_problem_t part =
                columns_of(&problem->gemm, piece.begin, count, piece.d_begin);
            const dg_gpu_product_t product = {.gemm = &part, .ordinal = ordinal};
            DG_TRY(function(call, &product, context));
            piece.begin += count;
            piece.d_begin += count;
            piece.count -= count;
        }
    }
    return DG_STATUS_OK;
}

static dg_status_t for_each_part(const dg_call_t *call, const dg_skip_head_mid_problem_t *problem,
    int32_t ordinal, dg_part_fn *function, void *context) {
    return pieces_fit_blocks(problem) ? for_both_batches(call, problem, ordinal, function, context)
                                      : for_each_piece(call, problem, ordinal, function, context);
}

static dg_status_t add_workspace(
    const dg_call_t *call, const dg_gpu_product_t *product, void *context) {
    size_t *most = context, bytes = 0;
    DG_TRY(dg_gpu_workspace(call, product, &bytes));
    if (bytes > *most) *most = bytes;
    return DG_STATUS_OK;
}

static dg_status_t multiply_part(
    const dg_call_t *call, const dg_gpu_product_t *product, void *context) {
    return dg_gpu_multiply(call, product, context);
}

/* Parts run one after another on the stream, so they share one workspace. */
static dg_status_t multiply_on_gpu(const dg_call_t *call, const dg_skip_head_mid_problem_t *problem,
    int32_t ordinal, const dg_launch_t *launch) {
    size_t bytes = 0;
    dg_launch_t own;
    DG_TRY(for_each_part(call, problem, ordinal, add_workspace, &bytes));
    DG_TRY(dg_gpu_take_workspace(call, launch, bytes, &own));
    return for_each_part(call, problem, ordinal, multiply_part, &own);
}

/* ---- entry points */

static dg_status_t run(
    dg_call_t *call, const dg_gemm_skip_head_mid_args_t *args, const dg_launch_t *launch) {
    dg_skip_head_mid_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_gemm_skip_head_mid_args_t"));
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(check(args, &problem));
    if (problem.gemm.m == 0) return DG_STATUS_OK;
    if (args->d.device.type == DG_DEVICE_CUDA)
        return multiply_on_gpu(call, &problem, args->d.device.id, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_skip_head_mid(pool, &problem);
}

dg_status_t dg_gemm_skip_head_mid(
    dg_context_t *ctx, const dg_gemm_skip_head_mid_args_t *args, const dg_launch_t *launch) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_gemm_skip_head_mid", ctx));
    return dg_end_call(&call, run(&call, args, launch));
}

static dg_status_t query(
    const dg_call_t *call, const dg_gemm_skip_head_mid_args_t *args, size_t *bytes) {
    dg_skip_head_mid_problem_t problem;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_gemm_skip_head_mid_args_t"));
    DG_TRY(dg_check_size(bytes));
    DG_TRY(check(args, &problem));
    *bytes = 0;
    if (args->d.device.type != DG_DEVICE_CUDA || problem.gemm.m == 0) return DG_STATUS_OK;
    return for_each_part(call, &problem, args->d.device.id, add_workspace, bytes);
}

dg_status_t dg_gemm_skip_head_mid_workspace(
    dg_context_t *ctx, const dg_gemm_skip_head_mid_args_t *args, size_t *bytes) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_gemm_skip_head_mid_workspace", ctx));
    return dg_end_call(&call, query(&call, args, bytes));
}
