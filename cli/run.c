/* SPDX-License-Identifier: MIT
 *
 * deepgemm run: one shape, or those of a file, measured and compared with the FP64 reference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "machine.h"
#include "result.h"
#include "shapes_file.h"
#include "verbs.h"

#define REFERENCE_WORK (INT64_C(1) << 24) /* products: about a second */

typedef struct run_t {
    cli_shape_t shape;
    cli_settings_t settings;
    int64_t repeat;
    const char *file;
    bool shaped; /* an option of the shape was given */
} run_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    run_t *self = target;
    bool known;
    if (strcmp(name, "repeat") == 0) {
        return cli_parse_integer(value, 1, 100000, &self->repeat, error);
    }
    if (strcmp(name, "file") == 0) {
        self->file = value;
        return true;
    }
    const bool ok = cli_settings_apply(&self->settings, name, value, &known, error);
    if (known) return ok;
    self->shaped = true;
    return cli_shape_set(&self->shape, name, value, &known, error);
}

static void print_machine(const cli_settings_t *settings, int64_t repeat) {
    char model[128];
    cli_cpu_model(model, sizeof model);
    printf("%s, %s, threads: %" PRId64 ", repeats: %" PRId64 "\n\n", model,
        dg_cpu_isa_string(settings->isa), settings->threads, repeat);
}

static int run_all(const cli_verb_t *verb, const run_t *self, const cli_shape_t *shapes,
    size_t count, dg_context_t *ctx) {
    int status = CLI_EXIT_OK;
    cli_report_t report;
    cli_report_begin(&report, self->settings.json);
    for (size_t i = 0; i < count; i++) {
        cli_result_t result;
        char error[CLI_TEXT];
        const cli_repeat_t repeat = {self->repeat, 0};
        const cli_ran_t ran =
            cli_run_shape(&shapes[i], ctx, &repeat, REFERENCE_WORK, &result, error);
        if (ran == CLI_RAN_NOT_SHAPE) {
            status = cli_usage_error(verb, "%s", error);
        } else if (ran == CLI_RAN_NOT_LIBRARY) {
            fprintf(stderr, "deepgemm run: %s\n", error);
            if (status == CLI_EXIT_OK) status = CLI_EXIT_FAILED;
        } else {
            if (result.verdict.why[0] != 0 && status == CLI_EXIT_OK) status = CLI_EXIT_FAILED;
            cli_report_result(&report, &result, 0);
            if (self->settings.json) {
                char command[CLI_COMMAND];
                cli_shape_command(&shapes[i], command, sizeof command);
                cli_report_text(&report, "command", "", command);
                cli_report_text(&report, "isa", "", dg_cpu_isa_string(self->settings.isa));
                cli_report_integer(&report, "threads", "", self->settings.threads);
                cli_report_integer(&report, "repeat", "", self->repeat);
            }
            cli_report_end_row(&report);
        }
    }
    if (report.num_cells > 0) print_machine(&self->settings, self->repeat);
    cli_report_end(&report, true);
    return status;
}

static int run(const cli_verb_t *verb, int argc, char **argv) {
    run_t self = {.shape = cli_shape_init(CLI_GEMM), .repeat = 10};
    const char *name;
    char error[CLI_TEXT];
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, &name);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    cli_family_t family = CLI_NUM_FAMILIES;
    if (name != NULL && !cli_parse_family(name, &family, error)) {
        return cli_usage_error(verb, "family %s: %s", name, error);
    }
    if (name == NULL && self.file == NULL) return cli_usage_error(verb, "FAMILY is missing");
    if (self.file != NULL && self.shaped) {
        return cli_usage_error(verb, "--file does not go with options of a shape");
    }

    cli_shape_t *shapes = NULL;
    size_t count = 0;
    if (self.file != NULL) {
        if (!cli_read_shapes(self.file, family, &shapes, &count, error)) {
            free(shapes);
            return cli_usage_error(verb, "%s", error);
        }
    } else {
        self.shape.family = family;
        shapes = cli_allocate(sizeof *shapes);
        shapes[count++] = self.shape;
    }
    int status = CLI_EXIT_FAILED;
    dg_context_t *ctx = cli_settings_open(&self.settings, verb);
    if (ctx != NULL) {
        status = run_all(verb, &self, shapes, count, ctx);
        dg_context_destroy(ctx);
    }
    free(shapes);
    return status;
}

static const cli_option_t options[] = {
    {"file", "FILE",
        "Take the shapes from a JSON file: an array of objects with the keys of the "
        "shape options and \"family\"."},
    {"repeat", "N", "Measured runs, after one to warm up [10]."},
    CLI_SETTINGS_OPTIONS,
};

const cli_verb_t cli_run = {
    .name = "run",
    .operand = "FAMILY",
    .summary = "measure one call and its error against FP64",
    .description =
        "Builds a random problem of a family - gemm, m_grouped, k_grouped, cast, scale_layout or permute - "
        "runs it and tells the time (median and minimum of the repeats), the rate of operations "
        "and of bytes, and the error.\n"
        "\n"
        "err/bound is the largest error over its bound, which is 2^-8 (BF16 output) or 2^-23 (F32) "
        "of the exact result and 2^-20 of the sum of its products' magnitudes: at most 1 passes. "
        "calc_diff is 1 - 2xy / (xx + yy) over the checked elements; large problems are checked on "
        "a sample. Casts and layouts are checked bit for bit.",
    .examples = "deepgemm run gemm --m 2048 --n 2048 --k 2048\n"
                "deepgemm run m_grouped --sizes 100,0,28 --dtype fp8xfp4 --scale ue8m0\n"
                "deepgemm run k_grouped --groups 8 --k 4K --sizes random --accumulate\n"
                "deepgemm run --file shapes.json --json",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .more_options = cli_shape_options,
    .num_more_options = CLI_NUM_SHAPE_OPTIONS,
    .main = run,
};
