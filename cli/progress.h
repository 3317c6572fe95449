/* SPDX-License-Identifier: MIT
 *
 * A progress bar on the terminal; nothing at all where standard error is no terminal.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress_t {
    int64_t total, done;
    double shown; /* seconds at the last drawing */
    bool active;
} cli_progress_t;

void cli_progress_begin(cli_progress_t *progress, int64_t total);

/* One step is done; `label` names the next. */
void cli_progress_step(cli_progress_t *progress, const char *label);

/* Wipes the bar, so that a line can be printed; the next step draws it again. */
void cli_progress_hide(cli_progress_t *progress);
void cli_progress_end(cli_progress_t *progress);

#endif
