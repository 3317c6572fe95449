/* SPDX-License-Identifier: MIT
 *
 * MQA logits on the CPU; see mqa_logits.h. A task is a group of queries of one request by a stretch
 * of its tokens. Its queries become panels of FP32 values once; its tokens do so a tile at a time,
 * and the micro-kernel of the GEMM engine multiplies tile by tile:
 *
 *     queries  [count, head tiles][dim, kernels->rows]     the kernel's a
 *     tokens   [dim, kernels->cols]                        the kernel's b
 *     dots     [kernels->rows, kernels->cols]              relu, weight, sum down the heads
 *
 * Tokens lie along vectors, so the sum over heads keeps its order whatever the tile.
 */
#include "cpu/mqa_logits.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/integer.h"
#include "cpu/e2m1.h"
#include "cpu/tiling.h"
#include "model/dtype.h"

/* Queries of a group, and tokens of a task: a task decodes each of its queries once for SPLIT
 * tokens, and each token once for GROUP queries with all their heads. */
enum { GROUP = 8, SPLIT = 1024 };

enum { VALUES_PER_FACTOR = 32 };

typedef struct dg_logits_work_t {
    const dg_mqa_logits_problem_t *problem;
    dg_cpu_pool_t *pool;
    const dg_cpu_kernels_t *kernels;
    int64_t groups_per_request;
    int64_t splits;
} dg_logits_work_t;

/* A worker's scratch memory; see above. */
typedef struct dg_logits_scratch_t {
    float *queries, *weights; /* weights: [GROUP, heads] */
    float *tokens;
    float *dots;
    float *sums, *scales; /* [kernels->cols] */
    float *ones;          /* [DG_CPU_MAX_COLS] */
    float *values;        /* [dim], and up to 31 more */
    uint8_t *codes;       /* as many */
} dg_logits_scratch_t;

typedef struct dg_logits_group_t {
    int64_t count, request, query;
    dg_logits_range_t range[GROUP];
    int64_t begin, end; /* tokens of this task in any of the ranges */
} dg_logits_group_t;

static int64_t head_tiles(const dg_logits_work_t *work) {
    return dg_ceil_div(work->problem->queries.heads, work->kernels->rows);
}

static size_t panel_floats(const dg_logits_work_t *work) {
    return (size_t)work->problem->queries.dim * (size_t)work->kernels->rows;
}

static size_t padded_dim(const dg_logits_work_t *work) {
    return ((size_t)work->problem->queries.dim + 31) / 32 * 32;
}

/* Carves the scratch memory, or with base NULL tells its size. */
static size_t carve_scratch(const dg_logits_work_t *work, char *base, dg_logits_scratch_t *out) {
    const size_t rows = (size_t)work->kernels->rows, cols = (size_t)work->kernels->cols;
    const size_t dim = (size_t)work->problem->queries.dim, padded = padded_dim(work);
    const size_t heads = (size_t)work->problem->queries.heads;
    struct {
        float **piece;
        size_t floats;
    } const pieces[] = {
        {&out->queries, GROUP * (size_t)head_tiles(work) * panel_floats(work)},
        {&out->weights, GROUP * heads},
        {&out->tokens, dim * cols},
        {&out->dots, rows * cols},
        {&out->sums, cols},
        {&out->scales, cols},
        {&out->ones, DG_CPU_MAX_COLS},
        {&out->values, padded},
    };
    size_t offset = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        *pieces[i].piece = base == NULL ? NULL : (float *)(void *)(base + offset);
        offset += dg_cpu_carved_bytes(pieces[i].floats * sizeof(float));
    }
    out->codes = base == NULL ? NULL : (uint8_t *)base + offset;
    return offset + dg_cpu_carved_bytes(padded);
}

/* [dim] values of a row of codes, E2M1X2 ones times their factors, in scratch->values. */
static void decode_row(const dg_logits_work_t *work, const uint8_t *codes, dg_dtype_t dtype,
    uint32_t factors, const dg_logits_scratch_t *scratch) {
    const int64_t dim = work->problem->queries.dim;
    if (dim == 0) return;
    if (dtype == DG_DTYPE_E4M3) {
        memcpy(scratch->codes, codes, (size_t)dim);
    } else {
        dg_cpu_unpack_e2m1(codes, 0, dim, scratch->codes);
    }
    work->kernels->decode_e4m3(scratch->codes, dim, scratch->values);
    if (dtype == DG_DTYPE_E4M3) return;
    for (int64_t k = 0; k < dim; k++) {
        const int64_t block = k / VALUES_PER_FACTOR;
        scratch->values[k] *= dg_decode_e8m0((uint8_t)(factors >> 8 * block));
    }
}

/* scratch->values into place i of a panel of `width` rows. */
static void put_row(const dg_logits_scratch_t *scratch, int64_t dim, int width, int i, float *to) {
    for (int64_t k = 0; k < dim; k++) to[k * width + i] = scratch->values[k];
}

static int64_t logits_row(
    const dg_mqa_logits_problem_t *problem, const dg_logits_group_t *group, int64_t member) {
    return group->request * problem->queries.next + group->query + member;
}

static void load_query(const dg_logits_work_t *work, const dg_logits_group_t *group, int64_t member,
    const dg_logits_scratch_t *scratch) {
    const dg_logits_queries_t *queries = &work->problem->queries;
    const int64_t request = group->request, query = group->query + member;
    const int rows = work->kernels->rows;
    const size_t floats = (size_t)head_tiles(work) * panel_floats(work);
    float *panels = scratch->queries + (size_t)member * floats;
    memset(panels, 0, floats * sizeof(float));
    const uint8_t *codes =
        queries->q + request * queries->request_stride + query * queries->query_stride;
    const int64_t scale =
        request * queries->scale_request_stride + query * queries->scale_query_stride;
    const int64_t weight = logits_row(work->problem, group, member) * queries->weights_row_stride;
    for (int64_t h = 0; h < queries->heads; h++) {
        const uint32_t factors =
            queries->scale == NULL ? 0 : queries->scale[scale + h * queries->scale_head_stride];
        decode_row(work, codes + h * queries->head_stride, queries->dtype, factors, scratch);
        put_row(scratch, queries->dim, rows, (int)(h % rows),
            panels + (size_t)(h / rows) * panel_floats(work));
        const int64_t at = weight + h * queries->weights_head_stride;
        scratch->weights[member * queries->heads + h] =
            queries->weights_dtype == DG_DTYPE_F32
                ? ((const float *)queries->weights)[at]
                : dg_decode_bf16(((const uint16_t *)queries->weights)[at]);
    }
}

/* The page of a token, -1 if there is none. table: the request's row of it, or NULL. */
static int64_t find_page(const dg_logits_tokens_t *tokens, const int32_t *table, int64_t token) {
    if (table == NULL) return 0;
    const int64_t page = table[token / tokens->page_tokens * tokens->table_column_stride];
    return page < tokens->pages ? page : -1;
}

/* Tokens [first, first + count) into a panel, and their factors. An absent one gets zeros, and is
 * marked: bit i of the result. */
static uint32_t load_tokens(const dg_logits_work_t *work, const int32_t *table, int64_t first,
    int count, const dg_logits_scratch_t *scratch) {
    const dg_logits_tokens_t *tokens = &work->problem->tokens;
    const int64_t dim = work->problem->queries.dim;
    const int cols = work->kernels->cols;
    uint32_t absent = 0;
    memset(scratch->tokens, 0, (size_t)dim * (size_t)cols * sizeof(float));
    for (int i = 0; i < count; i++) {
        const int64_t page = find_page(tokens, table, first + i);
        const int64_t place = (first + i) % tokens->page_tokens;
        if (page < 0) {
            absent |= 1u << i;
            continue;
        }
        uint32_t word = dg_float_bits(1.0f);
        if (tokens->scales != NULL) {
            const int64_t at = page * tokens->page_stride + place * tokens->scale_stride;
            memcpy(&word, tokens->scales + at, sizeof word);
        }
        const uint8_t *codes =
            tokens->codes + page * tokens->page_stride + place * tokens->token_stride;
        decode_row(work, codes, tokens->dtype, word, scratch);
        put_row(scratch, dim, cols, i, scratch->tokens);
        scratch->scales[i] = tokens->dtype == DG_DTYPE_E4M3 ? dg_bits_float(word) : 1.0f;
    }
    return absent;
}

/* sums[c] += weights[h] relu(dots[h][c]), heads in order. relu lets a NaN through. */
static void add_heads(
    const float *dots, const float *weights, int heads, int cols, float *restrict sums) {
    for (int h = 0; h < heads; h++) {
        const float weight = weights[h];
        for (int c = 0; c < cols; c++) {
            const float dot = dots[h * cols + c];
            sums[c] += weight * (dot <= 0.0f ? 0.0f : dot);
        }
    }
}

static void store(
    const dg_mqa_logits_problem_t *problem, int64_t row, int64_t column, float value) {
    const int64_t at = row * problem->row_stride + column;
    if (problem->logits_dtype == DG_DTYPE_F32) {
        ((float *)problem->logits)[at] = value;
    } else {
        ((uint16_t *)problem->logits)[at] = dg_encode_bf16(value);
    }
}

/* One query against the tokens [first, first + count) in scratch->tokens. */
static void multiply(const dg_logits_work_t *work, const dg_logits_group_t *group, int64_t member,
    int64_t first, int count, uint32_t absent, const dg_logits_scratch_t *scratch) {
    const dg_mqa_logits_problem_t *problem = work->problem;
    const dg_cpu_kernels_t *kernels = work->kernels;
    const dg_logits_range_t range = group->range[member];
    const int64_t dim = problem->queries.dim, heads = problem->queries.heads;
    if (range.begin >= first + count || range.end <= first) return;
    memset(scratch->sums, 0, (size_t)kernels->cols * sizeof(float));
    for (int64_t tile = 0; tile < head_tiles(work); tile++) {
        const int64_t left = heads - tile * kernels->rows;
        const int used = left < kernels->rows ? (int)left : kernels->rows;
        const size_t panel = (size_t)(member * head_tiles(work) + tile) * panel_floats(work);
        memset(scratch->dots, 0, (size_t)(kernels->rows * kernels->cols) * sizeof(float));
        kernels->multiply(dim, used, scratch->queries + panel, scratch->tokens, scratch->ones,
            scratch->ones, scratch->dots);
        add_heads(scratch->dots, scratch->weights + member * heads + tile * kernels->rows, used,
            kernels->cols, scratch->sums);
    }
    const int64_t row = logits_row(problem, group, member);
    for (int i = 0; i < count; i++) {
        const int64_t token = first + i;
        if (token < range.begin || token >= range.end) continue;
        const bool is_absent = (absent >> i & 1) != 0;
        if (is_absent && !problem->clean) continue;
        store(problem, row, range.column + token - range.begin,
            is_absent ? -INFINITY : scratch->scales[i] * scratch->sums[i]);
    }
}

static void clean_row(
    const dg_mqa_logits_problem_t *problem, int64_t row, dg_logits_range_t range) {
    const bool empty = range.begin == range.end;
    const int64_t before = empty ? problem->columns : range.column;
    const int64_t after = empty ? problem->columns : range.column + range.end - range.begin;
    for (int64_t c = 0; c < before; c++) store(problem, row, c, -INFINITY);
    for (int64_t c = after; c < problem->columns; c++) store(problem, row, c, -INFINITY);
}

static void find_group(const dg_logits_work_t *work, int64_t index, dg_logits_group_t *group) {
    const dg_mqa_logits_problem_t *problem = work->problem;
    const int64_t number = index / work->splits, first = index % work->splits * SPLIT;
    *group = (dg_logits_group_t){
        .request = number / work->groups_per_request,
        .query = number % work->groups_per_request * GROUP,
        .begin = INT64_MAX,
    };
    const int64_t left = problem->queries.next - group->query;
    group->count = left < GROUP ? left : GROUP;
    for (int64_t m = 0; m < group->count; m++) {
        const dg_logits_range_t range = dg_logits_range(problem, group->request, group->query + m);
        group->range[m] = range;
        if (range.begin == range.end) continue;
        if (range.begin < group->begin) group->begin = range.begin;
        if (range.end > group->end) group->end = range.end;
    }
    if (group->begin < first) group->begin = first;
    if (group->end > first + SPLIT) group->end = first + SPLIT;
}

static dg_status_t logits_task(void *context, int64_t index, int worker) {
    const dg_logits_work_t *work = context;
    const dg_mqa_logits_problem_t *problem = work->problem;
    const dg_logits_tokens_t *tokens = &problem->tokens;
    dg_logits_group_t group;
    dg_logits_scratch_t scratch;
    find_group(work, index, &group);
    for (int64_t m = 0; m < group.count && problem->clean && index % work->splits == 0; m++)
        clean_row(problem, logits_row(problem, &group, m), group.range[m]);
    if (group.begin >= group.end) return DG_STATUS_OK;
    carve_scratch(work, dg_cpu_scratch(work->pool, worker), &scratch);
    for (int i = 0; i < DG_CPU_MAX_COLS; i++) scratch.ones[i] = 1.0f;
    for (int64_t m = 0; m < group.count; m++) load_query(work, &group, m, &scratch);
    const int32_t *table = NULL;
    if (tokens->table != NULL)
        table = tokens->table +
                dg_logits_table_row(tokens, group.request) * tokens->table_request_stride;
    for (int64_t first = group.begin; first < group.end; first += work->kernels->cols) {
        const int64_t left = group.end - first;
        const int count = left < work->kernels->cols ? (int)left : work->kernels->cols;
        const uint32_t absent = load_tokens(work, table, first, count, &scratch);
        for (int64_t m = 0; m < group.count; m++)
            multiply(work, &group, m, first, count, absent, &scratch);
    }
    return DG_STATUS_OK;
}

/* Threads worth waking: each takes 10 to 20 us to wake, about a million multiplications. */
static int choose_threads(const dg_cpu_pool_t *pool, const dg_mqa_logits_problem_t *problem) {
    const dg_logits_queries_t *queries = &problem->queries;
    const double products = (double)queries->requests * (double)queries->next *
                            (double)queries->heads * (double)queries->dim *
                            (double)problem->columns;
    const int threads = dg_cpu_pool_threads(pool);
    return products > 1e6 * threads ? threads : 1 + (int)(products / 1e6);
}

dg_status_t dg_cpu_mqa_logits(dg_cpu_pool_t *pool, const dg_mqa_logits_problem_t *problem) {
    const dg_logits_queries_t *queries = &problem->queries;
    const int64_t capacity = dg_logits_capacity(&problem->tokens);
    const int64_t reach =
        problem->compressed || capacity < problem->columns ? capacity : problem->columns;
    const int64_t groups_per_request = dg_ceil_div(queries->next, GROUP);
    const int64_t groups = queries->requests * groups_per_request;
    dg_logits_work_t work = {.problem = problem,
        .pool = pool,
        .kernels = dg_cpu_pool_kernels(pool),
        .groups_per_request = groups_per_request,
        .splits = reach > 0 ? dg_ceil_div(reach, SPLIT) : 1};
    int64_t tasks = 0;
    dg_logits_scratch_t scratch;
    const bool huge = queries->heads > INT32_MAX || queries->dim > INT32_MAX ||
                      (queries->heads + 16) * (queries->dim + 32) > INT64_MAX / 1024 ||
                      __builtin_mul_overflow(groups, work.splits, &tasks);
    DG_REQUIRE(!huge, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for the values of %d queries; use fewer heads", (int)GROUP);
    return dg_cpu_run_tasks(pool, logits_task, &work, tasks, choose_threads(pool, problem),
        carve_scratch(&work, NULL, &scratch));
}
