/* SPDX-License-Identifier: MIT
 *
 * A whole layer of a mixture of experts, forward, from what a router says to the weighted sums:
 *
 *     y[t] = sum over s of weights[t, s] down_e (silu(gate_e x[t]) * (up_e x[t])),   e = ids[t, s]
 *
 * Tokens are cast to FP8 once, copied to the rows of their experts, go through two products of all
 * experts, and come back. Nothing is sorted or counted by hand.
 */
#include <deep_gemm/deep_gemm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPERTS = 6, TOKENS = 90, TOPK = 2, HIDDEN = 256, INNER = 128, ROWS = TOKENS * TOPK };

static float x[TOKENS][HIDDEN], y[TOKENS][HIDDEN], weights[TOKENS][TOPK];
static float gate_up[EXPERTS][2 * INNER][HIDDEN], down[EXPERTS][HIDDEN][INNER];
static int32_t ids[TOKENS][TOPK];

/* What the router's choice becomes. */
static int32_t counts[EXPERTS], ends[EXPERTS], rows[TOKENS][TOPK], sources[ROWS];

static void check(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    fprintf(stderr, "%s\n", dg_last_error());
    exit(1);
}

static void *take(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) exit(1);
    return memory;
}

static void fill(float *values, int count) {
    for (int i = 0; i < count; i++) values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* FP8 of [rows, n] with a factor for 1 x 128 values, or of [EXPERTS, rows, n] with one for 128 x 128. */
static dg_operand_t quantize(const float *values, int experts, int row_count, int n) {
    const int gran = experts > 0 ? 128 : 1, matrices = experts > 0 ? experts : 1;
    const int blocks = row_count / gran, columns = n / 128;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    dg_quantized_t *out = &args.out[0];
    void *codes = take((size_t)(matrices * row_count * n));
    void *factors = take((size_t)(matrices * blocks * columns) * sizeof(float));
    if (experts > 0) {
        args.x = dg_tensor_3d(values, DG_DTYPE_F32, experts, row_count, n);
        out->data = dg_tensor_3d(codes, DG_DTYPE_E4M3, experts, row_count, n);
        out->scale = dg_tensor_3d(factors, DG_DTYPE_F32, experts, blocks, columns);
        out->gran[0] = 1, out->gran[1] = 128, out->gran[2] = 128;
    } else {
        args.x = dg_tensor_2d(values, DG_DTYPE_F32, row_count, n);
        out->data = dg_tensor_2d(codes, DG_DTYPE_E4M3, row_count, n);
        out->scale = dg_tensor_2d(factors, DG_DTYPE_F32, blocks, columns);
        out->gran[0] = 1, out->gran[1] = 128;
    }
    check(dg_quantize(NULL, &args, NULL));
    return (dg_operand_t){out->data, out->scale, gran, 128};
}

/* Where each token goes: counts, ends, rows and sources. */
static void route(void) {
    dg_route_tokens_args_t args = DG_ROUTE_TOKENS_ARGS_INIT;
    args.ids = dg_tensor_2d(ids, DG_DTYPE_I32, TOKENS, TOPK);
    args.counts = dg_tensor_1d(counts, DG_DTYPE_I32, EXPERTS);
    args.ends = dg_tensor_1d(ends, DG_DTYPE_I32, EXPERTS);
    args.rows = dg_tensor_2d(rows, DG_DTYPE_I32, TOKENS, TOPK);
    args.sources = dg_tensor_1d(sources, DG_DTYPE_I32, ROWS);
    check(dg_route_tokens(NULL, &args, NULL));
}

/* [TOKENS, n] to [ROWS, n]: values or factors, whatever their type. */
static dg_tensor_t permute(dg_tensor_t tensor) {
    dg_permute_rows_args_t args = DG_PERMUTE_ROWS_ARGS_INIT;
    const int64_t n = tensor.shape[1];
    args.x = tensor;
    args.rows = dg_tensor_2d(rows, DG_DTYPE_I32, TOKENS, TOPK);
    args.out =
        dg_tensor_2d(take((size_t)(ROWS * n * dg_dtype_size(tensor.dtype))), tensor.dtype, ROWS, n);
    check(dg_permute_rows(NULL, &args, NULL));
    return args.out;
}

/* Every expert's rows times its matrix. */
static float *multiply(dg_operand_t a, dg_operand_t b, int n) {
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    float *d = take((size_t)(ROWS * n) * sizeof *d);
    args.a = a, args.b = b;
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, ROWS, n);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(counts, DG_DTYPE_I32, EXPERTS);
    check(dg_m_grouped_gemm(NULL, &args, NULL));
    return d;
}

static double silu(double value) {
    return value / (1.0 + exp(-value));
}

static void layer(void) {
    dg_operand_t a = quantize(&x[0][0], 0, TOKENS, HIDDEN);
    route();
    a.data = permute(a.data);
    a.scale = permute(a.scale);
    const float *inner =
        multiply(a, quantize(&gate_up[0][0][0], EXPERTS, 2 * INNER, HIDDEN), 2 * INNER);
    float *gated = take(sizeof(float) * ROWS * INNER);
    for (int i = 0; i < ROWS * INNER; i++) {
        const float *row = inner + i / INNER * 2 * INNER;
        gated[i] = (float)silu((double)row[i % INNER]) * row[INNER + i % INNER];
    }
    const float *out = multiply(
        quantize(gated, 0, ROWS, INNER), quantize(&down[0][0][0], EXPERTS, HIDDEN, INNER), HIDDEN);
    dg_unpermute_rows_args_t args = DG_UNPERMUTE_ROWS_ARGS_INIT;
    args.x = dg_tensor_2d(out, DG_DTYPE_F32, ROWS, HIDDEN);
    args.rows = dg_tensor_2d(rows, DG_DTYPE_I32, TOKENS, TOPK);
    args.weights = dg_tensor_2d(weights, DG_DTYPE_F32, TOKENS, TOPK);
    args.out = dg_tensor_2d(y, DG_DTYPE_F32, TOKENS, HIDDEN);
    check(dg_unpermute_rows(NULL, &args, NULL));
}

static double dot(const float *a, const float *b, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The layer for one token, in FP64, added to sum. */
static void add_exact(int t, int s, double sum[HIDDEN]) {
    const int e = ids[t][s];
    float inner[INNER];
    for (int i = 0; i < INNER; i++)
        inner[i] = (float)(silu(dot(gate_up[e][i], x[t], HIDDEN)) *
                           dot(gate_up[e][INNER + i], x[t], HIDDEN));
    for (int h = 0; h < HIDDEN; h++)
        sum[h] += (double)weights[t][s] * dot(down[e][h], inner, INNER);
}

int main(void) {
    fill(&x[0][0], TOKENS * HIDDEN);
    fill(&gate_up[0][0][0], EXPERTS * 2 * INNER * HIDDEN);
    fill(&down[0][0][0], EXPERTS * HIDDEN * INNER);
    for (int t = 0; t < TOKENS; t++) {
        ids[t][0] = rand() % EXPERTS;
        ids[t][1] = (ids[t][0] + 1 + rand() % (EXPERTS - 1)) % EXPERTS;
        weights[t][0] = 0.5f + 0.5f * (float)rand() / (float)RAND_MAX;
        weights[t][1] = 1.0f - weights[t][0];
    }
    layer();

    double error = 0.0, size = 0.0;
    for (int t = 0; t < TOKENS; t++) {
        double exact[HIDDEN] = {0};
        for (int s = 0; s < TOPK; s++) add_exact(t, s, exact);
        for (int h = 0; h < HIDDEN; h++) {
            error += ((double)y[t][h] - exact[h]) * ((double)y[t][h] - exact[h]);
            size += exact[h] * exact[h];
        }
    }
    const double relative = sqrt(error / size);
    printf("%d tokens through %d of %d experts in FP8: %.1f %% from the exact layer\n", TOKENS,
        TOPK, EXPERTS, 100.0 * relative);
    return relative < 0.1 ? 0 : 1;
}
