/* SPDX-License-Identifier: MIT
 *
 * A case: one random problem of one family, built from a shape, ready to run and to be judged
 * against a reference. run.c, verify.c and bench.c see the families through this header only.
 *
 *     cli_case_t problem;
 *     cli_case_build(&problem, &shape, error);       // completes the shape, fills the tensors
 *     dg_status_t status = cli_case_run(&problem, ctx);
 *     cli_verdict_t verdict = cli_case_judge(&problem, work);
 *     cli_case_release(&problem);
 */
#ifndef CLI_CASE_H
#define CLI_CASE_H

#include "buffer.h"
#include "deep_gemm/deep_gemm.h"
#include "random.h"
#include "shape.h"

typedef struct cli_verdict_t {
    int64_t checked;    /* elements compared with the reference */
    int64_t wrong;      /* of those, beyond the bound */
    double max_ratio;   /* largest error over its bound: at most 1 passes */
    double diff;        /* 1 - 2 xy / (xx + yy) over all that was compared */
    char why[CLI_TEXT]; /* "" if the case passes, else the first thing wrong */
} cli_verdict_t;

typedef struct cli_case_t cli_case_t;

/* What a family does for a case. */
typedef struct cli_family_ops_t {
    bool (*build)(cli_case_t *problem, char *error);
    dg_status_t (*run)(cli_case_t *problem, dg_context_t *ctx);
    void (*reset)(cli_case_t *problem); /* outputs as they were before the first run */
    void (*judge)(const cli_case_t *problem, int64_t work, cli_verdict_t *verdict);
} cli_family_ops_t;

extern const cli_family_ops_t cli_gemm_ops, cli_k_grouped_ops, cli_cast_ops, cli_scale_layout_ops,
    cli_permute_ops;

struct cli_case_t {
    cli_shape_t shape; /* complete */
    const cli_family_ops_t *ops;
    cli_pool_t pool;
    cli_random_t random;
    double flop;  /* floating-point operations of one run; 0: the family does none to speak of */
    double bytes; /* read and written at least */
    void *state;  /* of the family, owned */
};

/* On failure writes one line into error[CLI_TEXT]; nothing is left to release. */
bool cli_case_build(cli_case_t *problem, const cli_shape_t *shape, char *error);
dg_status_t cli_case_run(cli_case_t *problem, dg_context_t *ctx);

/* Outputs as before the first run: a run that accumulates can be judged again. */
void cli_case_reset(cli_case_t *problem);

/* Judges one run. `work`: products that the reference may compute; a problem with more of them is
 * judged on a sample. */
cli_verdict_t cli_case_judge(const cli_case_t *problem, int64_t work);
void cli_case_release(cli_case_t *problem);

#endif
