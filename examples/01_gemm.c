/* SPDX-License-Identifier: MIT
 *
 * One matrix product in FP8:  d = a b^T,  a [m, k] and b [n, k] being FP32 to begin with. Both are
 * quantised with fine-grained scale factors and multiplied; the result is compared with FP64.
 *
 *     cc 01_gemm.c $(pkg-config --cflags --libs deep_gemm) -lm && ./a.out
 */
#include <deep_gemm/deep_gemm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 200, N = 300, K = 512 };

static float a[M][K], b[N][K], d[M][N];
static uint8_t a_code[M][K], b_code[N][K];                           /* FP8 */
static float a_scale[M][K / 128], b_scale[(N + 127) / 128][K / 128]; /* scale factors */

static void check(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    fprintf(stderr, "%s\n", dg_last_error());
    exit(1);
}

/* x: [rows, K]. Each block of `gran` rows x 128 columns gets a factor. */
static dg_operand_t quantize(const float *x, int rows, int gran, uint8_t *code, float *scale) {
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, rows, K);
    args.out[0].data = dg_tensor_2d(code, DG_DTYPE_E4M3, rows, K);
    args.out[0].scale = dg_tensor_2d(scale, DG_DTYPE_F32, (rows + gran - 1) / gran, K / 128);
    args.out[0].gran[0] = gran;
    args.out[0].gran[1] = 128;
    check(dg_quantize(NULL, &args, NULL));
    return (dg_operand_t){args.out[0].data, args.out[0].scale, gran, 128};
}

int main(void) {
    for (int i = 0; i < M * K; i++) a[i / K][i % K] = (float)rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < N * K; i++) b[i / K][i % K] = (float)rand() / (float)RAND_MAX - 0.5f;

    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = quantize(&a[0][0], M, 1, &a_code[0][0], &a_scale[0][0]);   /* 1 x 128: activations */
    args.b = quantize(&b[0][0], N, 128, &b_code[0][0], &b_scale[0][0]); /* 128 x 128: weights */
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, M, N);
    check(dg_gemm(NULL, &args, NULL));

    double error = 0.0, size = 0.0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double exact = 0.0;
            for (int k = 0; k < K; k++) exact += (double)a[i][k] * (double)b[j][k];
            error += (d[i][j] - exact) * (d[i][j] - exact);
            size += exact * exact;
        }
    }
    const double relative = sqrt(error / size);
    printf("[%d, %d] x [%d, %d]^T in FP8: %.1f %% from the exact product\n", M, K, N, K,
        100.0 * relative);
    return relative < 0.05 ? 0 : 1;
}
