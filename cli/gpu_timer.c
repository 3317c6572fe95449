/* SPDX-License-Identifier: MIT
 *
 * See gpu_timer.h.
 */
#include "gpu_timer.h"

#include <stdlib.h>
#include <time.h>

static bool ok(dg_status_t status) {
    return status == DG_STATUS_OK;
}

bool cli_gpu_timer_open(cli_gpu_timer_t *timer, dg_device_t device, size_t flush_bytes) {
    *timer = (cli_gpu_timer_t){.device = device, .flush_bytes = flush_bytes};
    bool good = ok(dg_stream_create(device, &timer->stream)) &&
                ok(dg_device_alloc(device, flush_bytes, &timer->flush));
    for (int i = 0; i < CLI_GPU_MAX_CALLS && good; i++)
        good = ok(dg_event_create(device, &timer->begin[i])) &&
               ok(dg_event_create(device, &timer->end[i]));
    return good;
}

void cli_gpu_timer_close(cli_gpu_timer_t *timer) {
    for (int i = 0; i < CLI_GPU_MAX_CALLS; i++) {
        (void)dg_event_destroy(timer->begin[i]);
        (void)dg_event_destroy(timer->end[i]);
    }
    (void)dg_device_free(timer->device, timer->flush);
    if (timer->stream != NULL) (void)dg_stream_destroy(timer->device, timer->stream);
    *timer = (cli_gpu_timer_t){.device = timer->device};
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cli_median(double *values, int64_t count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void rest(double seconds) {
    const struct timespec time = {
        (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

bool cli_gpu_time(cli_gpu_timer_t *timer, dg_status_t (*run)(void *self), void *self, int64_t calls,
    double seconds, double *us) {
    double times[CLI_GPU_MAX_CALLS];
    if (seconds > 0) rest(seconds);
    for (int64_t i = 0; i < calls; i++) {
        if (!ok(dg_device_memset(
                timer->device, timer->flush, 0, timer->flush_bytes, timer->stream)) ||
            !ok(dg_event_record(timer->begin[i], timer->stream)) || !ok(run(self)) ||
            !ok(dg_event_record(timer->end[i], timer->stream)))
            return false;
    }
    if (!ok(dg_stream_synchronize(timer->device, timer->stream))) return false;
    for (int64_t i = 0; i < calls; i++) {
        float time;
        if (!ok(dg_event_elapsed(timer->begin[i], timer->end[i], &time))) return false;
        times[i] = (double)time;
    }
    *us = cli_median(times, calls);
    return true;
}
