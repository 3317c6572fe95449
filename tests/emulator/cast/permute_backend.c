/* SPDX-License-Identifier: MIT
 *
 * The functions of deep_gemm/moe.h, computed twice as backend.c does the casts: on the CPU, then by the
 * emulated kernels, whose outputs must be the CPU's byte for byte, NaN for NaN.
 */
#include "deep_gemm/deep_gemm.h"
#include "rerun.h"

#define REAL(name)                                                                                 \
    dg_status_t __real_##name(                                                                     \
        dg_context_t *ctx, const name##_args_t *args, const dg_launch_t *launch);                  \
    dg_status_t __wrap_##name(                                                                     \
        dg_context_t *ctx, const name##_args_t *args, const dg_launch_t *launch)

REAL(dg_route_tokens);
REAL(dg_permute_rows);
REAL(dg_unpermute_rows);
REAL(dg_dot_rows);

dg_status_t __wrap_dg_route_tokens(
    dg_context_t *ctx, const dg_route_tokens_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    dg_route_tokens_args_t gpu = *args;
    dg_tensor_t *const outputs[] = {&gpu.counts, &gpu.ends, &gpu.rows, &gpu.sources, &gpu.groups};
    const bool small = is_small(&args->ids);
    for (int i = 0; i < 5 && small; i++) rerun_add(&rerun, outputs[i], true);
    dg_status_t status = __real_dg_route_tokens(ctx, args, launch);
    if (status == DG_STATUS_OK && small) {
        rerun_add(&rerun, &args->ids, false);
        move_to_gpu(&gpu.ids);
        for (int i = 0; i < 5; i++) move_to_gpu(outputs[i]);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_route_tokens(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_permute_rows(
    dg_context_t *ctx, const dg_permute_rows_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    dg_permute_rows_args_t gpu = *args;
    dg_tensor_t *const inputs[] = {&gpu.x, &gpu.rows, &gpu.weights, &gpu.sources};
    const bool small = is_small(&args->out);
    if (small) rerun_add(&rerun, &args->out, true);
    dg_status_t status = __real_dg_permute_rows(ctx, args, launch);
    if (status == DG_STATUS_OK && small) {
        for (int i = 0; i < 4; i++) {
            rerun_add(&rerun, inputs[i], false);
            move_to_gpu(inputs[i]);
        }
        move_to_gpu(&gpu.out);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_permute_rows(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_unpermute_rows(
    dg_context_t *ctx, const dg_unpermute_rows_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    dg_unpermute_rows_args_t gpu = *args;
    dg_tensor_t *const inputs[] = {&gpu.x, &gpu.rows, &gpu.weights};
    const bool small = is_small(&args->out);
    if (small) rerun_add(&rerun, &args->out, true);
    dg_status_t status = __real_dg_unpermute_rows(ctx, args, launch);
    if (status == DG_STATUS_OK && small) {
        for (int i = 0; i < 3; i++) {
            rerun_add(&rerun, inputs[i], false);
            move_to_gpu(inputs[i]);
        }
        move_to_gpu(&gpu.out);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_unpermute_rows(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_dot_rows(
    dg_context_t *ctx, const dg_dot_rows_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    dg_dot_rows_args_t gpu = *args;
    dg_tensor_t *const inputs[] = {&gpu.a, &gpu.b, &gpu.rows};
    const bool small = is_small(&args->b);
    if (small) rerun_add(&rerun, &args->out, true);
    dg_status_t status = __real_dg_dot_rows(ctx, args, launch);
    if (status == DG_STATUS_OK && small) {
        for (int i = 0; i < 3; i++) {
            rerun_add(&rerun, inputs[i], false);
            move_to_gpu(inputs[i]);
        }
        move_to_gpu(&gpu.out);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_dot_rows(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}
