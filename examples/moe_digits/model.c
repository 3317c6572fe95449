/* SPDX-License-Identifier: MIT
 *
 * One micro-batch through the model, forward and backward. The loss is summed over tokens, so that
 * gradients of micro-batches of any size may be added up; the optimizer divides once.
 */
#include "moe.h"

#include <math.h>

/* Softmax and cross entropy of logits [tokens, CLASSES]; their gradient takes the logits' place. */
static void score_logits(
    float *logits, const digits_t *digits, const int *indices, int tokens, score_t *score) {
    for (int t = 0; t < tokens; t++) {
        float *z = logits + t * CLASSES, sum = 0.0f;
        const int label = digits->label[indices[t]];
        int best = 0;
        for (int c = 1; c < CLASSES; c++) {
            if (z[c] > z[best]) best = c;
        }
        const float top = z[best], wanted = z[label] - top;
        for (int c = 0; c < CLASSES; c++) sum += z[c] = expf(z[c] - top);
        for (int c = 0; c < CLASSES; c++) z[c] /= sum;
        z[label] -= 1.0f;
        score->loss += (double)(logf(sum) - wanted);
        score->correct += best == label;
    }
    score->tokens += tokens;
}

void run_micro_batch(model_t *model, const digits_t *digits, const int *indices, int tokens,
    bool training, score_t *score) {
    const parameters_t *w = &model->parameters;
    parameters_t *dw = &model->gradients;
    stats_t *stats = &model->stats;
    float x[MICRO_BATCH * PIXELS], h[MICRO_BATCH * WIDTH], y[MICRO_BATCH * WIDTH];
    float choice[MICRO_BATCH * EXPERTS], logits[MICRO_BATCH * CLASSES];
    float rows[ROWS * WIDTH], answers[ROWS * WIDTH];
    routing_t routing;

    start_lap(stats);
    for (int t = 0; t < tokens; t++) {
        for (int p = 0; p < PIXELS; p++) x[t * PIXELS + p] = digits->pixels[indices[t]][p];
    }
    linear(h, x, &w->embed[0][0], w->embed_bias, tokens, WIDTH, PIXELS);
    end_lap(stats, PASS_DENSE);
    linear(choice, h, &w->router[0][0], NULL, tokens, EXPERTS, WIDTH);
    route(&routing, choice, tokens);
    dispatch(&routing, h, rows, tokens);
    end_lap(stats, PASS_ROUTER);
    model->experts->forward(model->experts, &routing.groups, rows, answers, training, stats);
    combine(&routing, answers, y, tokens);
    end_lap(stats, PASS_ROUTER);
    linear(logits, y, &w->head[0][0], w->head_bias, tokens, CLASSES, WIDTH);
    score_logits(logits, digits, indices, tokens, score);
    end_lap(stats, PASS_DENSE);
    if (!training) return;

    float dh[MICRO_BATCH * WIDTH], dy[MICRO_BATCH * WIDTH], dchoice[MICRO_BATCH * EXPERTS];
    float drows[ROWS * WIDTH], danswers[ROWS * WIDTH];
    linear_wgrad(&dw->head[0][0], dw->head_bias, logits, y, tokens, CLASSES, WIDTH);
    linear_dgrad(dy, logits, &w->head[0][0], tokens, CLASSES, WIDTH);
    end_lap(stats, PASS_DENSE);
    combine_backward(&routing, answers, dy, danswers, dchoice, tokens);
    end_lap(stats, PASS_ROUTER);
    model->experts->backward(model->experts, &routing.groups, danswers, drows, dw, stats);
    linear_wgrad(&dw->router[0][0], NULL, dchoice, h, tokens, EXPERTS, WIDTH);
    linear_dgrad(dh, dchoice, &w->router[0][0], tokens, EXPERTS, WIDTH);
    dispatch_backward(&routing, drows, dh, tokens);
    end_lap(stats, PASS_ROUTER);
    linear_wgrad(&dw->embed[0][0], dw->embed_bias, dh, x, tokens, WIDTH, PIXELS);
    end_lap(stats, PASS_DENSE);

    stats->groups += EXPERTS;
    for (int e = 0; e < EXPERTS; e++) stats->empty_groups += routing.groups.sizes[e] == 0;
}

void step_model(model_t *model, int tokens, double rate) {
    start_lap(&model->stats);
    step_adamw(&model->adamw, &model->parameters, &model->gradients, tokens, rate);
    end_lap(&model->stats, PASS_OPTIMIZER);
    model->experts->load(model->experts, &model->parameters, &model->stats);
}
