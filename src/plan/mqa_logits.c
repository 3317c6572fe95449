/* SPDX-License-Identifier: MIT
 *
 * See mqa_logits.h.
 */
#include "plan/mqa_logits.h"

#include "base/integer.h"
#include "kernels/args/group_tiles.h"
#include "kernels/args/mqa_logits.h"
#include "plan/cost.h"

enum { STAGES = 8, SCHEDULE_THREADS = 512, TMA_BYTES = 16, LEAST_BOX = 8 };

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

/* The smallest of first, 2 first, .. that is at least `value`. */
static int32_t round_up(int32_t first, int64_t value) {
    while (first < value) first *= 2;
    return first;
}

static const char *find_fault(const dg_mqa_logits_problem_t *problem, const dg_machine_t *machine) {
    const dg_logits_queries_t *queries = &problem->queries;
    const dg_logits_tokens_t *tokens = &problem->tokens;
    if (machine->architecture != 90)
        return "the GPU is no Hopper GPU, the only kind that has a kernel for MQA logits; copy the "
               "tensors to the CPU";
    if (queries->dtype != DG_DTYPE_E4M3 || tokens->dtype != DG_DTYPE_E4M3)
        return "q or kv is e2m1x2, for which there is no GPU kernel; pass e4m3, or copy the tensors "
               "to the CPU";
    if (queries->heads < 1 || queries->heads > DG_MQA_COLUMNS || queries->dim < 1 ||
        queries->dim > 128)
        return "a GPU kernel takes 1 to 128 heads and a dim of 1 to 128; copy the tensors to the CPU";
    if (queries->requests > most_tokens / queries->next || problem->columns > most_tokens ||
        dg_mqa_capacity(tokens) > most_tokens || tokens->pages > INT32_MAX)
        return "more than 2^30 queries, columns or tokens; split the call";
    if (!is_aligned(queries->q) || queries->head_stride % TMA_BYTES != 0 ||
        dg_mqa_query_stride(queries) % TMA_BYTES != 0)
        return "address or strides of q are no multiples of 16 bytes; pass a contiguous copy with a "
               "dim of a multiple of 16";
    if (queries->requests > 1 && queries->next > 1 &&
        queries->request_stride != queries->next * queries->query_stride)
        return "the queries of different requests do not follow each other at even distances in q; "
               "pass a contiguous copy";
    if (!is_aligned(tokens->codes) || tokens->token_stride % TMA_BYTES != 0 ||
        tokens->page_stride % TMA_BYTES != 0)
        return "address or strides of the tokens are no multiples of 16 bytes; pass a contiguous copy "
               "with a dim of a multiple of 16, pages with a multiple of 16 bytes";
    if (tokens->table != NULL && tokens->page_tokens % LEAST_BOX != 0)
        return "the tokens of a page are no multiple of 8; use pages of 32, 64 or 128 tokens";
    return NULL;
}

const char *dg_plan_mqa_logits(const dg_mqa_logits_problem_t *problem, const dg_machine_t *machine,
    int32_t num_sms, dg_plan_stage_t *stage) {
    const char *fault = find_fault(problem, machine);
    if (fault != NULL) return fault;
    const dg_logits_queries_t *queries = &problem->queries;
    const int32_t dim = round_up(32, queries->dim), heads = round_up(8, queries->heads);
    const int64_t groups = queries->requests * dg_ceil_div(queries->next, DG_MQA_COLUMNS / heads);
    const int64_t blocks = dg_ceil_div(dg_mqa_capacity(&problem->tokens), DG_MQA_BLOCK);
    *stage = (dg_plan_stage_t){
        .specialisation = {.kernel = DG_KERNEL_SM90_FP8_MQA_LOGITS, .values = {dim, heads, STAGES}},
        .grid = dg_unit_grid((double)groups * (double)(blocks > 0 ? blocks : 1),
            num_sms > 0 && num_sms < machine->sms ? num_sms : machine->sms),
        .threads = DG_SM90_MQA_LOGITS_THREADS,
        .cluster = 1,
        .shared_bytes = (uint32_t)DG_SM90_MQA_LOGITS_SHARED_BYTES(dim, STAGES)};
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
