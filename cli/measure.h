/* SPDX-License-Identifier: MIT
 *
 * Time: a monotonic clock, and the median and minimum of repeated runs.
 */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_times_t {
    double median, least; /* seconds of one run */
} cli_times_t;

double cli_seconds(void);

/* Runs run(self) once to warm up, then `repeat` times with the clock. Stops and returns false when
 * a run returns false. */
bool cli_measure(bool (*run)(void *self), void *self, int64_t repeat, cli_times_t *times);

#endif
