/* SPDX-License-Identifier: MIT
 *
 * See mqa_logits.h.
 */
#include "plan/mqa_logits.h"

#include "base/integer.h"
#include "kernels/args/group_tiles.h"
#include "kernels/args/mqa_logits.h"
#include "plan/cost.h"

enum { MOST_DIM = 128, TMA_BYTES = 16, LEAST_BOX = 8 };
#define MOST_STRIDE (INT64_C(1) << 40) /* that TMA steps, bytes */

enum { CTAS_PER_SM = 8, SCHEDULE_THREADS = 512 }; /* of the other kernels */

/* Tokens and columns are counted in 32 bits, with room for a block more. */
static const int64_t most_tokens = INT64_C(1) << 30;

int32_t dg_mqa_box_tokens(const dg_logits_tokens_t *tokens) {
    int32_t box = DG_MQA_BLOCK;
    while (tokens->table != NULL && box > LEAST_BOX && tokens->page_tokens % box != 0) box /= 2;
    return box;
}

int64_t dg_mqa_query_stride(const dg_logits_queries_t *queries) {
    return queries->next > 1 ? queries->query_stride : queries->request_stride;
}

int64_t dg_mqa_capacity(const dg_logits_tokens_t *tokens) {
    return tokens->pages == 0 ? 0 : dg_logits_capacity(tokens);
}

static bool is_aligned(const void *address) {
    return (uintptr_t)address % TMA_BYTES == 0;
}

/* Whether TMA can step an axis. */
static bool is_stepped(int64_t extent, int64_t stride) {
    return extent <= 1 || (stride > 0 && stride < MOST_STRIDE && stride % TMA_BYTES == 0);
}

/* The smallest line of the catalogue for as many values and heads: those that are missing are zeros. NULL:
 * none, or a build without that kernel. */
static const dg_specialisation_t *find_line(int64_t dim, int64_t heads) {
    const dg_specialisation_t *best = NULL, *line;
    for (int32_t i = 0; (line = dg_catalogue_entry(DG_KERNEL_SM90_FP8_MQA_LOGITS, i)) != NULL;
         i++) {
        if (line->values[0] < dim || line->values[1] < heads) continue;
        const int32_t size = line->values[0] * line->values[1];
        if (best == NULL || size < best->values[0] * best->values[1]) best = line;
    }
    return best;
}

/* Whether the kernel for Hopper takes it. */
static bool fits_sm90(const dg_mqa_logits_problem_t *problem, const dg_machine_t *machine) {
    const dg_logits_queries_t *queries = &problem->queries;
    const dg_logits_tokens_t *tokens = &problem->tokens;
    const bool even = queries->requests == 1 || queries->next == 1 ||
                      queries->request_stride == queries->next * queries->query_stride;
    return machine->architecture == 90 && queries->dtype == DG_DTYPE_E4M3 &&
           tokens->dtype == DG_DTYPE_E4M3 && queries->heads >= 1 &&
           queries->heads <= DG_MQA_COLUMNS && queries->dim >= 1 && queries->dim <= MOST_DIM &&
           even && is_aligned(queries->q) && is_stepped(queries->heads, queries->head_stride) &&
           is_stepped(queries->requests * queries->next, dg_mqa_query_stride(queries)) &&
           is_aligned(tokens->codes) && is_stepped(tokens->page_tokens, tokens->token_stride) &&
           is_stepped(tokens->pages, tokens->page_stride) &&
           (tokens->table == NULL || tokens->page_tokens % LEAST_BOX == 0);
}

static void plan_sm90(const dg_logits_queries_t *queries, const dg_specialisation_t *line,
    double blocks, int32_t sms, dg_plan_stage_t *stage) {
    const int32_t dim = line->values[0], heads = line->values[1], stages = line->values[2];
    const int64_t groups = queries->requests * dg_ceil_div(queries->next, DG_MQA_COLUMNS / heads);
    *stage = (dg_plan_stage_t){.specialisation = *line,
        .grid = dg_unit_grid((double)groups * blocks, sms),
        .threads = DG_SM90_MQA_LOGITS_THREADS,
        .cluster = 1,
        .shared_bytes = (uint32_t)DG_SM90_MQA_LOGITS_SHARED_BYTES(dim, stages)};
}

const char *dg_plan_mqa_logits(const dg_mqa_logits_problem_t *problem, const dg_machine_t *machine,
    int32_t num_sms, dg_plan_stage_t *stage) {
    const dg_logits_queries_t *queries = &problem->queries;
    const dg_logits_tokens_t *tokens = &problem->tokens;
    const int64_t capacity = dg_mqa_capacity(tokens);
    if (queries->requests > most_tokens / queries->next || queries->heads > most_tokens ||
        problem->columns > most_tokens || capacity > most_tokens || tokens->pages > INT32_MAX)
        return "more than 2^30 queries, heads, columns or tokens, expected at most as many; split "
               "the call";
    const int32_t sms = num_sms > 0 && num_sms < machine->sms ? num_sms : machine->sms;
    const double blocks = capacity > 0 ? (double)dg_ceil_div(capacity, DG_MQA_BLOCK) : 1;
    const dg_specialisation_t *line = find_line(queries->dim, queries->heads);
    if (line != NULL && fits_sm90(problem, machine)) {
        plan_sm90(queries, line, blocks, sms, stage);
        return NULL;
    }
    *stage = (dg_plan_stage_t){
        .specialisation = {.kernel = DG_KERNEL_ANY_MQA_LOGITS, .values = {DG_MQA_BLOCK}},
        .grid = dg_unit_grid(
            (double)queries->requests * (double)queries->next * blocks, sms * CTAS_PER_SM),
        .threads = DG_MQA_BLOCK,
        .cluster = 1,
        .shared_bytes = DG_ANY_MQA_SHARED_BYTES};
    return NULL;
}

void dg_plan_mqa_schedule(dg_plan_stage_t *stage) {
    *stage = (dg_plan_stage_t){
        .specialisation = {.kernel = DG_KERNEL_ANY_MQA_SCHEDULE, .values = {SCHEDULE_THREADS}},
        .grid = 1,
        .threads = SCHEDULE_THREADS,
        .cluster = 1,
        .shared_bytes = DG_GROUP_SCAN_SHARED_BYTES(SCHEDULE_THREADS)};
}
