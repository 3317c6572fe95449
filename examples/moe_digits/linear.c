/* SPDX-License-Identifier: MIT
 *
 * Products in FP32, in plain loops that a compiler turns into vector instructions: sums that it may
 * not reorder are written as sixteen sums side by side, or run over the last axis.
 */
#include "moe.h"

enum { LANES = 16 };

void linear(float *y, const float *x, const float *w, const float *bias, int rows, int n, int k) {
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < n; j++) {
            const float *a = x + (int64_t)i * k, *b = w + (int64_t)j * k;
            float sum[LANES] = {0};
            for (int p = 0; p < k; p += LANES) {
                for (int l = 0; l < LANES; l++) sum[l] += a[p + l] * b[p + l];
            }
            float total = bias ? bias[j] : 0.0f;
            for (int l = 0; l < LANES; l++) total += sum[l];
            y[(int64_t)i * n + j] = total;
        }
    }
}

/* c [m, n] += a b with b [k, n] and a[i, p] at a[i * row + p * column]. Four rows of b at a time:
 * a quarter of the loads and stores of c. */
static void add_product(float *restrict c, const float *a, int64_t row, int64_t column,
    const float *restrict b, int m, int n, int k) {
    for (int i = 0; i < m; i++) {
        float *restrict ci = c + (int64_t)i * n;
        const float *ai = a + i * row;
        int p = 0;
        for (; p + 4 <= k; p += 4) {
            const float *b0 = b + (int64_t)p * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
            const float a0 = ai[p * column], a1 = ai[(p + 1) * column];
            const float a2 = ai[(p + 2) * column], a3 = ai[(p + 3) * column];
            for (int j = 0; j < n; j++) {
                ci[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
            }
        }
        for (; p < k; p++) {
            for (int j = 0; j < n; j++) ci[j] += ai[p * column] * b[(int64_t)p * n + j];
        }
    }
}

void linear_dgrad(float *dx, const float *dy, const float *w, int rows, int n, int k) {
    for (int64_t i = 0; i < (int64_t)rows * k; i++) dx[i] = 0.0f;
    add_product(dx, dy, n, 1, w, rows, k, n);
}

void linear_wgrad(
    float *dw, float *dbias, const float *dy, const float *x, int rows, int n, int k) {
    add_product(dw, dy, 1, n, x, n, k, rows);
    if (!dbias) return;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < n; j++) dbias[j] += dy[(int64_t)i * n + j];
    }
}
