/* SPDX-License-Identifier: MIT
 *
 * Devices and contexts; see device.h. A device is described once, under a lock, and published by an
 * atomic pointer. No context is made or retained before a call needs one: a process that only asks
 * for facts, or brings contexts of its own, pays for none.
 */
#include "cuda/device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cuda/device_state.h"
#include "plan/machine.h"

enum { MAX_DEVICES = 128 };

static _Atomic(dg_cuda_device_t *) devices[MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static dg_status_t read_attribute(
    const dg_cuda_device_t *device, int32_t attribute, int32_t *value) {
    DG_TRY_DRIVER(device->driver, cuDeviceGetAttribute, (value, attribute, device->handle));
    return DG_STATUS_OK;
}

/* Speeds come from the planner's table: the row of this GPU, else of the one that is most like it.
 * What can be counted comes from the driver: a slice of a GPU (MIG) has its name and fewer SMs. */
static dg_status_t describe_machine(dg_cuda_device_t *device) {
    dg_machine_t *machine = &device->machine;
    const int32_t architecture = 10 * device->major + device->minor;
    int32_t sms, shared_bytes;
    DG_TRY(read_attribute(device, DG_CU_DEVICE_SMS, &sms));
    DG_TRY(read_attribute(device, DG_CU_DEVICE_SHARED_BYTES, &shared_bytes));
    const dg_machine_t *row = dg_match_machine(device->name, architecture, sms);
    if (row != NULL) *machine = *row; /* NULL: too old for every kernel */
    if (row == NULL || row != dg_find_machine(device->name)) machine->name = device->name;
    if (machine->clusters_of_2 != 0 && machine->sms != sms) machine->clusters_of_2 = sms / 2;
    machine->architecture = architecture;
    machine->sms = sms;
    machine->shared_bytes = shared_bytes;
    return DG_STATUS_OK;
}

static dg_status_t describe(dg_cuda_device_t *device) {
    const dg_driver_t *driver = device->driver;
    size_t memory = 0;
    DG_TRY_DRIVER(driver, cuDeviceGet, (&device->handle, device->ordinal));
    DG_TRY_DRIVER(
        driver, cuDeviceGetName, (device->name, (int32_t)sizeof device->name, device->handle));
    DG_TRY_DRIVER(driver, cuDeviceTotalMem, (&memory, device->handle));
    device->memory = memory;
    DG_TRY(read_attribute(device, DG_CU_DEVICE_MAJOR, &device->major));
    DG_TRY(read_attribute(device, DG_CU_DEVICE_MINOR, &device->minor));
    return describe_machine(device);
}

dg_status_t dg_cuda_count(int32_t *count) {
    const dg_driver_t *driver;
    *count = 0;
    DG_TRY(dg_driver_open(&driver));
    DG_TRY_DRIVER(driver, cuDeviceGetCount, (count));
    return DG_STATUS_OK;
}

/* With the lock held. */
static dg_status_t make_device(const dg_driver_t *driver, int32_t ordinal) {
    int32_t count = 0;
    DG_TRY(dg_cuda_count(&count));
    if (count > MAX_DEVICES) count = MAX_DEVICES;
    DG_REQUIRE(ordinal >= 0 && ordinal < count, DG_STATUS_BAD_DEVICE, "", "",
        "CUDA device %d, expected 0 to %d: the driver shows %d GPUs (CUDA_VISIBLE_DEVICES hides "
        "and renumbers them)",
        ordinal, count - 1, count);
    dg_cuda_device_t *device = calloc(1, sizeof *device);
    DG_REQUIRE(device != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory to describe CUDA device %d; free some", ordinal);
    device->driver = driver;
    device->ordinal = ordinal;
    const dg_status_t status = describe(device);
    if (status != DG_STATUS_OK) {
        free(device);
        return status;
    }
    atomic_store_explicit(&devices[ordinal], device, memory_order_release);
    return DG_STATUS_OK;
}

static bool known(int32_t ordinal, dg_cuda_device_t **device) {
    if (ordinal < 0 || ordinal >= MAX_DEVICES) return false;
    *device = atomic_load_explicit(&devices[ordinal], memory_order_acquire);
    return *device != NULL;
}

dg_status_t dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device) {
    const dg_driver_t *driver;
    DG_TRY(dg_driver_open(&driver)); /* fails in a forked child, whose devices are its parent's */
    if (known(ordinal, device)) return DG_STATUS_OK;
    pthread_mutex_lock(&lock);
    dg_status_t status = DG_STATUS_OK;
    if (!known(ordinal, device)) {
        status = make_device(driver, ordinal);
        if (status == DG_STATUS_OK) *device = atomic_load(&devices[ordinal]);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

const dg_machine_t *dg_cuda_machine(const dg_cuda_device_t *device) {
    return &device->machine;
}

int32_t dg_cuda_ordinal(const dg_cuda_device_t *device) {
    return device->ordinal;
}

int32_t dg_cuda_driver_version(void) {
    const dg_driver_t *driver;
    return dg_driver_open(&driver) == DG_STATUS_OK ? driver->version : 0;
}

dg_cuda_facts_t dg_cuda_facts(const dg_cuda_device_t *device) {
    return (dg_cuda_facts_t){device->name, device->major, device->minor, device->memory};
}

/* The primary context, which frameworks and the CUDA runtime use too. Two threads may both retain
 * it; the count that the driver keeps does not matter, since it is never released. */
static dg_status_t primary_context(dg_cuda_device_t *device, dg_cu_context_t *context) {
    *context = atomic_load_explicit(&device->primary, memory_order_acquire);
    if (*context != NULL) return DG_STATUS_OK;
    DG_TRY_DRIVER(device->driver, cuDevicePrimaryCtxRetain, (context, device->handle));
    atomic_store_explicit(&device->primary, *context, memory_order_release);
    return DG_STATUS_OK;
}

/* The device is asked only where there is a context: without one the question is an error, which the
 * caller's tools would report. */
static bool is_current(const dg_cuda_device_t *device) {
    const dg_driver_t *driver = device->driver;
    dg_cu_context_t context = NULL;
    dg_cu_device_t owner;
    if (driver->cuCtxGetCurrent(&context) != DG_CU_SUCCESS || context == NULL) return false;
    if (context == atomic_load_explicit(&device->primary, memory_order_acquire)) return true;
    return driver->cuCtxGetDevice(&owner) == DG_CU_SUCCESS && owner == device->handle;
}

dg_status_t dg_cuda_enter(dg_cuda_device_t *device, dg_cuda_scope_t *scope) {
    scope->device = NULL;
    if (is_current(device)) return DG_STATUS_OK;
    dg_cu_context_t context;
    DG_TRY(primary_context(device, &context));
    DG_TRY_DRIVER(device->driver, cuCtxPushCurrent, (context));
    scope->device = device;
    return DG_STATUS_OK;
}

void dg_cuda_leave(const dg_cuda_scope_t *scope) {
    dg_cu_context_t context;
    if (scope->device != NULL) scope->device->driver->cuCtxPopCurrent(&context);
}
