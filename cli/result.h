/* SPDX-License-Identifier: MIT
 *
 * One shape, run: its time and its errors, and the row of a report that tells them. Called by run.c
 * and bench.c.
 */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "case.h"
#include "measure.h"
#include "report.h"
#include "settings.h"

typedef struct cli_result_t {
    cli_shape_t shape; /* complete */
    cli_verdict_t verdict;
    cli_times_t times;
    double flop, bytes;
} cli_result_t;

typedef enum cli_ran_t {
    CLI_RAN = 0,
    CLI_RAN_NOT_SHAPE = 1,  /* the shape has no meaning */
    CLI_RAN_NOT_LIBRARY = 2 /* the library refused the call */
} cli_ran_t;

/* Builds the problem, runs and judges it once (`work` products in the reference at most), then
 * measures it. Otherwise than with CLI_RAN, writes one line into error[CLI_TEXT]. */
cli_ran_t cli_run_shape(const cli_shape_t *shape, dg_context_t *ctx, const cli_repeat_t *repeat,
    int64_t work, cli_result_t *result, char *error);

/* The cells of a row: what ran, time, rates, errors. With yardstick > 0 or NaN also the rate of
 * operations, at the least time, in percent of it (GFLOP/s); 0: no such cell. */
void cli_report_result(cli_report_t *report, const cli_result_t *result, double yardstick);

/* Operations (FLOP) or bytes a second, in 10^9. NaN where the family has none. */
double cli_gflop_rate(const cli_result_t *result);
double cli_gbyte_rate(const cli_result_t *result);

#endif
