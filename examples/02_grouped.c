/* SPDX-License-Identifier: MIT
 *
 * The forward product of a mixture of experts: tokens sorted by expert, each expert with a weight
 * matrix of its own, one call for all. Experts get as many tokens as they get; one gets none.
 *
 *     x [tokens, k]   w [EXPERTS, n, k]   y[t] = x[t] w[expert of t]^T
 */
#include <deep_gemm/deep_gemm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPERTS = 4, TOKENS = 205, N = 256, K = 384 };

static const int32_t sizes[EXPERTS] = {70, 0, 130, 5}; /* tokens of each expert */

static float x[TOKENS][K], w[EXPERTS][N][K], y[TOKENS][N];
static uint8_t x_code[TOKENS][K], w_code[EXPERTS][N][K];
static float x_scale[TOKENS][K / 128], w_scale[EXPERTS][N / 128][K / 128];

static void check(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    fprintf(stderr, "%s\n", dg_last_error());
    exit(1);
}

static void fill(float *values, int count) {
    for (int i = 0; i < count; i++) values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* Tokens in blocks of 1 x 128. */
static dg_operand_t quantize_tokens(void) {
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, TOKENS, K);
    args.out[0].data = dg_tensor_2d(x_code, DG_DTYPE_E4M3, TOKENS, K);
    args.out[0].scale = dg_tensor_2d(x_scale, DG_DTYPE_F32, TOKENS, K / 128);
    args.out[0].gran[0] = 1, args.out[0].gran[1] = 128;
    check(dg_quantize(NULL, &args, NULL));
    return (dg_operand_t){args.out[0].data, args.out[0].scale, 1, 128};
}

/* Weights in blocks of 128 x 128, which lie within one expert. */
static dg_operand_t quantize_weights(void) {
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_3d(w, DG_DTYPE_F32, EXPERTS, N, K);
    args.out[0].data = dg_tensor_3d(w_code, DG_DTYPE_E4M3, EXPERTS, N, K);
    args.out[0].scale = dg_tensor_3d(w_scale, DG_DTYPE_F32, EXPERTS, N / 128, K / 128);
    args.out[0].gran[0] = 1, args.out[0].gran[1] = 128, args.out[0].gran[2] = 128;
    check(dg_quantize(NULL, &args, NULL));
    return (dg_operand_t){args.out[0].data, args.out[0].scale, 128, 128};
}

int main(void) {
    fill(&x[0][0], TOKENS * K);
    fill(&w[0][0][0], EXPERTS * N * K);

    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = quantize_tokens();
    args.b = quantize_weights();
    args.d = dg_tensor_2d(y, DG_DTYPE_F32, TOKENS, N);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, EXPERTS);
    check(dg_m_grouped_gemm(NULL, &args, NULL));

    double error = 0.0, size = 0.0;
    for (int e = 0, begin = 0; e < EXPERTS; begin += sizes[e++]) {
        for (int t = begin; t < begin + sizes[e]; t++) {
            for (int n = 0; n < N; n++) {
                double exact = 0.0;
                for (int k = 0; k < K; k++) exact += (double)x[t][k] * (double)w[e][n][k];
                error += (y[t][n] - exact) * (y[t][n] - exact);
                size += exact * exact;
            }
        }
    }
    const double relative = sqrt(error / size);
    printf("%d tokens through %d experts in FP8: %.1f %% from the exact product\n", TOKENS, EXPERTS,
        100.0 * relative);
    return relative < 0.05 ? 0 : 1;
}
