/* SPDX-License-Identifier: MIT
 *
 * Timing of repeated runs. The median tells what a run usually takes, the minimum what it takes
 * when nothing else wants the machine.
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffer.h"

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One run with the clock, or false. flush: [repeat->flush] bytes. */
static bool time_run(bool (*run)(void *self), void *self, const cli_repeat_t *repeat,
    unsigned char *flush, double *seconds) {
    if (repeat->flush > 0) memset(flush, ++flush[0], (size_t)repeat->flush);
    const double start = cli_seconds();
    const bool ok = run(self);
    *seconds = cli_seconds() - start;
    return ok;
}

bool cli_measure(
    bool (*run)(void *self), void *self, const cli_repeat_t *repeat, cli_times_t *times) {
    const int64_t count = repeat->count;
    if (!run(self)) return false;
    double *seconds = cli_allocate((size_t)count * sizeof *seconds);
    unsigned char *flush = cli_allocate((size_t)repeat->flush + 1);
    flush[0] = 0;
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++) ok = time_run(run, self, repeat, flush, &seconds[i]);
    if (ok) {
        qsort(seconds, (size_t)count, sizeof *seconds, compare);
        times->least = seconds[0];
        times->median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    }
    free(flush);
    free(seconds);
    return ok;
}
