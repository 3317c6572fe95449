/* SPDX-License-Identifier: MIT
 *
 * From plan to launch: each kernel has a file run_<kernel>.c that fills its arguments and launches
 * its stages. Called by src/api with functions that src/jit found.
 */
#ifndef DG_CUDA_RUN_H
#define DG_CUDA_RUN_H

#include "cuda/device.h"

typedef struct dg_cuda_run_t {
    dg_cuda_device_t *device;
    const dg_plan_t *plan;
    dg_cuda_function_t *functions[DG_MAX_STAGES]; /* one for each stage of the plan */
    void *stream;                                 /* CUstream; NULL: the default stream */
    void *workspace;                              /* plan->workspace bytes */
    bool pdl;
    const dg_work_t *work;
    /* One of them, as work->family says; the others NULL. */
    const dg_gemm_problem_t *gemm;
    const dg_m_grouped_problem_t *m_grouped;
    const dg_k_grouped_problem_t *k_grouped;
} dg_cuda_run_t;

/* Runs a plan: calls the function below that plan->kernel names. */
dg_status_t dg_cuda_run(const dg_cuda_run_t *run);

/* Launches one stage of the plan; args as dg_cuda_launch_t has them. */
dg_status_t dg_cuda_launch_stage(const dg_cuda_run_t *run, int32_t stage, const void *args);

typedef dg_status_t dg_cuda_run_fn(const dg_cuda_run_t *run);
dg_cuda_run_fn dg_cuda_run_any_gemm;
dg_cuda_run_fn dg_cuda_run_sm90_fp8_gemm_block;
dg_cuda_run_fn dg_cuda_run_sm90_fp8_gemm_swap;
dg_cuda_run_fn dg_cuda_run_sm90_fp8_gemm_vector;
dg_cuda_run_fn dg_cuda_run_sm90_bf16_gemm;
dg_cuda_run_fn dg_cuda_run_sm90_bf16_gemm_swap;

#endif
