/* SPDX-License-Identifier: MIT
 *
 * The expert layer in FP32 and plain loops: the yardstick for experts_fp8.c. Calls linear.c only.
 */
#include "moe.h"

#include <stdlib.h>

typedef struct twin_t {
    experts_t base;
    const parameters_t *parameters;
    float x[ROWS * WIDTH];
    float hidden[ROWS * HIDDEN]; /* after relu */
    float dhidden[ROWS * HIDDEN];
} twin_t;

static void load(experts_t *self, const parameters_t *parameters, stats_t *stats) {
    (void)stats;
    ((twin_t *)self)->parameters = parameters;
}

static void forward(experts_t *self, const groups_t *groups, const float *x, float *y,
    bool training, stats_t *stats) {
    twin_t *twin = (twin_t *)self;
    const parameters_t *w = twin->parameters;
    if (training) {
        for (int i = 0; i < groups->rows * WIDTH; i++) twin->x[i] = x[i];
    }
    for (int e = 0, row = 0; e < EXPERTS; e++) {
        const int rows = (int)groups->sizes[e];
        float *hidden = twin->hidden + row * HIDDEN;
        linear(hidden, x + row * WIDTH, &w->up[e][0][0], NULL, rows, HIDDEN, WIDTH);
        for (int i = 0; i < rows * HIDDEN; i++) hidden[i] = hidden[i] > 0.0f ? hidden[i] : 0.0f;
        linear(y + row * WIDTH, hidden, &w->down[e][0][0], NULL, rows, WIDTH, HIDDEN);
        row += rows;
    }
    end_lap(stats, PASS_FORWARD);
}

static void backward(experts_t *self, const groups_t *groups, const float *dy, float *dx,
    parameters_t *gradients, stats_t *stats) {
    twin_t *twin = (twin_t *)self;
    const parameters_t *w = twin->parameters;
    for (int e = 0, row = 0; e < EXPERTS; e++) {
        const int rows = (int)groups->sizes[e];
        const float *hidden = twin->hidden + row * HIDDEN;
        float *dhidden = twin->dhidden + row * HIDDEN;
        linear_dgrad(dhidden, dy + row * WIDTH, &w->down[e][0][0], rows, WIDTH, HIDDEN);
        for (int i = 0; i < rows * HIDDEN; i++) dhidden[i] = hidden[i] > 0.0f ? dhidden[i] : 0.0f;
        linear_dgrad(dx + row * WIDTH, dhidden, &w->up[e][0][0], rows, HIDDEN, WIDTH);
        row += rows;
    }
    end_lap(stats, PASS_DGRAD);
    for (int e = 0, row = 0; e < EXPERTS; e++) {
        const int rows = (int)groups->sizes[e];
        linear_wgrad(&gradients->down[e][0][0], NULL, dy + row * WIDTH, twin->hidden + row * HIDDEN,
            rows, WIDTH, HIDDEN);
        linear_wgrad(&gradients->up[e][0][0], NULL, twin->dhidden + row * HIDDEN,
            twin->x + row * WIDTH, rows, HIDDEN, WIDTH);
        row += rows;
    }
    end_lap(stats, PASS_WGRAD);
}

experts_t *create_experts_twin(void) {
    twin_t *twin = calloc(1, sizeof *twin);
    if (!twin) return NULL;
    twin->base = (experts_t){load, forward, backward};
    return &twin->base;
}
