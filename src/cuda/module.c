/* SPDX-License-Identifier: MIT
 *
 * From cubin to launchable kernel: dg_cuda_load of device.h, called by src/jit.
 *
 * Kernels are loaded as context-free libraries, so that one handle serves the caller's contexts and
 * the primary one alike. The driver loads code late, at the first launch in each context, which
 * must not happen while a stream captures; so the code is brought into the current context here.
 */
#include "cuda/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cuda/device_state.h"

/* The driver is told an address and no size: it would read past the end of a truncated file. An
 * ELF file ends with its section headers: their offset is at byte 40, size and count at 58. */
static dg_status_t check_image(const void *cubin, size_t bytes, const char *symbol) {
    uint64_t headers = 0;
    uint16_t size = 0, count = 0;
    const bool elf = bytes >= 64 && memcmp(cubin, "\177ELF", 4) == 0;
    if (elf) {
        memcpy(&headers, (const char *)cubin + 40, sizeof headers);
        memcpy(&size, (const char *)cubin + 58, sizeof size);
        memcpy(&count, (const char *)cubin + 60, sizeof count);
    }
    DG_REQUIRE(elf && headers <= bytes && (uint64_t)size * count <= bytes - headers, DG_STATUS_IO,
        "", "",
        "%s: %zu bytes are no whole cubin; clear the kernel cache, from which a cut-off file may "
        "have come",
        symbol, bytes);
    return DG_STATUS_OK;
}

static dg_status_t refuse_image(
    const dg_cuda_device_t *device, dg_cu_result_t result, const char *symbol) {
    const dg_driver_t *driver = device->driver;
    const bool unfit = result == DG_CU_NO_BINARY_FOR_GPU || result == DG_CU_INVALID_IMAGE ||
                       result == DG_CU_UNSUPPORTED_PTX_VERSION;
    if (!unfit) return dg_driver_fail(driver, result, "cuLibraryLoadData");
    return dg_fail(DG_STATUS_UNSUPPORTED, "", "",
        "%s: the driver (CUDA %d.%d) cannot load this kernel on %s (compute capability %d.%d), "
        "CUDA result %d; the kernels shipped are built by CUDA 13.0 for 9.0 (sm_90a) and need driver "
        "580 or newer: update the driver, or let the kernel be compiled by an NVRTC of the driver's "
        "CUDA version",
        symbol, driver->version / 1000, driver->version % 1000 / 10, device->name, device->major,
        device->minor, (int)result);
}

/* Everything that needs the loaded code. */
static dg_status_t prepare(
    const dg_cuda_device_t *device, uint32_t shared_bytes, dg_cuda_function_t *function) {
    const dg_driver_t *driver = device->driver;
    dg_cu_function_t here;
    const dg_cu_result_t found =
        driver->cuLibraryGetKernel(&function->kernel, function->library, function->symbol);
    if (found != DG_CU_SUCCESS && found != DG_CU_NOT_FOUND) {
        return refuse_image(device, found, function->symbol);
    }
    DG_REQUIRE(found == DG_CU_SUCCESS, DG_STATUS_IO, "", "",
        "the cubin has no kernel %s; clear the kernel cache, from which another file may have come",
        function->symbol);
    DG_TRY_DRIVER(driver, cuKernelSetAttribute,
        (DG_CU_FUNCTION_DYNAMIC_SHARED_BYTES, (int32_t)shared_bytes, function->kernel,
            device->handle));
    const dg_cu_result_t brought = driver->cuKernelGetFunction(&here, function->kernel);
    if (brought != DG_CU_SUCCESS) return refuse_image(device, brought, function->symbol);
    if (driver->cuFuncLoad != NULL) DG_TRY_DRIVER(driver, cuFuncLoad, (here));
    return DG_STATUS_OK;
}

static dg_status_t load(const dg_cuda_device_t *device, const void *cubin, uint32_t shared_bytes,
    dg_cuda_function_t *function) {
    const dg_driver_t *driver = device->driver;
    const dg_cu_result_t result =
        driver->cuLibraryLoadData(&function->library, cubin, NULL, NULL, 0, NULL, NULL, 0);
    if (result != DG_CU_SUCCESS) return refuse_image(device, result, function->symbol);
    const dg_status_t status = prepare(device, shared_bytes, function);
    if (status != DG_STATUS_OK) driver->cuLibraryUnload(function->library);
    return status;
}

/* Loading is one of the calls that a capture in another mode than "relaxed" forbids, on this thread
 * and, if it is a global one, on all. It puts nothing into a stream, so it may be allowed here. */
static dg_status_t load_relaxed(const dg_cuda_device_t *device, const void *cubin,
    uint32_t shared_bytes, dg_cuda_function_t *function) {
    const dg_driver_t *driver = device->driver;
    int32_t mode = DG_CU_CAPTURE_MODE_RELAXED;
    DG_TRY_DRIVER(driver, cuThreadExchangeStreamCaptureMode, (&mode));
    const dg_status_t status = load(device, cubin, shared_bytes, function);
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

dg_status_t dg_cuda_load(dg_cuda_device_t *device, const void *cubin, size_t bytes,
    const char *symbol, uint32_t shared_bytes, dg_cuda_function_t **function) {
    const size_t length = strlen(symbol) + 1;
    dg_cuda_scope_t scope;
    DG_TRY(check_image(cubin, bytes, symbol));
    DG_REQUIRE(shared_bytes <= (uint32_t)device->machine.shared_bytes, DG_STATUS_UNSUPPORTED, "",
        "",
        "%s needs %u bytes of shared memory, but a block of %s has at most %d; use a smaller tile",
        symbol, shared_bytes, device->name, device->machine.shared_bytes);
    DG_TRY(dg_cuda_enter(device, &scope));
    dg_cuda_function_t *loaded = calloc(1, sizeof *loaded + length);
    dg_status_t status = DG_STATUS_OUT_OF_MEMORY;
    if (loaded != NULL) {
        loaded->symbol = memcpy(loaded + 1, symbol, length);
        status = load_relaxed(device, cubin, shared_bytes, loaded);
    } else {
        dg_fail(status, "", "", "no memory for the kernel %s; free some", symbol);
    }
    dg_cuda_leave(&scope);
    if (status != DG_STATUS_OK) {
        free(loaded);
        return status;
    }
    *function = loaded;
    return DG_STATUS_OK;
}
