/* SPDX-License-Identifier: MIT
 *
 * libcuda.so.1 is opened at run time and asked through six functions, so that the program needs
 * neither CUDA headers nor a driver. Types and numbers are those of the driver's stable C ABI: a
 * CUresult and a CUdevice are ints, success is 0.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { /* CUdevice_attribute */
    ATTRIBUTE_SMS = 16,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76
};

typedef struct driver_t {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_name)(char *name, int size, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*device_memory)(size_t *bytes, int device);
} driver_t;

/* POSIX lets a function's address travel through void *; C wants it copied, not cast. */
static int find(void *library, const char *name, void *function, size_t size) {
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
    return address != NULL;
}

static int load_driver(void *library, driver_t *driver) {
#define FIND(member, name) find(library, name, &driver->member, sizeof driver->member)
    return FIND(init, "cuInit") && FIND(driver_version, "cuDriverGetVersion") &&
           FIND(device_count, "cuDeviceGetCount") && FIND(device_name, "cuDeviceGetName") &&
           FIND(device_attribute, "cuDeviceGetAttribute") &&
           FIND(device_memory, "cuDeviceTotalMem_v2");
#undef FIND
}

static void describe(const driver_t *driver, int device, cli_gpu_t *gpu) {
    *gpu = (cli_gpu_t){.name = "unknown"};
    size_t bytes = 0;
    driver->device_name(gpu->name, (int)sizeof gpu->name, device);
    driver->device_attribute(&gpu->major, ATTRIBUTE_MAJOR, device);
    driver->device_attribute(&gpu->minor, ATTRIBUTE_MINOR, device);
    driver->device_attribute(&gpu->num_sms, ATTRIBUTE_SMS, device);
    driver->device_memory(&bytes, device);
    gpu->memory = (double)bytes;
}

size_t cli_find_gpus(cli_gpu_t *gpus, size_t max, char *note, size_t note_size) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(note, note_size, "no NVIDIA driver (libcuda.so.1 was not found)");
        return 0;
    }
    size_t found = 0;
    driver_t driver;
    int status = -1, version = 0, count = 0;
    if (!load_driver(library, &driver)) {
        snprintf(note, note_size, "libcuda.so.1 is not a driver this program knows");
    } else if ((status = driver.init(0)) != 0 || (status = driver.device_count(&count)) != 0) {
        snprintf(note, note_size, "the NVIDIA driver finds no usable GPU (CUresult %d)", status);
    } else {
        driver.driver_version(&version);
        snprintf(note, note_size, "driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
        for (; found < (size_t)count && found < max; found++) {
            describe(&driver, (int)found, &gpus[found]);
        }
    }
    dlclose(library);
    return found;
}
