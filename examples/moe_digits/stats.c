/* SPDX-License-Identifier: MIT
 *
 * Time by pass: a stopwatch whose laps are charged to the passes of training.
 */
#include "moe.h"

#include <time.h>

double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void start_lap(stats_t *stats) {
    stats->lap = now();
}

void end_lap(stats_t *stats, pass_t pass) {
    const double time = now();
    stats->seconds[pass] += time - stats->lap;
    stats->lap = time;
}

void add_stats(stats_t *sum, const stats_t *stats) {
    for (int i = 0; i < PASSES; i++) sum->seconds[i] += stats->seconds[i];
    for (int i = 0; i < CALLS; i++) sum->calls[i] += stats->calls[i];
    sum->groups += stats->groups;
    sum->empty_groups += stats->empty_groups;
}
