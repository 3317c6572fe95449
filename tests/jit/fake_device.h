/* SPDX-License-Identifier: MIT
 *
 * GPUs that are not there, in place of src/cuda: they keep the bytes of what is loaded, and refuse
 * what the test tells them to.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "cuda/device.h"

/* GPU `ordinal` of an architecture, 90 or 80. */
dg_cuda_device_t *fake_device(int32_t ordinal, int32_t architecture);

struct dg_cuda_function_t {
    char symbol[64];
    char start[512]; /* the cubin's first bytes, a zero behind them */
    size_t bytes;
    bool names_symbol; /* whether the cubin holds the symbol's name */
    uint32_t shared_bytes;
};

/* How many kernels were loaded, over all devices. */
int fake_loads(void);

/* A stream that captures from now on; NULL: none does. */
void fake_capture(void *stream);

/* The next `count` loads fail with this status. */
void fake_refuse_loads(int count, dg_status_t status);

#endif
