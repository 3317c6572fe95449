/* SPDX-License-Identifier: MIT
 *
 * deepgemm tune: times on a GPU every candidate that the planner has for a shape, and tells what the
 * planner's choice loses against the fastest of them. What it finds is what the constants of src/plan
 * are made from. candidates.c measures one shape; this file reads the command line and reports.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "candidates.h"
#include "layers.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

typedef struct tune_t {
    cli_layer_source_t source;
    const char *only, *json;
    int64_t device, rounds, calls, flush;
    bool explain;
} tune_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    tune_t *self = target;
    bool known;
    if (strcmp(name, "only") == 0) {
        self->only = value;
    } else if (strcmp(name, "json") == 0) {
        self->json = value;
    } else if (strcmp(name, "explain") == 0) {
        self->explain = true;
    } else if (strcmp(name, "device") == 0) {
        return cli_parse_integer(value, 0, 1023, &self->device, error);
    } else if (strcmp(name, "rounds") == 0) {
        return cli_parse_integer(value, 1, CLI_MAX_ROUNDS, &self->rounds, error);
    } else if (strcmp(name, "flush") == 0) {
        return cli_parse_integer(value, 1, 65536, &self->flush, error);
    } else if (strcmp(name, "calls") == 0) {
        return cli_parse_integer(value, 1, CLI_GPU_MAX_CALLS, &self->calls, error);
    } else {
        return cli_layer_source_set(&self->source, name, value, &known, error);
    }
    return true;
}

static void report_shape(cli_report_t *report, const cli_shape_t *shape) {
    char extents[CLI_TEXT], kind[CLI_TEXT];
    cli_shape_describe(shape, extents, sizeof extents);
    cli_shape_kind(shape, kind, sizeof kind);
    cli_report_text(report, "family", "family", cli_family_name(shape->family));
    cli_report_text(report, "kind", "kind", kind);
    cli_report_text(report, "shape", "shape", extents);
}

static void report_tile(cli_report_t *report, const char *heading, const cli_candidate_t *one) {
    char tile[80];
    snprintf(tile, sizeof tile, "%.40s %dx%d", one->kernel, (int)one->block_m, (int)one->block_n);
    cli_report_text(report, heading, heading, tile);
}

static void report_choice(cli_report_t *report, const cli_candidates_t *found) {
    const cli_candidate_t *chosen = &found->items[found->chosen],
                          *best = &found->items[found->best];
    report_shape(report, &found->shape);
    report_tile(report, "chosen", chosen);
    cli_report_number(report, "predicted_us", "predicted us", chosen->predicted_us, 4);
    cli_report_number(report, "us", "us", chosen->us, 4);
    report_tile(report, "best", best);
    cli_report_number(report, "best_us", "best us", best->us, 4);
    cli_report_number(report, "loss_percent", "loss %", 100 * found->loss, 3);
    cli_report_end_row(report);
}

static void report_candidates(cli_report_t *report, const cli_candidates_t *found) {
    for (size_t i = 0; i < found->count; i++) {
        const cli_candidate_t *one = &found->items[i];
        report_shape(report, &found->shape);
        cli_report_text(report, "mark", "",
            i == found->chosen && i == found->best ? "*!"
            : i == found->chosen                   ? "*"
            : i == found->best                     ? "!"
                                                   : "");
        cli_report_number(report, "predicted_us", "predicted us", one->predicted_us, 4);
        cli_report_number(report, "us", "us", one->us, 4);
        cli_report_number(report, "differs", "differs", one->differs, 2);
        cli_report_integer(report, "grid", "grid", one->grid);
        cli_report_integer(report, "cluster", "cluster", one->cluster);
        cli_report_text(report, "specialisation", "specialisation", one->specialisation);
        cli_report_end_row(report);
    }
}

static void write_json(cli_json_t *json, const cli_candidates_t *found) {
    char command[CLI_COMMAND];
    cli_shape_command(&found->shape, command, sizeof command);
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "command", command);
    cli_json_number(json, "flop", found->flop);
    cli_json_text(json, "chosen", found->items[found->chosen].specialisation);
    cli_json_text(json, "best", found->items[found->best].specialisation);
    cli_json_number(json, "loss", found->loss);
    cli_json_open(json, "candidates", '[');
    for (size_t i = 0; i < found->count; i++) {
        const cli_candidate_t *one = &found->items[i];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "specialisation", one->specialisation);
        cli_json_integer(json, "grid", one->grid);
        cli_json_integer(json, "cluster", one->cluster);
        cli_json_integer(json, "launches", one->launches);
        cli_json_number(json, "predicted_us", one->predicted_us);
        cli_json_number(json, "us", one->us);
        cli_json_integer(json, "rounds", one->rounds);
        cli_json_number(json, "differs", one->differs);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_close(json, '}');
    cli_json_end_line(json);
    fflush(json->file);
}

static void print_losses(double *losses, size_t count) {
    if (count < 2) return;
    const double median = cli_median(losses, (int64_t)count); /* sorts */
    printf("\nloss of %zu choices: median %.1f%%, 95th percentile %.1f%%, most %.1f%%\n", count,
        100 * median, 100 * losses[(size_t)ceil((double)count * .95) - 1], 100 * losses[count - 1]);
}

static int tune_all(const cli_verb_t *verb, const tune_t *self, cli_measurer_t *measurer,
    const cli_layer_t *layers, size_t count, FILE *file) {
    static cli_candidates_t found; /* large, and the program has one thread */
    double *losses = cli_allocate((count + 1) * sizeof *losses);
    size_t measured = 0;
    int status = CLI_EXIT_OK;
    cli_json_t json = {file, false};
    cli_report_t report;
    cli_progress_t progress;
    cli_report_begin(&report, false);
    cli_progress_begin(&progress, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        char error[CLI_TEXT];
        const cli_measured_t done =
            cli_measure_candidates(measurer, &layers[i].shape, self->only, &found, error);
        if (done == CLI_MEASURED_NOT_SHAPE) {
            status = cli_usage_error(verb, "%s", error);
            break;
        }
        if (done != CLI_MEASURED) {
            cli_progress_hide(&progress);
            fprintf(stderr, "deepgemm tune: %s\n", error);
            status = CLI_EXIT_FAILED;
            if (done == CLI_MEASURED_GPU_FAILED) break;
            continue;
        }
        if (found.disagree) status = CLI_EXIT_FAILED;
        losses[measured++] = found.loss;
        if (file != NULL) write_json(&json, &found);
        if (self->explain)
            report_candidates(&report, &found);
        else
            report_choice(&report, &found);
        cli_progress_step(&progress, cli_family_name(found.shape.family));
    }
    cli_progress_end(&progress);
    cli_report_end(&report, !self->explain);
    print_losses(losses, measured);
    free(losses);
    return status;
}

static int complain(const char *text) {
    fprintf(stderr, "deepgemm tune: %s\n", text);
    return CLI_EXIT_FAILED;
}

static int open_and_tune(
    const cli_verb_t *verb, const tune_t *self, const cli_layer_t *layers, size_t count) {
    cli_measurer_t measurer;
    double empty_us;
    FILE *file = NULL;
    if (self->json != NULL && (file = fopen(self->json, "w")) == NULL) {
        fprintf(stderr, "deepgemm tune: %s: cannot be written\n", self->json);
        return CLI_EXIT_FAILED;
    }
    int status = CLI_EXIT_OK;
    if (!cli_measurer_open(&measurer, (int32_t)self->device, self->rounds, self->calls,
            (size_t)self->flush << 20, &empty_us))
        status = complain(dg_last_error());
    if (status == CLI_EXIT_OK) {
        printf("%s, deep_gemm %s: median of %" PRId64 " rounds of %" PRId64
               " calls with a cold cache; %.1f us of each are the two events\n\n",
            measurer.name, dg_version(), self->rounds, self->calls, empty_us);
        fflush(stdout);
        status = tune_all(verb, self, &measurer, layers, count, file);
    }
    cli_measurer_close(&measurer);
    if (file != NULL && fclose(file) != 0) status = complain("the JSON file could not be written");
    return status;
}

static int run(const cli_verb_t *verb, int argc, char **argv) {
    tune_t self = {.source = CLI_LAYER_SOURCE_INIT, .rounds = 3, .calls = 5, .flush = 512};
    const char *name;
    char error[CLI_TEXT];
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, &name);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    cli_layer_t *layers = NULL;
    size_t count = 0;
    const bool ok = cli_gather_layers(&self.source, name, &layers, &count, error);
    const int status =
        ok ? open_and_tune(verb, &self, layers, count) : cli_usage_error(verb, "%s", error);
    free(layers);
    return status;
}

static const cli_option_t options[] = {
    CLI_LAYER_SOURCE_OPTIONS,
    {"device", "N", "The GPU [0]."},
    {"only", "TEXT",
        "Time this specialisation alone, \"KERNEL FIELD=VALUE ...\"; it need not be in the "
        "catalogue."},
    {"rounds", "N", "Rounds, in which all candidates take turns [3]."},
    {"calls", "N", "Calls of a candidate in a round [5]."},
    {"flush", "N", "Megabytes that are written in front of each call, so that L2 is cold [512]."},
    {"explain", NULL,
        "A row for each candidate: * marks the one that the planner takes, ! the fastest."},
    {"json", "FILE", "Write all readings to FILE, one object a line for each shape."},
};

const cli_verb_t cli_tune = {
    .name = "tune",
    .operand = "FAMILY",
    .summary = "time all candidates of the planner on a GPU",
    .description =
        "Runs a product - gemm, m_grouped or k_grouped - with every entry of the kernel catalogue "
        "that can do it, and tells how much slower than the fastest the planner's choice is "
        "(loss). Operands are random; the cache is cold; the GPU rests between readings. Candidates "
        "that take 1.3 times as long as the fastest in a first reading are not measured again.\n"
        "\n"
        "The results of all candidates are compared on a sample: \"differs\" is 1 - 2xy / (xx + yy), "
        "and more than 1e-4 is a failure.",
    .examples =
        "deepgemm tune gemm --m 4096 --n 7168 --k 2048\n"
        "deepgemm tune k_grouped --groups 8 --m 4096 --n 7168 --k 32K --accumulate --explain\n"
        "deepgemm tune --file bench/shapes/gpu_dense.json --json readings.jsonl",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .more_options = cli_shape_options,
    .num_more_options = CLI_NUM_SHAPE_OPTIONS,
    .main = run,
};
