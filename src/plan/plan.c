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
    [DG_KERNEL_SM90_BF16_GEMM] = dg_plan_sm90_bf16_gemm,
};

dg_plan_kernel_fn *dg_kernel_planner(int32_t kernel) {
    return planners[kernel];
}

static bool runs_on(int32_t kernel, const dg_machine_t *machine) {
    const int32_t architecture = dg_find_kernel(kernel)->architecture;
    return architecture == 0 || architecture == machine->architecture;
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
        if (planners[id] == NULL || !runs_on(id, machine)) continue;
        planners[id](work, machine, options, &plan);
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

dg_status_t dg_make_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    bool found = false;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        dg_plan_t offer = {0};
        if (planners[id] == NULL || !runs_on(id, machine)) continue;
        if (!planners[id](work, machine, options, &offer)) continue;
        if (found && offer.us >= plan->us) continue;
        *plan = offer;
        found = true;
    }
    return found ? DG_STATUS_OK : refuse(work, machine, options);
}
