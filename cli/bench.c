/* SPDX-License-Identifier: MIT
 *
 * deepgemm bench: the shapes of bench/shapes, measured one after the other on this machine, with
 * OpenBLAS' single-precision product as the yardstick of products and memcpy as that of casts.
 */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "machine.h"
#include "measure.h"
#include "openblas.h"
#include "progress.h"
#include "result.h"
#include "shapes_file.h"
#include "verbs.h"

#define REFERENCE_WORK (INT64_C(1) << 22)
#define YARDSTICK 2048 /* extent of the square product */
#define COPY_BYTES ((size_t)64 << 20)

typedef struct bench_t {
    cli_settings_t settings;
    int64_t repeat;
    int64_t flush; /* MB written in front of each run */
    bool csv;
    const char *shapes; /* file or folder */
    double yardstick;   /* GFLOP/s of sgemm, NaN: none */
    double copy;        /* GB/s read and written by memcpy */
} bench_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    bench_t *self = target;
    bool known;
    if (strcmp(name, "shapes") == 0) {
        self->shapes = value;
        return true;
    }
    if (strcmp(name, "csv") == 0) {
        self->csv = true;
        return true;
    }
    if (strcmp(name, "repeat") == 0) {
        return cli_parse_integer(value, 1, 100000, &self->repeat, error);
    }
    if (strcmp(name, "flush") == 0) {
        return cli_parse_integer(value, 0, 65536, &self->flush, error);
    }
    return cli_settings_apply(&self->settings, name, value, &known, error);
}

static int select_cpu_shapes(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return strncmp(entry->d_name, "cpu_", 4) == 0 && length > 5 &&
           strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* The shapes of a file, or of the files cpu_*.json of a folder in the order of their names. */
static bool read_all(const char *path, cli_shape_t **shapes, size_t *count, char *error) {
    struct dirent **entries;
    const int found = scandir(path, &entries, select_cpu_shapes, alphasort);
    if (found < 0) return cli_read_shapes(path, CLI_NUM_FAMILIES, shapes, count, error);
    bool ok = true;
    for (int i = 0; i < found; i++) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        ok = ok && cli_read_shapes(name, CLI_NUM_FAMILIES, shapes, count, error);
        free(entries[i]);
    }
    free(entries);
    if (ok && *count == 0) {
        snprintf(error, CLI_TEXT, "%.200s: no files cpu_*.json", path);
        ok = false;
    }
    return ok;
}

typedef struct copy_t {
    char *from, *to; /* [COPY_BYTES] */
} copy_t;

static bool copy(void *self) {
    const copy_t *buffers = self;
    memcpy(buffers->to, buffers->from, COPY_BYTES);
    return true;
}

/* GB/s read and written by one thread that copies what no cache holds, at the least time. */
static double measure_copy(int64_t repeat) {
    copy_t buffers = {cli_allocate(COPY_BYTES), cli_allocate(COPY_BYTES)};
    memset(buffers.from, 1, COPY_BYTES);
    cli_times_t times = {0};
    cli_measure(copy, &buffers, &(cli_repeat_t){repeat, 0}, &times);
    free(buffers.from);
    free(buffers.to);
    return 2e-9 * (double)COPY_BYTES / times.least;
}

static void print_head(bench_t *self) {
    char model[128], date[64], note[160];
    double seconds = 0;
    cli_cpu_model(model, sizeof model);
    cli_date(date, sizeof date);
    self->yardstick = (double)NAN;
    if (cli_time_sgemm(
            YARDSTICK, self->settings.threads, self->repeat, &seconds, note, sizeof note)) {
        self->yardstick = 2e-9 * YARDSTICK * YARDSTICK * YARDSTICK / seconds;
    }
    self->copy = measure_copy(self->repeat);
    const char *isa = dg_cpu_isa_string(self->settings.isa);
    if (self->settings.json) {
        cli_json_t json = {stdout, false};
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "date", date);
        cli_json_text(&json, "version", dg_version());
        cli_json_text(&json, "cpu", model);
        cli_json_integer(&json, "cores", cli_count_cores());
        cli_json_integer(&json, "threads", self->settings.threads);
        cli_json_text(&json, "isa", isa);
        cli_json_integer(&json, "flush_mb", self->flush);
        cli_json_text(&json, "yardstick", note);
        cli_json_number(&json, "yardstick_gflop_per_s", self->yardstick);
        cli_json_number(&json, "memcpy_gb_per_s", self->copy);
        cli_json_close(&json, '}');
        cli_json_end_line(&json);
        return;
    }
    FILE *out = self->csv ? stderr : stdout; /* CSV is for other programs, and has no head */
    fprintf(out, "date       %s\n", date);
    fprintf(out, "library    deep_gemm %s\n", dg_version());
    fprintf(out, "processor  %s, %d cores\n", model, cli_count_cores());
    fprintf(out, "settings   %s, threads: %" PRId64 ", median of %" PRId64 " runs", isa,
        self->settings.threads, self->repeat);
    if (self->flush > 0) fprintf(out, ", %" PRId64 " MB written in front of each", self->flush);
    fprintf(out, "\nyardstick  %s", note);
    if (isfinite(self->yardstick))
        fprintf(out, ": %d^3 at %.1f GFLOP/s", YARDSTICK, self->yardstick);
    fprintf(out, "\nmemcpy     %.1f GB/s read and written by one thread\n\n", self->copy);
    fflush(out);
}

static int bench_all(bench_t *self, const cli_shape_t *shapes, size_t count, dg_context_t *ctx) {
    int status = CLI_EXIT_OK;
    print_head(self);
    cli_report_t report;
    cli_report_begin(&report, self->settings.json);
    report.as_csv = self->csv;
    const cli_repeat_t repeat = {self->repeat, self->flush * 1000000};
    cli_progress_t progress;
    cli_progress_begin(&progress, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        cli_result_t result;
        char error[CLI_TEXT];
        if (cli_run_shape(&shapes[i], ctx, &repeat, REFERENCE_WORK, &result, error) != CLI_RAN) {
            cli_progress_hide(&progress);
            fprintf(stderr, "deepgemm bench: %s\n", error);
            status = CLI_EXIT_FAILED;
            continue;
        }
        if (result.verdict.why[0] != 0) status = CLI_EXIT_FAILED;
        cli_report_result(&report, &result, self->yardstick);
        cli_report_end_row(&report);
        cli_progress_step(&progress, cli_family_name(result.shape.family));
    }
    cli_progress_end(&progress);
    cli_report_end(&report, false);
    return status;
}

static int bench(const cli_verb_t *verb, int argc, char **argv) {
    bench_t self = {.repeat = 5};
    char error[CLI_TEXT];
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, NULL);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    if (self.shapes == NULL) {
        self.shapes = access("bench/shapes", R_OK) == 0 ? "bench/shapes" : CLI_SHAPES_DIR;
    }
    cli_shape_t *shapes = NULL;
    size_t count = 0;
    int status = CLI_EXIT_FAILED;
    if (self.csv && self.settings.json) {
        return cli_usage_error(verb, "--csv and --json: expected one of them");
    }
    if (!read_all(self.shapes, &shapes, &count, error)) {
        fprintf(stderr, "deepgemm bench: %s\n", error);
    } else {
        dg_context_t *ctx = cli_settings_open(&self.settings, verb);
        if (ctx != NULL) status = bench_all(&self, shapes, count, ctx);
        dg_context_destroy(ctx);
    }
    free(shapes);
    return status;
}

static const cli_option_t options[] = {
    {"shapes", "PATH",
        "A shapes file, or a folder whose files cpu_*.json are read [bench/shapes, "
        "else the installed ones]."},
    {"repeat", "N", "Measured runs of each shape, after one to warm up [5]."},
    {"flush", "MB",
        "Megabytes written in front of each run, so that caches hold nothing of it; 0: caches stay "
        "warm [0]."},
    {"csv", NULL, "Print comma-separated values; what it ran on goes to the error stream."},
    CLI_SETTINGS_OPTIONS,
};

const cli_verb_t cli_bench = {
    .name = "bench",
    .summary = "measure the shapes of bench/shapes on this machine",
    .description =
        "Measures each shape as deepgemm run does and prints what it ran on: date, processor, "
        "instruction set, threads. Where OpenBLAS is installed, rates are also given as a share of "
        "that of its single-precision product of 2048 x 2048 matrices, measured in the same run "
        "with the same number of threads; least times on both sides.",
    .examples = "deepgemm bench\n"
                "deepgemm bench --shapes my_shapes.json --threads 1 --json",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .main = bench,
};
