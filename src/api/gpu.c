/* SPDX-License-Identifier: MIT
 *
 * See gpu.h. What a call costs when everything is warm is the sum of this file's steps: the work is
 * a struct filled from the problem, the plan one look-up, a kernel another.
 */
#include "api/gpu.h"

#include <string.h>

#include "base/error.h"
#include "cuda/run.h"
#include "jit/jit.h"
#include "plan/plan_cache.h"

void dg_product_work(const dg_gpu_product_t *product, dg_work_t *work) {
    if (product->gemm != NULL) dg_gemm_work(product->gemm, work);
    if (product->m_grouped != NULL) dg_m_grouped_gemm_work(product->m_grouped, work);
    if (product->k_grouped != NULL) dg_k_grouped_gemm_work(product->k_grouped, work);
}

dg_plan_options_t dg_call_plan_options(const dg_call_t *call) {
    return (dg_plan_options_t){
        .num_sms = call->options.num_sms,
        .block_m_multiple = call->options.block_m_multiple,
        .block_n_multiple = call->options.block_n_multiple,
        .batch_invariant = call->options.batch_invariant == DG_ON,
    };
}

static dg_status_t make_plan(const dg_call_t *call, const dg_gpu_product_t *product,
    dg_cuda_device_t *device, dg_work_t *work, dg_plan_t *plan) {
    const dg_plan_options_t options = dg_call_plan_options(call);
    dg_product_work(product, work);
    return dg_find_plan(work, dg_cuda_machine(device), &options, plan);
}

/* Whether a stream captures costs a question to the driver, so it is asked only of a kernel that is
 * neither loaded nor embedded. */
dg_status_t dg_gpu_function(dg_cuda_device_t *device, const dg_plan_stage_t *stage, void *stream,
    dg_cuda_function_t **function) {
    const dg_status_t status =
        dg_jit_function(device, &stage->specialisation, stage->shared_bytes, false, function);
    if (status != DG_STATUS_NOT_COMPILED || dg_cuda_capturing(device, stream)) return status;
    return dg_jit_function(device, &stage->specialisation, stage->shared_bytes, true, function);
}

dg_status_t dg_gpu_multiply(
    const dg_call_t *call, const dg_gpu_product_t *product, const dg_launch_t *launch) {
    dg_cuda_device_t *device;
    dg_work_t work;
    dg_plan_t plan;
    DG_TRY(dg_cuda_open(product->ordinal, &device));
    DG_TRY(make_plan(call, product, device, &work, &plan));
    DG_TRY(dg_check_launch(launch, plan.workspace));
    dg_cuda_run_t run = {
        .device = device,
        .plan = &plan,
        .stream = launch == NULL ? NULL : launch->stream,
        .workspace = launch == NULL ? NULL : launch->workspace,
        .pdl = call->options.pdl == DG_ON,
        .work = &work,
        .gemm = product->gemm,
        .m_grouped = product->m_grouped,
        .k_grouped = product->k_grouped,
    };
    for (int32_t i = 0; i < plan.stage_count; i++)
        DG_TRY(dg_gpu_function(device, &plan.stage[i], run.stream, &run.functions[i]));
    return dg_cuda_run(&run);
}

dg_status_t dg_gpu_workspace(
    const dg_call_t *call, const dg_gpu_product_t *product, size_t *bytes) {
    dg_cuda_device_t *device;
    dg_work_t work;
    dg_plan_t plan;
    DG_TRY(dg_cuda_open(product->ordinal, &device));
    DG_TRY(make_plan(call, product, device, &work, &plan));
    *bytes = plan.workspace;
    return DG_STATUS_OK;
}
