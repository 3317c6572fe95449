/* SPDX-License-Identifier: MIT
 *
 * deepgemm verify: every family over random shapes with many edges, against the reference. A shape
 * that fails is printed as the command that repeats it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "draw.h"
#include "progress.h"
#include "report.h"
#include "settings.h"
#include "verbs.h"

#define FULL_CASES 400 /* of each family */
#define QUICK_CASES 60
#define FULL_WORK (INT64_C(1) << 20) /* products in the reference of one case */
#define QUICK_WORK (INT64_C(1) << 17)

typedef struct verify_t {
    cli_settings_t settings;
    int64_t seed;
    bool quick;
    cli_family_t family; /* CLI_NUM_FAMILIES: all */
} verify_t;

typedef struct tally_t {
    int64_t passed, failed, checked;
    double max_ratio;
} tally_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    verify_t *self = target;
    bool known;
    if (strcmp(name, "family") == 0) return cli_parse_family(value, &self->family, error);
    if (strcmp(name, "seed") == 0) {
        return cli_parse_integer(value, 0, INT64_MAX, &self->seed, error);
    }
    if (strcmp(name, "quick") == 0) return self->quick = true;
    return cli_settings_apply(&self->settings, name, value, &known, error);
}

/* One case; why[CLI_TEXT] becomes "" or tells what is wrong. */
static cli_verdict_t verify_shape(const cli_shape_t *shape, dg_context_t *ctx, int64_t work) {
    cli_case_t problem;
    cli_verdict_t verdict = {.checked = 0};
    if (!cli_case_build(&problem, shape, verdict.why)) return verdict;
    if (cli_case_run(&problem, ctx) == DG_STATUS_OK) {
        verdict = cli_case_judge(&problem, work);
    } else {
        snprintf(verdict.why, sizeof verdict.why, "refused: %.300s", dg_last_error());
    }
    cli_case_release(&problem);
    return verdict;
}

static void report_case(const verify_t *self, const cli_shape_t *shape,
    const cli_verdict_t *verdict, cli_progress_t *progress) {
    char command[CLI_COMMAND];
    cli_shape_command(shape, command, sizeof command);
    if (self->settings.json) {
        cli_json_t json = {stdout, false};
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "family", cli_family_name(shape->family));
        cli_json_text(&json, "command", command);
        cli_json_truth(&json, "passed", verdict->why[0] == 0);
        cli_json_integer(&json, "checked", verdict->checked);
        cli_json_number(&json, "error_to_bound", verdict->max_ratio);
        cli_json_number(&json, "calc_diff", verdict->diff);
        cli_json_text(&json, "why", verdict->why[0] ? verdict->why : NULL);
        cli_json_close(&json, '}');
        cli_json_end_line(&json);
    } else if (verdict->why[0] != 0) {
        cli_progress_hide(progress);
        printf("FAILED  deepgemm run %s\n        %s\n", command, verdict->why);
        fflush(stdout);
    }
}

static void print_summary(const verify_t *self, const tally_t *tallies) {
    tally_t all = {.passed = 0};
    cli_report_t report;
    cli_report_begin(&report, false);
    for (int family = 0; family < CLI_NUM_FAMILIES; family++) {
        const tally_t *tally = &tallies[family];
        all.passed += tally->passed;
        all.failed += tally->failed;
        if (self->settings.json || tally->passed + tally->failed == 0) continue;
        cli_report_text(&report, "family", "family", cli_family_name((cli_family_t)family));
        cli_report_integer(&report, "passed", "passed", tally->passed);
        cli_report_integer(&report, "failed", "failed", tally->failed);
        cli_report_integer(&report, "checked", "elements checked", tally->checked);
        cli_report_number(&report, "error_to_bound", "worst err/bound", tally->max_ratio, 3);
        cli_report_end_row(&report);
    }
    cli_report_end(&report, false);
    if (self->settings.json) {
        printf("{\"passed\": %" PRId64 ", \"failed\": %" PRId64 "}\n", all.passed, all.failed);
    } else {
        printf("\n%" PRId64 " passed, %" PRId64 " failed\n", all.passed, all.failed);
    }
}

static int verify_all(const verify_t *self, dg_context_t *ctx) {
    const int64_t cases = self->quick ? QUICK_CASES : FULL_CASES;
    const int64_t work = self->quick ? QUICK_WORK : FULL_WORK;
    tally_t tallies[CLI_NUM_FAMILIES] = {{.passed = 0}};
    const bool all = self->family == CLI_NUM_FAMILIES;
    cli_progress_t progress;
    cli_progress_begin(&progress, all ? cases * CLI_NUM_FAMILIES : cases);
    int status = CLI_EXIT_OK;
    for (int family = 0; family < CLI_NUM_FAMILIES; family++) {
        if (!all && family != (int)self->family) continue;
        const char *name = cli_family_name((cli_family_t)family);
        tally_t *tally = &tallies[family];
        cli_random_t random = {(uint64_t)self->seed * CLI_NUM_FAMILIES + (uint64_t)family};
        for (int64_t i = 0; i < cases; i++) {
            const cli_shape_t shape = cli_draw_shape((cli_family_t)family, &random);
            const cli_verdict_t verdict = verify_shape(&shape, ctx, work);
            const bool passed = verdict.why[0] == 0;
            *(passed ? &tally->passed : &tally->failed) += 1;
            tally->checked += verdict.checked;
            if (verdict.max_ratio > tally->max_ratio) tally->max_ratio = verdict.max_ratio;
            if (!passed) status = CLI_EXIT_FAILED;
            report_case(self, &shape, &verdict, &progress);
            cli_progress_step(&progress, name);
        }
    }
    cli_progress_end(&progress);
    print_summary(self, tallies);
    return status;
}

static int verify(const cli_verb_t *verb, int argc, char **argv) {
    verify_t self = {.seed = 1, .family = CLI_NUM_FAMILIES};
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, NULL);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    dg_context_t *ctx = cli_settings_open(&self.settings, verb);
    if (ctx == NULL) return CLI_EXIT_FAILED;
    const int status = verify_all(&self, ctx);
    dg_context_destroy(ctx);
    return status;
}

static const cli_option_t options[] = {
    {"family", "FAMILY",
        "Only this one: gemm, m_grouped, k_grouped, cast, scale_layout or permute."},
    {"seed", "N", "Seed of the shapes and values [1]."},
    {"quick", NULL, "Fewer shapes: a few seconds instead of a minute or so."},
    CLI_SETTINGS_OPTIONS,
};

const cli_verb_t cli_verify = {
    .name = "verify",
    .summary = "check every family against a reference",
    .description =
        "Runs random problems of every family, edge shapes among them (extents 0 and 1, one more "
        "and one less than a block, empty groups, gaps), and compares the results with an "
        "independent reference: products with FP64 within the bounds that deepgemm run --help "
        "states, casts and layouts bit for bit. Unused inputs are NaN and memory around the "
        "outputs is guarded.\n"
        "\n"
        "A failed problem is printed as the command that repeats it. The last line is \"N passed, "
        "N failed\".",
    .examples = "deepgemm verify --quick\n"
                "deepgemm verify --family k_grouped --seed 7 --isa portable",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .main = verify,
};
