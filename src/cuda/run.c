/* SPDX-License-Identifier: MIT
 *
 * From plan to launches: finds the file that runs the plan's kernel, and calls it with a context of
 * the device current. Called by src/api.
 */
#include "cuda/run.h"

#include "base/error.h"

static dg_cuda_run_fn *const launchers[DG_KERNEL_COUNT] = {
    [DG_KERNEL_ANY_GEMM] = dg_cuda_run_any_gemm,
    [DG_KERNEL_SM90_FP8_GEMM_BLOCK] = dg_cuda_run_sm90_fp8_gemm_block,
    [DG_KERNEL_SM90_FP8_GEMM_SWAP] = dg_cuda_run_sm90_fp8_gemm_swap,
    [DG_KERNEL_SM90_FP8_GEMM_VECTOR] = dg_cuda_run_sm90_fp8_gemm_vector,
    [DG_KERNEL_SM90_BF16_GEMM] = dg_cuda_run_sm90_bf16_gemm,
    [DG_KERNEL_SM90_BF16_GEMM_SWAP] = dg_cuda_run_sm90_bf16_gemm_swap,
};

dg_status_t dg_cuda_run(const dg_cuda_run_t *run) {
    dg_cuda_scope_t scope;
    const int32_t kernel = run->plan->kernel;
    DG_REQUIRE(kernel >= 0 && kernel < DG_KERNEL_COUNT && launchers[kernel] != NULL,
        DG_STATUS_INTERNAL, "", "",
        "nothing launches kernel %d, which the planner chose; please report this call", kernel);
    DG_TRY(dg_cuda_enter(run->device, &scope));
    const dg_status_t status = launchers[kernel](run);
    dg_cuda_leave(&scope);
    return status;
}
