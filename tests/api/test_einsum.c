/* SPDX-License-Identifier: MIT
 *
 * dg_einsum against sums in FP64 that go by the letters alone: every expression, BF16 and FP8 with
 * each kind of factors, axes in other orders in memory and slices of wider tensors, c absent, apart
 * and d itself, empty extents, and calls that must be refused. Guards against exchanged axes,
 * factors of the wrong head, and writes between the rows of d.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "sample.h"

/* Letters of a, b, d; the summed ones; and the one that all three have, 0 if there is none. */
typedef struct letters_t {
    dg_einsum_expression_t expression;
    const char *a, *b, *d, *summed;
    char common;
} letters_t;

static const letters_t expressions[] = {
    {DG_EINSUM_BMK_BNK_MN, "bmk", "bnk", "mn", "bk", 0},
    {DG_EINSUM_BHR_HDR_BHD, "bhr", "hdr", "bhd", "r", 'h'},
    {DG_EINSUM_BHD_HDR_BHR, "bhd", "hdr", "bhr", "d", 'h'},
    {DG_EINSUM_BHD_BHR_HDR, "bhd", "bhr", "hdr", "b", 'h'},
};
enum { EXPRESSIONS = sizeof expressions / sizeof *expressions };

/* Extents, and later indices, of letters. */
typedef struct by_letter_t {
    int64_t of[128];
} by_letter_t;

typedef struct einsum_case_t {
    dg_dtype_t dtype, scale; /* scale NONE: no factors */
    int32_t gran_a, gran_b, gran_k;
    dg_dtype_t d_dtype;
    int c;       /* 0: none, 1: apart from d, 2: d itself */
    int order;   /* of axes in memory: 0 as they stand, 1 outer two exchanged, 2 inner two */
    int64_t pad; /* elements between rows */
} einsum_case_t;

static int64_t blocks(int64_t count, int64_t gran) {
    return (count + gran - 1) / gran;
}

static bool is_summed(const letters_t *e, char letter) {
    return strchr(e->summed, letter) != NULL;
}

/* Values that one factor covers along an axis. */
static int64_t gran_of(const letters_t *e, const dg_operand_t *operand, char letter) {
    return letter == e->common ? 1 : is_summed(e, letter) ? operand->gran_k : operand->gran_mn;
}

static dg_tensor_t make_tensor(sample_t *sample, dg_dtype_t dtype, const char *letters,
    const by_letter_t *extents, int order, int64_t pad) {
    static const int32_t orders[3][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}};
    int64_t shape[3];
    for (size_t i = 0; i < strlen(letters); i++) shape[i] = extents->of[(int)letters[i]];
    return sample_tensor(sample, dtype, (int32_t)strlen(letters), shape, orders[order], pad);
}

static dg_operand_t make_operand(sample_t *sample, const letters_t *e, const char *letters,
    const by_letter_t *extents, const einsum_case_t *test, int32_t gran_mn) {
    dg_operand_t operand = DG_NO_OPERAND;
    by_letter_t factors = *extents;
    /* the axis of h is never the contiguous one */
    const int order = test->order == 2 && letters[1] == e->common ? 1 : test->order;
    operand.data = make_tensor(sample, test->dtype, letters, extents, order, test->pad);
    if (test->scale == DG_DTYPE_NONE) return operand;
    operand.gran_mn = gran_mn;
    operand.gran_k = test->gran_k;
    for (int i = 0; i < 3; i++) {
        const int letter = letters[i];
        int64_t step = gran_of(e, &operand, letters[i]);
        if (test->scale == DG_DTYPE_I32 && is_summed(e, letters[i])) step *= 4;
        factors.of[letter] = blocks(extents->of[letter], step);
    }
    operand.scale =
        make_tensor(sample, test->scale, letters, &factors, (test->order + 1) % 3, test->pad);
    return operand;
}

static double operand_value(
    const letters_t *e, const dg_operand_t *operand, const char *letters, const by_letter_t *at) {
    int64_t index[3], factor[3];
    int32_t packed = 0;
    for (int32_t i = 0; i < 3; i++) {
        index[i] = at->of[(int)letters[i]];
        if (operand->scale.dtype != DG_DTYPE_NONE)
            factor[i] = index[i] / gran_of(e, operand, letters[i]);
        if (is_summed(e, letters[i])) packed = i;
    }
    const double value = sample_value(&operand->data, index, -1);
    return operand->scale.dtype == DG_DTYPE_NONE
               ? value
               : value * sample_value(&operand->scale, factor, packed);
}

/* Adds up over the summed letters from the i-th on. */
static void add_up(const letters_t *e, const dg_einsum_args_t *args, const by_letter_t *extents,
    by_letter_t *at, size_t i, double *sum, double *magnitude) {
    if (i == strlen(e->summed)) {
        const double term =
            operand_value(e, &args->a, e->a, at) * operand_value(e, &args->b, e->b, at);
        *sum += term;
        *magnitude += fabs(term);
        return;
    }
    const int letter = e->summed[i];
    for (at->of[letter] = 0; at->of[letter] < extents->of[letter]; at->of[letter]++)
        add_up(e, args, extents, at, i + 1, sum, magnitude);
}

/* c: [elements of d], or NULL. */
static void check_result(
    const letters_t *e, const dg_einsum_args_t *args, const by_letter_t *extents, const double *c) {
    const int32_t rank = args->d.rank;
    int64_t elements = 1;
    for (int32_t i = 0; i < rank; i++) elements *= args->d.shape[i];
    for (int64_t x = 0; x < elements; x++) {
        by_letter_t at;
        int64_t index[3] = {0}, rest = x;
        for (int32_t i = rank - 1; i >= 0; i--) {
            index[i] = rest % args->d.shape[i];
            rest /= args->d.shape[i];
            at.of[(int)e->d[i]] = index[i];
        }
        double sum = c != NULL ? c[x] : 0, magnitude = fabs(sum);
        add_up(e, args, extents, &at, 0, &sum, &magnitude);
        sample_check(&args->d, index, sum, magnitude);
    }
}

static double *read_accumulator(sample_t *sample, const dg_tensor_t *c) {
    int64_t elements = 1;
    for (int32_t i = 0; i < c->rank; i++) elements *= c->shape[i];
    double *values = sample_bytes(sample, elements * (int64_t)sizeof *values);
    for (int64_t x = 0; x < elements; x++) {
        int64_t index[3], rest = x;
        for (int32_t i = c->rank - 1; i >= 0; i--) {
            index[i] = rest % c->shape[i];
            rest /= c->shape[i];
        }
        values[x] = sample_value(c, index, -1);
    }
    return values;
}

static dg_einsum_args_t make_call(
    sample_t *sample, const letters_t *e, const by_letter_t *extents, const einsum_case_t *test) {
    dg_einsum_args_t args = DG_EINSUM_ARGS_INIT;
    const int d_order = strlen(e->d) == 2 ? 0 : test->order == 1;
    args.expression = e->expression;
    args.a = make_operand(sample, e, e->a, extents, test, test->gran_a);
    args.b = make_operand(sample, e, e->b, extents, test, test->gran_b);
    args.d = make_tensor(sample, test->d_dtype, e->d, extents, d_order, test->pad);
    if (test->c == 1) args.c = make_tensor(sample, test->d_dtype, e->d, extents, 0, 2 * test->pad);
    if (test->c == 2) args.c = args.d;
    return args;
}

static void run_case(
    uint64_t seed, const letters_t *e, const by_letter_t *extents, const einsum_case_t *test) {
    sample_t sample;
    sample_begin(&sample, seed);
    const dg_einsum_args_t args = make_call(&sample, e, extents, test);
    const double *c = test->c != 0 ? read_accumulator(&sample, &args.c) : NULL;
    if (test->c != 2) sample_poison(&args.d);
    uint8_t *before = sample_copy(&sample, &args.d);
    sample_succeeded(dg_einsum(NULL, &args, NULL));
    check_result(e, &args, extents, c);
    sample_check_between(&args.d, before);
    sample_end(&sample);
}

static by_letter_t extents_of(const letters_t *e, int64_t x, int64_t y, int64_t z, int64_t w) {
    by_letter_t extents = {.of = {['b'] = x, ['h'] = y, ['d'] = z, ['r'] = w}};
    if (e->expression == DG_EINSUM_BMK_BNK_MN)
        extents = (by_letter_t){.of = {['b'] = x, ['m'] = y, ['n'] = z, ['k'] = w}};
    return extents;
}

static void bf16_of_every_expression(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1}, {3, 2, 5, 17}, {9, 3, 70, 33}, {130, 2, 12, 24}, {4, 5, 8, 150}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int e = 0; e < EXPRESSIONS; e++) {
            for (int way = 0; way < 6; way++) {
                const einsum_case_t test = {.dtype = DG_DTYPE_BF16,
                    .d_dtype = way % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                    .c = way % 3};
                const by_letter_t extents = extents_of(
                    &expressions[e], shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3]);
                run_case(10 * s + (uint64_t)way, &expressions[e], &extents, &test);
            }
        }
    }
}

/* b cut out of a wider tensor, tensors with h outermost, operands with the other axis contiguous.
 * */
static void bf16_in_other_orders(void **state) {
    (void)state;
    for (int e = 1; e < EXPRESSIONS; e++) {
        for (int order = 0; order < 3; order++) {
            for (int c = 0; c < 3; c++) {
                const einsum_case_t test = {.dtype = DG_DTYPE_BF16,
                    .d_dtype = DG_DTYPE_BF16,
                    .c = c,
                    .order = order,
                    .pad = 3};
                const by_letter_t extents = extents_of(&expressions[e], 7, 3, 20, 40);
                run_case(100 + (uint64_t)order, &expressions[e], &extents, &test);
            }
        }
    }
}

static void fp8_with_factors(void **state) {
    (void)state;
    static const dg_dtype_t types[] = {DG_DTYPE_F32, DG_DTYPE_I32, DG_DTYPE_E8M0, DG_DTYPE_NONE};
    static const int32_t grans[][3] = {{1, 128, 128}, {1, 1, 128}, {1, 1, 32}, {7, 3, 128}};
    for (int e = 1; e < EXPRESSIONS; e++) {
        for (int kind = 0; kind < 16; kind++) {
            const int32_t *gran = grans[kind / 4];
            const einsum_case_t test = {.dtype = DG_DTYPE_E4M3,
                .scale = types[kind % 4],
                .gran_a = gran[0],
                .gran_b = gran[1],
                .gran_k = gran[2],
                .d_dtype = kind % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .c = kind % 3,
                .order = kind % 3,
                .pad = kind % 2};
            const int64_t summed = 150 + kind, other = 9;
            const by_letter_t extents = expressions[e].summed[0] == 'b'
                                            ? extents_of(&expressions[e], summed, 2, other, 12)
                                        : expressions[e].summed[0] == 'd'
                                            ? extents_of(&expressions[e], other, 2, summed, 140)
                                            : extents_of(&expressions[e], other, 2, 140, summed);
            run_case(200 + (uint64_t)kind, &expressions[e], &extents, &test);
        }
    }
}

/* Every row on 16 bytes, as kernels with TMA want it; weights cut out of a wider tensor. */
static void aligned_rows(void **state) {
    (void)state;
    for (int e = 1; e < EXPRESSIONS; e++) {
        for (int kind = 0; kind < 8; kind++) {
            const bool fp8 = kind >= 4;
            const einsum_case_t test = {.dtype = fp8 ? DG_DTYPE_E4M3 : DG_DTYPE_BF16,
                .scale = fp8 ? DG_DTYPE_F32 : DG_DTYPE_NONE,
                .gran_a = 1,
                .gran_b = kind % 4 < 2 ? 128 : 1,
                .gran_k = 128,
                .d_dtype = kind % 2 ? DG_DTYPE_F32 : DG_DTYPE_BF16,
                .c = kind % 3,
                .order = kind % 2,
                .pad = kind % 4 < 2 ? 16 : 0};
            const by_letter_t extents = extents_of(&expressions[e], 48, 2, 64, 144);
            run_case(500 + (uint64_t)kind, &expressions[e], &extents, &test);
        }
    }
}

/* Nothing to compute: d is left alone. Nothing to sum: d = c, or zeros. */
static void empty_extents(void **state) {
    (void)state;
    for (int e = 0; e < EXPRESSIONS; e++) {
        for (int axis = 0; axis < 4; axis++) {
            for (int c = 0; c < 3; c++) {
                int64_t x[4] = {3, 2, 5, 6};
                x[axis] = 0;
                const einsum_case_t test = {
                    .dtype = DG_DTYPE_BF16, .d_dtype = DG_DTYPE_F32, .c = c};
                const by_letter_t extents = extents_of(&expressions[e], x[0], x[1], x[2], x[3]);
                run_case(300, &expressions[e], &extents, &test);
            }
        }
    }
}

/* Sums of FP32 rounded once: 2^24 + 1 + 1 .. stays below in BF16 only if products were rounded
 * between. */
static void sums_are_rounded_once(void **state) {
    (void)state;
    enum { B = 300 };
    uint16_t ones[B], d[1] = {0xFFFF};
    dg_einsum_args_t args = DG_EINSUM_ARGS_INIT;
    for (int i = 0; i < B; i++) ones[i] = 0x3F80;
    args.expression = DG_EINSUM_BMK_BNK_MN;
    args.a.data = dg_tensor_3d(ones, DG_DTYPE_BF16, B, 1, 1);
    args.b.data = dg_tensor_3d(ones, DG_DTYPE_BF16, B, 1, 1);
    args.d = dg_tensor_2d(d, DG_DTYPE_BF16, 1, 1);
    sample_succeeded(dg_einsum(NULL, &args, NULL));
    assert_int_equal(d[0], 0x4396); /* 300; adding ones in BF16 would stop at 256 */
}

static void refuse(
    const dg_einsum_args_t *args, dg_status_t status, const char *argument, const char *text) {
    assert_int_equal(dg_einsum(NULL, args, NULL), status);
    assert_string_equal(dg_last_error_argument(), argument);
    if (strstr(dg_last_error(), text) == NULL) fail_msg("%s lacks %s", dg_last_error(), text);
    size_t bytes;
    assert_int_equal(dg_einsum_workspace(NULL, args, &bytes), status);
}

static void wrong_calls(void **state) {
    (void)state;
    sample_t sample;
    sample_begin(&sample, 400);
    const letters_t *e = &expressions[1];
    const by_letter_t extents = extents_of(e, 4, 2, 8, 16);
    const einsum_case_t test = {.dtype = DG_DTYPE_E4M3,
        .scale = DG_DTYPE_F32,
        .gran_a = 1,
        .gran_b = 128,
        .gran_k = 128,
        .d_dtype = DG_DTYPE_BF16};
    const dg_einsum_args_t good = make_call(&sample, e, &extents, &test);
    dg_einsum_args_t bad = good;
    size_t bytes = 1;
    sample_succeeded(dg_einsum_workspace(NULL, &good, &bytes));
    assert_int_equal(bytes, 0);
    bad.struct_size = 8;
    refuse(&bad, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", "_INIT");
    bad = good, bad.expression = (dg_einsum_expression_t)5;
    refuse(&bad, DG_STATUS_BAD_ENUM, "expression", "5, expected");
    bad = good, bad.b.data.shape[0] = 3;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "b.data", "[2, 8, 16]: its axes are hdr in bhr,hdr->bhd");
    bad = good, bad.d.shape[2] = 9;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "d", "[4, 2, 8]");
    bad = good, bad.a.scale.shape[2] = 2;
    refuse(&bad, DG_STATUS_BAD_SHAPE, "a.scale", "[4, 2, 1]");
    bad = good, bad.a.data.stride[2] = 2;
    refuse(&bad, DG_STATUS_BAD_STRIDE, "a.data", "not h");
    bad = good, bad.b.gran_k = 64;
    refuse(&bad, DG_STATUS_BAD_VALUE, "b.gran_k", "64, expected 32 or 128");
    bad = good, bad.a.data.dtype = DG_DTYPE_E2M1X2;
    refuse(&bad, DG_STATUS_BAD_DTYPE, "a.data", "e4m3 or bf16");
    bad = good, bad.d.stride[0] = 8;
    refuse(&bad, DG_STATUS_BAD_STRIDE, "d", "own place");
    bad = good, bad.c = bad.d, bad.c.stride[0] = 24;
    refuse(&bad, DG_STATUS_OVERLAP, "c", "partly overlaps");
    bad = good, bad.d.data = bad.a.data.data;
    refuse(&bad, DG_STATUS_OVERLAP, "d", "shares bytes with a.data");
    bad = good, bad.expression = DG_EINSUM_BMK_BNK_MN;
    refuse(&bad, DG_STATUS_BAD_DTYPE, "a.data", "expected bf16");
    sample_end(&sample);
}

static void sums_need_contiguous_operands(void **state) {
    (void)state;
    sample_t sample;
    sample_begin(&sample, 401);
    const letters_t *e = &expressions[0];
    const by_letter_t extents = extents_of(e, 4, 2, 8, 16);
    const einsum_case_t test = {.dtype = DG_DTYPE_BF16, .d_dtype = DG_DTYPE_F32, .pad = 1};
    const dg_einsum_args_t args = make_call(&sample, e, &extents, &test);
    refuse(&args, DG_STATUS_BAD_STRIDE, "a.data", "contiguous");
    sample_end(&sample);
}

/* An argument names the tests to run, "aligned*"; without, all. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_of_every_expression),
        cmocka_unit_test(bf16_in_other_orders),
        cmocka_unit_test(fp8_with_factors),
        cmocka_unit_test(aligned_rows),
        cmocka_unit_test(empty_extents),
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(sums_need_contiguous_operands),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("einsum", tests, NULL, NULL);
}
