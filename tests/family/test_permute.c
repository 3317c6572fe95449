/* SPDX-License-Identifier: MIT
 *
 * Rows of tokens to rows of experts and back (deep_gemm/moe.h), judged by loops that are written from the
 * header: sums are formed in the documented order. All outputs are compared bit for bit, and nothing else
 * may change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "routing.h"

/* Half of the cases of each pair of types: dense rows that kernels read 16 bytes at a time. The others
 * have any strides and widths. */
static bool is_plain(uint64_t seed) {
    return seed % 8 < 4;
}

static dg_tensor_t take(
    rng_t *rng, bool plain, dg_dtype_t dtype, int64_t rows, int64_t columns, const char *name) {
    if (!plain) return take_matrix(rng, dtype, rows, columns, name);
    void *memory = guard_take((size_t)(rows * columns) * size_of(dtype), 0, name);
    return dg_tensor_2d(memory, dtype, rows, columns);
}

static int64_t draw_width(rng_t *rng, bool plain) {
    return plain ? 8 * rng_range(rng, 1, 70) : rng_range(rng, 1, 40);
}

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
        const bool plain = is_plain(seed);
        const int64_t n = draw_width(&rng, plain);
        label("seed %llu %s, %lld columns", (unsigned long long)seed, dg_dtype_string(type),
            (long long)n);
        run_route(&r);
        dg_permute_rows_args_t args = DG_PERMUTE_ROWS_ARGS_INIT;
        args.x = take(&rng, plain, type, r.tokens, n, "x");
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
        args.out = take(&rng, plain, type, r.rows, n, "out");
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
    rng_t *rng, const routing_t *r, bool plain, dg_dtype_t type, int64_t n, const char *name) {
    dg_tensor_t x = take(rng, plain, type, r->rows, n, name);
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < n && r->source[i] >= 0; j++) set_real(&x, i, j, rng_normal(rng));
    return x;
}

static void test_unpermute(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        rng_t rng = rng_make(2000 + seed);
        routing_t r = draw_routing(&rng);
        const bool plain = is_plain(seed);
        const int64_t n = draw_width(&rng, plain);
        label("seed %llu, %lld columns", (unsigned long long)seed, (long long)n);
        run_route(&r);
        dg_unpermute_rows_args_t args = DG_UNPERMUTE_ROWS_ARGS_INIT;
        args.x = draw_rows(&rng, &r, plain, seed % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, n, "x");
        args.rows = r.args.rows;
        if (seed % 3) args.weights = draw_weights(&rng, &r);
        args.out =
            take(&rng, plain, seed % 4 < 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, r.tokens, n, "out");
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
        const bool plain = is_plain(seed);
        const int64_t n = draw_width(&rng, plain);
        label("seed %llu, %lld columns", (unsigned long long)seed, (long long)n);
        run_route(&r);
        dg_dot_rows_args_t args = DG_DOT_ROWS_ARGS_INIT;
        args.a = take(&rng, plain, seed % 4 < 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, r.tokens, n, "a");
        for (int64_t i = 0; i < r.tokens * n; i++)
            set_real(&args.a, i / n, i % n, rng_normal(&rng));
        args.b = draw_rows(&rng, &r, plain, seed % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16, n, "b");
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

/* Ids and rows out of range, under CLAMP: what a GPU does with them. */
static void test_clamp(void **state) {
    (void)state;
    enum { TOKENS = 5, TOPK = 2, GROUPS = 3, N = 9 };
    static const int64_t ids[TOKENS][TOPK] = {
        {0, 3}, {2, INT64_C(1) << 32}, {1, -5}, {INT64_MAX, 0}, {2, INT64_MIN}};
    static const int32_t rows[TOKENS][TOPK] = {{0, -1}, {4, -1}, {2, -1}, {-1, 1}, {7, -1}};
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_context_t *ctx;
    rng_t rng = rng_make(17);
    label("clamped");
    options.group_values = DG_GROUP_VALUES_CLAMP;
    expect_ok(dg_context_create(&ctx, &options));
    routing_t r = {.tokens = TOKENS,
        .topk = TOPK,
        .groups = GROUPS,
        .rows = 5,
        .alignment = 1,
        .args = DG_ROUTE_TOKENS_ARGS_INIT};
    r.args.ids = dg_tensor_2d(ids, DG_DTYPE_I64, TOKENS, TOPK);
    r.args.counts = take_vector(&rng, GROUPS, "counts");
    r.args.ends = take_vector(&rng, GROUPS, "ends");
    r.args.rows = take_matrix(&rng, DG_DTYPE_I32, TOKENS, TOPK, "rows");
    r.args.sources = take_vector(&rng, r.rows, "sources");
    refer(&r);
    expect_ok(dg_route_tokens(ctx, &r.args, NULL));
    check_routing(&r);
    dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
    back.x = take_matrix(&rng, DG_DTYPE_F32, 5, N, "x");
    for (int64_t i = 0; i < 5 * N; i++) set_real(&back.x, i / N, i % N, (double)(i / N + 1));
    back.rows = dg_tensor_2d(rows, DG_DTYPE_I32, TOKENS, TOPK);
    back.out = take_matrix(&rng, DG_DTYPE_F32, TOKENS, N, "out");
    dg_permute_rows_args_t forth = DG_PERMUTE_ROWS_ARGS_INIT;
    forth.rows = back.rows;
    forth.out = take_matrix(&rng, DG_DTYPE_F32, 5, N, "rows out");
    dg_dot_rows_args_t dot = DG_DOT_ROWS_ARGS_INIT;
    dot.b = back.x;
    dot.rows = back.rows;
    dot.out = take_matrix(&rng, DG_DTYPE_F32, TOKENS, TOPK, "dots");
    expect_ok(dg_unpermute_rows(ctx, &back, NULL));
    forth.x = dot.a = back.out;
    expect_ok(dg_permute_rows(ctx, &forth, NULL));
    expect_ok(dg_dot_rows(ctx, &dot, NULL));
    static const float sums[TOKENS] = {1, 5, 3, 2, 0};
    for (int64_t t = 0; t < TOKENS; t++) {
        assert_true(get_real(&back.out, t, N - 1) == sums[t]);
        for (int64_t s = 0; s < TOPK; s++) {
            const int32_t row = rows[t][s];
            const bool there = row >= 0 && row < 5;
            assert_true(get_real(&dot.out, t, s) == (there ? sums[t] * (float)(row + 1) * N : 0));
            if (there) assert_true(get_real(&forth.out, row, 0) == sums[t]);
        }
    }
    dg_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_permute, guard_teardown),
        cmocka_unit_test_teardown(test_unpermute, guard_teardown),
        cmocka_unit_test_teardown(test_dot, guard_teardown),
        cmocka_unit_test_teardown(test_clamp, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
