/* SPDX-License-Identifier: MIT
 *
 * deepgemm cache: which compiled kernels there are, whether they are good, and moving them about.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "deep_gemm/deep_gemm.h"
#include "report.h"
#include "verbs.h"

typedef struct cache_t {
    const char *file;
    int64_t max_mib; /* -1: the folder's bound */
    bool json, all;

    cli_report_t report;
    int32_t kernels, bad;
    int64_t bytes;
} cache_t;

static bool apply(void *target, const char *name, const char *value, char *error) {
    cache_t *self = target;
    if (strcmp(name, "max-mib") == 0)
        return cli_parse_integer(value, 0, INT32_MAX, &self->max_mib, error);
    if (strcmp(name, "file") == 0) self->file = value;
    if (strcmp(name, "json") == 0) self->json = true;
    if (strcmp(name, "embedded") == 0) self->all = true;
    return true;
}

static const char *origin_name(dg_kernel_origin_t origin) {
    return origin == DG_KERNEL_EMBEDDED ? "embedded"
           : origin == DG_KERNEL_CACHED ? "cached"
                                        : "system";
}

static void show(void *user, const dg_kernel_info_t *kernel) {
    cache_t *self = user;
    char used[32] = "";
    const time_t seconds = (time_t)kernel->last_used;
    struct tm day;
    if (seconds != 0 && gmtime_r(&seconds, &day) != NULL)
        strftime(used, sizeof used, "%Y-%m-%d", &day);
    self->kernels++;
    self->bad += kernel->fault != NULL;
    self->bytes += kernel->bytes;
    cli_report_text(&self->report, "origin", "origin", origin_name(kernel->origin));
    cli_report_text(&self->report, "target", "target", kernel->target);
    cli_report_text(&self->report, "compiler", "compiler", kernel->compiler);
    cli_report_integer(&self->report, "bytes", "bytes", kernel->bytes);
    cli_report_text(&self->report, "last_used", "last used", used);
    if (self->json) {
        cli_report_text(&self->report, "path", "path", kernel->path);
        cli_report_text(&self->report, "fault", "fault", kernel->fault);
        cli_report_text(&self->report, "kernel", "kernel", kernel->name);
    } else {
        char text[1400];
        snprintf(text, sizeof text, "%s%s%s", kernel->fault != NULL ? kernel->fault : kernel->name,
            kernel->fault != NULL ? ": " : "", kernel->fault != NULL ? kernel->path : "");
        cli_report_text(&self->report, "kernel", "kernel", text);
    }
    cli_report_end_row(&self->report);
}

static void judge(void *user, const dg_kernel_info_t *kernel) {
    cache_t *self = user;
    self->kernels++;
    if (kernel->fault == NULL) return;
    self->bad++;
    if (!self->json) printf("%s: %s\n", kernel->path, kernel->fault);
}

static int fail(void) {
    fprintf(stderr, "deepgemm cache: %s\n", dg_last_error());
    return CLI_EXIT_FAILED;
}

/* One line: a count of each kind, for people or as JSON. */
static void print_counts(bool as_json, const char *key, int32_t count, int32_t bad) {
    if (as_json) {
        cli_json_t json = {stdout, false};
        cli_json_open(&json, NULL, '{');
        cli_json_integer(&json, key, count);
        if (bad >= 0) cli_json_integer(&json, "bad", bad);
        cli_json_close(&json, '}');
        cli_json_end_line(&json);
    } else if (bad >= 0) {
        printf("%d kernels, %d bad\n", (int)count, (int)bad);
    } else {
        printf("%d kernels %s\n", (int)count, key);
    }
}

static int list(cache_t *self) {
    dg_kernel_cache_t cache = DG_KERNEL_CACHE_INIT;
    const int32_t files = DG_KERNEL_CACHED | DG_KERNEL_SYSTEM;
    if (dg_describe_kernel_cache(&cache) != DG_STATUS_OK) return fail();
    cli_report_begin(&self->report, self->json);
    if (dg_list_kernels(self->all ? files | DG_KERNEL_EMBEDDED : files, show, self) != DG_STATUS_OK)
        return fail();
    cli_report_end(&self->report, false);
    if (self->json) return CLI_EXIT_OK;
    printf("%d kernels, %.1f MiB, in %s%s; at most %lld MiB\n", (int)self->kernels,
        (double)self->bytes / 1048576.0, cache.folder[0] != '\0' ? cache.folder : "no folder",
        cache.writable ? "" : " (cannot be written)", (long long)(cache.max_bytes >> 20));
    return CLI_EXIT_OK;
}

static int verify(cache_t *self) {
    const int32_t files = DG_KERNEL_CACHED | DG_KERNEL_SYSTEM;
    if (dg_list_kernels(files, judge, self) != DG_STATUS_OK) return fail();
    print_counts(self->json, "kernels", self->kernels, self->bad);
    return self->bad > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int prune(cache_t *self) {
    int32_t count = 0;
    const int64_t bytes = self->max_mib < 0 ? -1 : self->max_mib << 20;
    if (dg_prune_kernel_cache(bytes, &count) != DG_STATUS_OK) return fail();
    print_counts(self->json, "removed", count, -1);
    return CLI_EXIT_OK;
}

static int carry(cache_t *self, bool out) {
    int32_t count = 0;
    const dg_status_t status =
        out ? dg_export_kernels(self->file, &count) : dg_import_kernels(self->file, &count);
    if (status != DG_STATUS_OK) return fail();
    print_counts(self->json, out ? "exported" : "imported", count, -1);
    return CLI_EXIT_OK;
}

static int cache(const cli_verb_t *verb, int argc, char **argv) {
    static const char *const actions[] = {"list", "verify", "prune", "export", "import"};
    cache_t self = {.max_mib = -1};
    const char *word = NULL;
    int action = 0;
    char error[CLI_TEXT];
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &self, &word);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    if (word == NULL) return cli_usage_error(verb, "ACTION is missing");
    if (!cli_parse_choice(word, actions, sizeof actions / sizeof actions[0], &action, error))
        return cli_usage_error(verb, "action %s: %s", word, error);
    if (action >= 3 && self.file == NULL)
        return cli_usage_error(verb, "%s: --file FILE is missing", word);
    switch (action) {
    case 0: return list(&self);
    case 1: return verify(&self);
    case 2: return prune(&self);
    default: return carry(&self, action == 3);
    }
}

static const cli_option_t options[] = {
    {"embedded", NULL, "list: also the kernels inside the library."},
    {"max-mib", "N",
        "prune: remove what was not used for longest until N MiB are left. Default: the bound of "
        "the folder, DG_JIT_CACHE_MB; 0 removes everything."},
    {"file", "FILE", "export, import: the archive."},
    {"json", NULL, "Print JSON, one object a line."},
};

const cli_verb_t cli_cache = {
    .name = "cache",
    .operand = "ACTION",
    .summary = "list, verify, prune, export or import compiled kernels",
    .description =
        "list shows the kernels that were compiled on this machine and those of the system's "
        "folder. verify checks each against its checksum and fails if one is bad. prune removes "
        "bad files, what crashes left behind, and old kernels. export writes all good kernels into "
        "one file, import takes them from it: so a machine without a compiler has them.",
    .examples = "deepgemm cache list\n"
                "deepgemm cache export --file kernels.dga\n"
                "deepgemm cache prune --max-mib 0\n",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .main = cache,
};
