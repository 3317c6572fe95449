/* SPDX-License-Identifier: MIT
 *
 * All candidates of the planner for one shape, timed on a GPU. Called by tune.c; calls gpu_operands.c,
 * gpu_timer.c and gpu_sample.c.
 */
#ifndef CLI_CANDIDATES_H
#define CLI_CANDIDATES_H

#include "gpu_operands.h"
#include "gpu_timer.h"

#define CLI_MAX_CANDIDATES 96
#define CLI_MAX_ROUNDS 32

typedef struct cli_candidate_t {
    char specialisation[DG_PLAN_TEXT];
    char kernel[64];
    int32_t grid, cluster, launches, block_m, block_n;
    double predicted_us, us;
    double differs; /* of its result from the first candidate's, see cli_gpu_compare() */
    int64_t rounds; /* that us is the median of; 0: one reading, far slower than others */
} cli_candidate_t;

typedef struct cli_candidates_t {
    cli_shape_t shape; /* completed */
    double flop;
    size_t count, chosen, best;
    double loss;   /* time of the chosen over that of the best, - 1 */
    bool disagree; /* results are not the same but for rounding */
    cli_candidate_t items[CLI_MAX_CANDIDATES];
} cli_candidates_t;

typedef struct cli_measurer_t {
    dg_context_t *ctx;
    char name[96]; /* of the GPU */
    cli_gpu_operands_t operands;
    cli_gpu_timer_t timer;
    void *workspace;
    size_t workspace_bytes;
    int64_t rounds, calls;
} cli_measurer_t;

/* False: see dg_last_error(); to be closed all the same. empty_us: time between two events with
 * nothing between. */
bool cli_measurer_open(cli_measurer_t *measurer, int32_t device, int64_t rounds, int64_t calls,
    size_t flush_bytes, double *empty_us);
void cli_measurer_close(cli_measurer_t *measurer);

typedef enum cli_measured_t {
    CLI_MEASURED,
    CLI_MEASURED_NOT_SHAPE,  /* the shape has no meaning */
    CLI_MEASURED_REFUSED,    /* no plan, or no memory */
    CLI_MEASURED_GPU_FAILED, /* a kernel failed: the device is of no more use */
} cli_measured_t;

/* Times the candidates, or the specialisation `only`. On failure writes why into error[CLI_TEXT]. */
cli_measured_t cli_measure_candidates(cli_measurer_t *measurer, const cli_shape_t *shape,
    const char *only, cli_candidates_t *found, char *error);

#endif
