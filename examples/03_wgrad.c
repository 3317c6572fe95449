/* SPDX-License-Identifier: MIT
 *
 * The weight gradient of a mixture of experts, the product that sums over tokens, accumulated in
 * FP32 over two micro-batches:
 *
 *     dw[e] += dy[tokens of e]^T x[tokens of e]     x [tokens, n], dy [tokens, m], dw [EXPERTS, m, n]
 *
 * A factor covers 128 tokens of one expert and one channel. Groups are multiples of nothing; an
 * expert without tokens keeps its gradient as it is.
 */
#include <deep_gemm/deep_gemm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPERTS = 4, TOKENS = 300, M = 160, N = 256, MICRO_BATCHES = 2, MAX_SCALE_ROWS = 8 };

static const int64_t sizes[MICRO_BATCHES][EXPERTS] = {{200, 0, 99, 1}, {3, 150, 147, 0}};

static float x[TOKENS][N], dy[TOKENS][M], dw[EXPERTS][M][N];
static uint8_t x_code[TOKENS][N], dy_code[TOKENS][M];
static float x_scale[MAX_SCALE_ROWS][N], dy_scale[MAX_SCALE_ROWS][M];
static double exact[EXPERTS][M][N];

static void check(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    fprintf(stderr, "%s\n", dg_last_error());
    exit(1);
}

static void fill(float *values, int count) {
    for (int i = 0; i < count; i++) values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* values: [TOKENS, width], just as the layers before and after leave them. Blocks of 128 tokens
 * begin anew with each group: dg_quantize is told the groups. */
static dg_k_operand_t quantize(
    const float *values, int width, const dg_groups_t *groups, uint8_t *code, float *scale) {
    const int64_t scale_rows = dg_k_grouped_scale_rows(groups->host_sizes, EXPERTS, 128, 0);
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(values, DG_DTYPE_F32, TOKENS, width);
    args.out[0].data = dg_tensor_2d(code, DG_DTYPE_E4M3, TOKENS, width);
    args.out[0].scale = dg_tensor_2d(scale, DG_DTYPE_F32, scale_rows, width);
    args.out[0].gran[0] = 128, args.out[0].gran[1] = 1;
    args.groups = *groups;
    check(dg_quantize(NULL, &args, NULL));
    return (dg_k_operand_t){.form = DG_K_TOKENS_FIRST,
        .data = args.out[0].data,
        .scale = args.out[0].scale,
        .gran_k = 128};
}

int main(void) {
    for (int batch = 0; batch < MICRO_BATCHES; batch++) {
        fill(&x[0][0], TOKENS * N);
        fill(&dy[0][0], TOKENS * M);

        const dg_groups_t groups = {
            .form = DG_GROUPS_SIZES, .host_sizes = sizes[batch], .host_count = EXPERTS};
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        args.a = quantize(&dy[0][0], M, &groups, &dy_code[0][0], &dy_scale[0][0]);
        args.b = quantize(&x[0][0], N, &groups, &x_code[0][0], &x_scale[0][0]);
        args.d = dg_tensor_3d(dw, DG_DTYPE_F32, EXPERTS, M, N);
        args.c = args.d; /* accumulate; left out, the product would overwrite dw */
        args.groups = groups;
        check(dg_k_grouped_gemm(NULL, &args, NULL));

        for (int e = 0, t = 0; e < EXPERTS; e++) {
            for (const int end = t + (int)sizes[batch][e]; t < end; t++) {
                for (int i = 0; i < M * N; i++) {
                    exact[e][i / N][i % N] += (double)dy[t][i / N] * (double)x[t][i % N];
                }
            }
        }
    }

    double error = 0.0, size = 0.0;
    for (int i = 0; i < EXPERTS * M * N; i++) {
        const double wanted = (&exact[0][0][0])[i], got = (double)(&dw[0][0][0])[i];
        error += (got - wanted) * (got - wanted);
        size += wanted * wanted;
    }
    const double relative = sqrt(error / size);
    printf("weight gradients of %d experts in FP8: %.1f %% from the exact sum\n", EXPERTS,
        100.0 * relative);
    return relative < 0.05 ? 0 : 1;
}
