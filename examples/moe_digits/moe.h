/* SPDX-License-Identifier: MIT
 *
 * A small mixture-of-experts classifier of handwritten digits: what its files share.
 *
 *     pixels [64] --embed--> h [128] --router--> 2 of 8 experts --head--> 10 classes
 *                                    expert e:  down_e relu(up_e h),  up_e [256, 128]
 *
 * Everything but the experts' products is plain FP32 C, the same for both models; an expert layer
 * has two implementations behind one interface: experts_fp8.c calls DeepGEMM, experts_twin.c is
 * loops. All matrices lie row after row, last index fastest.
 */
#ifndef MOE_H
#define MOE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PIXELS = 64,
    CLASSES = 10,
    WIDTH = 128,  /* of a token's embedding */
    HIDDEN = 256, /* of an expert */
    EXPERTS = 8,
    TOP = 2, /* experts a token goes to */

    EPOCHS = 15,
    MICRO_BATCH = 32,        /* tokens (images) that go through the model at once */
    MICRO_BATCHES = 4,       /* whose gradients are added up before a step of the optimizer */
    ROWS = MICRO_BATCH * TOP /* most rows that the experts see at once */
};

enum { EXIT_UNUSABLE = 2 }; /* exit status of a program that could not do its work */

/* data.c: the images. */

enum { IMAGES = 1797, TEST_IMAGES = 360, TRAIN_IMAGES = IMAGES - TEST_IMAGES };

typedef struct digits_t {
    float pixels[IMAGES][PIXELS]; /* 0..1 */
    int label[IMAGES];
    int train[TRAIN_IMAGES]; /* indices of images */
    int test[TEST_IMAGES];
} digits_t;

typedef struct rng_t {
    uint64_t state;
} rng_t;

double random_uniform(rng_t *rng); /* in [0, 1) */
double random_normal(rng_t *rng);
void shuffle(rng_t *rng, int *values, int count);

/* Returns false, with a message on stderr, if the file is not what it should be. */
bool read_digits(const char *path, digits_t *digits);
void split_digits(digits_t *digits, rng_t *rng);

/* stats.c: what the table at the end is made of. */

typedef enum pass_t {
    PASS_DENSE, /* embedding, head, loss */
    PASS_ROUTER,
    PASS_FORWARD,
    PASS_DGRAD,
    PASS_WGRAD,
    PASS_QUANTIZE,
    PASS_OPTIMIZER,
    PASSES
} pass_t;

typedef enum call_t { CALL_QUANTIZE, CALL_M_GROUPED, CALL_K_GROUPED, CALLS } call_t;

typedef struct stats_t {
    double seconds[PASSES];
    long calls[CALLS]; /* of the library */
    long groups;       /* (micro-batch, expert) pairs of training ... */
    long empty_groups; /* ... and those where the expert got no token */
    double lap;        /* when the last pass ended */
} stats_t;

double now(void); /* seconds since some moment */
void start_lap(stats_t *stats);
void end_lap(stats_t *stats, pass_t pass); /* charges the time since the last lap to `pass` */
void add_stats(stats_t *sum, const stats_t *stats);

/* linear.c: FP32 products, y = x w^T and its two gradients. */

/* y [rows, n] = x [rows, k] w^T + bias, w [n, k]; bias [n] or NULL. k is a multiple of 16. */
void linear(float *y, const float *x, const float *w, const float *bias, int rows, int n, int k);
/* dx [rows, k] = dy [rows, n] w */
void linear_dgrad(float *dx, const float *dy, const float *w, int rows, int n, int k);
/* dw [n, k] += dy^T x;  dbias [n] += sum of dy's rows, unless NULL */
void linear_wgrad(float *dw, float *dbias, const float *dy, const float *x, int rows, int n, int k);

/* router.c: which token goes where. */

/* Rows sorted by expert: expert e has sizes[e] of them, back to back. */
typedef struct groups_t {
    int64_t sizes[EXPERTS];
    int rows; /* their sum */
} groups_t;

typedef struct routing_t {
    float probability[MICRO_BATCH][EXPERTS]; /* softmax of the router's logits */
    float gate[MICRO_BATCH][TOP];            /* softmax over the chosen experts */
    int expert[MICRO_BATCH][TOP];
    int row[MICRO_BATCH][TOP]; /* of the token's copy among the sorted rows */
    groups_t groups;
} routing_t;

void route(routing_t *routing, const float *logits, int tokens);
/* rows[row] = h[token] */
void dispatch(const routing_t *routing, const float *h, float *rows, int tokens);
/* y[token] = sum of gate * rows[row] */
void combine(const routing_t *routing, const float *rows, float *y, int tokens);
/* drows from dy; dlogits from dy and the load-balancing loss */
void combine_backward(const routing_t *routing, const float *rows, const float *dy, float *drows,
    float *dlogits, int tokens);
/* dh[token] += drows[row] */
void dispatch_backward(const routing_t *routing, const float *drows, float *dh, int tokens);

/* adamw.c: the parameters and how they are trained. */

/* FP32 master weights; gradients have the same struct. */
typedef struct parameters_t {
    float embed[WIDTH][PIXELS];
    float embed_bias[WIDTH];
    float router[EXPERTS][WIDTH];
    float up[EXPERTS][HIDDEN][WIDTH];
    float down[EXPERTS][WIDTH][HIDDEN];
    float head[CLASSES][WIDTH];
    float head_bias[CLASSES];
} parameters_t;

typedef struct adamw_t {
    parameters_t mean, square; /* running averages of gradients and their squares */
    int step;
} adamw_t;

void init_parameters(parameters_t *parameters, rng_t *rng);
/* One step with gradients summed over `tokens` tokens; they are zero afterwards. */
void step_adamw(
    adamw_t *adamw, parameters_t *parameters, parameters_t *gradients, int tokens, double rate);

/* experts_fp8.c, experts_twin.c: the expert layer. */

typedef struct experts_t experts_t;
struct experts_t {
    /* The weights have changed. `parameters` stays where it is until the next call. */
    void (*load)(experts_t *self, const parameters_t *parameters, stats_t *stats);
    /* y [rows, WIDTH] = experts of x [rows, WIDTH]. `training`: backward will follow. */
    void (*forward)(experts_t *self, const groups_t *groups, const float *x, float *y,
        bool training, stats_t *stats);
    /* dx [rows, WIDTH], gradients->up and ->down += from dy [rows, WIDTH] */
    void (*backward)(experts_t *self, const groups_t *groups, const float *dy, float *dx,
        parameters_t *gradients, stats_t *stats);
};

experts_t *create_experts_fp8(void); /* free() ends both */
experts_t *create_experts_twin(void);

/* model.c: all of it together. */

typedef struct model_t {
    parameters_t parameters, gradients;
    adamw_t adamw;
    experts_t *experts;
    stats_t stats;
} model_t;

typedef struct score_t {
    double loss; /* cross entropy, sum over tokens */
    int correct, tokens;
} score_t;

/* The images of `indices` through the model. `training`: their gradients are added up. */
void run_micro_batch(model_t *model, const digits_t *digits, const int *indices, int tokens,
    bool training, score_t *score);
void step_model(model_t *model, int tokens, double rate);

/* train.c: one seed. */

enum { MODEL_FP8, MODEL_TWIN, MODELS };

typedef struct curve_t {
    double train_loss[EPOCHS], test_loss[EPOCHS];
    double accuracy[EPOCHS]; /* of the test images, 0..1 */
} curve_t;

typedef struct run_t {
    uint64_t seed;
    curve_t curve[MODELS];
    stats_t stats[MODELS];
    double seconds;
} run_t;

typedef void (*progress_fn)(const run_t *run, int epoch);

/* Trains both models from the same initial weights on the same batches. */
void train(run_t *run, digits_t *digits, progress_fn progress);

/* report.c, plot.c: what is left afterwards. */

extern const char *const model_name[MODELS];

void print_table(const run_t *runs, int count);
/* false, with a message on stderr, if the file cannot be written */
bool write_csv(const char *path, const run_t *runs, int count);
bool write_svg(const char *path, const run_t *runs, int count);

#endif
