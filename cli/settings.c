/* SPDX-License-Identifier: MIT
 *
 * From options to a library context.
 */
#include "settings.h"

#include <stdio.h>
#include <string.h>

static const char *const isas[] = {"auto", "portable", "avx2", "avx512", "neon"};

bool cli_settings_apply(
    cli_settings_t *settings, const char *name, const char *value, bool *known, char *error) {
    *known = true;
    if (strcmp(name, "json") == 0) {
        settings->json = true;
        return true;
    }
    if (strcmp(name, "threads") == 0) {
        return cli_parse_integer(value, 1, 512, &settings->threads, error);
    }
    if (strcmp(name, "isa") == 0) {
        int index;
        if (!cli_parse_choice(value, isas, sizeof isas / sizeof isas[0], &index, error)) {
            return false;
        }
        settings->isa = (dg_cpu_isa_t)index; /* the names stand in the enum's order */
        return true;
    }
    *known = false;
    return false;
}

dg_context_t *cli_settings_open(cli_settings_t *settings, const cli_verb_t *verb) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.device.type = DG_DEVICE_CPU;
    options.num_threads = (int32_t)settings->threads;
    options.cpu_isa = settings->isa;
    dg_context_t *ctx = NULL;
    if (dg_context_create(&ctx, &options) != DG_STATUS_OK ||
        dg_context_get_options(ctx, &options) != DG_STATUS_OK) {
        fprintf(stderr, "deepgemm %s: %s\n", verb->name, dg_last_error());
        dg_context_destroy(ctx);
        return NULL;
    }
    settings->threads = options.num_threads;
    settings->isa = options.cpu_isa;
    return ctx;
}
