/* SPDX-License-Identifier: MIT
 *
 * Options that run, verify and bench share: how the library shall work, and how results are shown.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/deep_gemm.h"
#include "options.h"

typedef struct cli_settings_t {
    bool json;
    int64_t threads; /* 0: the library's choice */
    dg_cpu_isa_t isa;
} cli_settings_t;

#define CLI_SETTINGS_OPTIONS                                                                       \
    {"threads", "N", "Threads of one call [all cores this process may use]."},                     \
        {"isa", "NAME", "Instruction set: auto, portable, avx2, avx512, neon [auto]."}, {          \
        "json", NULL, "Print JSON, one object a line."                                             \
    }

/* Takes an option of this group. *known: whether it is one. */
bool cli_settings_apply(
    cli_settings_t *settings, const char *name, const char *value, bool *known, char *error);

/* A context with these settings; `settings` then holds those in force. NULL: refused, a line was
 * printed. */
dg_context_t *cli_settings_open(cli_settings_t *settings, const cli_verb_t *verb);

#endif
