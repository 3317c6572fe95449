/* SPDX-License-Identifier: MIT
 *
 * The bar is drawn over itself with a carriage return, at most 20 times a second: drawing must not
 * slow down what it watches.
 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

#define BAR 32

void cli_progress_begin(cli_progress_t *progress, int64_t total) {
    *progress = (cli_progress_t){.total = total, .active = isatty(STDERR_FILENO) == 1};
}

static void draw(const cli_progress_t *progress, const char *label) {
    char bar[BAR + 1];
    const int filled = (int)(progress->done * BAR / progress->total);
    for (int i = 0; i < BAR; i++) bar[i] = i < filled ? '#' : '.';
    bar[BAR] = 0;
    fprintf(stderr, "\r[%s] %" PRId64 "/%" PRId64 "  %-14.14s", bar, progress->done,
        progress->total, label);
    fflush(stderr);
}

void cli_progress_step(cli_progress_t *progress, const char *label) {
    progress->done++;
    if (!progress->active || progress->total < 1) return;
    const double now = cli_seconds();
    if (now - progress->shown < 0.05 && progress->done < progress->total) return;
    progress->shown = now;
    draw(progress, label);
}

void cli_progress_hide(cli_progress_t *progress) {
    if (!progress->active) return;
    fprintf(stderr, "\r\033[K");
    fflush(stderr);
    progress->shown = 0;
}

void cli_progress_end(cli_progress_t *progress) {
    cli_progress_hide(progress);
    progress->active = false;
}
