/* SPDX-License-Identifier: MIT
 *
 * One training step of a mixture of experts through the public API: quantise activations, gradients
 * and weights, forward product, data gradient with the same weights transposed, weight gradient
 * accumulated over two micro-batches. Each product is judged against FP64 sums of the dequantised
 * operands of the reference, so a mismatch between what dg_quantize writes and what the products
 * read shows here, whatever the layout.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "grouping.h"
#include "guard.h"
#include "output.h"
#include "reference_cast.h"

enum { EXPERTS = 6, IN = 136, OUT = 164 };

typedef struct recipe_t {
    const char *name;
    dg_dtype_t scale; /* F32, E8M0 or I32 */
    dg_group_form_t form;
    int32_t gran; /* of activations and gradients along the axis summed over */
} recipe_t;

/* Both casts of a [tokens, width] matrix: per token, and per channel within each expert. */
typedef struct both_casts_t {
    dg_quantized_t token, channel;
    float *token_value;   /* [tokens, width] */
    float *channel_value; /* [tokens, width] */
} both_casts_t;

static int64_t ceil_div(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}

static ref_cast_t reference_of(int64_t rows, int64_t columns, int64_t gran0, int64_t gran1,
    const recipe_t *recipe, const grouping_t *grouping, const float *x) {
    ref_cast_t cast = {.shape = {1, 1, rows, columns},
        .gran = {1, 1, gran0, gran1},
        .first_axis = 2,
        .power_of_two = recipe->scale != DG_DTYPE_F32};
    if (grouping != NULL) {
        cast.begin = grouping->begin, cast.size = grouping->sizes, cast.groups = grouping->count;
    }
    ref_cast(&cast, x);
    return cast;
}

static both_casts_t cast_tokens(
    rng_t *rng, const recipe_t *recipe, const grouping_t *grouping, int64_t width) {
    const int64_t tokens = grouping->rows;
    const int32_t gran = recipe->gran;
    const bool packed = recipe->scale == DG_DTYPE_I32;
    float *x = guard_take((size_t)(tokens * width) * sizeof *x, 0, "x");
    for (int64_t i = 0; i < tokens * width; i++) {
        if (grouping->of_row[i / width] >= 0)
            x[i] = (float)(rng_normal(rng) * exp(rng_normal(rng)));
    }
    const int64_t columns = ceil_div(width, gran * (packed ? 4 : 1));
    const int64_t rows = dg_k_grouped_scale_rows(grouping->sizes, grouping->count, gran, packed);
    const size_t size = (size_t)dg_dtype_size(recipe->scale);
    both_casts_t casts;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, tokens, width);
    args.groups = grouping->view;
    dg_quantized_t *token = &args.out[0], *channel = &args.out[1];
    token->data = dg_tensor_2d(
        guard_take((size_t)(tokens * width), 0, "q token"), DG_DTYPE_E4M3, tokens, width);
    token->scale = dg_tensor_2d(guard_take((size_t)(tokens * columns) * size, 0, "s token"),
        recipe->scale, tokens, columns);
    token->gran[0] = 1, token->gran[1] = gran;
    channel->data = dg_tensor_2d(
        guard_take((size_t)(tokens * width), 0, "q channel"), DG_DTYPE_E4M3, tokens, width);
    channel->scale = dg_tensor_2d(
        guard_take((size_t)(rows * width) * size, 0, "s channel"), recipe->scale, rows, width);
    channel->gran[0] = gran, channel->gran[1] = 1;
    channel->k_axis = DG_K_AXIS_ROWS;
    expect_ok(dg_quantize(NULL, &args, NULL));
    casts.token = *token;
    casts.channel = *channel;
    casts.token_value = reference_of(tokens, width, 1, gran, recipe, grouping, x).value;
    casts.channel_value = reference_of(tokens, width, gran, 1, recipe, grouping, x).value;
    return casts;
}

typedef struct weights_t {
    dg_quantized_t q;
    float *value; /* [EXPERTS, OUT, IN] */
} weights_t;

static weights_t cast_weights(rng_t *rng, const recipe_t *recipe) {
    /* not I32: words packed along one axis can't serve the data gradient, which sums over the other */
    const dg_dtype_t scale = recipe->scale == DG_DTYPE_F32 ? DG_DTYPE_F32 : DG_DTYPE_E8M0;
    const int64_t rows = ceil_div(OUT, 128), columns = ceil_div(IN, 128);
    float *w = guard_take(EXPERTS * OUT * IN * sizeof *w, 0, "weights");
    for (int64_t i = 0; i < EXPERTS * OUT * IN; i++) w[i] = (float)(rng_normal(rng) * 0.1);
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_3d(w, DG_DTYPE_F32, EXPERTS, OUT, IN);
    dg_quantized_t *q = &args.out[0];
    q->data = dg_tensor_3d(
        guard_take(EXPERTS * OUT * IN, 0, "q weights"), DG_DTYPE_E4M3, EXPERTS, OUT, IN);
    q->scale = dg_tensor_3d(
        guard_take((size_t)(EXPERTS * rows * columns * dg_dtype_size(scale)), 0, "s weights"),
        scale, EXPERTS, rows, columns);
    q->gran[0] = 1, q->gran[1] = 128, q->gran[2] = 128;
    expect_ok(dg_quantize(NULL, &args, NULL));
    ref_cast_t cast = {.shape = {1, EXPERTS, OUT, IN},
        .gran = {1, 1, 128, 128},
        .first_axis = 1,
        .power_of_two = recipe->scale != DG_DTYPE_F32};
    ref_cast(&cast, w);
    return (weights_t){*q, cast.value};
}

static void add(ref_sum_t *sum, float a, float b) {
    const double product = (double)a * (double)b;
    sum->value += product;
    sum->magnitude += fabs(product);
}

static dg_operand_t token_operand(const both_casts_t *casts, int32_t gran) {
    dg_operand_t operand = DG_NO_OPERAND;
    operand.data = casts->token.data;
    operand.scale = casts->token.scale;
    operand.gran_mn = 1, operand.gran_k = gran;
    return operand;
}

static void forward(rng_t *rng, const recipe_t *recipe, const grouping_t *grouping,
    const both_casts_t *x, const weights_t *w) {
    const output_t y = output_make(rng, DG_DTYPE_BF16, 0, grouping->rows, OUT, 0, C_NONE, 0);
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = token_operand(x, recipe->gran);
    args.b.data = w->q.data, args.b.scale = w->q.scale, args.b.gran_mn = args.b.gran_k = 128;
    args.d = y.d;
    args.groups = grouping->view;
    args.zero_padding = DG_OFF;
    label("round trip, %s, forward", recipe->name);
    guard_seal();
    expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
    for (int64_t t = 0; t < grouping->rows; t++) {
        if (grouping->of_row[t] < 0) continue; /* a gap: guard_check() sees it untouched */
        const float *weight = w->value + (int64_t)grouping->of_row[t] * OUT * IN;
        for (int64_t j = 0; j < OUT; j++) {
            ref_sum_t sum = {0.0, 0.0};
            for (int64_t k = 0; k < IN; k++)
                add(&sum, x->token_value[t * IN + k], weight[j * IN + k]);
            output_judge(JUDGE_BOUND, &y, 0, t, j, sum);
        }
    }
    guard_check();
}

static void data_gradient(rng_t *rng, const recipe_t *recipe, const grouping_t *grouping,
    const both_casts_t *dy, const weights_t *w) {
    const output_t dx = output_make(rng, DG_DTYPE_BF16, 0, grouping->rows, IN, 0, C_NONE, 0);
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = token_operand(dy, recipe->gran);
    args.b.data = dg_tensor_transpose(w->q.data);
    args.b.scale = dg_tensor_transpose(w->q.scale);
    args.b.gran_mn = args.b.gran_k = 128;
    args.d = dx.d;
    args.groups = grouping->view;
    args.zero_padding = DG_OFF;
    label("round trip, %s, data gradient", recipe->name);
    guard_seal();
    expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
    for (int64_t t = 0; t < grouping->rows; t++) {
        if (grouping->of_row[t] < 0) continue; /* a gap: guard_check() sees it untouched */
        const float *weight = w->value + (int64_t)grouping->of_row[t] * OUT * IN;
        for (int64_t j = 0; j < IN; j++) {
            ref_sum_t sum = {0.0, 0.0};
            for (int64_t k = 0; k < OUT; k++)
                add(&sum, dy->token_value[t * OUT + k], weight[k * IN + j]);
            output_judge(JUDGE_BOUND, &dx, 0, t, j, sum);
        }
    }
    guard_check();
}

/* Accumulates into dw, whose sums so far are in `sums`: [EXPERTS, OUT, IN]. */
static void weight_gradient(const recipe_t *recipe, const grouping_t *grouping,
    const both_casts_t *dy, const both_casts_t *x, const dg_tensor_t *dw, bool first,
    ref_sum_t *sums) {
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = args.b.form = DG_K_TOKENS_FIRST;
    args.a.data = dy->channel.data, args.a.scale = dy->channel.scale;
    args.b.data = x->channel.data, args.b.scale = x->channel.scale;
    args.a.gran_k = args.b.gran_k = recipe->gran;
    args.d = *dw;
    if (!first) args.c = *dw;
    args.groups = grouping->view;
    label("round trip, %s, weight gradient, first=%d", recipe->name, first);
    guard_seal();
    expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
    for (int64_t g = 0; g < EXPERTS; g++) {
        for (int64_t t = 0; t < grouping->sizes[g]; t++) {
            const int64_t token = grouping->begin[g] + t;
            for (int64_t i = 0; i < OUT; i++) {
                ref_sum_t *row = sums + (g * OUT + i) * IN;
                const float left = dy->channel_value[token * OUT + i];
                const float *right = x->channel_value + token * IN;
                for (int64_t j = 0; j < IN; j++) add(&row[j], left, right[j]);
            }
        }
    }
    for (int64_t e = 0; e < EXPERTS * OUT * IN; e++) {
        ref_judge(JUDGE_BOUND, dw, e, sums[e], e / IN, e % IN);
    }
    guard_allow(dw->data, EXPERTS * OUT * IN * sizeof(float));
    guard_check();
}

static const recipe_t recipes[] = {
    {"FP32 factors", DG_DTYPE_F32, DG_GROUPS_SIZES, 128},
    {"FP32 factors, granularity 32", DG_DTYPE_F32, DG_GROUPS_OFFSETS, 32},
    {"UE8M0 bytes", DG_DTYPE_E8M0, DG_GROUPS_SIZES, 128},
    {"packed UE8M0", DG_DTYPE_I32, DG_GROUPS_OFFSETS, 128},
    {"packed UE8M0, granularity 32", DG_DTYPE_I32, DG_GROUPS_SIZES, 32},
};

static void test_training_step(void **state) {
    (void)state;
    static const int64_t batches[2][EXPERTS] = {{0, 37, 130, 1, 0, 129}, {128, 0, 3, 64, 255, 0}};
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        rng_t rng = rng_make(100 + r);
        label("round trip, %s, seed=%d", recipes[r].name, (int)(100 + r));
        const weights_t w = cast_weights(&rng, &recipes[r]);
        float *memory = guard_take(EXPERTS * OUT * IN * sizeof *memory, 0, "dw");
        const dg_tensor_t dw = dg_tensor_3d(memory, DG_DTYPE_F32, EXPERTS, OUT, IN);
        ref_sum_t *sums = guard_scratch(EXPERTS * OUT * IN * sizeof *sums);
        for (int batch = 0; batch < 2; batch++) {
            const grouping_t grouping =
                grouping_make(&rng, recipes[r].form, DG_DTYPE_I32, batches[batch], EXPERTS, 0, 1);
            const both_casts_t x = cast_tokens(&rng, &recipes[r], &grouping, IN);
            const both_casts_t dy = cast_tokens(&rng, &recipes[r], &grouping, OUT);
            forward(&rng, &recipes[r], &grouping, &x, &w);
            data_gradient(&rng, &recipes[r], &grouping, &dy, &w);
            weight_gradient(&recipes[r], &grouping, &dy, &x, &dw, batch == 0, sums);
        }
        guard_release();
    }
}

/* The same from aligned groups with gaps between them: a token's factors stay at its row, so one pair
 * of casts serves all three products. */
static void test_training_step_with_gaps(void **state) {
    (void)state;
    static const int64_t sizes[EXPERTS] = {5, 0, 130, 33, 0, 64};
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        rng_t rng = rng_make(200 + r);
        label("round trip with gaps, %s, seed=%d", recipes[r].name, (int)(200 + r));
        const grouping_t grouping =
            grouping_make(&rng, DG_GROUPS_PSUM, DG_DTYPE_I64, sizes, EXPERTS, 7, 32);
        const both_casts_t x = cast_tokens(&rng, &recipes[r], &grouping, IN);
        const both_casts_t dy = cast_tokens(&rng, &recipes[r], &grouping, OUT);
        const weights_t w = cast_weights(&rng, &recipes[r]);
        forward(&rng, &recipes[r], &grouping, &x, &w);
        data_gradient(&rng, &recipes[r], &grouping, &dy, &w);
        float *memory = guard_take(EXPERTS * OUT * IN * sizeof *memory, 0, "dw");
        const dg_tensor_t dw = dg_tensor_3d(memory, DG_DTYPE_F32, EXPERTS, OUT, IN);
        ref_sum_t *sums = guard_scratch(EXPERTS * OUT * IN * sizeof *sums);
        weight_gradient(&recipes[r], &grouping, &dy, &x, &dw, true, sums);
        guard_release();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_training_step, guard_teardown),
        cmocka_unit_test_teardown(test_training_step_with_gaps, guard_teardown),
    };
    return cmocka_run_group_tests_name("round trip", tests, NULL, NULL);
}
