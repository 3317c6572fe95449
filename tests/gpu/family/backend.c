/* SPDX-License-Identifier: MIT
 *
 * The tests of tests/family on a GPU. They call dg_gemm() and its sisters on guarded CPU tensors; here
 * these functions copy every tensor to the GPU at the same alignment, call the library on the copies,
 * and copy everything back, inputs too, so that the guards see all that was written. Round each copy lie
 * NaN patterns that have to be there afterwards.
 *
 *     gpu_family_m_grouped           whatever kernels the planner chooses
 *     DG_TEST_KERNEL=any gpu_...     kernels/any/gemm.cu alone
 *
 * Without a GPU the programs end with 77, "skipped".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/gpu.h"
#include "base/error.h"
#include "cuda/memory.h"
#include "cuda/run.h"
#include "deep_gemm/deep_gemm.h"
#include "jit/jit.h"
#include "model/span.h"
#include "model/tensor.h"
#include "tests/emulator/any_gemm/backend.h"
#include "tests/family/reference.h"

emulated_machine_t emulated_machine = {.sms = 1}; /* the tile alone counts here */

enum { MOST_COPIES = 2100, ROOM = 256 << 20, MARGIN = 512, ALIGNMENT = 256 };

/* One piece of memory of a call and its copy: margin, skew, bytes, margin. */
typedef struct copy_t {
    uint8_t *host;
    size_t bytes, at; /* at: of the first byte, in the arena */
} copy_t;

typedef struct gpu_t {
    dg_cuda_device_t *device;
    uint8_t *arena, *image; /* [ROOM] on the GPU and on the host */
    void *workspace;        /* [ROOM] */
    copy_t copies[MOST_COPIES];
    int count;
    size_t used;
} gpu_t;

static gpu_t gpu;

static void open_gpu(void) {
    if (gpu.device != NULL) return;
    if (dg_cuda_open(0, &gpu.device) != DG_STATUS_OK ||
        dg_cuda_alloc(gpu.device, ROOM, (void **)&gpu.arena) != DG_STATUS_OK ||
        dg_cuda_alloc(gpu.device, ROOM, &gpu.workspace) != DG_STATUS_OK) {
        printf("skipped: %s\n", dg_last_error());
        exit(77);
    }
    gpu.image = malloc(ROOM);
    memset(gpu.image, 0xFF, ROOM);
}

/* The address that `tensor` has on the GPU; memory that came up before is shared. */
static void place(dg_tensor_t *tensor) {
    const dg_span_t span = dg_tensor_span(tensor);
    const size_t bytes = span.end - span.begin;
    if (tensor->dtype == DG_DTYPE_NONE) return;
    tensor->device = (dg_device_t){DG_DEVICE_CUDA, 0};
    if (bytes == 0) return;
    int i = 0;
    while (i < gpu.count &&
           (gpu.copies[i].host != (uint8_t *)span.begin || gpu.copies[i].bytes != bytes))
        i++;
    if (i == gpu.count) {
        const size_t at = gpu.used + MARGIN + span.begin % ALIGNMENT;
        gpu.used = (at + bytes + MARGIN + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (gpu.count == MOST_COPIES || gpu.used > ROOM) abort();
        memcpy(gpu.image + at, (void *)span.begin, bytes);
        gpu.copies[gpu.count++] = (copy_t){(uint8_t *)span.begin, bytes, at};
    }
    const size_t offset = (uintptr_t)tensor->data - span.begin;
    tensor->data = gpu.arena + gpu.copies[i].at + offset;
}

static dg_status_t upload(void) {
    return dg_cuda_copy(gpu.device, gpu.arena, gpu.image, gpu.used, NULL);
}

/* Brings everything back and looks at what lies between. */
static dg_status_t download(dg_status_t status) {
    if (status == DG_STATUS_OK) status = dg_cuda_synchronize(gpu.device);
    if (status == DG_STATUS_OK)
        status = dg_cuda_copy(gpu.device, gpu.image, gpu.arena, gpu.used, NULL);
    if (status == DG_STATUS_OK) status = dg_cuda_synchronize(gpu.device);
    size_t clean = 0;
    for (int i = 0; i < gpu.count; i++) {
        const copy_t *copy = &gpu.copies[i];
        /* Inputs may be constants of the program, which cannot be written even with what they hold. */
        if (status == DG_STATUS_OK && memcmp(copy->host, gpu.image + copy->at, copy->bytes) != 0)
            memcpy(copy->host, gpu.image + copy->at, copy->bytes);
        memset(gpu.image + copy->at, 0xFF, copy->bytes);
    }
    while (clean < gpu.used && gpu.image[clean] == 0xFF) clean++;
    if (clean < gpu.used) {
        printf("byte %zu beside all tensors was written\n", clean);
        memset(gpu.image, 0xFF, gpu.used);
        status = DG_STATUS_INTERNAL;
    }
    gpu.count = 0;
    gpu.used = 0;
    return status;
}

/* ---- what src/api calls in place of gpu.c, in the copies that these programs have */

/* The specialisation that the test names, or the general GEMM. */
static dg_status_t run_chosen(const dg_gpu_product_t *product, const dg_launch_t *launch) {
    dg_work_t work;
    dg_plan_t plan = {0};
    if (product->gemm != NULL) dg_gemm_work(product->gemm, &work);
    if (product->m_grouped != NULL) dg_m_grouped_gemm_work(product->m_grouped, &work);
    if (product->k_grouped != NULL) dg_k_grouped_gemm_work(product->k_grouped, &work);
    const int32_t block = emulated_machine.block;
    const dg_specialisation_t tile = {
        .kernel = DG_KERNEL_ANY_GEMM, .values = {block, block, work.a.dtype == DG_DTYPE_BF16}};
    const dg_specialisation_t *only = emulated_machine.only;
    if (only == NULL && block > 0) only = &tile;
    const dg_plan_options_t options = {.only = only};
    const dg_machine_t *machine = dg_cuda_machine(gpu.device);
    const int32_t kernel = only != NULL ? only->kernel : DG_KERNEL_ANY_GEMM;
    DG_REQUIRE(dg_kernel_planner(kernel, machine)(&work, machine, &options, &plan),
        DG_STATUS_INTERNAL, "", "", "no plan: %s", plan.refusal);
    DG_TRY(dg_check_launch(launch, plan.workspace));
    dg_cuda_run_t run = {.device = gpu.device,
        .plan = &plan,
        .workspace = launch->workspace,
        .work = &work,
        .gemm = product->gemm,
        .m_grouped = product->m_grouped,
        .k_grouped = product->k_grouped};
    for (int32_t i = 0; i < plan.stage_count; i++)
        DG_TRY(dg_jit_function(gpu.device, &plan.stage[i].specialisation,
            plan.stage[i].shared_bytes, NULL, &run.functions[i]));
    return dg_cuda_run(&run);
}

dg_status_t chosen_multiply(
    const dg_call_t *call, const dg_gpu_product_t *product, const dg_launch_t *launch);
dg_status_t chosen_multiply(
    const dg_call_t *call, const dg_gpu_product_t *product, const dg_launch_t *launch) {
    const char *kernel = getenv("DG_TEST_KERNEL");
    if (emulated_machine.only != NULL || (kernel != NULL && strcmp(kernel, "any") == 0))
        return run_chosen(product, launch);
    return dg_gpu_multiply(call, product, launch);
}

/* ---- the public functions */

dg_status_t api_gemm(dg_context_t *ctx, const dg_gemm_args_t *args, const dg_launch_t *launch);
dg_status_t api_m_grouped_gemm(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *launch);
dg_status_t api_k_grouped_gemm(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *launch);

/* The tensor cores of Hopper add FP8 products with fewer bits than FP32 has. */
static dg_launch_t begin(const dg_tensor_t *a) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    const char *kernel = getenv("DG_TEST_KERNEL");
    open_gpu();
    launch.workspace = gpu.workspace;
    launch.workspace_size = ROOM;
    const bool general = kernel != NULL && emulated_machine.only == NULL;
    ref_sum_error = a->dtype == DG_DTYPE_BF16 || general ? 0x1p-20 : 0x1p-10;
    return launch;
}

static void place_operand(dg_operand_t *operand) {
    place(&operand->data);
    place(&operand->scale);
}

static void place_k_operand(dg_k_operand_t *operand) {
    place(&operand->data);
    place(&operand->scale);
    place(&operand->rows);
}

dg_status_t dg_gemm(dg_context_t *ctx, const dg_gemm_args_t *args, const dg_launch_t *unused) {
    (void)unused;
    const dg_launch_t launch = begin(&args->a.data);
    dg_gemm_args_t moved = *args;
    place_operand(&moved.a);
    place_operand(&moved.b);
    place(&moved.c);
    place(&moved.d);
    DG_TRY(upload());
    return download(api_gemm(ctx, &moved, &launch));
}

dg_status_t dg_m_grouped_gemm(
    dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args, const dg_launch_t *unused) {
    (void)unused;
    const dg_launch_t launch = begin(&args->a.data);
    dg_m_grouped_gemm_args_t moved = *args;
    place_operand(&moved.a);
    place_operand(&moved.b);
    place(&moved.c);
    place(&moved.d);
    place(&moved.groups.values);
    place(&moved.a_rows);
    DG_TRY(upload());
    return download(api_m_grouped_gemm(ctx, &moved, &launch));
}

static void place_list(
    const dg_tensor_t *like, const void *const *from, int64_t count, void **addresses) {
    for (int64_t g = 0; g < count; g++) {
        dg_tensor_t one = *like;
        one.data = (void *)(uintptr_t)from[g];
        place(&one);
        addresses[g] = one.data;
    }
}

dg_status_t dg_k_grouped_gemm(
    dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args, const dg_launch_t *unused) {
    (void)unused;
    const dg_launch_t launch = begin(&args->a.data);
    static void *d_list[1024], *c_list[1024];
    dg_k_grouped_gemm_args_t moved = *args;
    const dg_groups_t *groups = &args->groups;
    const int64_t count =
        dg_tensor_given(&groups->values) ? groups->values.shape[0] : groups->host_count;
    place_k_operand(&moved.a);
    place_k_operand(&moved.b);
    place(&moved.groups.values);
    place(&moved.c);
    if (args->output == DG_K_OUTPUT_LIST) {
        place_list(&args->d, (const void *const *)args->d_list, count, d_list);
        moved.d.device = (dg_device_t){DG_DEVICE_CUDA, 0};
        moved.d_list = d_list;
    } else {
        place(&moved.d);
    }
    if (args->c_list != NULL) {
        place_list(&args->d, args->c_list, count, c_list);
        moved.c_list = (const void *const *)c_list;
    }
    DG_TRY(upload());
    return download(api_k_grouped_gemm(ctx, &moved, &launch));
}
