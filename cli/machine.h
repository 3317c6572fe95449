/* SPDX-License-Identifier: MIT
 *
 * The machine a number was measured on: processor and date.
 */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <stddef.h>

/* The processor's own name, "AMD EPYC 7B13"; its architecture where it has none. */
void cli_cpu_model(char *text, size_t size);

/* The names of the processor's features that matter to matrix products; writes pointers to static
 * strings into names[0 .. max), returns how many. */
size_t cli_cpu_features(const char **names, size_t max);

/* Cores this process may run on. */
int cli_count_cores(void);

/* "2026-03-01 12:00 UTC". */
void cli_date(char *text, size_t size);

#endif
