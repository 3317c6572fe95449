/* SPDX-License-Identifier: MIT
 *
 * Initial weights, and AdamW (Loshchilov and Hutter, 2019) on FP32 master weights. The parameters
 * are treated as one long array of floats, which the struct is.
 */
#include "moe.h"

#include <math.h>

enum { COUNT = sizeof(parameters_t) / sizeof(float) };

static const double BETA1 = 0.9, BETA2 = 0.99, EPSILON = 1e-8, DECAY = 0.02;

static void fill_normal(float *w, size_t count, double deviation, rng_t *rng) {
    for (size_t i = 0; i < count; i++) w[i] = (float)(deviation * random_normal(rng));
}

/* Deviations keep the size of activations from layer to layer. Biases start at zero. */
void init_parameters(parameters_t *parameters, rng_t *rng) {
    parameters_t *p = parameters;
    *p = (parameters_t){0};
    fill_normal(&p->embed[0][0], WIDTH * PIXELS, 2.0 / sqrt(PIXELS), rng);
    fill_normal(&p->router[0][0], EXPERTS * WIDTH, 0.5 / sqrt(WIDTH), rng);
    fill_normal(&p->up[0][0][0], EXPERTS * HIDDEN * WIDTH, sqrt(2.0 / WIDTH), rng);
    fill_normal(&p->down[0][0][0], EXPERTS * WIDTH * HIDDEN, sqrt(1.0 / HIDDEN), rng);
    fill_normal(&p->head[0][0], CLASSES * WIDTH, sqrt(1.0 / WIDTH), rng);
}

void step_adamw(
    adamw_t *adamw, parameters_t *parameters, parameters_t *gradients, int tokens, double rate) {
    float *w = (float *)parameters, *gradient = (float *)gradients;
    float *mean = (float *)&adamw->mean, *square = (float *)&adamw->square;
    adamw->step++;
    /* The averages start at zero; dividing by 1 - beta^step makes up for that. */
    const double correct1 = 1.0 - pow(BETA1, adamw->step), correct2 = 1.0 - pow(BETA2, adamw->step);
    const float scale = 1.0f / (float)tokens, rate1 = (float)(rate / correct1);
    const float root = (float)(1.0 / sqrt(correct2)), keep = (float)(1.0 - rate * DECAY);
    const float beta1 = (float)BETA1, beta2 = (float)BETA2, epsilon = (float)EPSILON;
    for (int i = 0; i < COUNT; i++) {
        const float g = gradient[i] * scale;
        mean[i] = beta1 * mean[i] + (1.0f - beta1) * g;
        square[i] = beta2 * square[i] + (1.0f - beta2) * g * g;
        w[i] = keep * w[i] - rate1 * mean[i] / (sqrtf(square[i]) * root + epsilon);
        gradient[i] = 0.0f;
    }
}
