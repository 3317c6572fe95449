/* SPDX-License-Identifier: MIT
 *
 * The C example of docs/weight_gradients.md, taken out of the page as it stands: gradients of uneven
 * groups, twice accumulated, against FP64 sums; an expert without tokens keeps its bits; what lies behind
 * the groups and behind their factors is NaN and reaches nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "random_data.h"
#include "weight_gradients_page.c" /* made from the page by tests/family/CMakeLists.txt */

enum { TOKENS = 500, M = 96, N = 136, EXPERTS = 4, FACTOR_ROWS = (TOKENS + 127 * EXPERTS) / 128 };

static const int32_t sizes[EXPERTS] = {201, 0, 130, 99}; /* 430 of 500 */

/* [TOKENS, width] BF16, the last 70 rows NaN; the values of the others also into `value`. */
static uint16_t *draw(rng_t *rng, int64_t width, double *value, const char *name) {
    uint16_t *x = guard_take((size_t)(TOKENS * width) * 2, 0, name);
    for (int64_t i = 0; i < 430 * width; i++) {
        const float drawn = (float)rng_normal(rng);
        uint32_t bits;
        float kept;
        memcpy(&bits, &drawn, 4);
        x[i] = (uint16_t)(bits >> 16);
        bits &= 0xFFFF0000u;
        memcpy(&kept, &bits, 4);
        value[i] = (double)kept;
    }
    return x;
}

static void test_page(void **state) {
    (void)state;
    static double dy_value[TOKENS * M], x_value[TOKENS * N], want[EXPERTS * M * N];
    rng_t rng = rng_make(5);
    label("docs/weight_gradients.md");
    const uint16_t *dy = draw(&rng, M, dy_value, "dy"), *x = draw(&rng, N, x_value, "x");
    int32_t *counts = guard_take(sizeof sizes, 0, "sizes");
    float *grad = guard_take(sizeof(float) * EXPERTS * M * N, 0, "main_grad");
    void *dy_codes = guard_take(TOKENS * M, 0, "codes of dy");
    void *x_codes = guard_take(TOKENS * N, 0, "codes of x");
    float *dy_factors = guard_take(sizeof(float) * FACTOR_ROWS * M, 0, "factors of dy");
    float *x_factors = guard_take(sizeof(float) * FACTOR_ROWS * N, 0, "factors of x");
    memcpy(counts, sizes, sizeof sizes);
    for (int i = 0; i < EXPERTS * M * N; i++) grad[i] = (float)rng_normal(&rng);
    for (int i = 0; i < EXPERTS * M * N; i++) want[i] = (double)grad[i];
    float *empty = guard_scratch(sizeof(float) * M * N);
    memcpy(empty, grad + M * N, sizeof(float) * M * N);
    guard_seal();
    for (int step = 0; step < 2; step++)
        expect_ok(add_weight_gradients(
            dy, x, TOKENS, M, N, counts, EXPERTS, grad, dy_codes, dy_factors, x_codes, x_factors));
    double error = 0.0, norm = 0.0;
    for (int64_t g = 0, begin = 0; g < EXPERTS; begin += sizes[g++]) {
        for (int64_t i = 0; i < M * N; i++) {
            double sum = 0.0;
            for (int64_t t = begin; t < begin + sizes[g]; t++)
                sum += dy_value[t * M + i / N] * x_value[t * N + i % N];
            const double expected = want[g * M * N + i] + 2.0 * sum;
            const double off = (double)grad[g * M * N + i] - expected;
            error += off * off, norm += expected * expected;
        }
    }
    assert_true(sqrt(error) < 0.05 * sqrt(norm));
    assert_memory_equal(grad + M * N, empty, sizeof(float) * M * N);
    guard_allow(grad, sizeof(float) * EXPERTS * M * N);
    guard_allow(dy_codes, 430 * M), guard_allow(x_codes, 430 * N);
    guard_allow(dy_factors, sizeof(float) * 5 * M), guard_allow(x_factors, sizeof(float) * 5 * N);
    guard_check();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_page, guard_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
