/* SPDX-License-Identifier: MIT
 *
 * dg_cublaslt_gemm on CPU tensors: random types, layouts, extents, gaps and accumulators against sums
 * in FP64 from the values as they were drawn; the bits of dg_gemm where both take the types; empty
 * extents; refusals. What it does on a GPU is in tests/cuda/test_cublaslt.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "random_data.h"

enum { MOST = 200, ROOM = (MOST + 8) * (MOST + 8) * 4 };

typedef struct matrix_t {
    dg_tensor_t view;
    double *value; /* [rows, cols] */
    uint8_t *memory;
} matrix_t;

/* Values that every type holds exactly and whose codes are simple: integers times 2^-3, few bits. */
static double draw_value(rng_t *rng) {
    return (double)rng_range(rng, -15, 15) / 8;
}

static uint16_t f16_of(double value) { /* normal or zero, at most 11 bits */
    if (value == 0) return 0;
    int exponent;
    const double fraction = frexp(fabs(value), &exponent); /* [0.5, 1) */
    const int bits = (int)(fraction * 2048) - 1024;
    return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | bits);
}

static uint8_t e4m3_of(double value) { /* normal or zero, at most 4 bits */
    if (value == 0) return 0;
    int exponent;
    const double fraction = frexp(fabs(value), &exponent);
    const int bits = (int)(fraction * 16) - 8;
    return (uint8_t)((value < 0 ? 0x80 : 0) | (exponent + 6) << 3 | bits);
}

static void put(const matrix_t *matrix, int64_t index, double value) {
    const float number = (float)value;
    const uint8_t byte = e4m3_of(value);
    uint16_t half = f16_of(value);
    uint32_t word;
    memcpy(&word, &number, sizeof word);
    if (matrix->view.dtype == DG_DTYPE_BF16) half = (uint16_t)(word >> 16);
    const void *from = matrix->view.dtype == DG_DTYPE_E4M3  ? (const void *)&byte
                       : matrix->view.dtype == DG_DTYPE_F32 ? (const void *)&number
                                                            : (const void *)&half;
    const size_t size = (size_t)dg_dtype_size(matrix->view.dtype);
    memcpy(matrix->memory + (size_t)index * size, from, size);
}

static double get(const matrix_t *matrix, int64_t index) {
    uint32_t word = 0;
    float number;
    if (matrix->view.dtype == DG_DTYPE_BF16) {
        uint16_t half;
        memcpy(&half, matrix->memory + 2 * index, sizeof half);
        word = (uint32_t)half << 16;
    } else {
        memcpy(&word, matrix->memory + 4 * index, sizeof word);
    }
    memcpy(&number, &word, sizeof number);
    return (double)number;
}

/* Lines along k or along the rows, NaN between them and behind them. */
static matrix_t make_matrix(rng_t *rng, dg_dtype_t dtype, int64_t rows, int64_t cols, bool turned) {
    const int64_t gap = rng_range(rng, 0, 5);
    matrix_t matrix = {
        .value = malloc(sizeof(double) * (size_t)(rows * cols + 1)), .memory = malloc(ROOM)};
    memset(matrix.memory, 0xFF, ROOM);
    matrix.view = dg_tensor_2d(matrix.memory, dtype, rows, cols);
    matrix.view.stride[0] = turned ? 1 : cols + gap;
    matrix.view.stride[1] = turned ? rows + gap : 1;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            const double value = draw_value(rng);
            matrix.value[i * cols + j] = value;
            put(&matrix, i * matrix.view.stride[0] + j * matrix.view.stride[1], value);
        }
    }
    return matrix;
}

static void free_matrix(const matrix_t *matrix) {
    free(matrix->value);
    free(matrix->memory);
}

static void compare(const matrix_t *a, const matrix_t *b, const matrix_t *c, const matrix_t *d,
    int64_t k, uint64_t seed) {
    const int64_t m = d->view.shape[0], n = d->view.shape[1];
    const double rounding = d->view.dtype == DG_DTYPE_BF16 ? 0x1p-8 : 0x1p-23;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = c != NULL ? c->value[i * n + j] : 0, magnitude = fabs(sum);
            for (int64_t l = 0; l < k; l++) {
                const double term = a->value[i * k + l] * b->value[j * k + l];
                sum += term;
                magnitude += fabs(term);
            }
            const double result = get(d, i * d->view.stride[0] + j);
            const double bound = rounding * fabs(sum) + 0x1p-20 * magnitude;
            if (!(fabs(result - sum) <= bound))
                fail_msg("seed %llu: d[%lld, %lld] = %g, expected %g", (unsigned long long)seed,
                    (long long)i, (long long)j, result, sum);
        }
        for (int64_t j = n; i + 1 < m && j < d->view.stride[0]; j++)
            assert_true(isnan(get(d, i * d->view.stride[0] + j)));
    }
}

static void random_products(void **state) {
    (void)state;
    static const dg_dtype_t types[] = {DG_DTYPE_BF16, DG_DTYPE_F16, DG_DTYPE_F32, DG_DTYPE_E4M3};
    for (uint64_t seed = 1; seed <= 160; seed++) {
        rng_t rng = rng_make(seed);
        const int64_t m = rng_range(&rng, 0, seed % 8 == 0 ? MOST : 40);
        const int64_t n = rng_range(&rng, 0, seed % 8 == 1 ? MOST : 40);
        const int64_t k = rng_range(&rng, 0, seed % 8 == 2 ? MOST : 40);
        const dg_dtype_t type = types[rng_range(&rng, 0, 3)];
        const dg_dtype_t out = rng_range(&rng, 0, 1) ? DG_DTYPE_BF16 : DG_DTYPE_F32;
        const int64_t adds = rng_range(&rng, 0, 2);
        const matrix_t a = make_matrix(&rng, type, m, k, rng_range(&rng, 0, 1));
        const matrix_t b = make_matrix(&rng, type, n, k, rng_range(&rng, 0, 1));
        const matrix_t c = make_matrix(&rng, out, m, n, false);
        const matrix_t d = make_matrix(&rng, out, m, n, false);
        dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
        args.a = a.view, args.b = b.view, args.d = d.view;
        if (adds > 0) args.c = adds == 1 ? c.view : d.view;
        size_t bytes = 77;
        assert_int_equal(dg_cublaslt_gemm_workspace(NULL, &args, &bytes), DG_STATUS_OK);
        assert_int_equal(bytes, 0);
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        compare(&a, &b, adds == 0 ? NULL : adds == 1 ? &c : &d, &d, k, seed);
        free_matrix(&a), free_matrix(&b), free_matrix(&c), free_matrix(&d);
    }
}

static void the_bits_of_dg_gemm(void **state) {
    (void)state;
    rng_t rng = rng_make(7);
    for (int i = 0; i < 2; i++) {
        const dg_dtype_t type = i == 0 ? DG_DTYPE_BF16 : DG_DTYPE_E4M3;
        const matrix_t a = make_matrix(&rng, type, 33, 150, true);
        const matrix_t b = make_matrix(&rng, type, 45, 150, false);
        const matrix_t c = make_matrix(&rng, DG_DTYPE_F32, 33, 45, false);
        static float ours[33 * 45], theirs[33 * 45];
        dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
        dg_gemm_args_t gemm = DG_GEMM_ARGS_INIT;
        args.a = gemm.a.data = a.view;
        args.b = gemm.b.data = b.view;
        args.c = gemm.c = c.view;
        args.d = dg_tensor_2d(ours, DG_DTYPE_F32, 33, 45);
        gemm.d = dg_tensor_2d(theirs, DG_DTYPE_F32, 33, 45);
        memset(ours, 0xFF, sizeof ours);
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        assert_int_equal(dg_gemm(NULL, &gemm, NULL), DG_STATUS_OK);
        assert_memory_equal(ours, theirs, sizeof ours);
        free_matrix(&a), free_matrix(&b), free_matrix(&c);
    }
}

/* F32 keeps all its bits: 1 + 2^-20 squared, which TF32 and BF16 cannot tell from 1. */
static void f32_is_not_rounded(void **state) {
    (void)state;
    float x[1] = {1.0f + 0x1p-20f}, d[1] = {NAN};
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    args.a = args.b = dg_tensor_2d(x, DG_DTYPE_F32, 1, 1);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 1, 1);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    assert_true(d[0] == 1.0f + 0x1p-19f);
}

typedef enum field_t { FIELD_A, FIELD_B, FIELD_C, FIELD_D } field_t;

static void refused(field_t field, const dg_tensor_t *wrong, dg_status_t status,
    const char *argument, const char *text) {
    static float a[12], b[12], c[16], d[16];
    static float before[16];
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    args.a = dg_tensor_2d(a, DG_DTYPE_F32, 3, 4);
    args.b = dg_tensor_2d(b, DG_DTYPE_F32, 2, 4);
    args.c = dg_tensor_2d(c, DG_DTYPE_F32, 3, 2);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 3, 2);
    dg_tensor_t *fields[] = {&args.a, &args.b, &args.c, &args.d};
    void *const data = fields[field]->data;
    *fields[field] = *wrong;
    if (wrong->data != NULL) fields[field]->data = data;
    memset(d, 0xFF, sizeof d);
    memcpy(before, d, sizeof d);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), status);
    assert_string_equal(dg_last_error_argument(), argument);
    assert_non_null(strstr(dg_last_error(), text));
    assert_memory_equal(d, before, sizeof d);
}

static void refusals(void **state) {
    (void)state;
    char there; /* an address: refused() puts the right one in its place */
    dg_tensor_t wrong = dg_tensor_2d(&there, DG_DTYPE_I32, 3, 4);
    refused(FIELD_A, &wrong, DG_STATUS_BAD_DTYPE, "a", "expected e4m3, bf16, f32 or f16");
    wrong = dg_tensor_2d(&there, DG_DTYPE_BF16, 2, 4);
    refused(FIELD_B, &wrong, DG_STATUS_BAD_DTYPE, "b", "dtype bf16 beside a's f32");
    wrong = dg_tensor_2d(&there, DG_DTYPE_F32, 2, 4);
    refused(FIELD_A, &wrong, DG_STATUS_BAD_SHAPE, "a", "expected 3 rows");
    wrong = dg_tensor_2d(&there, DG_DTYPE_F32, 2, 3);
    refused(FIELD_B, &wrong, DG_STATUS_BAD_SHAPE, "b", "k = 3, but a has k = 4");
    wrong = dg_tensor_2d(&there, DG_DTYPE_F32, 3, 4);
    wrong.stride[1] = 2, wrong.stride[0] = 8;
    refused(FIELD_A, &wrong, DG_STATUS_BAD_STRIDE, "a", "strides [8, 2], expected 1");
    wrong = dg_tensor_2d(&there, DG_DTYPE_F16, 3, 2);
    refused(FIELD_D, &wrong, DG_STATUS_BAD_DTYPE, "d", "expected bf16 or f32");
    wrong = dg_tensor_2d(&there, DG_DTYPE_F32, 2, 2);
    refused(FIELD_C, &wrong, DG_STATUS_BAD_SHAPE, "c", "shape [2, 2]");
    wrong = (dg_tensor_t)DG_NO_TENSOR;
    refused(FIELD_B, &wrong, DG_STATUS_NULL_POINTER, "b", "no tensor");
    wrong = dg_tensor_3d(&there, DG_DTYPE_F32, 1, 3, 4);
    refused(FIELD_A, &wrong, DG_STATUS_BAD_RANK, "a", "rank");
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    args.struct_size -= 8;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_BAD_STRUCT_SIZE);
    assert_int_equal(dg_cublaslt_gemm(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
}

static void outputs_apart_from_inputs(void **state) {
    (void)state;
    float x[32] = {0};
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    args.a = dg_tensor_2d(x, DG_DTYPE_F32, 2, 4);
    args.b = dg_tensor_2d(x + 8, DG_DTYPE_F32, 2, 4);
    args.d = dg_tensor_2d(x + 15, DG_DTYPE_F32, 2, 2);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OVERLAP);
    args.d = dg_tensor_2d(x + 16, DG_DTYPE_F32, 2, 2);
    args.c = dg_tensor_2d(x + 18, DG_DTYPE_F32, 2, 2);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OVERLAP);
    assert_string_equal(dg_last_error_argument(), "c");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_products),
        cmocka_unit_test(the_bits_of_dg_gemm),
        cmocka_unit_test(f32_is_not_rounded),
        cmocka_unit_test(refusals),
        cmocka_unit_test(outputs_apart_from_inputs),
    };
    return cmocka_run_group_tests_name("family_cublaslt", tests, NULL, NULL);
}
