/* SPDX-License-Identifier: MIT
 *
 * Plans of single calls, as deep_gemm/plan.h describes them. The question is prepared by planning.c,
 * the answer is the planner's; what is added here is the view of the other candidates.
 */
#include "deep_gemm/plan.h"

#include <stddef.h>
#include <string.h>

#include "api/planning.h"
#include "base/error.h"

_Static_assert(DG_PLAN_TEXT >= DG_SPECIALISATION_TEXT, "any specialisation fits");
_Static_assert(DG_PLAN_MAX_STAGES == DG_MAX_STAGES, "all stages fit");

static const dg_specialisation_t *last_stage(const dg_plan_t *plan) {
    return &plan->stage[plan->stage_count - 1].specialisation;
}

static void fill_info(const dg_question_t *question, const dg_plan_t *plan, dg_plan_info_t *info) {
    *info = (dg_plan_info_t)DG_PLAN_INFO_INIT;
    info->machine = question->machine->name;
    if (question->empty) return;
    info->kernel = dg_find_kernel(plan->kernel)->name;
    info->stage_count = plan->stage_count;
    for (int32_t i = 0; i < plan->stage_count; i++) {
        const dg_plan_stage_t *from = &plan->stage[i];
        dg_plan_stage_info_t *to = &info->stage[i];
        to->kernel = dg_find_kernel(from->specialisation.kernel)->name;
        dg_format_specialisation(&from->specialisation, to->specialisation, DG_PLAN_TEXT);
        to->grid = (int32_t)from->grid;
        to->threads = (int32_t)from->threads;
        to->cluster = (int32_t)from->cluster;
        to->shared_bytes = (int32_t)from->shared_bytes;
    }
    info->block_m = plan->block_m;
    info->block_n = plan->block_n;
    info->splits = plan->splits;
    info->workspace = (size_t)plan->workspace;
    info->us = (double)plan->us;
}

/* What goes along on the walk over the candidates. */
typedef struct walk_t {
    const dg_question_t *question;
    const dg_plan_query_t *query;      /* may be NULL */
    const dg_specialisation_t *chosen; /* the plan's last stage; NULL: nothing was found */
    dg_plan_info_t *info;
} walk_t;

static void tell(const walk_t *walk, int32_t kernel, const dg_specialisation_t *specialisation,
    double us, const char *refusal) {
    char text[DG_PLAN_TEXT];
    if (walk->query == NULL || walk->query->candidate == NULL) return;
    if (specialisation != NULL) dg_format_specialisation(specialisation, text, sizeof text);
    const dg_plan_candidate_t candidate = {.kernel = dg_find_kernel(kernel)->name,
        .specialisation = specialisation == NULL ? NULL : text,
        .us = us,
        .refusal = refusal};
    walk->query->candidate(walk->query->user, &candidate);
}

static void visit_entry(
    const walk_t *walk, dg_plan_kernel_fn *planner, const dg_specialisation_t *entry) {
    const dg_question_t *question = walk->question;
    dg_plan_options_t options = question->options;
    dg_plan_t plan = {0};
    options.only = entry;
    if (!planner(&question->work, question->machine, &options, &plan)) {
        tell(walk, entry->kernel, entry, 0, plan.refusal);
        return;
    }
    const double us = (double)plan.us;
    tell(walk, entry->kernel, entry, us, NULL);
    if (walk->chosen == NULL || memcmp(entry, walk->chosen, sizeof *entry) == 0) return;
    if (walk->info->runner_up_us > 0 && us >= walk->info->runner_up_us) return;
    walk->info->runner_up_us = us;
    dg_format_specialisation(entry, walk->info->runner_up, DG_PLAN_TEXT);
}

static void visit_candidates(const walk_t *walk) {
    const dg_question_t *question = walk->question;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        dg_plan_kernel_fn *planner = dg_kernel_planner(id, question->machine);
        const dg_specialisation_t *entry;
        dg_plan_t plan = {0};
        if (planner == NULL) continue;
        if (!planner(&question->work, question->machine, &question->options, &plan)) {
            tell(walk, id, NULL, 0, plan.refusal);
            continue;
        }
        if (question->options.only != NULL) visit_entry(walk, planner, question->options.only);
        for (int32_t i = 0; question->options.only == NULL && (entry = dg_catalogue_entry(id, i));
             i++)
            visit_entry(walk, planner, entry);
    }
}

static dg_status_t plan_call(const dg_call_t *call, const dg_plan_request_t *request,
    const dg_plan_query_t *query, dg_plan_info_t *info) {
    dg_question_t question = {0};
    dg_plan_t plan = {0};
    DG_TRY(dg_check_args(info, sizeof *info, "info", "dg_plan_info_t"));
    DG_TRY(dg_prepare_question(call, request, query, &question));
    if (question.empty) {
        fill_info(&question, &plan, info);
        return DG_STATUS_OK;
    }
    dg_plan_info_t found = DG_PLAN_INFO_INIT;
    const dg_status_t status =
        dg_make_plan(&question.work, question.machine, &question.options, &plan);
    if (status == DG_STATUS_OK) fill_info(&question, &plan, &found);
    const walk_t walk = {
        &question, query, status == DG_STATUS_OK ? last_stage(&plan) : NULL, &found};
    visit_candidates(&walk);
    if (status == DG_STATUS_OK) *info = found;
    return status;
}

/* args: one of the request's three, checked for NULL here so that the others may be NULL */
static dg_status_t answer(const char *function, dg_context_t *ctx, const void *args,
    const dg_plan_request_t *request, const dg_plan_query_t *query, dg_plan_info_t *info) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, function, ctx));
    if (args == NULL)
        return dg_end_call(&call, dg_fail(DG_STATUS_NULL_POINTER, "args", "",
                                      "NULL, expected the arguments of the call to plan"));
    return dg_end_call(&call, plan_call(&call, request, query, info));
}

dg_status_t dg_gemm_plan(dg_context_t *ctx, const dg_gemm_args_t *args,
    const dg_plan_query_t *query, dg_plan_info_t *info) {
    const dg_plan_request_t request = {.gemm = args};
    return answer("dg_gemm_plan", ctx, args, &request, query, info);
}

dg_status_t dg_m_grouped_gemm_plan(dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args,
    const dg_plan_query_t *query, dg_plan_info_t *info) {
    const dg_plan_request_t request = {.m_grouped = args};
    return answer("dg_m_grouped_gemm_plan", ctx, args, &request, query, info);
}

dg_status_t dg_k_grouped_gemm_plan(dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args,
    const dg_plan_query_t *query, dg_plan_info_t *info) {
    const dg_plan_request_t request = {.k_grouped = args};
    return answer("dg_k_grouped_gemm_plan", ctx, args, &request, query, info);
}

dg_status_t dg_plan_machine(int32_t index, dg_plan_machine_t *machine) {
    dg_enter_function("dg_plan_machine");
    DG_TRY(dg_check_args(machine, sizeof *machine, "machine", "dg_plan_machine_t"));
    const dg_machine_t *row = dg_machine_row(index);
    DG_REQUIRE(row != NULL, DG_STATUS_BAD_VALUE, "index", "",
        "%d, expected the number of a machine; the table has ended", index);
    *machine = (dg_plan_machine_t){sizeof *machine, row->name, row->architecture, row->sms,
        row->shared_bytes, (double)row->clock_mhz, (double)row->memory_bytes_per_us};
    return DG_STATUS_OK;
}
