/* SPDX-License-Identifier: MIT
 *
 * See planning.h. Arguments pass the very checks that their call would make.
 */
#include "api/planning.h"

#include <stddef.h>

#include "api/gpu.h"
#include "api/placeholder.h"
#include "api/products.h"
#include "base/error.h"
#include "cuda/device.h"
#include "model/output_list.h"

static dg_status_t prepare_gemm(const dg_gemm_args_t *given, dg_question_t *question) {
    dg_gemm_problem_t problem;
    DG_TRY(dg_check_args(given, sizeof *given, "args", "dg_gemm_args_t"));
    dg_gemm_args_t args = *given;
    dg_place_gemm(&args);
    DG_TRY(dg_check_gemm(&args, &problem));
    dg_gemm_work(&problem, &question->work);
    question->empty = problem.m == 0 || problem.n == 0;
    return DG_STATUS_OK;
}

static dg_status_t prepare_m_grouped(
    const dg_call_t *call, const dg_m_grouped_gemm_args_t *given, dg_question_t *question) {
    dg_m_grouped_problem_t problem;
    DG_TRY(dg_check_args(given, sizeof *given, "args", "dg_m_grouped_gemm_args_t"));
    dg_m_grouped_gemm_args_t args = *given;
    dg_place_m_grouped_gemm(&args);
    DG_TRY(dg_check_m_grouped_gemm(&args, &call->options, &problem));
    dg_m_grouped_gemm_work(&problem, &question->work);
    question->empty = problem.rows == 0 || problem.n == 0;
    return DG_STATUS_OK;
}

static dg_status_t prepare_k_grouped(
    const dg_call_t *call, const dg_k_grouped_gemm_args_t *given, dg_question_t *question) {
    dg_k_grouped_problem_t problem;
    void *list[DG_MAX_LISTED_OUTPUTS];
    DG_TRY(dg_check_args(given, sizeof *given, "args", "dg_k_grouped_gemm_args_t"));
    dg_k_grouped_gemm_args_t args = *given;
    dg_place_k_grouped_gemm(&args, list);
    DG_TRY(dg_check_k_grouped_gemm(&args, &call->options, &problem));
    dg_k_grouped_gemm_work(&problem, &question->work);
    question->empty = problem.m == 0 || problem.n == 0;
    return DG_STATUS_OK;
}

/* The device that the request's output lies on. */
static dg_device_t output_device(const dg_plan_request_t *request) {
    if (request->gemm != NULL) return request->gemm->d.device;
    if (request->m_grouped != NULL) return request->m_grouped->d.device;
    return request->k_grouped != NULL ? request->k_grouped->d.device
                                      : (dg_device_t){DG_DEVICE_NONE, 0};
}

static dg_status_t find_machine(const dg_call_t *call, const dg_plan_request_t *request,
    const char *name, const dg_machine_t **machine) {
    if (name != NULL) {
        *machine = dg_find_machine(name);
        DG_REQUIRE(*machine != NULL, DG_STATUS_BAD_VALUE, "query", ".machine",
            "\"%s\", expected a GPU that dg_plan_machine lists, such as \"%s\"", name,
            dg_machine_row(0)->name);
        return DG_STATUS_OK;
    }
    dg_device_t device = output_device(request);
    if (device.type != DG_DEVICE_CUDA) device = call->options.device;
    DG_REQUIRE(device.type == DG_DEVICE_CUDA, DG_STATUS_BAD_DEVICE, "query", ".machine",
        "NULL, and neither d nor the context is on a GPU; name a machine, such as \"H200\"");
    dg_cuda_device_t *opened;
    DG_TRY(dg_cuda_open(device.id, &opened));
    *machine = dg_cuda_machine(opened);
    return DG_STATUS_OK;
}

static dg_status_t check_query(const dg_plan_query_t *query) {
    if (query == NULL) return DG_STATUS_OK;
    return dg_check_args(query, sizeof *query, "query", "dg_plan_query_t");
}

dg_status_t dg_prepare_question(const dg_call_t *call, const dg_plan_request_t *request,
    const dg_plan_query_t *query, dg_question_t *question) {
    DG_TRY(check_query(query));
    if (request->gemm != NULL) DG_TRY(prepare_gemm(request->gemm, question));
    if (request->m_grouped != NULL) DG_TRY(prepare_m_grouped(call, request->m_grouped, question));
    if (request->k_grouped != NULL) DG_TRY(prepare_k_grouped(call, request->k_grouped, question));
    DG_TRY(find_machine(call, request, query == NULL ? NULL : query->machine, &question->machine));
    DG_TRY(dg_call_plan_options(call, &question->only, &question->options));
    if (query == NULL || query->only == NULL) return DG_STATUS_OK;
    DG_TRY(dg_parse_specialisation(query->only, &question->only));
    question->options.only = &question->only;
    return DG_STATUS_OK;
}
