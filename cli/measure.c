/* SPDX-License-Identifier: MIT
 *
 * Timing of repeated runs. The median tells what a run usually takes, the minimum what it takes
 * when nothing else wants the machine.
 */
#include "measure.h"

#include <stdlib.h>
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

bool cli_measure(bool (*run)(void *self), void *self, int64_t repeat, cli_times_t *times) {
    if (!run(self)) return false;
    double *seconds = cli_allocate((size_t)repeat * sizeof *seconds);
    for (int64_t i = 0; i < repeat; i++) {
        const double start = cli_seconds();
        if (!run(self)) {
            free(seconds);
            return false;
        }
        seconds[i] = cli_seconds() - start;
    }
    qsort(seconds, (size_t)repeat, sizeof *seconds, compare);
    times->least = seconds[0];
    times->median = (seconds[(repeat - 1) / 2] + seconds[repeat / 2]) / 2;
    free(seconds);
    return true;
}
