/* SPDX-License-Identifier: MIT
 *
 * A row's bits depend on nothing but its own inputs: not on how many rows and columns the problem
 * has, where the row stands, how many threads work, which instruction set they use, or how often
 * the call was made before. Results are compared byte for byte with one made by a single thread of
 * the portable code, over the whole problem.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { REPEATS = 20 };

static const int32_t thread_counts[] = {1, 2, 7};
static const dg_cpu_isa_t isas[] = {
    DG_CPU_ISA_AUTO, DG_CPU_ISA_PORTABLE, DG_CPU_ISA_AVX2, DG_CPU_ISA_AVX512, DG_CPU_ISA_NEON};

/* Calls run(ctx, user) for every context that this machine can have. */
static void for_each_context(void (*run)(dg_context_t *ctx, void *user), void *user) {
    for (size_t i = 0; i < COUNT(isas); i++) {
        if (!dg_cpu_isa_supported(isas[i])) continue;
        for (size_t j = 0; j < COUNT(thread_counts); j++) {
            dg_context_t *ctx = context_make(thread_counts[j], isas[i]);
            run(ctx, user);
            expect_ok(dg_context_destroy(ctx));
        }
    }
}

static dg_context_t *plain_context(void) {
    return context_make(1, DG_CPU_ISA_PORTABLE);
}

/* Rows [first, first + count) of an operand with one factor for each row. */
static dg_operand_t rows_of(dg_operand_t view, int64_t first, int64_t count) {
    view.data.data =
        (uint8_t *)view.data.data + first * view.data.stride[0] * dg_dtype_size(view.data.dtype);
    view.data.shape[0] = count;
    if (view.scale.data != NULL) {
        view.scale.data = (uint8_t *)view.scale.data +
                          first * view.scale.stride[0] * dg_dtype_size(view.scale.dtype);
        view.scale.shape[0] = count;
    }
    return view;
}

typedef struct gemm_state_t {
    operand_t a, b;
    dg_dtype_t d_type;
    uint8_t *want;    /* [m, n] */
    uint8_t *scratch; /* [m, n] */
} gemm_state_t;

/* d[row.., column..] as a dense problem of its own. */
static void gemm_part(dg_context_t *ctx, const gemm_state_t *s, int64_t row, int64_t m,
    int64_t column, int64_t n, void *d) {
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = rows_of(s->a.view, row, m);
    args.b = rows_of(s->b.view, column, n);
    args.d = dg_tensor_2d(d, s->d_type, m, n);
    expect_ok(dg_gemm(ctx, &args, NULL));
}

static void gemm_whole(dg_context_t *ctx, void *user) {
    const gemm_state_t *s = user;
    const size_t bytes = (size_t)(s->a.mn * s->b.mn * dg_dtype_size(s->d_type));
    memset(s->scratch, 0xFF, bytes);
    gemm_part(ctx, s, 0, s->a.mn, 0, s->b.mn, s->scratch);
    if (memcmp(s->scratch, s->want, bytes) == 0) return;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    expect_ok(dg_context_get_options(ctx, &options));
    label_fail(
        "bits differ: isa %s, %d threads", dg_cpu_isa_string(options.cpu_isa), options.num_threads);
}

/* Parts of many sizes at many places have the bits of the whole. */
static void gemm_parts(dg_context_t *ctx, const gemm_state_t *s, rng_t *rng) {
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 64, 65, 100};
    const int64_t size = dg_dtype_size(s->d_type);
    for (int trial = 0; trial < 60; trial++) {
        const int64_t m = extents[rng_range(rng, 0, COUNT(extents) - 1)];
        const int64_t n = extents[rng_range(rng, 0, COUNT(extents) - 1)];
        const int64_t row = rng_range(rng, 0, s->a.mn - m);
        const int64_t column = rng_range(rng, 0, s->b.mn - n);
        gemm_part(ctx, s, row, m, column, n, s->scratch);
        for (int64_t i = 0; i < m; i++) {
            const uint8_t *want = s->want + ((row + i) * s->b.mn + column) * size;
            if (memcmp(s->scratch + i * n * size, want, (size_t)(n * size)) != 0) {
                label_fail("row %lld differs inside [%lld+%lld, %lld+%lld]", (long long)(row + i),
                    (long long)row, (long long)m, (long long)column, (long long)n);
            }
        }
    }
}

static operand_spec_t spec_of(int kind) {
    operand_spec_t spec = fp8_1x128();
    if (kind == 1) spec = bf16_plain();
    if (kind == 2) spec.gran_k = 32, spec.scale = DG_DTYPE_I32;
    if (kind == 3) spec.dtype = DG_DTYPE_E2M1X2, spec.gran_k = 32, spec.scale = DG_DTYPE_E8M0;
    return spec;
}

static void test_gemm(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        rng_t rng = rng_make(100 + (uint64_t)kind);
        operand_spec_t a = spec_of(kind % 4);
        operand_spec_t b = a;
        a.mn_major = kind > 4 && kind != 7; /* a row of FP4 can't be cut out of packed rows */
        b.mn_major = kind > 5 && kind != 7;
        gemm_state_t s = {.d_type = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32};
        s.a = operand_make(&rng, &a, 0, 131, 530);
        s.b = operand_make(&rng, &b, 0, 142, 530);
        s.want = guard_scratch(131 * 142 * 4);
        s.scratch = guard_scratch(131 * 142 * 4);
        label("bits of gemm, a{%s} b{%s} seed=%d", operand_text(&a), operand_text(&b), 100 + kind);
        dg_context_t *ctx = plain_context();
        gemm_part(ctx, &s, 0, 131, 0, 142, s.want);
        expect_ok(dg_context_destroy(ctx));
        for (int i = 0; i < REPEATS; i++) gemm_whole(NULL, &s);
        for_each_context(gemm_whole, &s);
        gemm_parts(NULL, &s, &rng);
        guard_release();
    }
}

typedef struct k_state_t {
    k_matrix_t a, b;
    grouping_t grouping;
    uint8_t *want, *scratch; /* [G, m, n] F32 */
} k_state_t;

static void k_grouped_whole(dg_context_t *ctx, void *user) {
    const k_state_t *s = user;
    const size_t bytes = (size_t)(s->grouping.count * s->a.mn * s->b.mn) * 4;
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = s->a.view;
    args.b = s->b.view;
    args.d = dg_tensor_3d(s->scratch, DG_DTYPE_F32, s->grouping.count, s->a.mn, s->b.mn);
    args.groups = s->grouping.view;
    memset(s->scratch, 0xFF, bytes);
    expect_ok(dg_k_grouped_gemm(ctx, &args, NULL));
    if (memcmp(s->scratch, s->want, bytes) != 0) label_fail("bits differ");
}

/* Group g by itself, in a call that has no other groups and starts at its first token. */
static void k_grouped_alone(const k_state_t *s, int64_t g, int64_t first_block) {
    const int64_t m = s->a.mn, n = s->b.mn;
    const int64_t size = s->grouping.sizes[g];
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = s->a.view;
    args.b = s->b.view;
    dg_k_operand_t *const sides[2] = {&args.a, &args.b};
    for (int i = 0; i < 2; i++) {
        dg_tensor_t *data = &sides[i]->data;
        dg_tensor_t *scale = &sides[i]->scale;
        data->data = (uint8_t *)data->data +
                     s->grouping.begin[g] * data->stride[0] * dg_dtype_size(data->dtype);
        data->shape[0] = size;
        if (scale->data == NULL) continue;
        scale->data = (float *)scale->data + first_block * scale->stride[0];
        scale->shape[0] -= first_block;
    }
    args.d = dg_tensor_3d(s->scratch, DG_DTYPE_F32, 1, m, n);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.host_sizes = &size;
    args.groups.host_count = 1;
    expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
    if (memcmp(s->scratch, s->want + g * m * n * 4, (size_t)(m * n) * 4) != 0) {
        label_fail("group %lld by itself has other bits", (long long)g);
    }
}

static void test_k_grouped(void **state) {
    (void)state;
    static const int64_t sizes[] = {130, 0, 41, 300, 128};
    for (int kind = 0; kind < 2; kind++) {
        rng_t rng = rng_make(200 + (uint64_t)kind);
        k_state_t s;
        s.grouping = grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, sizes, 5, 0, 1);
        k_spec_t spec = {.form = DG_K_TOKENS_FIRST,
            .dtype = DG_DTYPE_E4M3,
            .scale = DG_DTYPE_F32,
            .gran_k = 128};
        if (kind == 1) spec.dtype = DG_DTYPE_BF16, spec.scale = DG_DTYPE_NONE;
        s.a = k_operand_make(&rng, &spec, 67, &s.grouping);
        s.b = k_operand_make(&rng, &spec, 85, &s.grouping);
        s.want = guard_scratch(5 * 67 * 85 * 4);
        s.scratch = guard_scratch(5 * 67 * 85 * 4);
        label("bits of k_grouped, %s seed=%d", k_operand_text(&spec), 200 + kind);
        dg_context_t *ctx = plain_context();
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        args.a = s.a.view, args.b = s.b.view, args.groups = s.grouping.view;
        args.d = dg_tensor_3d(s.want, DG_DTYPE_F32, 5, 67, 85);
        expect_ok(dg_k_grouped_gemm(ctx, &args, NULL));
        expect_ok(dg_context_destroy(ctx));
        for (int i = 0; i < REPEATS; i++) k_grouped_whole(NULL, &s);
        for_each_context(k_grouped_whole, &s);
        int64_t block = 0;
        for (int64_t g = 0; g < 5; g++) {
            k_grouped_alone(&s, g, block);
            block += (sizes[g] + 127) / 128;
        }
        guard_release();
    }
}

typedef struct m_state_t {
    operand_t a, b;
    dg_groups_t groups;
    uint8_t *want, *scratch; /* [rows, n] BF16 */
} m_state_t;

static void m_grouped_whole(dg_context_t *ctx, void *user) {
    const m_state_t *s = user;
    const size_t bytes = (size_t)(s->a.mn * s->b.mn) * 2;
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = s->a.view;
    args.b = s->b.view;
    args.d = dg_tensor_2d(s->scratch, DG_DTYPE_BF16, s->a.mn, s->b.mn);
    args.groups = s->groups;
    memset(s->scratch, 0xFF, bytes);
    expect_ok(dg_m_grouped_gemm(ctx, &args, NULL));
    if (memcmp(s->scratch, s->want, bytes) != 0) label_fail("bits differ");
}

/* SIZES is the measure; INDEX with the same groups and every context must give its bits. */
static void test_m_grouped(void **state) {
    (void)state;
    static const int64_t sizes[] = {37, 0, 1, 64, 30};
    rng_t rng = rng_make(300);
    const operand_spec_t a = fp8_1x128(), b = fp8_128x128();
    m_state_t s = {.a = operand_make(&rng, &a, 0, 132, 400)};
    s.b = operand_make(&rng, &b, 5, 135, 400);
    s.want = guard_scratch(132 * 135 * 2);
    s.scratch = guard_scratch(132 * 135 * 2);
    const grouping_t by_size = grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, sizes, 5, 0, 1);
    int64_t index[132];
    for (int i = 0; i < 132; i++) index[i] = by_size.of_row[i];
    label("bits of m_grouped, seed=300");
    dg_context_t *ctx = plain_context();
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = s.a.view, args.b = s.b.view, args.groups = by_size.view;
    args.d = dg_tensor_2d(s.want, DG_DTYPE_BF16, 132, 135);
    expect_ok(dg_m_grouped_gemm(ctx, &args, NULL));
    expect_ok(dg_context_destroy(ctx));
    s.groups = by_size.view;
    for (int i = 0; i < REPEATS; i++) m_grouped_whole(NULL, &s);
    for_each_context(m_grouped_whole, &s);
    s.groups.form = DG_GROUPS_INDEX;
    s.groups.values = integers_make(DG_DTYPE_I32, index, 132, 1, "index");
    for_each_context(m_grouped_whole, &s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gemm, guard_teardown),
        cmocka_unit_test_teardown(test_k_grouped, guard_teardown),
        cmocka_unit_test_teardown(test_m_grouped, guard_teardown),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
