/* SPDX-License-Identifier: MIT
 *
 * Times of calls on a GPU, each between two events and with a cold L2: memory is written in front of
 * each, so much that it also takes long enough for the host to be ahead. Called by tune.c; uses the library's
 * streams and events alone.
 */
#ifndef CLI_GPU_TIMER_H
#define CLI_GPU_TIMER_H

#include <stdbool.h>

#include "deep_gemm/deep_gemm.h"

#define CLI_GPU_MAX_CALLS 64

typedef struct cli_gpu_timer_t {
    dg_device_t device;
    void *stream, *flush;
    size_t flush_bytes;
    dg_event_t *begin[CLI_GPU_MAX_CALLS], *end[CLI_GPU_MAX_CALLS];
} cli_gpu_timer_t;

bool cli_gpu_timer_open(cli_gpu_timer_t *timer, dg_device_t device, size_t flush_bytes);
void cli_gpu_timer_close(cli_gpu_timer_t *timer);

/* Waits until the GPU has rested for `seconds`, since a warm one is slower; then the median
 * microseconds of `calls` runs, at most CLI_GPU_MAX_CALLS. run: gives its work to timer->stream.
 * False: see dg_last_error(). */
bool cli_gpu_time(cli_gpu_timer_t *timer, dg_status_t (*run)(void *self), void *self, int64_t calls,
    double seconds, double *us);

/* The middle of values[0 .. count), which get sorted. */
double cli_median(double *values, int64_t count);

#endif
