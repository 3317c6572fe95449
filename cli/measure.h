/* SPDX-License-Identifier: MIT
 *
 * Time: a monotonic clock, and the median and minimum of repeated runs, with warm or cold caches.
 */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_times_t {
    double median, least; /* seconds of one run */
} cli_times_t;

double cli_seconds(void);

/* How runs are repeated. */
typedef struct cli_repeat_t {
    int64_t count;
    int64_t
        flush; /* bytes written in front of each run, so that caches hold nothing of it; 0: none */
} cli_repeat_t;

/* Runs run(self) once to warm up, then repeat->count times with the clock. Stops and returns false
 * when a run returns false. */
bool cli_measure(
    bool (*run)(void *self), void *self, const cli_repeat_t *repeat, cli_times_t *times);

#endif
