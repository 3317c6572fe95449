/* SPDX-License-Identifier: MIT
 *
 * deepgemm compile: has kernels ready before they are needed, on a machine with or without a GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deep_gemm/deep_gemm.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

#define MAX_LINE 1024

typedef struct compile_t {
    int64_t architecture, threads;
    bool again, json;
    const char *list; /* file of names */

    char **kernels; /* [count] names, owned; NULL: the catalogue */
    int32_t count, room;

    cli_progress_t progress;
    cli_report_t report;
    int32_t made, ready, failed;
} compile_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    compile_t *self = target;
    if (strcmp(name, "arch") == 0)
        return cli_parse_integer(value, 80, 999, &self->architecture, error);
    if (strcmp(name, "threads") == 0) return cli_parse_integer(value, 1, 64, &self->threads, error);
    if (strcmp(name, "list") == 0) self->list = value;
    if (strcmp(name, "again") == 0) self->again = true;
    if (strcmp(name, "json") == 0) self->json = true;
    return true;
}

static bool add_kernel(compile_t *self, const char *name) {
    if (self->count == self->room) {
        const int32_t room = 2 * self->room + 16;
        char **larger = realloc(self->kernels, (size_t)room * sizeof *larger);
        if (larger == NULL) return false;
        self->kernels = larger;
        self->room = room;
    }
    self->kernels[self->count] = strdup(name);
    return self->kernels[self->count++] != NULL;
}

/* The lines of a file that are neither empty nor comments. */
static int read_list(compile_t *self, const cli_verb_t *verb) {
    FILE *file = strcmp(self->list, "-") == 0 ? stdin : fopen(self->list, "r");
    if (file == NULL) return cli_usage_error(verb, "--list %s cannot be opened", self->list);
    char line[MAX_LINE];
    bool good = true;
    while (good && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " \t")] != '\0') good = add_kernel(self, line + strspn(line, " \t"));
    }
    if (file != stdin) fclose(file);
    if (!good) fprintf(stderr, "deepgemm compile: no memory for the list\n");
    return good ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static void take_result(void *user, int32_t done, int32_t total, const char *name,
    dg_kernel_origin_t origin, const char *error) {
    compile_t *self = user;
    const char *result = error != NULL                  ? "failed"
                         : origin == DG_KERNEL_COMPILED ? "compiled"
                         : origin == DG_KERNEL_EMBEDDED ? "embedded"
                                                        : "cached";
    if (done == 1) cli_progress_begin(&self->progress, total);
    cli_progress_step(&self->progress, name);
    if (error != NULL) {
        self->failed++;
    } else if (origin == DG_KERNEL_COMPILED) {
        self->made++;
    } else {
        self->ready++;
    }
    cli_report_text(&self->report, "result", "result", result);
    cli_report_text(&self->report, "kernel", "kernel", name);
    if (self->json) cli_report_text(&self->report, "error", "error", error);
    cli_report_end_row(&self->report);
    if (error != NULL && !self->json) {
        cli_progress_hide(&self->progress);
        fprintf(stderr, "deepgemm compile: %s\n", error);
    }
}

static void free_kernels(compile_t *self) {
    for (int32_t i = 0; i < self->count; i++) free(self->kernels[i]);
    free(self->kernels);
}

static int compile(const cli_verb_t *verb, int argc, char **argv) {
    compile_t self = {.architecture = 0};
    const char *kernel = NULL;
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, &kernel);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    if (self.list != NULL) {
        const int status = read_list(&self, verb);
        if (status != CLI_EXIT_OK) {
            free_kernels(&self);
            return status;
        }
    }
    if (kernel != NULL && !add_kernel(&self, kernel)) {
        free_kernels(&self);
        return CLI_EXIT_FAILED;
    }

    dg_compile_args_t args = DG_COMPILE_ARGS_INIT;
    args.kernels = (const char *const *)self.kernels;
    args.count = self.count;
    args.architecture = (int32_t)self.architecture;
    args.num_threads = (int32_t)self.threads;
    args.again = self.again;
    args.progress = take_result;
    args.user = &self;
    cli_report_begin(&self.report, self.json);
    const dg_status_t status = dg_compile_kernels(NULL, &args);
    cli_progress_end(&self.progress);
    cli_report_end(&self.report, false);
    if (status != DG_STATUS_OK && self.failed == 0)
        fprintf(stderr, "deepgemm compile: %s\n", dg_last_error());
    if (!self.json)
        printf("%d compiled, %d ready before, %d failed\n", (int)self.made, (int)self.ready,
            (int)self.failed);
    free_kernels(&self);
    return status == DG_STATUS_OK ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static const cli_option_t options[] = {
    {"arch", "N",
        "Compute capability to compile for, without its point: 80, 86, 89, 90 (default), 120."},
    {"list", "FILE", "Compile the kernels named in FILE, one a line; - reads standard input."},
    {"threads", "N", "Compilations at a time, 1 to 64. Default: one for each core."},
    {"again", NULL, "Compile also what is embedded in the library or in the cache."},
    {"json", NULL, "Print one JSON object a line instead of a table."},
};

const cli_verb_t cli_compile = {
    .name = "compile",
    .operand = "[KERNEL]",
    .summary = "compile kernels before they are needed",
    .description =
        "Has kernels ready on disk. Without KERNEL and --list: the whole catalogue, as far as the "
        "architecture can run it; what is embedded in the library or cached already is left alone. "
        "KERNEL is a name with its macros, in quotes, as deepgemm cache list and deepgemm plan "
        "print them. Needs NVRTC or nvcc, but no GPU.",
    .examples =
        "deepgemm compile --arch 120\n"
        "deepgemm plan --model config.json --machine H200 --kernels | deepgemm compile --list "
        "-\n",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .main = compile,
};
