/* SPDX-License-Identifier: MIT
 *
 * Cases of the three families, called and judged; see product.h.
 */
#include "product.h"

#include <stdio.h>

#include "guard.h"

operand_spec_t fp8_1x128(void) {
    return (operand_spec_t){
        .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_mn = 1, .gran_k = 128};
}

operand_spec_t fp8_128x128(void) {
    return (operand_spec_t){
        .dtype = DG_DTYPE_E4M3, .scale = DG_DTYPE_F32, .gran_mn = 128, .gran_k = 128};
}

operand_spec_t bf16_plain(void) {
    return (operand_spec_t){.dtype = DG_DTYPE_BF16};
}

dg_context_t *context_make(int32_t threads, dg_cpu_isa_t isa) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_context_t *ctx = NULL;
    options.num_threads = threads;
    options.cpu_isa = isa;
    expect_ok(dg_context_create(&ctx, &options));
    return ctx;
}

void gemm_verify(
    dg_context_t *ctx, const gemm_case_t *test, int64_t m, int64_t n, int64_t k, uint64_t seed) {
    label("gemm m=%lld n=%lld k=%lld a{%s} b{%s} d=%s c=%d seed=%llu", (long long)m, (long long)n,
        (long long)k, operand_text(&test->a), operand_text(&test->b), dg_dtype_string(test->d),
        (int)test->c, (unsigned long long)seed);
    rng_t rng = rng_make(seed);
    const operand_t a = operand_make(&rng, &test->a, 0, m, k);
    const operand_t b = operand_make(&rng, &test->b, 0, n, k);
    const output_t output =
        output_make(&rng, test->d, 0, m, n, test->d_pad, test->c, test->a.values);
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = a.view;
    args.b = b.view;
    args.c = output.c;
    args.d = output.d;
    guard_seal();
    expect_ok(dg_gemm(ctx, &args, NULL));
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            output_judge(
                test->judge, &output, 0, i, j, ref_dot(a.value + i * k, b.value + j * k, k));
        }
    }
    guard_check();
    guard_release();
}

static void sizes_label(char *text, size_t capacity, const int64_t *sizes, int64_t groups) {
    size_t used = 0;
    text[0] = 0;
    for (int64_t g = 0; g < groups && used + 12 < capacity; g++) {
        used += (size_t)snprintf(
            text + used, capacity - used, "%s%lld", g > 0 ? "," : "", (long long)sizes[g]);
    }
}

/* Row i of group g of the product is row `source` of a; -1: zeros. */
static void judge_row(const m_grouped_case_t *test, const output_t *output, const operand_t *a,
    const operand_t *b, int64_t g, int64_t slice, int64_t i, int64_t source) {
    for (int64_t j = 0; j < output->n; j++) {
        ref_sum_t product = {0.0, 0.0};
        if (source >= 0) {
            product = ref_dot(a->value + source * a->k, b->value + (g * b->mn + j) * b->k, a->k);
        }
        output_judge(test->judge, output, slice, i, j, product);
    }
}

static void zero_row(const output_t *output, int64_t i) {
    for (int64_t j = 0; j < output->n; j++) output_zero(output, 0, i, j);
}

static void judge_m_grouped(const m_grouped_case_t *test, const output_t *output,
    const operand_t *a, const operand_t *b, const grouping_t *grouping, const int64_t *row_of) {
    if (test->form == DG_GROUPS_MASKED) {
        for (int64_t g = 0; g < grouping->count; g++) {
            for (int64_t i = 0; i < grouping->sizes[g]; i++) {
                judge_row(test, output, a, b, g, g, i, g * grouping->rows + i);
            }
        }
        return;
    }
    const bool index = test->form == DG_GROUPS_INDEX || test->form == DG_GROUPS_BLOCK_INDEX;
    for (int64_t i = 0; i < grouping->rows; i++) {
        const int64_t g = grouping->of_row[i];
        if (g >= 0) {
            judge_row(test, output, a, b, g, 0, i, row_of[i]);
        } else if (index) {
            zero_row(output, i);
        }
    }
    if (test->form != DG_GROUPS_PSUM || test->zero_padding == DG_OFF) return;
    for (int64_t g = 0; g < grouping->count; g++) {
        const int64_t end = grouping->begin[g] + grouping->sizes[g];
        for (int64_t i = end; i < grouping->rows && i % grouping->alignment != 0; i++) {
            zero_row(output, i);
        }
    }
}

void m_grouped_verify(dg_context_t *ctx, const m_grouped_case_t *test, const int64_t *sizes,
    int64_t groups, int64_t n, int64_t k, uint64_t seed) {
    char text[128];
    sizes_label(text, sizeof text, sizes, groups);
    label("m_grouped %s sizes=%s n=%lld k=%lld a{%s} b{%s} d=%s c=%d gather=%d tail=%lld seed=%llu",
        grouping_form_text(test->form), text, (long long)n, (long long)k, operand_text(&test->a),
        operand_text(&test->b), dg_dtype_string(test->d), (int)test->c, (int)test->gather,
        (long long)test->tail, (unsigned long long)seed);
    rng_t rng = rng_make(seed);
    const bool masked = test->form == DG_GROUPS_MASKED;
    const grouping_t grouping =
        grouping_make(&rng, test->form, test->value_type ? test->value_type : DG_DTYPE_I32, sizes,
            groups, test->tail, test->alignment ? test->alignment : 32);
    const int64_t a_rows = test->gather ? grouping.rows / 2 + 3 : grouping.rows;
    const operand_t a = operand_make(&rng, &test->a, masked ? groups : 0, a_rows, k);
    const operand_t b = operand_make(&rng, &test->b, groups, n, k);
    const output_t output = output_make(
        &rng, test->d, masked ? groups : 0, grouping.rows, n, test->d_pad, test->c, test->a.values);
    int64_t *row_of = guard_scratch((size_t)grouping.rows * sizeof *row_of);
    for (int64_t i = 0; i < grouping.rows; i++) {
        row_of[i] = test->gather ? rng_range(&rng, -1, a_rows - 1) : i;
    }
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = a.view;
    args.b = b.view;
    args.c = output.c;
    args.d = output.d;
    args.groups = grouping.view;
    args.zero_padding = test->zero_padding;
    args.expected_m = (int32_t)rng_range(&rng, 0, 64);
    if (test->gather) {
        args.a_rows = integers_make(rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64, row_of,
            grouping.rows, 1, "a_rows");
    }
    guard_seal();
    expect_ok(dg_m_grouped_gemm(ctx, &args, NULL));
    judge_m_grouped(test, &output, &a, &b, &grouping, row_of);
    guard_check();
    guard_release();
}

#define LIST_MAX 64

/* The output tensors of a K-grouped call: one, or one for each group. */
typedef struct k_outputs_t {
    output_t each[LIST_MAX];
    void *d[LIST_MAX];
    const void *c[LIST_MAX];
} k_outputs_t;

static void k_outputs_make(rng_t *rng, const k_grouped_case_t *test, int64_t groups, int64_t m,
    int64_t n, k_outputs_t *outputs, dg_k_grouped_gemm_args_t *args) {
    const values_t values = test->a.values;
    if (test->output != DG_K_OUTPUT_LIST) {
        const int64_t slices = test->output == DG_K_OUTPUT_STACK ? groups : 0;
        outputs->each[0] = output_make(rng, test->d, slices, m, n, test->d_pad, test->c, values);
        args->d = outputs->each[0].d;
        args->c = outputs->each[0].c;
        return;
    }
    /* c_list has d's strides, and those of a separate c are the same only without padding */
    const int64_t pad = test->c == C_NONE ? test->d_pad : 0;
    for (int64_t g = 0; g < groups; g++) {
        const addend_t addend = test->c == C_ALIAS && g % 2 ? C_SEPARATE : test->c;
        outputs->each[g] = output_make(rng, test->d, 0, m, n, pad, addend, values);
        outputs->d[g] = outputs->each[g].d.data;
        outputs->c[g] = outputs->each[g].c.data;
    }
    args->d = outputs->each[0].d;
    args->d.data = NULL;
    args->d_list = outputs->d;
    if (test->c != C_NONE) args->c_list = outputs->c;
}

static void judge_k_grouped(const k_grouped_case_t *test, const k_outputs_t *outputs,
    const k_matrix_t *a, const k_matrix_t *b, const grouping_t *grouping) {
    const bool sum = test->output == DG_K_OUTPUT_SUM;
    const int64_t slices = sum ? 1 : grouping->count;
    for (int64_t g = 0; g < slices; g++) {
        const int64_t begin = sum ? 0 : grouping->begin[g];
        const int64_t size = sum ? grouping->rows : grouping->sizes[g];
        const bool list = test->output == DG_K_OUTPUT_LIST;
        const output_t *output = &outputs->each[list ? g : 0];
        for (int64_t i = 0; i < a->mn; i++) {
            for (int64_t j = 0; j < b->mn; j++) {
                output_judge(test->judge, output, list ? 0 : g, i, j,
                    ref_dot(
                        a->value + i * a->tokens + begin, b->value + j * b->tokens + begin, size));
            }
        }
    }
}

void k_grouped_verify(dg_context_t *ctx, const k_grouped_case_t *test, const int64_t *sizes,
    int64_t groups, int64_t m, int64_t n, uint64_t seed) {
    char text[128];
    sizes_label(text, sizeof text, sizes, groups);
    const dg_group_form_t form = test->form ? test->form : DG_GROUPS_SIZES;
    label("k_grouped %s sizes=%s m=%lld n=%lld a{%s} b{%s} d=%s c=%d output=%d tail=%lld seed=%llu",
        grouping_form_text(form), text, (long long)m, (long long)n, k_operand_text(&test->a),
        k_operand_text(&test->b), dg_dtype_string(test->d), (int)test->c, (int)test->output,
        (long long)test->tail, (unsigned long long)seed);
    rng_t rng = rng_make(seed);
    const grouping_t grouping =
        grouping_make(&rng, form, test->value_type ? test->value_type : DG_DTYPE_I32, sizes, groups,
            test->tail, test->alignment ? test->alignment : 32);
    const k_matrix_t a = k_operand_make(&rng, &test->a, m, &grouping);
    const k_matrix_t b = k_operand_make(&rng, &test->b, n, &grouping);
    static _Thread_local k_outputs_t outputs;
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    k_outputs_make(&rng, test, groups, m, n, &outputs, &args);
    args.a = a.view;
    args.b = b.view;
    args.output = test->output;
    args.groups = grouping.view;
    if (test->host_sizes > 0) {
        args.groups.host_sizes = grouping.sizes;
        args.groups.host_count = groups;
        const dg_tensor_t none = DG_NO_TENSOR;
        if (test->host_sizes > 1) args.groups.values = none;
    }
    const bool fp4 = test->a.dtype == DG_DTYPE_E2M1X2 || test->b.dtype == DG_DTYPE_E2M1X2;
    if (fp4 || rng_range(&rng, 0, 1)) args.num_tokens = grouping.rows;
    guard_seal();
    expect_ok(dg_k_grouped_gemm(ctx, &args, NULL));
    judge_k_grouped(test, &outputs, &a, &b, &grouping);
    guard_check();
    guard_release();
}
