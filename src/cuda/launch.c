/* SPDX-License-Identifier: MIT
 *
 * Launches and the question whether a stream captures; see device.h. A launch builds its attributes
 * on the stack, makes one driver call, and says what was launched if that fails.
 */
#include "cuda/device.h"

#include <stdio.h>

#include "base/error.h"
#include "cuda/device_state.h"

bool dg_cuda_capturing(dg_cuda_device_t *device, void *stream) {
    int32_t status = DG_CU_CAPTURE_STATUS_NONE;
    dg_cuda_scope_t scope;
    if (dg_cuda_enter(device, &scope) != DG_STATUS_OK) return true;
    /* An error here means that another stream captures in a mode that forbids even this. */
    const dg_cu_result_t result = device->driver->cuStreamIsCapturing(stream, &status);
    dg_cuda_leave(&scope);
    return result != DG_CU_SUCCESS || status != DG_CU_CAPTURE_STATUS_NONE;
}

#if defined(__GNUC__)
__attribute__((cold))
#endif
static dg_status_t
refuse_launch(
    const dg_cuda_device_t *device, const dg_cuda_launch_t *launch, dg_cu_result_t result) {
    char call[240];
    snprintf(call, sizeof call,
        "cuLaunchKernelEx of %s (grid %u, block %u, cluster %u, shared memory %u, stream %p%s) on "
        "CUDA device %d",
        launch->function->symbol, launch->grid, launch->threads, launch->cluster,
        launch->shared_bytes, launch->stream, launch->pdl ? ", dependent" : "", device->ordinal);
    return dg_driver_fail(device->driver, result, call);
}

dg_status_t dg_cuda_launch(dg_cuda_device_t *device, const dg_cuda_launch_t *launch) {
    dg_cu_launch_attribute_t attributes[2];
    dg_cu_launch_config_t config = {
        .grid = {launch->grid, 1, 1},
        .block = {launch->threads, 1, 1},
        .shared_bytes = launch->shared_bytes,
        .stream = launch->stream,
        .attributes = attributes,
        .attribute_count = 0,
    };
    if (launch->cluster > 1) {
        attributes[config.attribute_count++] = (dg_cu_launch_attribute_t){
            .id = DG_CU_LAUNCH_CLUSTER, .value.cluster = {launch->cluster, 1, 1}};
    }
    if (launch->pdl) {
        attributes[config.attribute_count++] =
            (dg_cu_launch_attribute_t){.id = DG_CU_LAUNCH_PDL, .value.pdl = 1};
    }
    /* The driver copies the parameter and writes nothing; its interface is older than const. */
    void *parameters[1] = {(void *)(uintptr_t)launch->args};
    const dg_cu_result_t result =
        device->driver->cuLaunchKernelEx(&config, launch->function->kernel, parameters, NULL);
    return result == DG_CU_SUCCESS ? DG_STATUS_OK : refuse_launch(device, launch, result);
}
