/* SPDX-License-Identifier: MIT
 *
 * deepgemm plan: what a GPU would run for a shape, for those of a file or for those of a model, and
 * how long that should take. Needs no GPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "layers.h"
#include "plan_arguments.h"
#include "report.h"
#include "verbs.h"

typedef struct plan_t {
    cli_layer_source_t source;
    const char *machine, *only;
    int64_t sms, rows_to;
    bool batch_invariant, explain, kernels, machines, json;
} plan_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    plan_t *self = target;
    const struct {
        const char *name;
        const char **text;
        bool *flag;
    } plain[] = {
        {"machine", &self->machine, NULL},
        {"only", &self->only, NULL},
        {"batch-invariant", NULL, &self->batch_invariant},
        {"explain", NULL, &self->explain},
        {"kernels", NULL, &self->kernels},
        {"machines", NULL, &self->machines},
        {"json", NULL, &self->json},
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(name, plain[i].name) != 0) continue;
        if (plain[i].text != NULL) *plain[i].text = value;
        if (plain[i].flag != NULL) *plain[i].flag = true;
        return true;
    }
    if (strcmp(name, "sms") == 0) return cli_parse_integer(value, 1, 65535, &self->sms, error);
    if (strcmp(name, "rows-to") == 0)
        return cli_parse_integer(value, 1, INT64_C(1) << 24, &self->rows_to, error);
    bool known;
    return cli_layer_source_set(&self->source, name, value, &known, error);
}

static void print_machines(bool json) {
    dg_plan_machine_t machine = {.struct_size = sizeof machine};
    cli_report_t report;
    cli_report_begin(&report, json);
    for (int32_t i = 0; dg_plan_machine(i, &machine) == DG_STATUS_OK; i++) {
        cli_report_text(&report, "machine", "machine", machine.name);
        cli_report_integer(&report, "architecture", "sm", machine.architecture);
        cli_report_integer(&report, "sms", "SMs", machine.sms);
        cli_report_integer(&report, "shared_bytes", "shared bytes", machine.shared_bytes);
        cli_report_number(&report, "clock_mhz", "MHz under load", machine.clock_mhz, 4);
        cli_report_number(
            &report, "memory_gb_per_s", "GB/s copied", machine.memory_bytes_per_us * 1e-3, 4);
        cli_report_end_row(&report);
    }
    cli_report_end(&report, false);
}

static void report_shape(
    cli_report_t *report, const cli_layer_t *layer, const cli_plan_arguments_t *arguments) {
    char extents[CLI_TEXT], kind[CLI_TEXT];
    cli_shape_describe(&arguments->shape, extents, sizeof extents);
    cli_shape_kind(&arguments->shape, kind, sizeof kind);
    if (layer->name[0] != 0) cli_report_text(report, "layer", "layer", layer->name);
    cli_report_text(report, "family", "family", cli_family_name(arguments->shape.family));
    cli_report_text(report, "kind", "kind", kind);
    cli_report_text(report, "shape", "shape", extents);
}

static void report_plan(cli_report_t *report, const cli_layer_t *layer,
    const cli_plan_arguments_t *arguments, const dg_plan_info_t *info) {
    const bool any = info->stage_count > 0;
    const dg_plan_stage_info_t none = {.kernel = "", .specialisation = ""};
    const dg_plan_stage_info_t *last = any ? &info->stage[info->stage_count - 1] : &none;
    char tile[64];
    snprintf(tile, sizeof tile, "%dx%d", (int)info->block_m, (int)info->block_n);
    report_shape(report, layer, arguments);
    cli_report_text(report, "kernel", "kernel", any ? info->kernel : "nothing to do");
    cli_report_text(report, "tile", "tile", tile);
    cli_report_integer(report, "grid", "grid", last->grid);
    cli_report_integer(report, "cluster", "cluster", last->cluster);
    cli_report_integer(report, "launches", "launches", info->stage_count);
    cli_report_number(report, "us", "us", info->us, 4);
    cli_report_number(
        report, "tflop_per_s", "TFLOP/s", any ? arguments->flop / info->us * 1e-6 : 0, 4);
    cli_report_number(report, "runner_up_us", "next us", info->runner_up_us, 4);
    if (!report->as_json) return;
    cli_report_text(report, "specialisation", "", last->specialisation);
    cli_report_text(report, "runner_up", "", info->runner_up);
    cli_report_integer(report, "threads", "", last->threads);
    cli_report_integer(report, "shared_bytes", "", last->shared_bytes);
    cli_report_integer(report, "workspace", "", (int64_t)info->workspace);
    cli_report_text(report, "machine", "", info->machine);
    char command[CLI_COMMAND];
    cli_shape_command(&arguments->shape, command, sizeof command);
    cli_report_text(report, "command", "", command);
}

/* The candidates of one shape as rows. */
typedef struct explain_t {
    cli_report_t *report;
    const cli_layer_t *layer;
    const cli_plan_arguments_t *arguments;
    const char *chosen; /* specialisation */
} explain_t;

static void report_candidate(void *user, const dg_plan_candidate_t *candidate) {
    const explain_t *self = user;
    /* entries for other work than this would hide those that count from people */
    if (!self->report->as_json && candidate->refusal != NULL && candidate->specialisation != NULL)
        return;
    const char *text = candidate->specialisation, *blank = text ? strchr(text, ' ') : NULL;
    report_shape(self->report, self->layer, self->arguments);
    cli_report_text(
        self->report, "chosen", "", text != NULL && strcmp(text, self->chosen) == 0 ? "*" : "");
    cli_report_text(self->report, "kernel", "kernel", candidate->kernel);
    if (candidate->refusal != NULL)
        cli_report_text(self->report, "us", "us", "-");
    else
        cli_report_number(self->report, "us", "us", candidate->us, 4);
    cli_report_text(self->report, "specialisation", "specialisation", blank ? blank + 1 : "");
    cli_report_text(self->report, "refusal", "but", candidate->refusal ? candidate->refusal : "");
    cli_report_end_row(self->report);
}

/* Text of a specialisation on a line of its own, as a file of kernels has it. */
static void print_kernel(void *user, const char *specialisation) {
    (void)user;
    printf("%s\n", specialisation);
}

static int complain(void) {
    fprintf(stderr, "deepgemm plan: %s\n", dg_last_error());
    return CLI_EXIT_FAILED;
}

static int plan_layer(const cli_verb_t *verb, const plan_t *self, dg_context_t *ctx,
    const cli_layer_t *layer, cli_report_t *report) {
    static cli_plan_arguments_t arguments; /* large, and the program has one thread */
    dg_plan_query_t query = DG_PLAN_QUERY_INIT;
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    char error[CLI_TEXT];
    if (!cli_make_plan_arguments(&layer->shape, &arguments, error))
        return cli_usage_error(verb, "%s", error);
    query.machine = self->machine;
    query.only = self->only;
    if (cli_plan_arguments(ctx, &arguments, &query, &info) != DG_STATUS_OK) return complain();
    if (!self->explain) {
        report_plan(report, layer, &arguments, &info);
        cli_report_end_row(report);
        return CLI_EXIT_OK;
    }
    explain_t explain = {report, layer, &arguments,
        info.stage_count > 0 ? info.stage[info.stage_count - 1].specialisation : ""};
    query.candidate = report_candidate;
    query.user = &explain;
    return cli_plan_arguments(ctx, &arguments, &query, &info) == DG_STATUS_OK ? CLI_EXIT_OK
                                                                              : complain();
}

/* Each kernel that the layers need, once. */
static int list_kernels(const cli_verb_t *verb, const plan_t *self, dg_context_t *ctx,
    const cli_layer_t *layers, size_t count) {
    cli_plan_arguments_t *arguments = cli_allocate(count * sizeof *arguments);
    dg_plan_request_t *requests = cli_allocate(count * sizeof *requests);
    dg_plan_query_t query = DG_PLAN_QUERY_INIT;
    int status = CLI_EXIT_OK;
    query.machine = self->machine;
    query.only = self->only;
    for (size_t i = 0; i < count && status == CLI_EXIT_OK; i++) {
        char error[CLI_TEXT];
        if (!cli_make_plan_arguments(&layers[i].shape, &arguments[i], error))
            status = cli_usage_error(verb, "%s", error);
        requests[i] = arguments[i].request;
        requests[i].rows_from = self->rows_to > 0 ? 1 : 0;
        requests[i].rows_to = self->rows_to;
    }
    if (status == CLI_EXIT_OK && dg_plan_enumerate(ctx, requests, (int32_t)count, &query,
                                     print_kernel, NULL) != DG_STATUS_OK)
        status = complain();
    free(requests);
    free(arguments);
    return status;
}

static int plan_all(
    const cli_verb_t *verb, const plan_t *self, const cli_layer_t *layers, size_t count) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_context_t *ctx;
    int status = CLI_EXIT_OK;
    options.num_sms = (int32_t)self->sms;
    if (self->batch_invariant) options.batch_invariant = DG_ON;
    if (dg_context_create(&ctx, &options) != DG_STATUS_OK) return complain();
    if (self->kernels) {
        status = list_kernels(verb, self, ctx, layers, count);
    } else {
        cli_report_t report;
        cli_report_begin(&report, self->json);
        for (size_t i = 0; i < count; i++) {
            const int one = plan_layer(verb, self, ctx, &layers[i], &report);
            if (status == CLI_EXIT_OK) status = one;
        }
        cli_report_end(&report, !self->explain);
    }
    dg_context_destroy(ctx);
    return status;
}

static int run(const cli_verb_t *verb, int argc, char **argv) {
    plan_t self = {.source = CLI_LAYER_SOURCE_INIT};
    const char *name;
    char error[CLI_TEXT];
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, &name);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    if (self.machines) {
        print_machines(self.json);
        return CLI_EXIT_OK;
    }
    cli_layer_t *layers = NULL;
    size_t count = 0;
    const bool ok = cli_gather_layers(&self.source, name, &layers, &count, error);
    const int status =
        ok ? plan_all(verb, &self, layers, count) : cli_usage_error(verb, "%s", error);
    free(layers);
    return status;
}

static const cli_option_t options[] = {
    {"machine", "NAME", "The GPU to plan for, such as H200 [the first GPU of this machine]."},
    CLI_LAYER_SOURCE_OPTIONS,
    {"sms", "N", "SMs that a kernel may fill [all]."},
    {"batch-invariant", NULL, "Plan so that a row's bits do not depend on the number of rows."},
    {"only", "TEXT", "Plan with this specialisation alone, \"KERNEL FIELD=VALUE ...\"."},
    {"explain", NULL,
        "List the candidates with their predictions, * the one that is taken, and kernels that do "
        "not take this with their reason. JSON has the entries that are for other work too."},
    {"kernels", NULL, "List the kernels that are needed, a line each, and nothing else."},
    {"rows-to", "N", "With --kernels: for each number of rows (tokens) from 1 to N."},
    {"machines", NULL, "List the GPUs that can be named."},
    {"json", NULL, "Print JSON, one object a line."},
};

const cli_verb_t cli_plan = {
    .name = "plan",
    .operand = "FAMILY",
    .summary = "which kernel a GPU would run, without a GPU",
    .description =
        "Tells for a product - gemm, m_grouped or k_grouped - which kernel would run on a GPU, with "
        "which tile of d, how many CTAs and launches, and the predicted time and rate; \"next us\" "
        "is the best candidate that was not taken. Operands and factors are taken to be aligned, "
        "factors of single rows to lie M-major.\n"
        "\n"
        "A prediction is made from measurements on an H200. It ranks candidates; with a GPU at hand, "
        "deepgemm bench tells what is true.",
    .examples =
        "deepgemm plan gemm --m 4096 --n 7168 --k 2048 --machine H200\n"
        "deepgemm plan k_grouped --groups 8 --m 4096 --n 7168 --k 32K --accumulate --machine "
        "H200 --explain\n"
        "deepgemm plan --model config.json --tokens 8192 --training --machine H200\n"
        "deepgemm plan gemm --n 2112 --k 7168 --kernels --rows-to 8192 --machine H200",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .more_options = cli_shape_options,
    .num_more_options = CLI_NUM_SHAPE_OPTIONS,
    .main = run,
};
