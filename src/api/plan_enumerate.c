/* SPDX-License-Identifier: MIT
 *
 * dg_plan_enumerate(): the specialisations that a set of calls needs, each once. See deep_gemm/plan.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/planning.h"
#include "base/error.h"
#include "deep_gemm/plan.h"

/* Specialisations in the order in which they were first needed. */
typedef struct found_t {
    dg_specialisation_t *items; /* [count], room for [room] */
    size_t count, room;
} found_t;

static dg_status_t add(found_t *found, const dg_specialisation_t *specialisation) {
    for (size_t i = found->count; i-- > 0;)
        if (memcmp(&found->items[i], specialisation, sizeof *specialisation) == 0)
            return DG_STATUS_OK;
    if (found->count == found->room) {
        const size_t room = found->room * 2 + 16;
        dg_specialisation_t *items = realloc(found->items, room * sizeof *items);
        DG_REQUIRE(items != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
            "no memory for %zu specialisations; free some", room);
        found->items = items;
        found->room = room;
    }
    found->items[found->count++] = *specialisation;
    return DG_STATUS_OK;
}

static dg_status_t add_plan(found_t *found, const dg_question_t *question) {
    dg_plan_t plan;
    DG_TRY(dg_make_plan(&question->work, question->machine, &question->options, &plan));
    for (int32_t i = 0; i < plan.stage_count; i++)
        DG_TRY(add(found, &plan.stage[i].specialisation));
    return DG_STATUS_OK;
}

static dg_status_t check_request(const dg_plan_request_t *request) {
    const int given =
        (request->gemm != NULL) + (request->m_grouped != NULL) + (request->k_grouped != NULL);
    DG_REQUIRE(given == 1, DG_STATUS_BAD_VALUE, "requests", "",
        "%d of gemm, m_grouped and k_grouped are given, expected one; make a request for each",
        given);
    const int64_t from = request->rows_from, to = request->rows_to;
    DG_REQUIRE((from == 0 && to == 0) || (from >= 1 && to >= from), DG_STATUS_BAD_VALUE, "requests",
        ".rows_from",
        "range %" PRId64 " to %" PRId64 ", expected 1 <= rows_from <= rows_to, or 0 and 0 for the "
        "rows that args have",
        from, to);
    return DG_STATUS_OK;
}

static dg_status_t add_request(const dg_call_t *call, const dg_plan_request_t *request,
    const dg_plan_query_t *query, found_t *found) {
    dg_question_t question = {0};
    DG_TRY(check_request(request));
    DG_TRY(dg_prepare_question(call, request, query, &question));
    if (question.empty) return DG_STATUS_OK;
    if (request->rows_to == 0) return add_plan(found, &question);
    int64_t *rows = request->k_grouped != NULL ? &question.work.k : &question.work.m;
    for (*rows = request->rows_from; *rows <= request->rows_to; ++*rows)
        DG_TRY(add_plan(found, &question));
    return DG_STATUS_OK;
}

static dg_status_t enumerate(const dg_call_t *call, const dg_plan_request_t *requests,
    int32_t count, const dg_plan_query_t *query, found_t *found) {
    for (int32_t i = 0; i < count; i++) DG_TRY(add_request(call, &requests[i], query, found));
    return DG_STATUS_OK;
}

static dg_status_t check_list(
    const dg_plan_request_t *requests, int32_t count, dg_plan_visit_fn visit) {
    DG_REQUIRE(count >= 0, DG_STATUS_BAD_VALUE, "count", "",
        "%d, expected the number of requests, at least 0", count);
    DG_REQUIRE(requests != NULL || count == 0, DG_STATUS_NULL_POINTER, "requests", "",
        "NULL, expected the address of %d requests", count);
    DG_REQUIRE(visit != NULL, DG_STATUS_NULL_POINTER, "visit", "",
        "NULL, expected a function to tell each specialisation");
    return DG_STATUS_OK;
}

dg_status_t dg_plan_enumerate(dg_context_t *ctx, const dg_plan_request_t *requests, int32_t count,
    const dg_plan_query_t *query, dg_plan_visit_fn visit, void *user) {
    dg_call_t call;
    found_t found = {0};
    DG_TRY(dg_begin_call(&call, "dg_plan_enumerate", ctx));
    dg_status_t status = check_list(requests, count, visit);
    if (status == DG_STATUS_OK) status = enumerate(&call, requests, count, query, &found);
    for (size_t i = 0; status == DG_STATUS_OK && i < found.count; i++) {
        char text[DG_PLAN_TEXT];
        dg_format_specialisation(&found.items[i], text, sizeof text);
        visit(user, text);
    }
    free(found.items);
    return dg_end_call(&call, status);
}
