/* SPDX-License-Identifier: MIT
 *
 * See logits.h.
 */
#include "api/logits.h"

#include "api/gpu_logits.h"
#include "base/error.h"
#include "cpu/mqa_logits.h"

dg_status_t dg_compute_logits(dg_call_t *call, const dg_mqa_logits_problem_t *problem,
    dg_device_t device, const dg_launch_t *launch) {
    const dg_logits_queries_t *queries = &problem->queries;
    if (queries->requests == 0 || queries->next == 0 || problem->columns == 0) return DG_STATUS_OK;
    if (device.type == DG_DEVICE_CUDA) return dg_gpu_logits(call, problem, device.id, launch);
    if (dg_only_prepares(launch)) return DG_STATUS_OK;
    dg_cpu_pool_t *pool;
    DG_TRY(dg_call_pool(call, &pool));
    return dg_cpu_mqa_logits(pool, problem);
}
