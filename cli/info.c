/* SPDX-License-Identifier: MIT
 *
 * deepgemm info: what this library is, what this machine has, and which environment variables are
 * in effect.
 */
#include <stdio.h>
#include <string.h>

#include "deep_gemm/deep_gemm.h"
#include "json.h"
#include "machine.h"
#include "options.h"
#include "verbs.h"

#define MAX_GPUS 16
#define MAX_FEATURES 16

typedef struct facts_t {
    char cpu[128], gpu_note[512];
    const char *features[MAX_FEATURES];
    size_t num_features;
    dg_device_info_t gpus[MAX_GPUS];
    size_t num_gpus;
    dg_context_options_t options; /* of the default context */
    dg_kernel_cache_t kernels;
} facts_t;

/* gpu_note: why there are none, or which driver told. */
static void find_gpus(facts_t *facts) {
    int32_t count = 0;
    dg_status_t status = dg_device_count(&count);
    for (int32_t i = 0; status == DG_STATUS_OK && i < count && i < MAX_GPUS; i++) {
        facts->gpus[i] = (dg_device_info_t)DG_DEVICE_INFO_INIT;
        status = dg_device_get_info((dg_device_t){DG_DEVICE_CUDA, i}, &facts->gpus[i]);
        if (status == DG_STATUS_OK) facts->num_gpus++;
    }
    if (status != DG_STATUS_OK) {
        snprintf(facts->gpu_note, sizeof facts->gpu_note, "%s", dg_last_error());
    } else {
        const int version = facts->gpus[0].driver_version;
        snprintf(facts->gpu_note, sizeof facts->gpu_note, "driver for CUDA %d.%d", version / 1000,
            version % 1000 / 10);
    }
}

static bool apply(void *target, const char *name, const char *value, char *error) {
    (void)name, (void)value, (void)error; /* --json is the only option */
    *(bool *)target = true;
    return true;
}

static void print_kernels(const dg_kernel_cache_t *kernels) {
    printf("\nKernels\n");
    if (kernels->embedded > 0) {
        printf("    built in          %d, by %s\n", (int)kernels->embedded, kernels->embedded_by);
    } else {
        printf("    built in          none: there was no compiler when the library was built\n");
    }
    printf("    cache             %s%s\n",
        kernels->folder[0] != '\0' ? kernels->folder : "none, in memory only",
        kernels->writable || kernels->folder[0] == '\0' ? "" : " (cannot be written)");
    printf("    compiler          %s%s\n", kernels->compiler[0] != '\0' ? "" : "none: ",
        kernels->compiler[0] != '\0' ? kernels->compiler : kernels->no_compiler);
}

static void print_text(const facts_t *facts) {
    printf("Library\n");
    printf("    version           %s (headers %s)\n", dg_version(), DG_VERSION_STRING);
    printf("\nProcessor\n");
    printf("    model             %s\n", facts->cpu);
    printf("    cores             %d\n", cli_count_cores());
    printf("    features         ");
    for (size_t i = 0; i < facts->num_features; i++) printf(" %s", facts->features[i]);
    printf("%s\n", facts->num_features == 0 ? " none known" : "");
    printf("    instruction sets ");
    for (int isa = DG_CPU_ISA_PORTABLE; isa <= DG_CPU_ISA_NEON; isa++) {
        if (dg_cpu_isa_supported((dg_cpu_isa_t)isa)) {
            printf(" %s", dg_cpu_isa_string((dg_cpu_isa_t)isa));
        }
    }
    printf("\n    in use            %s, %d threads\n", dg_cpu_isa_string(facts->options.cpu_isa),
        (int)facts->options.num_threads);
    printf("\nGPUs\n");
    cli_print_wrapped(facts->gpu_note, 4);
    for (size_t i = 0; i < facts->num_gpus; i++) {
        const dg_device_info_t *gpu = &facts->gpus[i];
        printf("    %zu  %s, compute capability %d.%d, %d SMs, %.1f GiB\n", i, gpu->name,
            gpu->major, gpu->minor, gpu->num_sms, (double)gpu->memory_bytes / 0x1p30);
    }
    print_kernels(&facts->kernels);
    printf("\nEnvironment\n");
    dg_env_entry_t entry;
    size_t width = 0;
    for (int32_t i = 0; dg_env_entry(i, &entry) == DG_STATUS_OK; i++) {
        const size_t length = strlen(entry.name);
        if (length > width) width = length;
    }
    for (int32_t i = 0; dg_env_entry(i, &entry) == DG_STATUS_OK; i++) {
        printf("    %-*s  %s%s\n", (int)width, entry.name,
            entry.value ? entry.value : entry.initial, entry.value ? "  (set)" : "");
        cli_print_wrapped(entry.meaning, 8);
    }
}

static void print_json(const facts_t *facts) {
    cli_json_t json = {stdout, false};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "version", dg_version());
    cli_json_text(&json, "header_version", DG_VERSION_STRING);
    cli_json_open(&json, "cpu", '{');
    cli_json_text(&json, "model", facts->cpu);
    cli_json_integer(&json, "cores", cli_count_cores());
    cli_json_open(&json, "features", '[');
    for (size_t i = 0; i < facts->num_features; i++) {
        cli_json_text(&json, NULL, facts->features[i]);
    }
    cli_json_close(&json, ']');
    cli_json_open(&json, "isa_supported", '[');
    for (int isa = DG_CPU_ISA_PORTABLE; isa <= DG_CPU_ISA_NEON; isa++) {
        if (dg_cpu_isa_supported((dg_cpu_isa_t)isa)) {
            cli_json_text(&json, NULL, dg_cpu_isa_string((dg_cpu_isa_t)isa));
        }
    }
    cli_json_close(&json, ']');
    cli_json_text(&json, "isa", dg_cpu_isa_string(facts->options.cpu_isa));
    cli_json_integer(&json, "threads", facts->options.num_threads);
    cli_json_close(&json, '}');
    cli_json_text(&json, "gpu_note", facts->gpu_note);
    cli_json_open(&json, "gpus", '[');
    for (size_t i = 0; i < facts->num_gpus; i++) {
        char capability[32];
        snprintf(
            capability, sizeof capability, "%d.%d", facts->gpus[i].major, facts->gpus[i].minor);
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", facts->gpus[i].name);
        cli_json_text(&json, "compute_capability", capability);
        cli_json_integer(&json, "sms", facts->gpus[i].num_sms);
        cli_json_integer(&json, "memory_bytes", facts->gpus[i].memory_bytes);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_open(&json, "kernels", '{');
    cli_json_integer(&json, "embedded", facts->kernels.embedded);
    cli_json_text(&json, "embedded_by", facts->kernels.embedded_by);
    cli_json_text(&json, "cache", facts->kernels.folder);
    cli_json_truth(&json, "cache_writable", facts->kernels.writable != 0);
    cli_json_text(&json, "compiler", facts->kernels.compiler);
    cli_json_text(&json, "no_compiler", facts->kernels.no_compiler);
    cli_json_close(&json, '}');
    cli_json_open(&json, "environment", '[');
    dg_env_entry_t entry;
    for (int32_t i = 0; dg_env_entry(i, &entry) == DG_STATUS_OK; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", entry.name);
        cli_json_text(&json, "value", entry.value);
        cli_json_text(&json, "initial", entry.initial);
        cli_json_text(&json, "meaning", entry.meaning);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    cli_json_end_line(&json);
}

static int info(const cli_verb_t *verb, int argc, char **argv) {
    bool as_json = false;
    const cli_parsed_t parsed = cli_parse(verb, argc, argv, apply, &as_json, NULL);
    if (parsed != CLI_PARSED) return parsed == CLI_PARSED_HELP ? CLI_EXIT_OK : CLI_EXIT_USAGE;

    facts_t facts = {.options = DG_CONTEXT_OPTIONS_INIT, .kernels = DG_KERNEL_CACHE_INIT};
    cli_cpu_model(facts.cpu, sizeof facts.cpu);
    facts.num_features = cli_cpu_features(facts.features, MAX_FEATURES);
    find_gpus(&facts);
    if (dg_context_get_options(NULL, &facts.options) != DG_STATUS_OK ||
        dg_describe_kernel_cache(&facts.kernels) != DG_STATUS_OK) {
        fprintf(stderr, "deepgemm info: %s\n", dg_last_error());
        return CLI_EXIT_FAILED;
    }
    if (as_json) {
        print_json(&facts);
    } else {
        print_text(&facts);
    }
    return CLI_EXIT_OK;
}

static const cli_option_t options[] = {{"json", NULL, "Print one JSON object."}};

const cli_verb_t cli_info = {
    .name = "info",
    .summary = "version, processor, GPUs and environment variables",
    .description =
        "Tells the version of the library, what the processor can do and which instruction set and "
        "how many threads the library uses on it, the GPUs that an NVIDIA driver finds, and each "
        "environment variable that the library reads with the value in effect.",
    .options = options,
    .num_options = sizeof options / sizeof options[0],
    .main = info,
};
