/* SPDX-License-Identifier: MIT
 *
 * Puts the emulator under the casts and the layouts of factors: the linker sends the library's calls of
 * the driver here (--wrap), and the tests' calls of the public functions. Each of these is computed on
 * the CPU first; if that succeeds, outputs are put back to what they were, and the same call on tensors
 * that say CUDA goes through the library's own path, plans and launches among it, to the emulated
 * kernels. What they leave in memory must be what the CPU left, byte for byte, NaN for NaN. So any test
 * of the families tests the kernels when it is linked with this.
 *
 * Every tensor is registered with the emulator, an access beside it is a fault. The emulator is slow:
 * large calls are left to the CPU alone, and of medium ones the kernels repeat some.
 */
#include "../any_gemm/backend.h"
#include "base/error.h"
#include "cuda/run_cast.h"
#include "deep_gemm/deep_gemm.h"
#include "jit/jit.h"
#include "rerun.h"

enum { SMS = 2, CHEAP_VALUES = 5000, CHEAP_FACTORS = 300 };

emulated_machine_t emulated_machine = {.sms = SMS};

/* ---- the driver's place */

dg_status_t __wrap_dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device);
const dg_machine_t *__wrap_dg_cuda_machine(const dg_cuda_device_t *device);
dg_status_t __wrap_dg_jit_function(dg_cuda_device_t *device,
    const dg_specialisation_t *specialisation, uint32_t shared_bytes, void *stream,
    dg_cuda_function_t **function);
dg_status_t __wrap_dg_cuda_run_stage(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order, const void *args);

dg_status_t __wrap_dg_cuda_open(int32_t ordinal, dg_cuda_device_t **device) {
    (void)ordinal;
    *device = NULL;
    return DG_STATUS_OK;
}

const dg_machine_t *__wrap_dg_cuda_machine(const dg_cuda_device_t *device) {
    static const dg_machine_t machine = {.name = "emulated", .architecture = 90, .sms = SMS};
    (void)device;
    return &machine;
}

dg_status_t __wrap_dg_jit_function(dg_cuda_device_t *device,
    const dg_specialisation_t *specialisation, uint32_t shared_bytes, void *stream,
    dg_cuda_function_t **function) {
    (void)device, (void)specialisation, (void)shared_bytes, (void)stream;
    *function = NULL;
    return DG_STATUS_OK;
}

dg_status_t __wrap_dg_cuda_run_stage(dg_cuda_device_t *device, const dg_plan_stage_t *stage,
    dg_cuda_function_t *function, const dg_cuda_order_t *order, const void *args) {
    const dg_kernel_t *kernel = dg_find_kernel(stage->specialisation.kernel);
    (void)device, (void)function, (void)order;
    const char *wrong = emulate_launch(kernel->name, kernel->fields, stage->specialisation.values,
        kernel->field_count, stage->grid, stage->threads, stage->cluster, stage->shared_bytes, args,
        emulated_machine.schedule++);
    DG_REQUIRE(wrong == NULL, DG_STATUS_INTERNAL, kernel->name, "", "%s; see the emulator", wrong);
    return DG_STATUS_OK;
}

/* Whether the kernels repeat a cast: always where that is cheap; of the larger ones a sixth, drawn at random
 * so that none of the tests' cycles of cases is met in step. */
static bool repeats(const dg_tensor_t *x, const dg_tensor_t *scale) {
    static uint32_t drawn = 1;
    if (!is_small(x)) return false;
    if (dg_tensor_elements(x) <= CHEAP_VALUES && dg_tensor_elements(scale) <= CHEAP_FACTORS)
        return true;
    drawn = drawn * 1664525u + 1013904223u;
    return drawn < UINT32_MAX / 6;
}

/* ---- the public functions */

#define REAL(name, ...) dg_status_t __real_##name(__VA_ARGS__), __wrap_##name(__VA_ARGS__)

REAL(dg_quantize, dg_context_t *ctx, const dg_quantize_args_t *args, const dg_launch_t *launch);
REAL(dg_dequantize, dg_context_t *ctx, const dg_dequantize_args_t *args, const dg_launch_t *launch);
REAL(dg_scale_convert, dg_context_t *ctx, const dg_scale_convert_args_t *args,
    const dg_launch_t *launch);
REAL(dg_scale_pack_k_grouped, dg_context_t *ctx, const dg_scale_pack_k_grouped_args_t *args,
    const dg_launch_t *launch);
REAL(dg_scale_transform, dg_context_t *ctx, const dg_scale_transform_args_t *args,
    const dg_tensor_t *out, const dg_launch_t *launch);

dg_status_t __wrap_dg_quantize(
    dg_context_t *ctx, const dg_quantize_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    if (args == NULL || args->struct_size != sizeof *args ||
        !repeats(&args->x, &args->out[0].scale))
        return __real_dg_quantize(ctx, args, launch);
    dg_quantize_args_t gpu = *args;
    const bool sound = args->x.data != NULL;
    for (int s = 0; s < 2 && sound; s++) {
        rerun_add(&rerun, &args->out[s].data, true);
        rerun_add(&rerun, &args->out[s].scale, true);
        move_to_gpu(&gpu.out[s].data);
        move_to_gpu(&gpu.out[s].scale);
    }
    dg_status_t status = __real_dg_quantize(ctx, args, launch);
    if (status == DG_STATUS_OK && sound) {
        rerun_add(&rerun, &args->x, false);
        rerun_add(&rerun, &args->groups.values, false);
        move_to_gpu(&gpu.x);
        move_to_gpu(&gpu.groups.values);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_quantize(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_dequantize(
    dg_context_t *ctx, const dg_dequantize_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    if (args == NULL || args->struct_size != sizeof *args || !repeats(&args->x, &args->q.scale))
        return __real_dg_dequantize(ctx, args, launch);
    dg_dequantize_args_t gpu = *args;
    rerun_add(&rerun, &args->x, args->x.data != NULL);
    dg_status_t status = __real_dg_dequantize(ctx, args, launch);
    if (status == DG_STATUS_OK && args->x.data != NULL) {
        rerun_add(&rerun, &args->q.data, false);
        rerun_add(&rerun, &args->q.scale, false);
        rerun_add(&rerun, &args->groups.values, false);
        move_to_gpu(&gpu.x);
        move_to_gpu(&gpu.q.data);
        move_to_gpu(&gpu.q.scale);
        move_to_gpu(&gpu.groups.values);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_dequantize(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_scale_convert(
    dg_context_t *ctx, const dg_scale_convert_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    if (args == NULL || args->struct_size != sizeof *args || args->dst.data == NULL ||
        !is_small(&args->dst))
        return __real_dg_scale_convert(ctx, args, launch);
    dg_scale_convert_args_t gpu = *args;
    rerun_add(&rerun, &args->dst, true);
    dg_status_t status = __real_dg_scale_convert(ctx, args, launch);
    if (status == DG_STATUS_OK) {
        rerun_add(&rerun, &args->src, false);
        rerun_add(&rerun, &args->groups.values, false);
        move_to_gpu(&gpu.src);
        move_to_gpu(&gpu.dst);
        move_to_gpu(&gpu.groups.values);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_scale_convert(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_scale_pack_k_grouped(
    dg_context_t *ctx, const dg_scale_pack_k_grouped_args_t *args, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    if (args == NULL || args->struct_size != sizeof *args || args->dst.data == NULL ||
        !is_small(&args->dst))
        return __real_dg_scale_pack_k_grouped(ctx, args, launch);
    dg_scale_pack_k_grouped_args_t gpu = *args;
    rerun_add(&rerun, &args->dst, true);
    dg_status_t status = __real_dg_scale_pack_k_grouped(ctx, args, launch);
    if (status == DG_STATUS_OK) {
        rerun_add(&rerun, &args->src, false);
        rerun_add(&rerun, &args->groups.values, false);
        move_to_gpu(&gpu.src);
        move_to_gpu(&gpu.dst);
        move_to_gpu(&gpu.groups.values);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_scale_pack_k_grouped(ctx, &gpu, launch));
    }
    rerun_release(&rerun);
    return status;
}

dg_status_t __wrap_dg_scale_transform(dg_context_t *ctx, const dg_scale_transform_args_t *args,
    const dg_tensor_t *out, const dg_launch_t *launch) {
    rerun_t rerun = {.count = 0};
    if (args == NULL || out == NULL || args->struct_size != sizeof *args || out->data == NULL ||
        out->data == args->scale.data || !is_small(out))
        return __real_dg_scale_transform(ctx, args, out, launch);
    dg_scale_transform_args_t gpu = *args;
    dg_tensor_t gpu_out = *out;
    rerun_add(&rerun, out, true);
    dg_status_t status = __real_dg_scale_transform(ctx, args, out, launch);
    if (status == DG_STATUS_OK) {
        rerun_add(&rerun, &args->scale, false);
        rerun_add(&rerun, &args->psum.values, false);
        move_to_gpu(&gpu.scale);
        move_to_gpu(&gpu_out);
        move_to_gpu(&gpu.psum.values);
        rerun_take_back(&rerun);
        status = rerun_compare(&rerun, __real_dg_scale_transform(ctx, &gpu, &gpu_out, launch));
    }
    rerun_release(&rerun);
    return status;
}
