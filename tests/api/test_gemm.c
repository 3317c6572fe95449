/* SPDX-License-Identifier: MIT
 *
 * dg_gemm against an FP64 product: every pair of element types, both ways round in memory, every
 * type and granularity of factors, c absent, apart from d and d itself, shapes at the edges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "sample.h"

/* How one side of a product is made. */
typedef struct side_case_t {
    dg_dtype_t dtype;
    bool mn_major;
    dg_dtype_t scale;
    int32_t gran_mn, gran_k;
} side_case_t;

static int64_t blocks(int64_t count, int64_t gran) {
    return (count + gran - 1) / gran;
}

static dg_operand_t make_operand(sample_t *sample, const side_case_t *side, int64_t mn, int64_t k) {
    dg_operand_t operand = DG_NO_OPERAND;
    const bool packed = side->dtype == DG_DTYPE_E2M1X2;
    const int64_t rows = packed && side->mn_major ? mn / 2 : mn;
    const int64_t cols = packed && !side->mn_major ? k / 2 : k;
    operand.data = sample_matrix(sample, side->dtype, rows, cols, side->mn_major, 3);
    if (side->scale == DG_DTYPE_NONE) return operand;
    operand.gran_mn = side->gran_mn;
    operand.gran_k = side->gran_k;
    const int64_t step = side->scale == DG_DTYPE_I32 ? 4 * side->gran_k : side->gran_k;
    operand.scale = sample_matrix(sample, side->scale, blocks(mn, side->gran_mn), blocks(k, step),
        sample_between(sample, 0, 1) == 1, 1);
    return operand;
}

static void check_product(
    const dg_gemm_args_t *args, int32_t packed_a, int32_t packed_b, const double *c, int64_t k) {
    const int64_t m = args->d.shape[0], n = args->d.shape[1];
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = c != NULL ? c[i * n + j] : 0, magnitude = fabs(sum);
            for (int64_t x = 0; x < k; x++) {
                const double term = sample_operand_value(&args->a, packed_a, 0, i, x) *
                                    sample_operand_value(&args->b, packed_b, 0, j, x);
                sum += term;
                magnitude += fabs(term);
            }
            const int64_t index[3] = {i, j, 0};
            sample_check(&args->d, index, sum, magnitude);
        }
    }
}

/* c: 0 absent, 1 apart from d, 2 d itself. Checks the product and what lies between rows of d. */
static void run_case(sample_t *sample, const side_case_t *a, const side_case_t *b, int64_t m,
    int64_t n, int64_t k, dg_dtype_t d_dtype, int c_kind) {
    double *c = NULL;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = make_operand(sample, a, m, k);
    args.b = make_operand(sample, b, n, k);
    args.d = sample_matrix(sample, d_dtype, m, n, false, 5);
    if (c_kind == 1) args.c = sample_matrix(sample, d_dtype, m, n, false, 2);
    if (c_kind == 2) args.c = args.d;
    if (c_kind != 0) {
        c = sample_bytes(sample, m * n * (int64_t)sizeof *c);
        for (int64_t i = 0; i < m * n; i++) {
            const int64_t index[2] = {i / n, i % n};
            c[i] = sample_value(&args.c, index, -1);
        }
    }
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    check_product(&args, a->mn_major ? 0 : 1, b->mn_major ? 0 : 1, c, k);
    for (int64_t i = 0; m > 0 && n > 0 && i < m; i++) {
        for (int64_t j = n; j < n + 5; j++) {
            const int64_t index[2] = {i, j};
            assert_true(isnan(sample_value(&args.d, index, -1)));
        }
    }
}

static void every_type_and_layout(void **state) {
    (void)state;
    static const side_case_t sides[] = {
        {DG_DTYPE_E4M3, false, DG_DTYPE_F32, 1, 128},
        {DG_DTYPE_E4M3, true, DG_DTYPE_F32, 128, 128},
        {DG_DTYPE_E4M3, false, DG_DTYPE_I32, 1, 32},
        {DG_DTYPE_E4M3, true, DG_DTYPE_E8M0, 3, 32},
        {DG_DTYPE_E4M3, false, DG_DTYPE_NONE, 0, 0},
        {DG_DTYPE_E2M1X2, false, DG_DTYPE_F32, 1, 32},
        {DG_DTYPE_E2M1X2, true, DG_DTYPE_I32, 1, 128},
    };
    const int count = sizeof sides / sizeof *sides;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            sample_t sample;
            sample_begin(&sample, (uint64_t)(i * count + j));
            run_case(&sample, &sides[i], &sides[j], 34, 22, 300,
                (i + j) % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32, (i + 2 * j) % 3);
            sample_end(&sample);
        }
    }
}

static void bf16_in_all_four_forms(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) {
        sample_t sample;
        sample_begin(&sample, 77 + (uint64_t)form);
        const side_case_t a = {DG_DTYPE_BF16, form & 1, DG_DTYPE_NONE, 0, 0};
        const side_case_t b = {DG_DTYPE_BF16, form & 2, DG_DTYPE_NONE, 0, 0};
        run_case(&sample, &a, &b, 37, 41, 259, DG_DTYPE_F32, form % 3);
        sample_end(&sample);
    }
}

static void shapes_at_the_edges(void **state) {
    (void)state;
    static const int64_t extents[] = {1, 2, 7, 127, 128, 129};
    const side_case_t a = {DG_DTYPE_E4M3, false, DG_DTYPE_F32, 1, 128};
    const side_case_t b = {DG_DTYPE_E4M3, true, DG_DTYPE_F32, 128, 128};
    for (int i = 0; i < 6 * 6 * 6; i++) {
        const int64_t m = extents[i % 6], n = extents[i / 6 % 6], k = extents[i / 36];
        sample_t sample;
        if (m * n > 5000) continue;
        sample_begin(&sample, 1000 + (uint64_t)i);
        run_case(&sample, &a, &b, m, n, k, DG_DTYPE_BF16, i % 3);
        sample_end(&sample);
    }
}

/* An axis of extent 1 may have any stride, huge or negative. */
static void strides_of_single_rows_do_not_matter(void **state) {
    (void)state;
    const side_case_t side = {DG_DTYPE_E4M3, false, DG_DTYPE_F32, 1, 128};
    sample_t sample;
    sample_begin(&sample, 5);
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = make_operand(&sample, &side, 1, 200);
    args.b = make_operand(&sample, &side, 1, 200);
    args.d = sample_matrix(&sample, DG_DTYPE_F32, 1, 1, false, 0);
    args.a.data.stride[0] = INT64_MAX;
    args.b.data.stride[0] = INT64_MIN;
    args.b.scale.stride[0] = -1;
    args.d.stride[0] = 0;
    args.d.stride[1] = -77;
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    args.a.data.stride[0] = args.b.data.stride[0] = args.b.scale.stride[0] = 0;
    args.d.stride[0] = args.d.stride[1] = 0;
    check_product(&args, 1, 1, NULL, 200);
    sample_end(&sample);
}

/* k = 0 copies c bit for bit, a NaN and a negative zero included, or gives zeros. */
static void no_k_gives_c_or_zeros(void **state) {
    (void)state;
    const uint32_t c[6] = {0x80000000, 0x7FC12345, 0x3F800000, 1, 0xFF800000, 0};
    uint32_t d[6];
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 2, 0);
    args.b.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 3, 0);
    args.c = dg_tensor_2d(c, DG_DTYPE_F32, 2, 3);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 2, 3);
    memset(d, 0xFF, sizeof d);
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    assert_memory_equal(d, c, sizeof d);
    args.c = args.d;
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    assert_memory_equal(d, c, sizeof d);
    args.c = (dg_tensor_t)DG_NO_TENSOR;
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    for (int i = 0; i < 6; i++) assert_int_equal(d[i], 0);
}

static void empty_results_need_no_memory(void **state) {
    (void)state;
    const uint8_t b[12] = {0};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(NULL, DG_DTYPE_E4M3, 0, 4);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_E4M3, 3, 4);
    args.d = dg_tensor_2d(NULL, DG_DTYPE_BF16, 0, 3);
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    /* an empty e2m1x2 operand leaves open along which axis it is packed */
    args.a.data = dg_tensor_2d(NULL, DG_DTYPE_E2M1X2, 0, 2);
    args.a.scale = dg_tensor_2d(NULL, DG_DTYPE_F32, 0, 1);
    args.a.gran_mn = 1, args.a.gran_k = 32;
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    args.a.data = dg_tensor_2d(NULL, DG_DTYPE_E2M1X2, 0, 4);
    sample_succeeded(dg_gemm(NULL, &args, NULL));
}

/* d may be every other column block of a buffer whose other blocks are an input. */
static void interleaved_views_share_no_memory(void **state) {
    (void)state;
    sample_t sample;
    sample_begin(&sample, 9);
    const dg_tensor_t whole = sample_matrix(&sample, DG_DTYPE_BF16, 16, 48, false, 0);
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = args.b.data = args.d = whole;
    args.a.data.shape[1] = args.b.data.shape[1] = args.d.shape[1] = 16;
    args.b.data.data = (char *)whole.data + 32;
    args.d.data = (char *)whole.data + 64;
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    check_product(&args, 1, 1, NULL, 16);
    args.d.data = (char *)whole.data + 62; /* one column of b */
    assert_int_equal(dg_gemm(NULL, &args, NULL), DG_STATUS_OVERLAP);
    sample_end(&sample);
}

static void workspace_is_none_and_checks_the_same(void **state) {
    (void)state;
    size_t bytes = 99;
    uint8_t memory[64] = {0};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = args.b.data = dg_tensor_2d(memory, DG_DTYPE_E4M3, 4, 4);
    args.d = dg_tensor_2d(memory + 32, DG_DTYPE_BF16, 4, 4);
    sample_succeeded(dg_gemm_workspace(NULL, &args, &bytes));
    assert_int_equal(bytes, 0);
    args.d.dtype = DG_DTYPE_I32;
    assert_int_equal(dg_gemm_workspace(NULL, &args, &bytes), DG_STATUS_BAD_DTYPE);
    assert_string_equal(dg_last_error_argument(), "d");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout),
        cmocka_unit_test(bf16_in_all_four_forms),
        cmocka_unit_test(shapes_at_the_edges),
        cmocka_unit_test(strides_of_single_rows_do_not_matter),
        cmocka_unit_test(no_k_gives_c_or_zeros),
        cmocka_unit_test(empty_results_need_no_memory),
        cmocka_unit_test(interleaved_views_share_no_memory),
        cmocka_unit_test(workspace_is_none_and_checks_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
