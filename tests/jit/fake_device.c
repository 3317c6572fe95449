/* SPDX-License-Identifier: MIT
 *
 * See fake_device.h.
 */
#include "fake_device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct dg_cuda_device_t {
    int32_t ordinal;
    dg_machine_t machine;
};

static atomic_int loads, refused;
static dg_status_t refusal;
static void *captured;

dg_cuda_device_t *fake_device(int32_t ordinal, int32_t architecture) {
    dg_cuda_device_t *device = calloc(1, sizeof *device);
    device->ordinal = ordinal;
    device->machine.architecture = architecture;
    device->machine.name = "fake";
    return device;
}

int fake_loads(void) {
    return atomic_load(&loads);
}

void fake_capture(void *stream) {
    captured = stream;
}

bool dg_cuda_capturing(dg_cuda_device_t *device, void *stream) {
    (void)device;
    return captured != NULL && stream == captured;
}

void fake_refuse_loads(int count, dg_status_t status) {
    refusal = status;
    atomic_store(&refused, count);
}

const dg_machine_t *dg_cuda_machine(const dg_cuda_device_t *device) {
    return &device->machine;
}

int32_t dg_cuda_ordinal(const dg_cuda_device_t *device) {
    return device->ordinal;
}

dg_status_t dg_cuda_load(dg_cuda_device_t *device, const void *cubin, size_t bytes,
    const char *symbol, uint32_t shared_bytes, dg_cuda_function_t **function) {
    (void)device;
    if (atomic_load(&refused) > 0) {
        atomic_fetch_sub(&refused, 1);
        return dg_fail(refusal, "", "", "the fake driver refuses %s", symbol);
    }
    dg_cuda_function_t *loaded = calloc(1, sizeof *loaded);
    snprintf(loaded->symbol, sizeof loaded->symbol, "%s", symbol);
    memcpy(loaded->start, cubin, bytes < sizeof loaded->start ? bytes : sizeof loaded->start - 1);
    loaded->bytes = bytes;
    loaded->names_symbol = memmem(cubin, bytes, symbol, strlen(symbol)) != NULL;
    loaded->shared_bytes = shared_bytes;
    atomic_fetch_add(&loads, 1);
    *function = loaded;
    return DG_STATUS_OK;
}
