/* SPDX-License-Identifier: MIT
 *
 * Tokens to the rows of their experts and back (deep_gemm/moe.h), judged by references that are written
 * from the header: where a slot's row lies is counted slot by slot over all slots before it, sums are
 * formed in the documented order. All outputs are compared bit for bit, and nothing else may change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "guard.h"
#include "random_data.h"

#ifndef SEEDS
#    define SEEDS 60 /* random cases of each test; fewer on the emulator */
#endif

/* ---- tensors with random strides */

static size_t size_of(dg_dtype_t dtype) {
    return (size_t)dg_dtype_size(dtype);
}

/* [rows, columns], by rows or by columns, dense or with gaps, at any multiple of the element size. */
static dg_tensor_t take_matrix(
    rng_t *rng, dg_dtype_t dtype, int64_t rows, int64_t columns, const char *name) {
    const bool by_column = rng_range(rng, 0, 3) == 0;
    const int64_t gap = rng_range(rng, 0, 2) == 0 ? rng_range(rng, 1, 5) : 0;
    const int64_t inner = by_column ? rows : columns, outer = by_column ? columns : rows;
    const int64_t spread = rng_range(rng, 0, 5) == 0 ? 2 : 1;
    const int64_t pitch = inner * spread + gap;
    const size_t skew = rng_range(rng, 0, 2) == 0 ? size_of(dtype) : 0;
    dg_tensor_t tensor = dg_tensor_2d(
        guard_take((size_t)(outer * pitch) * size_of(dtype) + 1, skew, name), dtype, rows, columns);
    tensor.stride[0] = by_column ? spread : pitch;
    tensor.stride[1] = by_column ? pitch : spread;
    return tensor;
}

static dg_tensor_t take_vector(rng_t *rng, int64_t count, const char *name) {
    const int64_t stride = rng_range(rng, 0, 3) == 0 ? 3 : 1;
    dg_tensor_t tensor =
        dg_tensor_1d(guard_take((size_t)(count * stride) * 4 + 4, 0, name), DG_DTYPE_I32, count);
    tensor.stride[0] = stride;
    return tensor;
}

static char *at(const dg_tensor_t *tensor, int64_t i, int64_t j) {
    const int64_t offset = i * tensor->stride[0] + (tensor->rank > 1 ? j * tensor->stride[1] : 0);
    return (char *)tensor->data + offset * (int64_t)size_of(tensor->dtype);
}

static int32_t get_i32(const dg_tensor_t *tensor, int64_t i, int64_t j) {
    int32_t value;
    memcpy(&value, at(tensor, i, j), 4);
    return value;
}

static float get_real(const dg_tensor_t *tensor, int64_t i, int64_t j) {
    uint32_t bits = 0;
    float value;
    if (tensor->dtype == DG_DTYPE_F32)
        memcpy(&bits, at(tensor, i, j), 4);
    else
        memcpy((char *)&bits + 2, at(tensor, i, j), 2);
    memcpy(&value, &bits, 4);
    return value;
}

/* `value` in the tensor's type, BF16 by rounding to nearest even. */
static uint32_t round_to(const dg_tensor_t *tensor, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (tensor->dtype == DG_DTYPE_F32) return bits;
    const uint32_t low = bits & 0xFFFFu, half = 0x8000u;
    bits >>= 16;
    return low > half || (low == half && (bits & 1u)) ? bits + 1 : bits;
}

static void set_real(const dg_tensor_t *tensor, int64_t i, int64_t j, double value) {
    const uint32_t bits = round_to(tensor, (float)value);
    memcpy(at(tensor, i, j), &bits, size_of(tensor->dtype));
}

static void allow_all(const dg_tensor_t *tensor) {
    const int64_t columns = tensor->rank > 1 ? tensor->shape[1] : 1;
    for (int64_t i = 0; i < tensor->shape[0]; i++)
        for (int64_t j = 0; j < columns; j++) guard_allow(at(tensor, i, j), size_of(tensor->dtype));
}

static void expect_bits(const dg_tensor_t *tensor, int64_t i, int64_t j, uint32_t want) {
    uint32_t have = 0;
    memcpy(&have, at(tensor, i, j), size_of(tensor->dtype));
    if (have != want)
        label_fail(
            "entry [%lld, %lld] is %08x, expected %08x", (long long)i, (long long)j, have, want);
}

/* ---- routing */

typedef struct routing_t {
    int64_t tokens, topk, groups, rows, alignment;
    dg_route_tokens_args_t args;
    int32_t *row, *source, *group, *count, *end; /* as they should be */
} routing_t;

static int64_t id_of(const routing_t *r, int64_t token, int64_t slot) {
    int64_t wide;
    if (r->args.ids.dtype == DG_DTYPE_I32) return get_i32(&r->args.ids, token, slot);
    memcpy(&wide, at(&r->args.ids, token, slot), 8);
    return wide;
}

/* Where each group begins and may end, then the row of each slot: its rank among equal ids. */
static void refer(routing_t *r) {
    int64_t begin = 0;
    int64_t *begins = guard_scratch((size_t)(r->groups + 1) * sizeof *begins);
    r->row = guard_scratch((size_t)(r->tokens * r->topk + 1) * 4);
    r->source = guard_scratch((size_t)(r->rows + 1) * 4);
    r->group = guard_scratch((size_t)(r->rows + 1) * 4);
    r->count = guard_scratch((size_t)(r->groups + 1) * 4);
    r->end = guard_scratch((size_t)(r->groups + 1) * 4);
    memset(r->source, 0xFF, (size_t)r->rows * 4);
    memset(r->group, 0xFF, (size_t)r->rows * 4);
    for (int64_t g = 0; g < r->groups; g++) {
        for (int64_t i = 0; i < r->tokens * r->topk; i++)
            r->count[g] += id_of(r, i / r->topk, i % r->topk) == g;
        if (r->args.form == DG_GROUPS_MASKED) begin = g * (r->rows / r->groups);
        if (r->args.form == DG_GROUPS_PSUM)
            while (begin % r->alignment != 0) begin++;
        begins[g] = begin;
        begin += r->count[g];
    }
    for (int64_t g = 0; g < r->groups; g++) {
        const int64_t most =
            r->args.form == DG_GROUPS_MASKED ? (g + 1) * (r->rows / r->groups) : r->rows;
        int64_t next = begins[g] < most ? begins[g] : most;
        for (int64_t i = 0; i < r->tokens * r->topk; i++) {
            if (id_of(r, i / r->topk, i % r->topk) != g || next == most) continue;
            r->source[next] = (int32_t)(i / r->topk);
            r->group[next] = (int32_t)g;
            r->row[i] = (int32_t)next++ + 1; /* 0: none */
        }
        r->end[g] = (int32_t)next;
    }
    for (int64_t i = 0; i < r->tokens * r->topk; i++) r->row[i]--;
}

static routing_t draw_routing(rng_t *rng) {
    static const dg_group_form_t forms[] = {DG_GROUPS_OFFSETS, DG_GROUPS_PSUM, DG_GROUPS_MASKED};
    routing_t r = {.tokens = rng_range(rng, 0, 40),
        .topk = rng_range(rng, 1, 9),
        .groups = rng_range(rng, 1, 12),
        .args = DG_ROUTE_TOKENS_ARGS_INIT};
    r.args.form = forms[rng_range(rng, 0, 2)];
    r.args.alignment = (int32_t)rng_range(rng, 1, 20);
    r.alignment = r.args.alignment;
    const int64_t slots = r.tokens * r.topk;
    r.rows = r.args.form == DG_GROUPS_OFFSETS ? slots : slots + r.groups * (r.alignment - 1);
    if (r.args.form == DG_GROUPS_MASKED) r.rows = r.groups * rng_range(rng, 0, r.tokens + 2);
    if (rng_range(rng, 0, 4) == 0 && r.args.form != DG_GROUPS_MASKED)
        r.rows = rng_range(rng, 0, r.rows); /* too few */
    const dg_dtype_t type = rng_range(rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
    r.args.ids = take_matrix(rng, type, r.tokens, r.topk, "ids");
    const int64_t dropped = rng_range(rng, 0, 3), favourite = rng_range(rng, 0, r.groups - 1);
    for (int64_t i = 0; i < slots; i++) {
        int64_t id = rng_range(rng, 0, r.groups - 1);
        if (rng_range(rng, 0, 3) == 0) id = favourite;
        if (rng_range(rng, 0, 9) < dropped) id = -rng_range(rng, 1, 100);
        memcpy(at(&r.args.ids, i / r.topk, i % r.topk), &id, size_of(type));
    }
    r.args.counts = take_vector(rng, r.groups, "counts");
    r.args.ends = take_vector(rng, r.groups, "ends");
    r.args.rows = take_matrix(rng, DG_DTYPE_I32, r.tokens, r.topk, "rows");
    r.args.sources = take_vector(rng, r.rows, "sources");
    if (rng_range(rng, 0, 1)) r.args.groups = take_vector(rng, r.rows, "groups");
    refer(&r);
    return r;
}

static void run_route(routing_t *r) {
    expect_ok(dg_route_tokens(NULL, &r->args, NULL));
    for (int64_t g = 0; g < r->groups; g++) {
        expect_bits(&r->args.counts, g, 0, (uint32_t)r->count[g]);
        expect_bits(&r->args.ends, g, 0, (uint32_t)r->end[g]);
    }
    for (int64_t i = 0; i < r->tokens * r->topk; i++)
        expect_bits(&r->args.rows, i / r->topk, i % r->topk, (uint32_t)r->row[i]);
    for (int64_t i = 0; i < r->rows; i++) {
        expect_bits(&r->args.sources, i, 0, (uint32_t)r->source[i]);
        if (r->args.groups.data != NULL) expect_bits(&r->args.groups, i, 0, (uint32_t)r->group[i]);
    }
}

static void test_route(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        rng_t rng = rng_make(seed);
        routing_t r = draw_routing(&rng);
        label("seed %llu form %d", (unsigned long long)seed, (int)r.args.form);
        guard_seal();
        run_route(&r);
        allow_all(&r.args.counts);
        allow_all(&r.args.ends);
        allow_all(&r.args.rows);
        allow_all(&r.args.sources);
        if (r.args.groups.data != NULL) allow_all(&r.args.groups);
        guard_check();
        guard_release();
    }
}

/* ---- rows */

static float weight_of(const dg_tensor_t *weights, int64_t token, int64_t slot) {
    return weights->data == NULL ? 1.0f : get_real(weights, token, slot);
}

static dg_tensor_t draw_weights(rng_t *rng, const routing_t *r) {
    dg_tensor_t weights = take_matrix(rng, DG_DTYPE_F32, r->tokens, r->topk, "weights");
    for (int64_t i = 0; i < r->tokens * r->topk; i++) /* dropped slots keep NaN */
        if (r->row[i] >= 0) set_real(&weights, i / r->topk, i % r->topk, rng_normal(rng));
    return weights;
}

static void test_permute(void **state) {
    (void)state;
    static const dg_dtype_t types[] = {DG_DTYPE_BF16, DG_DTYPE_F32, DG_DTYPE_E4M3, DG_DTYPE_E8M0,
        DG_DTYPE_E2M1X2, DG_DTYPE_I32, DG_DTYPE_I64, DG_DTYPE_U8};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        rng_t rng = rng_make(1000 + seed);
        routing_t r = draw_routing(&rng);
        const bool weighted = seed % 3 == 0, cleared = rng_range(&rng, 0, 1);
        const dg_dtype_t type = types[weighted ? seed / 3 % 2 : seed % 8];
        const int64_t n =
            rng_range(&rng, 0, 2) ? rng_range(&rng, 1, 40) : 8 * rng_range(&rng, 1, 40);
        label("seed %llu %s, %lld columns", (unsigned long long)seed, dg_dtype_string(type),
            (long long)n);
        run_route(&r);
        dg_permute_rows_args_t args = DG_PERMUTE_ROWS_ARGS_INIT;
        args.x = take_matrix(&rng, type, r.tokens, n, "x");
        for (int64_t t = 0; t < r.tokens; t++)
            for (int64_t j = 0; j < n; j++) {
                if (weighted) {
                    set_real(&args.x, t, j, rng_normal(&rng));
                } else {
                    const uint64_t bits = rng_next(&rng);
                    memcpy(at(&args.x, t, j), &bits, size_of(type));
                }
            }
        args.rows = r.args.rows;
        if (weighted) args.weights = draw_weights(&rng, &r);
        if (cleared) args.sources = r.args.sources;
        args.out = take_matrix(&rng, type, r.rows, n, "out");
        guard_seal();
        expect_ok(dg_permute_rows(NULL, &args, NULL));
        for (int64_t i = 0; i < r.rows; i++)
            for (int64_t j = 0; j < n; j++)
                if (cleared || r.source[i] >= 0) guard_allow(at(&args.out, i, j), size_of(type));
        for (int64_t i = 0; i < r.rows * n && cleared; i++) {
            const uint64_t zero = 0;
            if (r.source[i / n] < 0)
                assert_memory_equal(at(&args.out, i / n, i % n), &zero, size_of(type));
        }
        for (int64_t i = 0; i < r.tokens * r.topk; i++) {
            const int64_t token = i / r.topk;
            for (int64_t j = 0; j < n && r.row[i] >= 0; j++) {
                const float value = weighted ? get_real(&args.x, token, j) : 0.0f;
                const float scaled = value * weight_of(&args.weights, token, i % r.topk);
                if (weighted)
                    expect_bits(&args.out, r.row[i], j, round_to(&args.out, scaled));
                else if (memcmp(at(&args.out, r.row[i], j), at(&args.x, token, j), size_of(type)))
                    label_fail("token %lld column %lld", (long long)token, (long long)j);
            }
        }
        guard_check();
        guard_release();
    }
}

/* Rows of groups: those that some slot has are numbers, the others stay NaN. */
static dg_tensor_t draw_rows(
    rng_t *rng, const routing_t *r, dg_dtype_t type, int64_t n, const char *name) {
    dg_tensor_t x = take_matrix(rng, type, r->rows, n, name);
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < n && r->source[i] >= 0; j++) set_real(&x, i, j, rng_normal(rng));
    return x;
}

static void test_unpermute(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        rng_t rng = rng_make(2000 + seed);
        routing_t r = draw_routing(&rng);
        const int64_t n =
            rng_range(&rng, 0, 1) ? rng_range(&rng, 1, 40) : 8 * rng_range(&rng, 1, 70);
        label("seed %llu, %lld columns", (unsigned long long)seed, (long long)n);
        run_route(&r);
        dg_unpermute_rows_args_t args = DG_UNPERMUTE_ROWS_ARGS_INIT;
        args.x = draw_rows(&rng, &r, seed % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, n, "x");
        args.rows = r.args.rows;
        if (seed % 3) args.weights = draw_weights(&rng, &r);
        args.out =
            take_matrix(&rng, seed % 4 < 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, r.tokens, n, "out");
        guard_seal();
        expect_ok(dg_unpermute_rows(NULL, &args, NULL));
        allow_all(&args.out);
        for (int64_t t = 0; t < r.tokens; t++) {
            for (int64_t j = 0; j < n; j++) {
                float sum = 0.0f;
                for (int64_t s = 0; s < r.topk; s++) {
                    const int32_t row = r.row[t * r.topk + s];
                    if (row < 0) continue;
                    const float product =
                        weight_of(&args.weights, t, s) * get_real(&args.x, row, j);
                    sum = sum + product;
                }
                expect_bits(&args.out, t, j, round_to(&args.out, sum));
            }
        }
        guard_check();
        guard_release();
    }
}

/* The sum of partial[i], i in [first, first + length), halves apart; lanes of eight come first. */
static float add_pairs(const float *partial) {
    float lane[32];
    for (int l = 0; l < 32; l++) {
        const float *p = partial + 8 * l;
        lane[l] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
    for (int apart = 16; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) lane[l] = lane[l] + lane[l + apart];
    return lane[0];
}

static void test_dot(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        rng_t rng = rng_make(3000 + seed);
        routing_t r = draw_routing(&rng);
        const int64_t n =
            rng_range(&rng, 0, 1) ? rng_range(&rng, 0, 40) : 8 * rng_range(&rng, 1, 70);
        label("seed %llu, %lld columns", (unsigned long long)seed, (long long)n);
        run_route(&r);
        dg_dot_rows_args_t args = DG_DOT_ROWS_ARGS_INIT;
        args.a = take_matrix(&rng, seed % 4 < 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, r.tokens, n, "a");
        for (int64_t i = 0; i < r.tokens * n; i++)
            set_real(&args.a, i / n, i % n, rng_normal(&rng));
        args.b = draw_rows(&rng, &r, seed % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, n, "b");
        args.rows = r.args.rows;
        args.out = take_matrix(&rng, DG_DTYPE_F32, r.tokens, r.topk, "out");
        guard_seal();
        expect_ok(dg_dot_rows(NULL, &args, NULL));
        allow_all(&args.out);
        for (int64_t i = 0; i < r.tokens * r.topk; i++) {
            float partial[256] = {0.0f}, want = 0.0f;
            for (int64_t j = 0; j < n && r.row[i] >= 0; j++) {
                const float product =
                    get_real(&args.a, i / r.topk, j) * get_real(&args.b, r.row[i], j);
                partial[j % 256] = partial[j % 256] + product;
            }
            if (r.row[i] >= 0) want = add_pairs(partial);
            expect_bits(&args.out, i / r.topk, i % r.topk, round_to(&args.out, want));
        }
        guard_check();
        guard_release();
    }
}

/* Many slots: more than one piece for each warp of a kernel that reads ids in pieces. */
static void test_route_many(void **state) {
    (void)state;
    enum { TOKENS = 1500, TOPK = 6, GROUPS = 3 };
    rng_t rng = rng_make(7);
    routing_t r = {.tokens = TOKENS,
        .topk = TOPK,
        .groups = GROUPS,
        .rows = TOKENS * TOPK,
        .alignment = 1,
        .args = DG_ROUTE_TOKENS_ARGS_INIT};
    label("many slots");
    r.args.ids = dg_tensor_2d(guard_take(TOKENS * TOPK * 8, 0, "ids"), DG_DTYPE_I64, TOKENS, TOPK);
    for (int64_t i = 0; i < TOKENS * TOPK; i++) {
        const int64_t id = rng_range(&rng, -1, GROUPS - 1);
        memcpy(at(&r.args.ids, i / TOPK, i % TOPK), &id, 8);
    }
    r.args.counts = take_vector(&rng, GROUPS, "counts");
    r.args.ends = take_vector(&rng, GROUPS, "ends");
    r.args.rows =
        dg_tensor_2d(guard_take(TOKENS * TOPK * 4, 0, "rows"), DG_DTYPE_I32, TOKENS, TOPK);
    r.args.sources = take_vector(&rng, r.rows, "sources");
    refer(&r);
    run_route(&r);
}

/* ---- refusals: nothing is written, the argument is named */

static void expect_refused(dg_status_t status, dg_status_t want, const char *argument) {
    expect_status(status, want);
    assert_string_equal(dg_last_error_argument(), argument);
    guard_check();
}

static void test_refused(void **state) {
    (void)state;
    rng_t rng = rng_make(11);
    routing_t r = draw_routing(&rng);
    while (r.tokens < 3 || r.args.form != DG_GROUPS_OFFSETS || r.rows < r.tokens * r.topk) {
        guard_release();
        r = draw_routing(&rng);
    }
    label("refusals");
    run_route(&r);
    dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
    back.x = draw_rows(&rng, &r, DG_DTYPE_F32, 5, "x");
    back.rows = r.args.rows;
    back.out = take_matrix(&rng, DG_DTYPE_F32, r.tokens, 5, "out");
    const int64_t wrong_id = r.groups;
    memcpy(at(&r.args.ids, 1, 0), &wrong_id, size_of(r.args.ids.dtype));
    guard_seal();
    expect_refused(dg_route_tokens(NULL, &r.args, NULL), DG_STATUS_BAD_VALUE, "ids");
    dg_route_tokens_args_t route = r.args;
    route.form = DG_GROUPS_INDEX;
    expect_refused(dg_route_tokens(NULL, &route, NULL), DG_STATUS_BAD_ENUM, "form");
    route = r.args;
    route.ends.shape[0]++;
    expect_refused(dg_route_tokens(NULL, &route, NULL), DG_STATUS_BAD_SHAPE, "ends");
    route = r.args;
    route.sources = route.counts;
    expect_refused(dg_route_tokens(NULL, &route, NULL), DG_STATUS_OVERLAP, "sources");
    route = r.args;
    route.alignment = -1;
    expect_refused(dg_route_tokens(NULL, &route, NULL), DG_STATUS_BAD_VALUE, "alignment");
    dg_unpermute_rows_args_t args = back;
    args.x.shape[0] = 1; /* the rows of most tokens are not there */
    expect_refused(dg_unpermute_rows(NULL, &args, NULL), DG_STATUS_BAD_VALUE, "rows");
    args = back;
    args.x.dtype = DG_DTYPE_I32;
    expect_refused(dg_unpermute_rows(NULL, &args, NULL), DG_STATUS_BAD_DTYPE, "x");
    args = back;
    args.out.stride[0] = 0;
    expect_refused(dg_unpermute_rows(NULL, &args, NULL), DG_STATUS_BAD_STRIDE, "out");
    args = back;
    args.weights = dg_tensor_2d(back.x.data, DG_DTYPE_F32, r.tokens, r.topk + 1);
    expect_refused(dg_unpermute_rows(NULL, &args, NULL), DG_STATUS_BAD_SHAPE, "weights");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_route, guard_teardown),
        cmocka_unit_test_teardown(test_route_many, guard_teardown),
        cmocka_unit_test_teardown(test_permute, guard_teardown),
        cmocka_unit_test_teardown(test_unpermute, guard_teardown),
        cmocka_unit_test_teardown(test_dot, guard_teardown),
        cmocka_unit_test_teardown(test_refused, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
