/* SPDX-License-Identifier: MIT
 *
 * OpenBLAS as a yardstick: single-precision products on the same machine in the same run. Called by
 * bench.c.
 */
#ifndef CLI_OPENBLAS_H
#define CLI_OPENBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds (least of the repeats) of cblas_sgemm over [n, n] matrices with so many threads. note: the name of the
 * kernel set it chose, or why there is no figure. */
bool cli_time_sgemm(
    int64_t n, int64_t threads, int64_t repeat, double *seconds, char *note, size_t note_size);

#endif
