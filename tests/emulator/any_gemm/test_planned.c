/* SPDX-License-Identifier: MIT
 *
 * Calls of every family, drawn at random from what the API takes, computed by the kernel that the
 * planner chooses from the whole catalogue for 1 to 200 SMs and any setting, on the emulator with its
 * race checker. Judged as the CPU backend is: every element, nothing beside them, NaN in all padding.
 * Then what batch_invariant promises: a row's bits do not depend on the rows beside it.
 *
 *     emulator_planned_api [ROUNDS [FIRST_ROUND]]      200 calls a round
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend.h"
#include "guard.h"
#include "product.h"

static int64_t pick(rng_t *rng, const int64_t *values, int64_t count) {
    return values[rng_range(rng, 0, count - 1)];
}
#define PICK(rng, ...)                                                                             \
    pick((rng), (const int64_t[]){__VA_ARGS__},                                                    \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static uint64_t rounds = 1, first_round = 0;

/* Runs a family's calls, numbered from 1 on, `calls` of them a round. */
static void repeat(uint64_t calls, void (*call)(uint64_t seed)) {
    for (uint64_t i = 0; i < rounds * calls; i++) call(first_round * calls + i + 1);
}

static void draw_machine(rng_t *rng) {
    const int64_t sms = PICK(rng, 1, 2, 3, 7, 132, rng_range(rng, 1, 200));
    emulated_machine = (emulated_machine_t){.sms = (int32_t)sms,
        .schedule = (uint32_t)rng_next(rng),
        .planned = 1,
        .num_sms = rng_range(rng, 0, 2) ? 0 : (int32_t)rng_range(rng, 1, sms),
        .block_m_multiple = (int32_t)PICK(rng, 0, 0, 1, 64, 128),
        .block_n_multiple = (int32_t)PICK(rng, 0, 0, 1, 32, 64),
        .batch_invariant = rng_range(rng, 0, 3) == 0};
}

/* Extents that straddle tiles, and any. */
static int64_t draw_extent(rng_t *rng) {
    return PICK(rng, 1, 8, 15, 16, 31, 63, 64, 65, 96, 127, 128, 129, 136, 200, 256, 264,
        rng_range(rng, 1, 300));
}

static int64_t draw_k(rng_t *rng) {
    return PICK(rng, 1, 16, 127, 128, 129, 256, 384, 656, rng_range(rng, 1, 400));
}

/* How both sides look: BF16; FP8 with factors of blocks and rows; of rows alone; anything. */
typedef enum kind_t { BF16, BLOCK, VECTOR, ANYTHING } kind_t;

static operand_spec_t draw_operand(rng_t *rng, kind_t kind, int32_t gran_mn, values_t values) {
    const bool fine = kind == ANYTHING;
    const dg_dtype_t dtype = kind == BF16                   ? DG_DTYPE_BF16
                             : fine && rng_range(rng, 0, 1) ? DG_DTYPE_E2M1X2
                                                            : DG_DTYPE_E4M3;
    operand_spec_t spec = {.dtype = dtype, .values = values, .gran_mn = gran_mn, .gran_k = 128};
    spec.aligned = rng_range(rng, 0, 7) > 0;
    spec.pad = dtype == DG_DTYPE_E2M1X2 ? 0 : PICK(rng, 0, 0, spec.aligned ? 16 : 3);
    if (dtype == DG_DTYPE_BF16) return spec;
    spec.scale =
        fine ? (dg_dtype_t)PICK(rng, DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32) : DG_DTYPE_F32;
    spec.order = (scale_order_t)rng_range(rng, 0, 2);
    if (fine) spec.gran_k = 32;
    return spec;
}

typedef struct drawn_t {
    kind_t kind;
    operand_spec_t a, b;
    dg_dtype_t d;
    addend_t c;
    judge_t judge;
    values_t values;
} drawn_t;

static drawn_t draw(rng_t *rng) {
    drawn_t x = {.kind = (kind_t)PICK(rng, BF16, BLOCK, BLOCK, VECTOR, ANYTHING)};
    x.values = rng_range(rng, 0, 1) ? VALUES_INTEGER : VALUES_RANDOM;
    x.judge = x.values == VALUES_INTEGER ? JUDGE_EXACT : JUDGE_BOUND;
    x.d = rng_range(rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
    x.c = (addend_t)rng_range(rng, 0, 2);
    x.a = draw_operand(rng, x.kind, 1, x.values);
    x.b = draw_operand(rng, x.kind, x.kind == BLOCK ? 128 : 1, x.values);
    return x;
}

static int64_t draw_pad(rng_t *rng, int64_t n) {
    return rng_range(rng, 0, 2) ? (16 - n % 16) % 16 : rng_range(rng, 0, 3);
}

static void call_dense(uint64_t seed) {
    rng_t rng = rng_make(seed * 7919);
    drawn_t x = draw(&rng);
    const int64_t m = draw_extent(&rng), n = draw_extent(&rng), k = draw_k(&rng);
    const int64_t even = x.kind == ANYTHING ? k + k % 2 : k; /* two E2M1 share a byte */
    draw_machine(&rng);
    if (x.kind == BF16 || x.kind == VECTOR) {
        x.a.mn_major = rng_range(&rng, 0, 1);
        x.b.mn_major = rng_range(&rng, 0, 1);
    }
    const gemm_case_t test = {
        .a = x.a, .b = x.b, .d = x.d, .c = x.c, .judge = x.judge, .d_pad = draw_pad(&rng, n)};
    gemm_verify(NULL, &test, m, n, even, seed);
}

static void dense(void **state) {
    (void)state;
    repeat(60, call_dense);
}

/* Some empty, all empty, one that takes all, many of few. */
static int64_t draw_sizes(rng_t *rng, int64_t *sizes, int64_t *sum) {
    const int64_t groups = PICK(rng, 1, 2, 5, 16), most = PICK(rng, 0, 3, 140, 140, 140);
    const int64_t all = rng_range(rng, 0, 4) ? -1 : rng_range(rng, 0, groups - 1);
    *sum = 0;
    for (int64_t g = 0; g < groups; g++) {
        sizes[g] = rng_range(rng, 0, 3) ? rng_range(rng, 0, most) : PICK(rng, 0, 128);
        if (groups > 5 && sizes[g] > 40) sizes[g] = 0;
        if (all >= 0) sizes[g] = g == all ? 300 : 0;
        *sum += sizes[g];
    }
    return groups;
}

static void call_m_grouped(uint64_t seed) {
    rng_t rng = rng_make(seed * 104729);
    int64_t sizes[16], sum;
    drawn_t x = draw(&rng);
    const int64_t groups = draw_sizes(&rng, sizes, &sum);
    const int64_t n = draw_extent(&rng), k = draw_k(&rng);
    draw_machine(&rng);
    m_grouped_case_t test = {.a = x.a,
        .b = x.b,
        .d = x.d,
        .c = x.c,
        .judge = x.judge,
        .d_pad = draw_pad(&rng, n),
        .form = (dg_group_form_t)rng_range(&rng, 1, 6),
        .value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64,
        .tail = rng_range(&rng, 0, 40),
        .alignment = (int32_t)PICK(&rng, 1, 32, 48, 128),
        .zero_padding = rng_range(&rng, 0, 1) ? DG_ON : DG_OFF,
        .gather = rng_range(&rng, 0, 7) == 0};
    if (test.form == DG_GROUPS_MASKED) test.gather = false; /* refused: these rows lie apart */
    m_grouped_verify(NULL, &test, sizes, groups, n, x.kind == ANYTHING ? k + k % 2 : k, seed);
}

static void m_grouped(void **state) {
    (void)state;
    repeat(60, call_m_grouped);
}

static k_spec_t draw_side(rng_t *rng, bool bf16, dg_k_form_t form, int64_t mn, values_t values) {
    const bool first = form == DG_K_TOKENS_FIRST;
    return (k_spec_t){.form = form,
        .dtype = bf16 ? DG_DTYPE_BF16 : DG_DTYPE_E4M3,
        .turned = bf16 && form != DG_K_FLAT && rng_range(rng, 0, 3) == 0,
        .pad = first && rng_range(rng, 0, 4) ? (16 - mn % 16) % 16 : 0,
        .scale = bf16 ? DG_DTYPE_NONE : DG_DTYPE_F32,
        .order = (scale_order_t)rng_range(rng, 0, 2),
        .gran_k = 128,
        .values = values};
}

static void call_k_grouped(uint64_t seed) {
    rng_t rng = rng_make(seed * 1299709);
    int64_t sizes[16], sum;
    const bool bf16 = seed % 2, first = rng_range(&rng, 0, 1);
    const int64_t groups = draw_sizes(&rng, sizes, &sum);
    const int64_t m = draw_extent(&rng), n = draw_extent(&rng);
    drawn_t x = draw(&rng);
    draw_machine(&rng);
    for (int64_t g = 0; g < groups && !first && rng_range(&rng, 0, 3); g++)
        sizes[g] = (sizes[g] + 15) / 16 * 16; /* what TMA takes with tokens contiguous */
    const dg_k_form_t forms[] = {DG_K_TOKENS_FIRST, DG_K_TOKENS_LAST, DG_K_FLAT};
    k_grouped_case_t test = {.d = x.d,
        .c = x.c,
        .judge = x.judge,
        .d_pad = draw_pad(&rng, n),
        .output = (dg_k_output_t)rng_range(&rng, 0, 2),
        .form = first ? (dg_group_form_t)rng_range(&rng, 1, 3) : DG_GROUPS_SIZES,
        .value_type = rng_range(&rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64,
        .tail = first ? rng_range(&rng, 0, 40) : 0,
        .alignment = (int32_t)PICK(&rng, 1, 32, 48, 128)};
    if (test.form == DG_GROUPS_SIZES) test.host_sizes = rng_range(&rng, 0, 2);
    test.a = draw_side(&rng, bf16, forms[first ? 0 : rng_range(&rng, 1, 2)], m, x.values);
    test.b = draw_side(&rng, bf16, forms[first ? 0 : rng_range(&rng, 1, 2)], n, x.values);
    k_grouped_verify(NULL, &test, sizes, groups, m, n, seed);
}

static void k_grouped(void **state) {
    (void)state;
    repeat(80, call_k_grouped);
}

/* The tests above would be worth little if one kernel took all calls. */
static void every_kernel_was_chosen(void **state) {
    (void)state;
    static const int32_t kernels[] = {DG_KERNEL_ANY_GEMM, DG_KERNEL_SM90_FP8_GEMM_BLOCK,
        DG_KERNEL_SM90_FP8_GEMM_SWAP, DG_KERNEL_SM90_FP8_GEMM_VECTOR, DG_KERNEL_SM90_BF16_GEMM};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        printf("%s: %d calls\n", dg_find_kernel(kernels[i])->name, emulated_calls[kernels[i]]);
        assert_true(emulated_calls[kernels[i]] >= 3);
    }
}

enum { ROWS = 200, N = 136 };

/* d: [m, N] f32, the product of the first m rows of a with b */
static void multiply_rows(const operand_t *a, const operand_t *b, int64_t m, float *d) {
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = a->view, args.b = b->view;
    args.a.data.shape[0] = m;
    if (args.a.scale.data != NULL) args.a.scale.shape[0] = m;
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, m, N);
    expect_ok(dg_gemm(NULL, &args, NULL));
}

/* One row inside 1, 31, 33 and 200 rows, at any number of SMs: the same bits. k of many blocks: the
 * planner would like to sum it in parts where rows are few. */
static void a_row_has_the_same_bits(void **state) {
    (void)state;
    static const int64_t ms[] = {ROWS, 1, 31, 33, ROWS};
    for (kind_t kind = BF16; kind <= VECTOR; kind++) {
        rng_t rng = rng_make(77 + (uint64_t)kind);
        const int64_t k = 1920;
        operand_spec_t sa = bf16_plain(), sb = bf16_plain();
        if (kind != BF16) sa = fp8_1x128(), sb = kind == BLOCK ? fp8_128x128() : fp8_1x128();
        const operand_t a = operand_make(&rng, &sa, 0, ROWS, k);
        const operand_t b = operand_make(&rng, &sb, 0, N, k);
        const output_t output =
            output_make(&rng, DG_DTYPE_F32, 0, ROWS, N, 0, C_NONE, VALUES_RANDOM);
        float *first = output.d.data;
        float *d = guard_scratch(ROWS * N * sizeof *d);
        for (size_t i = 0; i < sizeof ms / sizeof ms[0]; i++) {
            emulated_machine = (emulated_machine_t){.sms = (int32_t)PICK(&rng, 1, 5, 64, 132, 200),
                .schedule = (uint32_t)i,
                .planned = 1,
                .batch_invariant = 1};
            label("batch invariance, kind %d, m=%d, sms=%d", (int)kind, (int)ms[i],
                emulated_machine.sms);
            memset(d, 0xFF, ROWS * N * sizeof *d);
            multiply_rows(&a, &b, ms[i], d);
            if (i == 0) memcpy(first, d, ROWS * N * sizeof *d);
            if (memcmp(first, d, (size_t)ms[i] * N * sizeof *d) != 0)
                label_fail("a row's bits depend on m");
        }
        for (int64_t i = 0; i < ROWS; i += 7)
            for (int64_t j = 0; j < N; j += 3)
                output_judge(
                    JUDGE_BOUND, &output, 0, i, j, ref_dot(a.value + i * k, b.value + j * k, k));
        guard_release();
    }
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = strtoull(argv[1], NULL, 10);
    if (argc > 2) first_round = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(dense, guard_teardown),
        cmocka_unit_test_teardown(m_grouped, guard_teardown),
        cmocka_unit_test_teardown(k_grouped, guard_teardown),
        cmocka_unit_test(every_kernel_was_chosen),
        cmocka_unit_test_teardown(a_row_has_the_same_bits, guard_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
