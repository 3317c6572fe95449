/* SPDX-License-Identifier: MIT
 *
 * The verbs of the program, one file each; main.c lists them.
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "options.h"

extern const cli_verb_t cli_info, cli_run, cli_verify, cli_bench, cli_plan, cli_tune, cli_compile,
    cli_cache;

#endif
