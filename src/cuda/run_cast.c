/* SPDX-License-Identifier: MIT
 *
 * See run_cast.h.
 */
#include "cuda/run_cast.h"

#include "base/error.h"

dg_status_t dg_cuda_run_stage(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order, const void *args) {
    const dg_cuda_launch_t launch = {
        .function = function,
        .grid = stage->grid,
        .threads = stage->threads,
        .cluster = stage->cluster,
        .shared_bytes = stage->shared_bytes,
        .pdl = order->pdl,
        .stream = order->stream,
        .args = args,
    };
    dg_cuda_scope_t scope;
    DG_TRY(dg_cuda_enter(device, &scope));
    const dg_status_t status = dg_cuda_launch(device, &launch);
    dg_cuda_leave(&scope);
    return status;
}
