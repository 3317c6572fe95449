/* SPDX-License-Identifier: MIT
 *
 * Runs a case as a measurement. The check comes before the clock: a wrong result has no speed.
 */
#include "result.h"

#include <math.h>
#include <stdio.h>

typedef struct runner_t {
    cli_case_t *problem;
    dg_context_t *ctx;
} runner_t;

static bool run_once(void *self) {
    const runner_t *runner = self;
    return cli_case_run(runner->problem, runner->ctx) == DG_STATUS_OK;
}

cli_ran_t cli_run_shape(const cli_shape_t *shape, dg_context_t *ctx, const cli_repeat_t *repeat,
    int64_t work, cli_result_t *result, char *error) {
    cli_case_t problem;
    if (!cli_case_build(&problem, shape, error)) return CLI_RAN_NOT_SHAPE;
    runner_t runner = {&problem, ctx};
    *result = (cli_result_t){.shape = problem.shape, .flop = problem.flop, .bytes = problem.bytes};
    bool ok = run_once(&runner);
    if (ok) {
        result->verdict = cli_case_judge(&problem, work);
        cli_case_reset(&problem);
        ok = cli_measure(run_once, &runner, repeat, &result->times);
    }
    if (!ok) snprintf(error, CLI_TEXT, "%.310s", dg_last_error());
    cli_case_release(&problem);
    return ok ? CLI_RAN : CLI_RAN_NOT_LIBRARY;
}

double cli_gflop_rate(const cli_result_t *result) {
    return result->flop > 0 ? result->flop / result->times.median * 1e-9 : (double)NAN;
}

double cli_gbyte_rate(const cli_result_t *result) {
    return result->bytes / result->times.median * 1e-9;
}

void cli_report_result(cli_report_t *report, const cli_result_t *result, double yardstick) {
    char kind[CLI_TEXT], extents[CLI_TEXT];
    cli_shape_kind(&result->shape, kind, sizeof kind);
    cli_shape_describe(&result->shape, extents, sizeof extents);
    const cli_verdict_t *verdict = &result->verdict;
    cli_report_text(report, "family", "family", cli_family_name(result->shape.family));
    cli_report_text(report, "kind", "kind", kind);
    cli_report_text(report, "shape", "shape", extents);
    cli_report_number(report, "time_ms", "time ms", result->times.median * 1e3, 4);
    cli_report_number(report, "min_time_ms", "min ms", result->times.least * 1e3, 4);
    cli_report_number(report, "gflop_per_s", "GFLOP/s", cli_gflop_rate(result), 4);
    if (yardstick != 0) {
        const double rate = result->flop > 0 ? result->flop / result->times.least : (double)NAN;
        cli_report_number(
            report, "percent_of_yardstick", "% of sgemm", 100e-9 * rate / yardstick, 3);
    }
    cli_report_number(report, "gbyte_per_s", "GB/s", cli_gbyte_rate(result), 3);
    cli_report_integer(report, "checked", "checked", verdict->checked);
    cli_report_number(report, "error_to_bound", "err/bound", verdict->max_ratio, 3);
    cli_report_number(report, "calc_diff", "calc_diff", verdict->diff, 3);
    cli_report_text(report, "result", "result", verdict->why[0] ? verdict->why : "ok");
}
