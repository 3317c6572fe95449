/* SPDX-License-Identifier: MIT
 *
 * Trains both models for one seed: the same split, the same initial weights, the same batches.
 */
#include "moe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double RATE = 2e-3; /* of the optimizer; falls to zero along half a cosine */

static model_t *create_model(experts_t *experts, const parameters_t *parameters) {
    model_t *model = calloc(1, sizeof *model);
    if (!model || !experts) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_UNUSABLE);
    }
    model->parameters = *parameters;
    model->experts = experts;
    start_lap(&model->stats);
    experts->load(experts, &model->parameters, &model->stats);
    return model;
}

static score_t train_epoch(model_t *model, const digits_t *digits, const int *order, double rate) {
    score_t score = {0};
    for (int step = 0; step < TRAIN_IMAGES; step += MICRO_BATCH * MICRO_BATCHES) {
        const int before = score.tokens;
        for (int i = 0; i < MICRO_BATCHES && score.tokens < TRAIN_IMAGES; i++) {
            const int left = TRAIN_IMAGES - score.tokens;
            const int tokens = left < MICRO_BATCH ? left : MICRO_BATCH;
            run_micro_batch(model, digits, order + score.tokens, tokens, true, &score);
        }
        step_model(model, score.tokens - before, rate);
    }
    return score;
}

static score_t test_model(model_t *model, const digits_t *digits) {
    score_t score = {0};
    while (score.tokens < TEST_IMAGES) {
        const int left = TEST_IMAGES - score.tokens;
        const int tokens = left < MICRO_BATCH ? left : MICRO_BATCH;
        run_micro_batch(model, digits, digits->test + score.tokens, tokens, false, &score);
    }
    return score;
}

void train(run_t *run, digits_t *digits, progress_fn progress) {
    const double start = now();
    rng_t rng = {run->seed};
    split_digits(digits, &rng);
    static parameters_t initial;
    init_parameters(&initial, &rng);
    model_t *models[MODELS] = {
        [MODEL_FP8] = create_model(create_experts_fp8(), &initial),
        [MODEL_TWIN] = create_model(create_experts_twin(), &initial),
    };
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        const double rate = RATE * 0.5 * (1.0 + cos(3.141592653589793 * epoch / EPOCHS));
        shuffle(&rng, digits->train, TRAIN_IMAGES);
        for (int m = 0; m < MODELS; m++) {
            const score_t learnt = train_epoch(models[m], digits, digits->train, rate);
            const score_t tested = test_model(models[m], digits);
            run->curve[m].train_loss[epoch] = learnt.loss / learnt.tokens;
            run->curve[m].test_loss[epoch] = tested.loss / tested.tokens;
            run->curve[m].accuracy[epoch] = (double)tested.correct / tested.tokens;
        }
        progress(run, epoch);
    }
    for (int m = 0; m < MODELS; m++) {
        run->stats[m] = models[m]->stats;
        free(models[m]->experts);
        free(models[m]);
    }
    run->seconds = now() - start;
}
