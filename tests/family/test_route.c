/* SPDX-License-Identifier: MIT
 *
 * Slots of tokens sorted by expert (deep_gemm/moe.h): random ids in every form, many slots, none at all,
 * and what is refused. All outputs are compared, and nothing else may change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "routing.h"

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

/* No groups, no slots, no rows: outputs that have elements are written all the same. */
static void test_nothing(void **state) {
    (void)state;
    rng_t rng = rng_make(19);
    for (int kind = 0; kind < 3; kind++) {
        label("nothing %d", kind);
        routing_t r = {.tokens = kind == 1 ? 0 : 4,
            .topk = kind == 2 ? 0 : 2,
            .groups = kind == 0 ? 0 : 3,
            .rows = 6,
            .alignment = 4,
            .args = DG_ROUTE_TOKENS_ARGS_INIT};
        r.args.form = DG_GROUPS_PSUM;
        r.args.alignment = 4;
        r.args.ids = take_matrix(&rng, DG_DTYPE_I32, r.tokens, r.topk, "ids");
        for (int64_t i = 0; i < r.tokens * r.topk; i++)
            memset(at(&r.args.ids, i / 2, i % 2), 0xFF, 4);
        r.args.counts = take_vector(&rng, r.groups, "counts");
        r.args.ends = take_vector(&rng, r.groups, "ends");
        r.args.rows = take_matrix(&rng, DG_DTYPE_I32, r.tokens, r.topk, "rows");
        r.args.sources = take_vector(&rng, r.rows, "sources");
        refer(&r);
        run_route(&r);
        dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
        back.x = take_matrix(&rng, DG_DTYPE_BF16, r.rows, 9, "x");
        back.rows = r.args.rows;
        back.out = take_matrix(&rng, DG_DTYPE_F32, r.tokens, 9, "out");
        expect_ok(dg_unpermute_rows(NULL, &back, NULL));
        for (int64_t i = 0; i < r.tokens * 9; i++) expect_bits(&back.out, i / 9, i % 9, 0);
    }
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
    back.x = take_matrix(&rng, DG_DTYPE_F32, r.rows, 5, "x");
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
        cmocka_unit_test_teardown(test_nothing, guard_teardown),
        cmocka_unit_test_teardown(test_refused, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
