/* SPDX-License-Identifier: MIT
 *
 * The test's side of the fake driver; see fake_driver.h.
 */
#include "fake_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find(void *library, const char *name, void *function, size_t size) {
    void *address = library != NULL ? dlsym(library, name) : NULL;
    if (address == NULL) {
        fprintf(
            stderr, "DG_CUDA_DRIVER must name the fake driver of tests/cuda; start with ctest\n");
        exit(1);
    }
    memcpy(function, &address, size);
}

fake_controls_t open_fake_driver(void) {
    fake_controls_t controls;
    fake_driver_fn *get;
    const char *path = getenv("DG_CUDA_DRIVER");
    void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    find(library, "fake_driver", &get, sizeof get);
    find(library, "fake_set_context", &controls.set_context, sizeof controls.set_context);
    find(library, "fake_depth", &controls.depth, sizeof controls.depth);
    find(library, "fake_capture_mode", &controls.capture_mode, sizeof controls.capture_mode);
    controls.driver = get();
    return controls;
}

void reset_fake_driver(fake_driver_t *driver) {
    driver->version = 13000;
    driver->device_count = 2;
    driver->name = "NVIDIA H200";
    driver->sms = 132;
    driver->major = 9;
    driver->missing = NULL;
    driver->capturing = false;
    memset(driver->result, 0, sizeof driver->result);
    for (int i = 0; i < FAKE_CALL_COUNT; i++) atomic_store(&driver->calls[i], 0);
    atomic_store(&driver->capture_spoiled, false);
    memset(&driver->launch, 0, sizeof driver->launch);
    memset(&driver->map, 0, sizeof driver->map);
}

/* ELF header, the kernel's name, one empty section header. */
size_t make_fake_cubin(char cubin[256], const char *kernel) {
    const uint64_t headers = 64 + strlen(kernel) + 1;
    const uint16_t size = 64, count = 1;
    memset(cubin, 0, 256);
    memcpy(cubin, "\177ELF", 4);
    memcpy(cubin + 40, &headers, sizeof headers);
    memcpy(cubin + 58, &size, sizeof size);
    memcpy(cubin + 60, &count, sizeof count);
    strcpy(cubin + 64, kernel);
    return headers + size;
}
