/* SPDX-License-Identifier: MIT
 *
 * Launches one stage of a plan, as the plan says; see run.h. Called by the run_*.c files and
 * group_stages.c.
 */
#include "cuda/run.h"

dg_status_t dg_cuda_launch_stage(const dg_cuda_run_t *run, int32_t stage, const void *args) {
    const dg_plan_stage_t *planned = &run->plan->stage[stage];
    const dg_cuda_launch_t launch = {
        .function = run->functions[stage],
        .grid = planned->grid,
        .threads = planned->threads,
        .cluster = planned->cluster,
        .shared_bytes = planned->shared_bytes,
        .pdl = run->pdl,
        .stream = run->stream,
        .args = args,
    };
    return dg_cuda_launch(run->device, &launch);
}
