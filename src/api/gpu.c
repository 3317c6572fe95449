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

dg_status_t dg_call_plan_options(
    const dg_call_t *call, dg_specialisation_t *only, dg_plan_options_t *options) {
    const char *text = call->options.only;
    *options = (dg_plan_options_t){
        .num_sms = call->options.num_sms,
        .block_m_multiple = call->options.block_m_multiple,
        .block_n_multiple = call->options.block_n_multiple,
        .batch_invariant = call->options.batch_invariant == DG_ON,
        .only = text != NULL && text[0] != '\0' ? only : NULL,
    };
    return options->only == NULL ? DG_STATUS_OK : dg_parse_specialisation(text, only);
}

static dg_status_t make_plan(const dg_call_t *call, const dg_gpu_product_t *product,
    dg_cuda_device_t *device, dg_work_t *work, dg_plan_t *plan) {
    dg_specialisation_t only;
    dg_plan_options_t options;
    DG_TRY(dg_call_plan_options(call, &only, &options));
    dg_product_work(product, work);
    return dg_find_plan(work, dg_cuda_machine(device), &options, plan);
}

/* What it was handed, else its allocator's. */
dg_status_t dg_gpu_take_workspace(
    const dg_call_t *call, const dg_launch_t *launch, size_t needed, dg_launch_t *own) {
    *own = launch == NULL ? (dg_launch_t)DG_LAUNCH_INIT : *launch;
    if (own->allocate == NULL || own->prepare != 0 || needed <= own->workspace_size)
        return dg_check_launch(launch, needed);
    own->workspace = launch->allocate(launch->allocate_user, needed);
    own->workspace_size = needed;
    dg_enter_function(call->function); /* the allocator may have been a function of ours */
    DG_REQUIRE(own->workspace != NULL, DG_STATUS_OUT_OF_MEMORY, "launch", ".allocate",
        "gave NULL for %zu bytes of workspace; free memory of the device", needed);
    return dg_check_launch(own, needed);
}

dg_status_t dg_gpu_multiply(
    const dg_call_t *call, const dg_gpu_product_t *product, const dg_launch_t *launch) {
    dg_cuda_device_t *device;
    dg_launch_t own;
    dg_work_t work;
    dg_plan_t plan;
    DG_TRY(dg_cuda_open(product->ordinal, &device));
    DG_TRY(make_plan(call, product, device, &work, &plan));
    DG_TRY(dg_gpu_take_workspace(call, launch, plan.workspace, &own));
    dg_cuda_run_t run = {
        .device = device,
        .plan = &plan,
        .stream = own.stream,
        .workspace = own.workspace,
        .pdl = call->options.pdl == DG_ON,
        .work = &work,
        .gemm = product->gemm,
        .m_grouped = product->m_grouped,
        .k_grouped = product->k_grouped,
    };
    for (int32_t i = 0; i < plan.stage_count; i++)
        DG_TRY(dg_jit_function(device, &plan.stage[i].specialisation, plan.stage[i].shared_bytes,
            run.stream, &run.functions[i]));
    return dg_only_prepares(launch) ? DG_STATUS_OK : dg_cuda_run(&run);
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
