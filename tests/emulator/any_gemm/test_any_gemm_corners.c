/* SPDX-License-Identifier: MIT
 *
 * The corners of kernels/any/gemm.cu on the emulator: group values that the device alone sees and
 * that are out of range, tensors that end too early for them, lists longer than one upload, rows and
 * sums of nothing, NaN beside what is computed, and the promise that a row's bits are its own. What
 * is clamped is compared with the CPU backend bit for bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "guard.h"
#include "product.h"

static operand_spec_t integers(operand_spec_t spec) {
    spec.values = VALUES_INTEGER;
    return spec;
}

static k_spec_t k_integers(dg_k_form_t form, dg_dtype_t scale) {
    return (k_spec_t){.form = form,
        .dtype = DG_DTYPE_E4M3,
        .scale = scale,
        .gran_k = 128,
        .values = VALUES_INTEGER};
}

/* Nothing to sum: d is c, or zeros. */
static void no_k(void **state) {
    (void)state;
    for (addend_t c = C_NONE; c <= C_ALIAS; c++) {
        gemm_case_t test = {.a = fp8_1x128(), .b = fp8_128x128(), .d = DG_DTYPE_F32, .c = c};
        gemm_verify(NULL, &test, 70, 33, 0, 1);
        test.a = test.b = bf16_plain();
        gemm_verify(NULL, &test, 3, 129, 0, 2);
    }
}

/* Longer than a few slabs of 64, ends in every part of one. */
static void ends_of_k(void **state) {
    (void)state;
    for (int64_t k = 1; k < 300; k += 13) {
        gemm_case_t test = {
            .a = integers(fp8_1x128()), .b = integers(fp8_1x128()), .d = DG_DTYPE_F32};
        test.a.gran_k = k % 2 ? 32 : 128;
        test.judge = JUDGE_EXACT;
        gemm_verify(NULL, &test, 5, 9, k, (uint64_t)k);
    }
}

/* ---- values out of range, against the CPU's clamping */

typedef dg_status_t call_t(dg_context_t *ctx, const void *args);

static dg_context_t *clamping(void) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_context_t *ctx = NULL;
    options.group_values = DG_GROUP_VALUES_CLAMP;
    expect_ok(dg_context_create(&ctx, &options));
    return ctx;
}

static dg_status_t call_m_grouped(dg_context_t *ctx, const void *args) {
    return dg_m_grouped_gemm(ctx, args, NULL);
}
static dg_status_t call_k_grouped(dg_context_t *ctx, const void *args) {
    return dg_k_grouped_gemm(ctx, args, NULL);
}

/* d as the emulated GPU and as the CPU leave it, from the same bytes before. */
static void same_as_cpu(call_t *call, const void *args, void *d, size_t bytes) {
    dg_context_t *ctx = clamping();
    const int32_t sms = emulated_machine.sms;
    uint8_t *before = guard_scratch(bytes), *emulated = guard_scratch(bytes);
    memcpy(before, d, bytes);
    expect_ok(call(ctx, args));
    memcpy(emulated, d, bytes);
    memcpy(d, before, bytes);
    emulated_machine.sms = 0; /* the CPU */
    expect_ok(call(ctx, args));
    emulated_machine.sms = sms;
    if (memcmp(d, emulated, bytes) != 0) label_fail("not what the CPU backend computes");
    dg_context_destroy(ctx);
}

/* `count` values: right ones, negative ones, and such that pass the end. */
static dg_tensor_t draw_values(rng_t *rng, int64_t count, int64_t rows, bool ends) {
    int64_t values[256], last = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t size = rng_range(rng, 0, 2 * rows / count);
        last += size;
        values[i] = ends ? last : size;
        if (rng_range(rng, 0, 3) == 0)
            values[i] =
                rng_range(rng, 0, 1) ? -rng_range(rng, 1, 9) : rows + rng_range(rng, 0, 999);
    }
    return integers_make(rng_range(rng, 0, 1) ? DG_DTYPE_I64 : DG_DTYPE_I32, values, count,
        rng_range(rng, 1, 2), "values");
}

static void wild_m_groups(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        rng_t rng = rng_make(seed);
        const dg_group_form_t form = (dg_group_form_t)(1 + seed % 6);
        const bool masked = form == DG_GROUPS_MASKED,
                   by_row = form == DG_GROUPS_INDEX || form == DG_GROUPS_BLOCK_INDEX;
        const int64_t groups = 5, rows = rng_range(&rng, 20, 90), n = 18, k = 40;
        const operand_spec_t spec = integers(bf16_plain());
        label("wild groups, form %d, seed %d", (int)form, (int)seed);
        const operand_t a = operand_make(&rng, &spec, masked ? groups : 0, rows, k);
        const operand_t b = operand_make(&rng, &spec, groups, n, k);
        const output_t out = output_make(&rng, DG_DTYPE_F32, masked ? groups : 0, rows, n, 0,
            seed % 3 ? C_SEPARATE : C_NONE, VALUES_INTEGER);
        dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
        args.a = a.view;
        args.b = b.view;
        args.c = out.c;
        args.d = out.d;
        args.groups.form = form;
        args.groups.alignment = (int32_t)rng_range(&rng, 1, 30);
        args.groups.values = by_row ? draw_values(&rng, rows, groups, false)
                                    : draw_values(&rng, groups, rows,
                                          form == DG_GROUPS_OFFSETS || form == DG_GROUPS_PSUM);
        if (!masked && seed % 2) args.a_rows = draw_values(&rng, rows, rows, true);
        same_as_cpu(call_m_grouped, &args, out.d.data,
            (size_t)((masked ? groups : 1) * rows * n) * sizeof(float));
        guard_release();
    }
}

static void wild_k_groups(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 18; seed++) {
        rng_t rng = rng_make(seed);
        const dg_group_form_t form = (dg_group_form_t)(1 + seed % 3);
        const int64_t groups = 5, rows = rng_range(&rng, 20, 400), m = 34, n = 18;
        grouping_t all = grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, &rows, 1, 0, 1);
        const k_spec_t spec = k_integers(DG_K_TOKENS_FIRST, DG_DTYPE_NONE);
        label("wild groups of tokens, form %d, seed %d", (int)form, (int)seed);
        const k_matrix_t a = k_operand_make(&rng, &spec, m, &all);
        const k_matrix_t b = k_operand_make(&rng, &spec, n, &all);
        const output_t out = output_make(
            &rng, DG_DTYPE_F32, groups, m, n, 0, seed % 2 ? C_SEPARATE : C_NONE, VALUES_INTEGER);
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        args.a = a.view;
        args.b = b.view;
        args.c = out.c;
        args.d = out.d;
        args.groups.form = form;
        args.groups.alignment = (int32_t)rng_range(&rng, 1, 30);
        args.groups.values = draw_values(&rng, groups, rows, form != DG_GROUPS_SIZES);
        if (seed % 4 == 0) args.b.rows = draw_values(&rng, rows > 256 ? 256 : rows, rows, true);
        if (seed % 4 == 0 && rows > 256) args.a.data.shape[0] = 256;
        same_as_cpu(call_k_grouped, &args, out.d.data, (size_t)(groups * m * n) * sizeof(float));
        guard_release();
    }
}

/* Sizes that ask for more factors, or for more of FLAT data, than there are: nothing beside the
 * tensors is touched (the emulator watches), and groups in front of the gap are right. */
static void tensors_too_short(void **state) {
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        rng_t rng = rng_make(7);
        const int64_t sizes[] = {100, 200, 150}, m = 20, n = 30;
        const grouping_t grouping =
            grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, sizes, 3, 0, 1);
        const k_spec_t spec =
            k_integers(flat ? DG_K_FLAT : DG_K_TOKENS_LAST, flat ? DG_DTYPE_NONE : DG_DTYPE_F32);
        k_matrix_t a = k_operand_make(&rng, &spec, m, &grouping);
        const k_matrix_t b = k_operand_make(&rng, &spec, n, &grouping);
        const output_t out = output_make(&rng, DG_DTYPE_F32, 3, m, n, 0, C_NONE, VALUES_INTEGER);
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        label("tensors too short, flat %d", flat);
        if (flat) {
            int32_t *values = grouping.view.values.data;
            values[1] = 350; /* and 150 more than there are */
        } else {
            a.view.scale.shape[0] = 2; /* of 5 rows */
        }
        args.a = a.view;
        args.b = b.view;
        args.d = out.d;
        args.groups = grouping.view;
        expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                output_judge(JUDGE_EXACT, &out, 0, i, j,
                    ref_dot(a.value + i * a.tokens, b.value + j * b.tokens, sizes[0]));
            }
        }
        guard_release();
    }
}

/* More groups than one upload has room for, known to the host alone, each with an output of its own. */
static void many_listed_groups(void **state) {
    (void)state;
    enum { GROUPS = 700, M = 3, N = 2 };
    rng_t rng = rng_make(11);
    int64_t *sizes = guard_scratch(GROUPS * sizeof *sizes);
    void **d_list = guard_scratch(GROUPS * sizeof *d_list);
    const void **c_list = guard_scratch(GROUPS * sizeof *c_list);
    float *d = guard_scratch(GROUPS * M * N * sizeof *d);
    float *c = guard_scratch(GROUPS * M * N * sizeof *c);
    for (int g = 0; g < GROUPS; g++) {
        sizes[g] = rng_range(&rng, 0, 3);
        d_list[g] = d + (GROUPS - 1 - g) * M * N;
        c_list[g] = c + g * M * N;
        for (int i = 0; i < M * N; i++) c[g * M * N + i] = (float)rng_range(&rng, -9, 9);
    }
    const grouping_t grouping =
        grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, sizes, GROUPS, 0, 1);
    const k_spec_t spec = k_integers(DG_K_TOKENS_FIRST, DG_DTYPE_E8M0);
    const k_matrix_t a = k_operand_make(&rng, &spec, M, &grouping);
    const k_matrix_t b = k_operand_make(&rng, &spec, N, &grouping);
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    label("many listed groups");
    args.a = a.view;
    args.b = b.view;
    args.d = dg_tensor_2d(NULL, DG_DTYPE_F32, M, N);
    args.output = DG_K_OUTPUT_LIST;
    args.d_list = d_list;
    args.c_list = c_list;
    args.groups = (dg_groups_t){.form = DG_GROUPS_SIZES, .host_sizes = sizes, .host_count = GROUPS};
    expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
    for (int g = 0; g < GROUPS; g++) {
        for (int i = 0; i < M * N; i++) {
            const int64_t at = grouping.begin[g];
            const ref_sum_t sum =
                ref_dot(a.value + i / N * a.tokens + at, b.value + i % N * b.tokens + at, sizes[g]);
            const float want = (float)(sum.value + (double)c[g * M * N + i]);
            if (memcmp(&((float *)d_list[g])[i], &want, sizeof want) != 0)
                label_fail("group %d, element %d", g, i);
        }
    }
    guard_release();
}

/* A row that a does not have is zero whatever b holds. */
static void absent_rows_meet_nan(void **state) {
    (void)state;
    enum { ROWS = 66, N = 10, K = 70 };
    rng_t rng = rng_make(3);
    const operand_spec_t spec = integers(bf16_plain());
    const int64_t sizes[] = {ROWS};
    const grouping_t grouping = grouping_make(&rng, DG_GROUPS_SIZES, DG_DTYPE_I32, sizes, 1, 0, 1);
    const operand_t a = operand_make(&rng, &spec, 0, 4, K);
    const operand_t b = operand_make(&rng, &spec, 1, N, K);
    const output_t out = output_make(&rng, DG_DTYPE_F32, 0, ROWS, N, 0, C_NONE, VALUES_INTEGER);
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; i++) rows[i] = i % 3 ? -1 : i % 4;
    for (int i = 0; i < N * K; i++) ((uint16_t *)b.view.data.data)[i] = 0x7FC0;
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    label("absent rows meet NaN");
    args.a = a.view;
    args.b = b.view;
    args.d = out.d;
    args.groups = grouping.view;
    args.a_rows = integers_make(DG_DTYPE_I64, rows, ROWS, 1, "a_rows");
    expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < N; j++) {
            const float got = ((float *)out.d.data)[i * N + j];
            if (i % 3 ? got != 0 : got == got) label_fail("row %d: %g", i, (double)got);
        }
    }
    guard_release();
}

/* The same bits whatever the tile, the grid and the number of rows. */
static void bits_of_a_row(void **state) {
    (void)state;
    enum { M = 150, N = 70, K = 300 };
    rng_t rng = rng_make(5);
    const operand_spec_t spec = fp8_1x128();
    const operand_t a = operand_make(&rng, &spec, 0, M, K), b = operand_make(&rng, &spec, 0, N, K);
    float *first = guard_scratch(M * N * sizeof *first), *d = guard_scratch(M * N * sizeof *d);
    label("bits of a row");
    for (int run = 0; run < 6; run++) {
        dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
        const int64_t rows = run < 4 ? M : run == 4 ? 1 : 97;
        emulated_machine.block = run % 2 ? 128 : 64;
        emulated_machine.sms = 1 + run % 3;
        emulated_machine.schedule = (uint32_t)run;
        args.a = a.view;
        args.b = b.view;
        args.a.data.shape[0] = args.a.scale.shape[0] = rows;
        args.d = dg_tensor_2d(run == 0 ? first : d, DG_DTYPE_F32, rows, N);
        expect_ok(dg_gemm(NULL, &args, NULL));
        if (run > 0) assert_memory_equal(d, first, (size_t)(rows * N) * sizeof *d);
    }
    guard_release();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_k, guard_teardown),
        cmocka_unit_test_teardown(ends_of_k, guard_teardown),
        cmocka_unit_test_teardown(wild_m_groups, guard_teardown),
        cmocka_unit_test_teardown(wild_k_groups, guard_teardown),
        cmocka_unit_test_teardown(tensors_too_short, guard_teardown),
        cmocka_unit_test_teardown(many_listed_groups, guard_teardown),
        cmocka_unit_test_teardown(absent_rows_meet_nan, guard_teardown),
        cmocka_unit_test_teardown(bits_of_a_row, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
