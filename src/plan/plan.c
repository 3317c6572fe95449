/* SPDX-License-Identifier: MIT
 *
 * Asks every kernel's planning file and takes the cheapest plan. Called by src/api before each GPU
 * call and for `deepgemm plan`; calls dg_plan_<kernel>(). Nothing is allocated, locked or formatted
 * unless the work is refused.
 */
#include "plan/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* One line for each kernel that plans; helpers are stages of other kernels' plans and have none. */
static dg_plan_kernel_fn *const planners[DG_KERNEL_COUNT] = {
    [DG_KERNEL_ANY_GEMM] = dg_plan_any_gemm,
    [DG_KERNEL_SM90_FP8_GEMM_BLOCK] = dg_plan_sm90_fp8_gemm_block,
    [DG_KERNEL_SM90_FP8_GEMM_SWAP] = dg_plan_sm90_fp8_gemm_swap,
    [DG_KERNEL_SM90_FP8_GEMM_VECTOR] = dg_plan_sm90_fp8_gemm_vector,
    [DG_KERNEL_SM90_BF16_GEMM] = dg_plan_sm90_bf16_gemm,
    [DG_KERNEL_SM90_BF16_GEMM_SWAP] = dg_plan_sm90_bf16_gemm_swap,
};

dg_plan_kernel_fn *dg_kernel_planner(int32_t kernel, const dg_machine_t *machine) {
    const int32_t architecture = dg_find_kernel(kernel)->architecture;
    return architecture == 0 || architecture == machine->architecture ? planners[kernel] : NULL;
}

static const char *family_name(int32_t family) {
    return family == DG_FAMILY_GEMM             ? "gemm"
           : family == DG_FAMILY_M_GROUPED_GEMM ? "m_grouped_gemm"
                                                : "k_grouped_gemm";
}

/* "e4m3 (k contiguous, aligned to 16) with f32 factors 1 x 128" */
static dg_text_t describe_side(const dg_work_side_t *side) {
    dg_text_t text = {.length = 0};
    dg_append_text(&text, "%s (%s contiguous, aligned to %d)", dg_dtype_string(side->dtype),
        side->k_contiguous ? "k" : "mn", side->alignment);
    if (side->scale_dtype != DG_DTYPE_NONE)
        dg_append_text(&text, " with %s factors %d x %d", dg_dtype_string(side->scale_dtype),
            side->gran_mn, side->gran_k);
    return text;
}

/* Says of a work that no kernel takes what it is, what each kernel that runs on this machine has
 * against it, and what to do. */
static dg_status_t refuse(
    const dg_work_t *work, const dg_machine_t *machine, const dg_plan_options_t *options) {
    char reasons[512] = "";
    size_t used = 0;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        dg_plan_t plan = {0};
        dg_plan_kernel_fn *planner = dg_kernel_planner(id, machine);
        if (planner == NULL) continue;
        planner(work, machine, options, &plan);
        dg_text_t line = {.length = 0};
        dg_append_text(&line, "; %s: %s", dg_find_kernel(id)->name,
            plan.refusal != NULL ? plan.refusal : "not this work");
        if (used + line.length + 1 > sizeof reasons) break;
        memcpy(reasons + used, line.bytes, line.length + 1);
        used += line.length;
    }
    return dg_fail(DG_STATUS_UNSUPPORTED, "", "",
        "no kernel multiplies a: %s by b: %s (%s, m = %" PRId64 ", n = %" PRId64 ", k = %" PRId64
        ") on %s (sm_%d)%s; change what a kernel asks for, or pass CPU tensors, which take "
        "everything",
        describe_side(&work->a).bytes, describe_side(&work->b).bytes, family_name(work->family),
        work->m, work->n, work->k, machine->name, machine->architecture,
        used > 0 ? reasons : ": this build has none for it");
}

/* Elements of d that no GPU holds; k can be as long only where a stride is 0. Below these no kernel's
 * file has to think of overflow. */
#define MAX_RESULTS 0x1p48
#define MAX_K (INT64_C(1) << 40)

static bool fits_a_gpu(const dg_work_t *work) {
    const bool stacked =
        work->family == DG_FAMILY_K_GROUPED_GEMM || work->group_form == DG_GROUPS_MASKED;
    const double matrices = stacked ? (double)work->group_count : 1;
    return (double)work->m * (double)work->n * matrices <= MAX_RESULTS && work->k <= MAX_K;
}

/* Alignment of a row of `bytes`, as work.h counts it. */
static uint8_t row_alignment(int64_t bytes, uint8_t at_most) {
    const uint64_t bits = (uint64_t)bytes | at_most;
    return (uint8_t)(bits & (~bits + 1));
}

/* A single row has no pitch, so it can look better aligned than two rows would be. Where the kernel
 * must not depend on m it is seen as the first of many, back to back. */
static void forget_single_row(dg_work_t *work) {
    const dg_dtype_t dtype = (dg_dtype_t)work->a.dtype;
    if (work->m != 1 || !work->a.k_contiguous) return;
    const int64_t bytes = dtype == DG_DTYPE_E2M1X2 ? work->k / 2 : work->k * dg_dtype_size(dtype);
    work->a.alignment = row_alignment(bytes, work->a.alignment);
}

/* The kernels' offers, those made for this GPU before those for any. What is found first is kept among
 * equals, and for good if batch invariance is asked for: which kernel is cheapest may depend on m, and
 * kernels round differently. (Within a kernel its own file sees to it.) */
static bool choose(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    bool found = false;
    for (int32_t id = DG_KERNEL_COUNT - 1; id >= 0; id--) {
        dg_plan_kernel_fn *planner = dg_kernel_planner(id, machine);
        if (planner == NULL) continue;
        dg_plan_t offer = {0};
        if (!planner(work, machine, options, &offer)) continue;
        if (found && offer.us >= plan->us) continue;
        *plan = offer;
        found = true;
        if (options->batch_invariant) break;
    }
    return found;
}

dg_status_t dg_make_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    DG_REQUIRE(fits_a_gpu(work), DG_STATUS_UNSUPPORTED, "", "",
        "m = %" PRId64 ", n = %" PRId64 ", k = %" PRId64 ", %d groups: more than 2^48 elements of "
        "d, or k beyond 2^40, are not for GPUs; cut the work in parts",
        work->m, work->n, work->k, work->group_count);
    if (!options->batch_invariant)
        return choose(work, machine, options, plan) ? DG_STATUS_OK : refuse(work, machine, options);
    dg_work_t seen = *work;
    forget_single_row(&seen);
    return choose(&seen, machine, options, plan) ? DG_STATUS_OK : refuse(work, machine, options);
}
