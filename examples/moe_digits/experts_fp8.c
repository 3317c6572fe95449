/* SPDX-License-Identifier: MIT
 *
 * The expert layer in FP8 with fine-grained scale factors: every product is a call of DeepGEMM.
 *
 *     forward     hidden = relu(x up^T)   y = hidden down^T      dg_m_grouped_gemm
 *     backward    dhidden = dy down       dx = dhidden up        dg_m_grouped_gemm, b transposed
 *                 ddown += dy^T hidden    dup += dhidden^T x     dg_k_grouped_gemm, FP32
 *
 * Each matrix of rows is quantised once, both ways in one pass: per token for the products over
 * channels, per channel for the weight gradient, which sums over tokens. Each weight is quantised
 * once a step, in blocks of 128 x 128 that serve forward and data gradient alike.
 */
#include "moe.h"

#include <deep_gemm/deep_gemm.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    GRAN = 128,                            /* values that share a factor */
    SCALE_ROWS = EXPERTS + ROWS / GRAN + 1 /* at least the sum of ceil(rows of an expert / GRAN) */
};

/* A matrix of rows sorted by expert, in e4m3. */
typedef struct rows8_t {
    int64_t width;
    uint8_t by_token[ROWS * HIDDEN];          /* [rows, width] */
    float token_scale[ROWS * HIDDEN / GRAN];  /* [rows, width / GRAN] */
    uint8_t by_channel[ROWS * HIDDEN];        /* [rows, width] */
    float channel_scale[SCALE_ROWS * HIDDEN]; /* [scale rows, width], see cast.h */
} rows8_t;

/* The weights of all experts, [EXPERTS, n, k] e4m3. */
typedef struct weights8_t {
    int64_t n, k;
    uint8_t code[EXPERTS * WIDTH * HIDDEN];
    float scale[EXPERTS * WIDTH * HIDDEN / (GRAN * GRAN)]; /* [EXPERTS, n / GRAN, k / GRAN] */
} weights8_t;

typedef struct fp8_t {
    experts_t base;
    weights8_t up, down;
    rows8_t x, hidden, dy, dhidden;
    float relu[ROWS * HIDDEN]; /* hidden before it is quantised */
    float drelu[ROWS * HIDDEN];
} fp8_t;

static void check(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    fprintf(stderr, "%s\n", dg_last_error());
    exit(EXIT_UNUSABLE);
}

static dg_groups_t describe_groups(const groups_t *groups) {
    return (dg_groups_t){
        .form = DG_GROUPS_SIZES, .values = dg_tensor_1d(groups->sizes, DG_DTYPE_I64, EXPERTS)};
}

/* x: [rows, width] */
static void quantize_rows(
    rows8_t *rows, const groups_t *groups, const float *x, bool training, stats_t *stats) {
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, groups->rows, rows->width);
    args.out[0].data = dg_tensor_2d(rows->by_token, DG_DTYPE_E4M3, groups->rows, rows->width);
    args.out[0].scale =
        dg_tensor_2d(rows->token_scale, DG_DTYPE_F32, groups->rows, rows->width / GRAN);
    args.out[0].gran[0] = 1;
    args.out[0].gran[1] = GRAN;
    if (training) {
        const int64_t scale_rows = dg_k_grouped_scale_rows(groups->sizes, EXPERTS, GRAN, 0);
        args.out[1].data = dg_tensor_2d(rows->by_channel, DG_DTYPE_E4M3, groups->rows, rows->width);
        args.out[1].scale =
            dg_tensor_2d(rows->channel_scale, DG_DTYPE_F32, scale_rows, rows->width);
        args.out[1].gran[0] = GRAN;
        args.out[1].gran[1] = 1;
    }
    args.groups = describe_groups(groups);
    check(dg_quantize(NULL, &args, NULL));
    stats->calls[CALL_QUANTIZE]++;
    end_lap(stats, PASS_QUANTIZE);
}

/* w: [EXPERTS, n, k] */
static void quantize_weights(weights8_t *weights, const float *w, stats_t *stats) {
    const int64_t n = weights->n, k = weights->k;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_3d(w, DG_DTYPE_F32, EXPERTS, n, k);
    args.out[0].data = dg_tensor_3d(weights->code, DG_DTYPE_E4M3, EXPERTS, n, k);
    args.out[0].scale = dg_tensor_3d(weights->scale, DG_DTYPE_F32, EXPERTS, n / GRAN, k / GRAN);
    args.out[0].gran[0] = 1;
    args.out[0].gran[1] = GRAN;
    args.out[0].gran[2] = GRAN;
    check(dg_quantize(NULL, &args, NULL));
    stats->calls[CALL_QUANTIZE]++;
    end_lap(stats, PASS_QUANTIZE);
}

static dg_operand_t describe_weights(const weights8_t *weights) {
    const int64_t n = weights->n, k = weights->k;
    return (dg_operand_t){.data = dg_tensor_3d(weights->code, DG_DTYPE_E4M3, EXPERTS, n, k),
        .scale = dg_tensor_3d(weights->scale, DG_DTYPE_F32, EXPERTS, n / GRAN, k / GRAN),
        .gran_mn = GRAN,
        .gran_k = GRAN};
}

/* The same memory with n and k exchanged: the data gradient sums over n. */
static dg_operand_t transpose_weights(const weights8_t *weights) {
    dg_operand_t b = describe_weights(weights);
    b.data = dg_tensor_transpose(b.data);
    b.scale = dg_tensor_transpose(b.scale);
    return b;
}

/* d [rows, n] = a b^T, each row with its own expert's b [n, k] */
static void multiply(float *d, const rows8_t *a, dg_operand_t b, const groups_t *groups,
    pass_t pass, stats_t *stats) {
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a->by_token, DG_DTYPE_E4M3, groups->rows, a->width);
    args.a.scale = dg_tensor_2d(a->token_scale, DG_DTYPE_F32, groups->rows, a->width / GRAN);
    args.a.gran_mn = 1;
    args.a.gran_k = GRAN;
    args.b = b;
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, groups->rows, b.data.shape[1]);
    args.groups = describe_groups(groups);
    check(dg_m_grouped_gemm(NULL, &args, NULL));
    stats->calls[CALL_M_GROUPED]++;
    end_lap(stats, pass);
}

static dg_k_operand_t describe_tokens(const rows8_t *rows, const groups_t *groups) {
    const int64_t scale_rows = dg_k_grouped_scale_rows(groups->sizes, EXPERTS, GRAN, 0);
    return (dg_k_operand_t){.form = DG_K_TOKENS_FIRST,
        .data = dg_tensor_2d(rows->by_channel, DG_DTYPE_E4M3, groups->rows, rows->width),
        .scale = dg_tensor_2d(rows->channel_scale, DG_DTYPE_F32, scale_rows, rows->width),
        .gran_k = GRAN};
}

/* dw [EXPERTS, n, k] += dy^T x, each expert over its own rows: none for some, whose dw stays. */
static void add_weight_gradient(
    float *dw, const rows8_t *dy, const rows8_t *x, const groups_t *groups, stats_t *stats) {
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = describe_tokens(dy, groups);
    args.b = describe_tokens(x, groups);
    args.d = dg_tensor_3d(dw, DG_DTYPE_F32, EXPERTS, dy->width, x->width);
    args.c = args.d; /* accumulate */
    args.groups = describe_groups(groups);
    check(dg_k_grouped_gemm(NULL, &args, NULL));
    stats->calls[CALL_K_GROUPED]++;
    end_lap(stats, PASS_WGRAD);
}

static void load(experts_t *self, const parameters_t *parameters, stats_t *stats) {
    fp8_t *fp8 = (fp8_t *)self;
    quantize_weights(&fp8->up, &parameters->up[0][0][0], stats);
    quantize_weights(&fp8->down, &parameters->down[0][0][0], stats);
}

static void forward(experts_t *self, const groups_t *groups, const float *x, float *y,
    bool training, stats_t *stats) {
    fp8_t *fp8 = (fp8_t *)self;
    quantize_rows(&fp8->x, groups, x, training, stats);
    multiply(fp8->relu, &fp8->x, describe_weights(&fp8->up), groups, PASS_FORWARD, stats);
    for (int i = 0; i < groups->rows * HIDDEN; i++) {
        fp8->relu[i] = fp8->relu[i] > 0.0f ? fp8->relu[i] : 0.0f;
    }
    end_lap(stats, PASS_FORWARD);
    quantize_rows(&fp8->hidden, groups, fp8->relu, training, stats);
    multiply(y, &fp8->hidden, describe_weights(&fp8->down), groups, PASS_FORWARD, stats);
}

static void backward(experts_t *self, const groups_t *groups, const float *dy, float *dx,
    parameters_t *gradients, stats_t *stats) {
    fp8_t *fp8 = (fp8_t *)self;
    quantize_rows(&fp8->dy, groups, dy, true, stats);
    multiply(fp8->drelu, &fp8->dy, transpose_weights(&fp8->down), groups, PASS_DGRAD, stats);
    for (int i = 0; i < groups->rows * HIDDEN; i++) {
        fp8->drelu[i] = fp8->relu[i] > 0.0f ? fp8->drelu[i] : 0.0f;
    }
    end_lap(stats, PASS_DGRAD);
    quantize_rows(&fp8->dhidden, groups, fp8->drelu, true, stats);
    multiply(dx, &fp8->dhidden, transpose_weights(&fp8->up), groups, PASS_DGRAD, stats);
    add_weight_gradient(&gradients->down[0][0][0], &fp8->dy, &fp8->hidden, groups, stats);
    add_weight_gradient(&gradients->up[0][0][0], &fp8->dhidden, &fp8->x, groups, stats);
}

experts_t *create_experts_fp8(void) {
    fp8_t *fp8 = calloc(1, sizeof *fp8);
    if (!fp8) return NULL;
    fp8->base = (experts_t){load, forward, backward};
    fp8->up.n = fp8->down.k = HIDDEN;
    fp8->up.k = fp8->down.n = WIDTH;
    fp8->x.width = fp8->dy.width = WIDTH;
    fp8->hidden.width = fp8->dhidden.width = HIDDEN;
    return &fp8->base;
}
