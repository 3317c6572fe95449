/* SPDX-License-Identifier: MIT
 *
 * See logits.h.
 */
#include "logits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "operand.h"

enum { NAN_CODE = 0x7F, BLOCK = 32 };

/* Everything a case has. Arrays of doubles are plain: [rows, heads, dim] and so on. */
typedef struct scene_t {
    const logits_case_t *test;
    rng_t rng;
    int64_t rows, columns; /* of logits */
    int64_t capacity;      /* tokens that a request can have */
    int64_t pages;         /* of the cache */
    dg_tensor_t q, q_scale, kv, kv_scale, weights, starts, ends, table, indices, logits;
    double *q_value, *weight;
    double *kv_value, *scale; /* of all tokens: one tensor, or [pages, page] */
    int64_t *begin, *end;     /* [rows] as the lists say it */
    int64_t *owner;           /* [requests] row of the table */
    bool *used;               /* tokens in some range */
} scene_t;

static bool packed(dg_dtype_t dtype) {
    return dtype == DG_DTYPE_E2M1X2;
}

/* A guarded tensor, rows `pad` elements apart. */
static dg_tensor_t take_tensor(const logits_case_t *test, dg_dtype_t dtype, int32_t rank,
    const int64_t *shape, int64_t pad, int64_t last_stride, const char *name) {
    dg_tensor_t t = {.device = {DG_DEVICE_CPU, 0}, .dtype = dtype, .rank = rank};
    int64_t stride = last_stride;
    for (int32_t i = rank - 1; i >= 0; i--) {
        t.shape[i] = shape[i];
        t.stride[i] = stride;
        stride = stride * shape[i] + pad;
    }
    const int64_t size = dg_dtype_size(dtype);
    t.data = guard_take((size_t)(stride * size), test->aligned ? 0 : (size_t)size, name);
    return t;
}

/* A row of random codes and what they are worth, E2M1X2 with four factors in *word. */
static void fill_row(scene_t *s, dg_dtype_t dtype, uint8_t *row, uint32_t *word, double *value) {
    const int64_t dim = s->test->dim;
    const values_t values = s->test->integers ? VALUES_INTEGER : VALUES_RANDOM;
    double factor[4] = {1, 1, 1, 1};
    for (int b = 0; b < 4 && packed(dtype); b++) {
        const code_t code = factor_random(&s->rng, DG_DTYPE_I32, values);
        *word = (b == 0 ? 0 : *word) | code.bits << 8 * b;
        factor[b] = code.value;
    }
    if (packed(dtype)) memset(row, 0, (size_t)(dim / 2));
    for (int64_t k = 0; k < dim; k++) {
        const code_t code = code_random(&s->rng, dtype, values);
        code_store(dtype, row, k, code.bits);
        value[k] = code.value * (packed(dtype) ? factor[k / BLOCK] : 1.0);
    }
}

static void make_queries(scene_t *s) {
    const logits_case_t *c = s->test;
    const int64_t length = packed(c->q) ? c->dim / 2 : c->dim;
    const int32_t rank = c->page > 0 ? 4 : 3;
    const int64_t paged[4] = {c->requests, c->next, c->heads, length};
    const int64_t flat[3] = {c->requests, c->heads, length};
    s->q = take_tensor(c, c->q, rank, c->page > 0 ? paged : flat, c->pad, 1, "q");
    if (packed(c->q)) {
        s->q_scale = take_tensor(
            c, DG_DTYPE_I32, rank - 1, c->page > 0 ? paged : flat, c->pad, 1 + c->pad, "q_scale");
    }
    const int64_t weights[2] = {s->rows, c->heads};
    s->weights = take_tensor(c, c->weights, 2, weights, c->pad, 1 + c->pad, "weights");
    s->q_value = guard_scratch((size_t)(s->rows * c->heads * c->dim) * sizeof(double));
    s->weight = guard_scratch((size_t)(s->rows * c->heads) * sizeof(double));
    for (int64_t row = 0; row < s->rows; row++) {
        const int64_t r = row / c->next, t = row % c->next;
        for (int64_t h = 0; h < c->heads; h++) {
            const bool four = rank == 4;
            const int64_t at =
                r * s->q.stride[0] + (four ? t * s->q.stride[1] : 0) + h * s->q.stride[rank - 2];
            const int64_t word = r * s->q_scale.stride[0] + (four ? t * s->q_scale.stride[1] : 0) +
                                 h * s->q_scale.stride[rank - 2];
            fill_row(s, c->q, (uint8_t *)s->q.data + at, (uint32_t *)s->q_scale.data + word,
                s->q_value + (row * c->heads + h) * c->dim);
            const int64_t w = row * s->weights.stride[0] + h * s->weights.stride[1];
            const float weight =
                c->integers ? (float)rng_range(&s->rng, -3, 3) : (float)rng_normal(&s->rng);
            const uint16_t narrow = ref_round_bf16(weight);
            if (c->weights == DG_DTYPE_F32) {
                ((float *)s->weights.data)[w] = weight;
            } else {
                ((uint16_t *)s->weights.data)[w] = narrow;
            }
            s->weight[row * c->heads + h] = c->weights == DG_DTYPE_F32 ? weight : ref_bf16(narrow);
        }
    }
}

/* Ranges as the caller states them, wild ones among them. */
static void make_ranges(scene_t *s) {
    const logits_case_t *c = s->test;
    const int64_t two[2] = {c->requests, c->next};
    s->ends = take_tensor(c, DG_DTYPE_I32, c->page > 0 ? 2 : 1, two, c->pad, 1 + c->pad, "ends");
    if (c->page == 0 && c->ranges != RANGES_CAUSAL)
        s->starts = take_tensor(c, DG_DTYPE_I32, 1, two, 0, 1 + c->pad, "starts");
    s->begin = guard_scratch((size_t)s->rows * sizeof(int64_t));
    s->end = guard_scratch((size_t)s->rows * sizeof(int64_t));
    for (int64_t row = 0; row < s->rows; row++) {
        const int64_t r = row / c->next, t = row % c->next, n = s->capacity;
        int64_t begin = 0, end = c->ranges == RANGES_EMPTY ? 0 : n;
        if (c->ranges == RANGES_CAUSAL) end = n * (row + 1) / s->rows;
        if (c->ranges == RANGES_RANDOM) {
            begin = rng_range(&s->rng, -3, n);
            end = rng_range(&s->rng, 0, 3) == 0 ? rng_range(&s->rng, -5, n + 5)
                                                : begin + rng_range(&s->rng, 0, n);
            if (rng_range(&s->rng, 0, 15) == 0) end = INT32_MAX;
        }
        if (s->starts.data != NULL) {
            ((int32_t *)s->starts.data)[r * s->starts.stride[0]] = (int32_t)begin;
        } else {
            begin = 0;
        }
        const int64_t at = r * s->ends.stride[0] + (c->page > 0 ? t * s->ends.stride[1] : 0);
        ((int32_t *)s->ends.data)[at] = (int32_t)end;
        begin = begin < 0 ? 0 : begin;
        end = end > n ? n : end;
        if (!c->compressed && end > s->columns) end = s->columns;
        if (c->compressed && end - begin > s->columns) end = begin + s->columns;
        s->begin[row] = begin;
        s->end[row] = end;
    }
}

/* Pages in random order; requests have pages of their own, some of the cache are nobody's. */
static void make_table(scene_t *s) {
    const logits_case_t *c = s->test;
    const int64_t per_request = s->capacity / c->page;
    const int64_t shape[2] = {c->requests, per_request};
    s->table = take_tensor(c, DG_DTYPE_I32, 2, shape, c->pad, 1 + c->pad, "block_table");
    int64_t *order = guard_scratch((size_t)s->pages * sizeof(int64_t));
    rng_permutation(&s->rng, order, s->pages);
    for (int64_t r = 0; r < c->requests; r++) {
        for (int64_t p = 0; p < per_request; p++) {
            int32_t *entry =
                (int32_t *)s->table.data + r * s->table.stride[0] + p * s->table.stride[1];
            *entry = (int32_t)order[r * per_request + p];
            if (c->bad_pages && rng_range(&s->rng, 0, 3) == 0)
                *entry = rng_range(&s->rng, 0, 1) == 0 ? -1 : (int32_t)s->pages;
        }
    }
    s->owner = guard_scratch((size_t)c->requests * sizeof(int64_t));
    if (c->indices) s->indices = take_tensor(c, DG_DTYPE_I32, 1, &c->requests, 0, 2, "indices");
    for (int64_t r = 0; r < c->requests; r++) {
        s->owner[r] = r;
        if (!c->indices) continue;
        const bool same = r > 0 && rng_range(&s->rng, 0, 2) > 0;
        int32_t *index = s->indices.data;
        index[2 * r] = same ? index[2 * r - 2] : (int32_t)(r % 3 == 0 ? 7 * r : -r);
        if (same) s->owner[r] = s->owner[r - 1];
    }
}

/* Where token j of a request lies among all tokens, -1: nowhere. */
static int64_t place_of(const scene_t *s, int64_t request, int64_t j) {
    const int64_t page = s->test->page;
    if (page == 0) return j;
    const int32_t entry =
        ((const int32_t *)s->table
                .data)[s->owner[request] * s->table.stride[0] + j / page * s->table.stride[1]];
    return entry < 0 || entry >= s->pages ? -1 : entry * page + j % page;
}

static void find_used(scene_t *s) {
    const int64_t all = s->test->page > 0 ? s->pages * s->test->page : s->capacity;
    s->used = guard_scratch((size_t)all * sizeof(bool) + 1);
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t j = s->begin[row]; j < s->end[row]; j++) {
            const int64_t place = place_of(s, row / s->test->next, j);
            if (place >= 0) s->used[place] = true;
        }
    }
}

static void make_tokens(scene_t *s) {
    const logits_case_t *c = s->test;
    const int64_t length = packed(c->kv) ? c->dim / 2 : c->dim;
    const int64_t count = c->page > 0 ? s->pages * c->page : s->capacity;
    const dg_dtype_t scale_type = packed(c->kv) ? DG_DTYPE_I32 : DG_DTYPE_F32;
    if (c->page > 0) {
        const int64_t shape[4] = {s->pages, c->page, 1, length + 4};
        s->kv = take_tensor(c, DG_DTYPE_U8, 4, shape, 0, 1, "kv_cache");
    } else {
        const int64_t shape[2] = {count, length};
        s->kv = take_tensor(c, c->kv, 2, shape, c->pad, 1, "kv");
        if (!c->no_scale)
            s->kv_scale = take_tensor(c, scale_type, 1, shape, 0, 1 + c->pad, "kv_scale");
    }
    s->kv_value = guard_scratch((size_t)(count * c->dim) * sizeof(double));
    s->scale = guard_scratch((size_t)count * sizeof(double));
    for (int64_t j = 0; j < count; j++) {
        uint8_t *row = (uint8_t *)s->kv.data + j * s->kv.stride[0];
        uint8_t *scale = (uint8_t *)s->kv_scale.data + j * s->kv_scale.stride[0] * 4;
        if (c->page > 0) {
            uint8_t *page = (uint8_t *)s->kv.data + j / c->page * s->kv.stride[0];
            row = page + j % c->page * length;
            scale = page + c->page * length + j % c->page * 4;
        }
        uint32_t word = 0;
        fill_row(s, c->kv, row, &word, s->kv_value + j * c->dim);
        const float factor =
            c->integers ? (float)rng_range(&s->rng, 1, 4) : 0.25F + (float)rng_unit(&s->rng);
        if (!packed(c->kv)) memcpy(&word, &factor, sizeof word);
        s->scale[j] = packed(c->kv) || c->no_scale ? 1.0 : factor;
        if (c->nan_tokens && !packed(c->kv) && rng_range(&s->rng, 0, 19) == 0) {
            row[0] = NAN_CODE;
            s->kv_value[j * c->dim] = NAN;
        }
        if (!s->used[j]) {
            memset(row, packed(c->kv) ? 0x77 : NAN_CODE, (size_t)length);
            word = 0xFFFFFFFFU; /* NaN in F32 and in each UE8M0 */
        }
        if (!c->no_scale) memcpy(scale, &word, sizeof word);
    }
}

/* logits[row, token at `place`], heads without the relu where their product is negative. */
static ref_sum_t expect(const scene_t *s, int64_t row, int64_t place) {
    const logits_case_t *c = s->test;
    ref_sum_t sum = {0.0, 0.0};
    for (int64_t h = 0; h < c->heads; h++) {
        const double weight = s->weight[row * c->heads + h];
        const ref_sum_t dot = ref_dot(
            s->q_value + (row * c->heads + h) * c->dim, s->kv_value + place * c->dim, c->dim);
        sum.value += weight * (dot.value <= 0.0 ? 0.0 : dot.value);
        sum.magnitude += fabs(weight) * dot.magnitude;
    }
    sum.value *= s->scale[place];
    sum.magnitude *= fabs(s->scale[place]);
    return sum;
}

static bool has_token(const scene_t *s, int64_t row, int64_t column, int64_t *place) {
    const int64_t j = s->test->compressed ? s->begin[row] + column : column;
    if (j < s->begin[row] || j >= s->end[row]) return false;
    *place = place_of(s, row / s->test->next, j);
    return *place >= 0;
}

static void allow_elements(const scene_t *s) {
    const int64_t size = dg_dtype_size(s->logits.dtype);
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t c = 0; c < s->columns; c++) {
            int64_t place;
            if (s->test->dirty && !has_token(s, row, c, &place)) continue;
            guard_allow(
                (char *)s->logits.data + (row * s->logits.stride[0] + c) * size, (size_t)size);
        }
    }
}

static dg_status_t call(dg_context_t *ctx, const scene_t *s) {
    const dg_switch_t clean = s->test->dirty ? DG_OFF : DG_DEFAULT;
    if (s->test->page > 0) {
        dg_paged_mqa_logits_args_t args = DG_PAGED_MQA_LOGITS_ARGS_INIT;
        args.q = s->q, args.q_scale = s->q_scale, args.kv_cache = s->kv;
        args.weights = s->weights, args.context_lens = s->ends, args.block_table = s->table;
        args.indices = s->indices, args.clean = clean, args.logits = s->logits;
        return dg_paged_mqa_logits(ctx, &args, NULL);
    }
    dg_mqa_logits_args_t args = DG_MQA_LOGITS_ARGS_INIT;
    args.q = s->q, args.q_scale = s->q_scale, args.kv = s->kv, args.kv_scale = s->kv_scale;
    args.weights = s->weights, args.starts = s->starts, args.ends = s->ends;
    args.compressed = s->test->compressed ? DG_ON : DG_OFF;
    args.clean = clean, args.logits = s->logits;
    return dg_mqa_logits(ctx, &args, NULL);
}

void logits_verify(dg_context_t *ctx, const logits_case_t *test, uint64_t seed) {
    label("requests %lld next %lld heads %lld dim %lld tokens %lld page %lld seed %llu",
        (long long)test->requests, (long long)test->next, (long long)test->heads,
        (long long)test->dim, (long long)test->tokens, (long long)test->page,
        (unsigned long long)seed);
    scene_t s = {.test = test, .rng = rng_make(seed), .rows = test->requests * test->next};
    s.columns = test->compressed ? test->columns : test->tokens;
    s.capacity = test->tokens;
    if (test->page > 0) s.capacity = (test->tokens + test->page - 1) / test->page * test->page;
    if (test->page > 0) s.pages = test->requests * (s.capacity / test->page) + 3;
    make_queries(&s);
    make_ranges(&s);
    if (test->page > 0) make_table(&s);
    find_used(&s);
    make_tokens(&s);
    const int64_t shape[2] = {s.rows, s.columns};
    s.logits = take_tensor(test, test->logits, 2, shape, test->pad, 1, "logits");
    guard_seal();
    expect_ok(call(ctx, &s));
    allow_elements(&s);
    guard_check();
    for (int64_t row = 0; row < s.rows; row++) {
        for (int64_t c = 0; c < s.columns; c++) {
            int64_t place;
            const bool inside = has_token(&s, row, c, &place);
            if (!inside && test->dirty) continue;
            const ref_sum_t outside = {-INFINITY, 0.0};
            ref_judge(test->integers ? JUDGE_EXACT : JUDGE_BOUND, &s.logits,
                row * s.logits.stride[0] + c, inside ? expect(&s, row, place) : outside, row, c);
        }
    }
    guard_release();
}
