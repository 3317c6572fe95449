/* SPDX-License-Identifier: MIT
 *
 * What the casts promise beyond the arithmetic of single blocks (test_cast_golden.c): two outputs in
 * one pass, groups of every form, packing at odd boundaries, rows outside groups untouched, bits
 * that do not depend on threads, the way back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "deep_gemm/deep_gemm.h"

enum { M = 150, N = 70, POISON = 0xA5 };

/* Random values of very different magnitudes, the same for the same seed. */
static void fill(float *x, int64_t count, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1u;
    for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        x[i] = ldexpf((float)(int32_t)state, (int)(state >> 8 & 15u) - 38);
    }
}

static dg_quantized_t make_out(
    void *data, void *scale, int64_t m, int64_t n, int32_t gran_m, int32_t gran_n) {
    dg_quantized_t out = DG_NO_QUANTIZED;
    out.data = dg_tensor_2d(data, DG_DTYPE_E4M3, m, n);
    out.scale =
        dg_tensor_2d(scale, DG_DTYPE_F32, (m + gran_m - 1) / gran_m, (n + gran_n - 1) / gran_n);
    out.gran[0] = gran_m, out.gran[1] = gran_n;
    return out;
}

static void quantize(dg_context_t *ctx, const dg_quantize_args_t *args) {
    if (dg_quantize(ctx, args, NULL) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
}

static float x[M * N];
static uint8_t codes[4][M * N];
static float factors[4][M * N];

static int poison_all(void **state) {
    (void)state;
    fill(x, M * N, 7);
    memset(codes, POISON, sizeof codes);
    memset(factors, POISON, sizeof factors);
    return 0;
}

static void one_pass_gives_the_bits_of_two(void **state) {
    (void)state;
    const int32_t gran[][4] = {{1, 32, 32, 1}, {1, 128, 128, 1}, {128, 128, 3, 5}, {1, 0, 0, 1}};
    for (size_t i = 0; i < sizeof gran / sizeof *gran; ++i) {
        const int32_t *g = gran[i];
        const int32_t g1 = g[1] ? g[1] : N, g2 = g[2] ? g[2] : M;
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        poison_all(NULL);
        args.x = dg_tensor_2d(x, DG_DTYPE_F32, M, N);
        args.out[0] = make_out(codes[0], factors[0], M, N, g[0], g1);
        args.out[1] = make_out(codes[1], factors[1], M, N, g2, g[3]);
        quantize(NULL, &args);
        args.out[0] = make_out(codes[2], factors[2], M, N, g[0], g1);
        args.out[1] = (dg_quantized_t)DG_NO_QUANTIZED;
        quantize(NULL, &args);
        args.out[0] = make_out(codes[3], factors[3], M, N, g2, g[3]);
        quantize(NULL, &args);
        assert_memory_equal(codes[0], codes[2], sizeof codes[0]);
        assert_memory_equal(codes[1], codes[3], sizeof codes[1]);
        assert_memory_equal(factors[0], factors[2], sizeof factors[0]);
        assert_memory_equal(factors[1], factors[3], sizeof factors[1]);
    }
}

/* Groups as ranges of rows, quantised one by one by ungrouped calls: what a grouped call must equal.
 * Per channel, FP32 factors of group after group. */
static int64_t quantize_each(const int64_t (*ranges)[2], int count, uint8_t *q, float *s) {
    int64_t row = 0;
    for (int g = 0; g < count; ++g) {
        const int64_t begin = ranges[g][0], rows = ranges[g][1] - begin;
        if (rows == 0) continue;
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        args.x = dg_tensor_2d(x + begin * N, DG_DTYPE_F32, rows, N);
        args.out[0] = make_out(q + begin * N, s + row * N, rows, N, 32, 1);
        quantize(NULL, &args);
        row += (rows + 31) / 32;
    }
    return row;
}

static void groups_of_every_form_are_cast_one_by_one(void **state) {
    (void)state;
    const int32_t sizes[] = {0, 33, 1, 0, 64, 30};
    const int64_t offsets[] = {0, 33, 34, 34, 98, 128};
    const int64_t back_to_back[6][2] = {{0, 0}, {0, 33}, {33, 34}, {34, 34}, {34, 98}, {98, 128}};
    const int32_t psum[] = {0, 33, 41, 30, 119, 150}; /* alignment 20; group 3 is empty */
    const int64_t aligned[6][2] = {{0, 0}, {0, 33}, {40, 41}, {60, 60}, {60, 119}, {120, 150}};
    const int64_t host_sizes[] = {0, 33, 1, 0, 64, 30};
    const int64_t wrong_host_sizes[] = {150};
    int32_t strided[12];
    for (int i = 0; i < 12; ++i) strided[i] = i % 2 ? -1 : sizes[i / 2];
    dg_groups_t forms[5] = {DG_NO_GROUPS, DG_NO_GROUPS, DG_NO_GROUPS, DG_NO_GROUPS, DG_NO_GROUPS};
    forms[0].form = DG_GROUPS_SIZES;
    forms[0].values = dg_tensor_1d(sizes, DG_DTYPE_I32, 6);
    forms[0].host_sizes = wrong_host_sizes,
    forms[0].host_count = 1; /* the sum is all that counts */
    forms[1].form = DG_GROUPS_OFFSETS;
    forms[1].values = dg_tensor_1d(offsets, DG_DTYPE_I64, 6);
    forms[2].form = DG_GROUPS_SIZES;
    forms[2].host_sizes = host_sizes, forms[2].host_count = 6;
    forms[3].form = DG_GROUPS_SIZES;
    forms[3].values = dg_tensor_1d(strided, DG_DTYPE_I32, 6);
    forms[3].values.stride[0] = 2;
    forms[4].form = DG_GROUPS_PSUM;
    forms[4].values = dg_tensor_1d(psum, DG_DTYPE_I32, 6);
    forms[4].alignment = 20;
    for (int f = 0; f < 5; ++f) {
        const int64_t(*ranges)[2] = f == 4 ? aligned : back_to_back;
        poison_all(NULL);
        for (int64_t i = 0; i < M; ++i) { /* rows of no group hold NaN, which nobody may use */
            int inside = 0;
            for (int g = 0; g < 6; ++g) inside |= ranges[g][0] <= i && i < ranges[g][1];
            for (int64_t j = 0; j < N && !inside; ++j) x[i * N + j] = NAN;
        }
        const int64_t rows = quantize_each(ranges, 6, codes[1], factors[1]);
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        args.x = dg_tensor_2d(x, DG_DTYPE_F32, M, N);
        args.groups = forms[f];
        args.out[0] = make_out(codes[0], factors[0], M, N, 32, 1);
        args.out[0].scale.shape[0] = rows + 2; /* more rows than needed stay as they are */
        quantize(NULL, &args);
        assert_memory_equal(codes[0], codes[1], sizeof codes[0]);
        assert_memory_equal(factors[0], factors[1], sizeof factors[0]);
    }
}

/* FP4 along the tokens, groups with odd ends: two groups share a byte, and a byte at the edge of all
 * groups keeps the half that is not theirs. */
static void odd_groups_share_bytes_of_fp4(void **state) {
    (void)state;
    const int32_t sizes[] = {1, 0, 33, 7, 1, 64, 31}; /* 137 of 150 rows */
    uint8_t whole[M * N];
    for (int32_t threads = 1; threads <= 7; threads += 3) {
        dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
        options.num_threads = threads;
        dg_context_t *ctx;
        assert_int_equal(dg_context_create(&ctx, &options), DG_STATUS_OK);
        poison_all(NULL);
        memset(whole, 0, sizeof whole);
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        args.x = dg_tensor_2d(x, DG_DTYPE_F32, M, N);
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, 7);
        args.out[0] = make_out(NULL, factors[0], M, N, 32, 1);
        args.out[0].scale.shape[0] = 9;
        args.out[0].data = dg_tensor_transpose(dg_tensor_2d(codes[0], DG_DTYPE_E2M1X2, N, M / 2));
        args.out[1] = args.out[0]; /* the same codes packed along the other axis */
        args.out[1].scale.data = factors[1];
        args.out[1].data = dg_tensor_2d(codes[1], DG_DTYPE_E2M1X2, M, N / 2);
        quantize(ctx, &args);
        assert_memory_equal(factors[0], factors[1], sizeof factors[0]);
        for (int i = 0; i < M; ++i) {
            for (int j = 0; j < N; ++j) {
                const uint8_t by_token = codes[0][j * (M / 2) + i / 2] >> 4 * (i % 2) & 15;
                const uint8_t by_channel = codes[1][i * (N / 2) + j / 2] >> 4 * (j % 2) & 15;
                const uint8_t poison = i % 2 ? POISON >> 4 : POISON & 15;
                if (i < 137) assert_int_equal(by_token, by_channel);
                if (i >= 137) assert_int_equal(by_token, poison);
            }
        }
        dg_context_destroy(ctx);
    }
}

static void bits_do_not_depend_on_threads(void **state) {
    (void)state;
    const int32_t threads[] = {1, 2, 7};
    enum { ROWS = 700, COLS = 300 };
    float *wide = malloc(ROWS * COLS * sizeof *wide);
    uint8_t *q = malloc(3 * ROWS * COLS);
    int32_t *s = malloc(3 * ROWS * sizeof *s);
    assert_true(wide && q && s);
    fill(wide, ROWS * COLS, 3);
    for (int t = 0; t < 3; ++t) {
        dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
        options.num_threads = threads[t];
        dg_context_t *ctx;
        assert_int_equal(dg_context_create(&ctx, &options), DG_STATUS_OK);
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        args.x = dg_tensor_2d(wide, DG_DTYPE_F32, ROWS, COLS);
        args.out[0].data =
            dg_tensor_transpose(dg_tensor_2d(q + t * ROWS * COLS, DG_DTYPE_E4M3, COLS, ROWS));
        args.out[0].scale = dg_tensor_2d(s + t * ROWS, DG_DTYPE_I32, ROWS, 1);
        args.out[0].gran[0] = 1, args.out[0].gran[1] = 128;
        quantize(ctx, &args);
        dg_context_destroy(ctx);
    }
    for (int t = 1; t < 3; ++t) {
        assert_memory_equal(q, q + t * ROWS * COLS, ROWS * COLS);
        assert_memory_equal(s, s + t * ROWS, ROWS * sizeof *s);
    }
    free(wide), free(q), free(s);
}

static void special_blocks_are_as_documented(void **state) {
    (void)state;
    const float values[4][4] = {{NAN, 1.0f, -2.0f, 0.0f}, {INFINITY, 1.0f, -1.0f, 0.0f},
        {0, 0, -0.0f, 0}, {1e-45f, 0, 0, 0}};
    uint8_t q[16], e[4];
    float s[4];
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(values, DG_DTYPE_F32, 4, 4);
    args.out[0] = make_out(q, s, 4, 4, 1, 4);
    args.out[1] = args.out[0];
    args.out[1].data.data = codes[0];
    args.out[1].scale = dg_tensor_2d(e, DG_DTYPE_E8M0, 4, 1);
    quantize(NULL, &args);
    assert_true(isnan(s[0]) && isinf(s[1]));
    for (int i = 0; i < 4; ++i) assert_int_equal(q[i], 0x7F);
    assert_int_equal(q[4], 0x7F);                        /* infinity / infinity */
    assert_int_equal(q[5], 0x00);                        /* 1 / infinity */
    assert_true(s[2] == 1e-4f / 448.0f && s[3] == s[2]); /* the least factor there is */
    assert_int_equal(q[10], 0x80);                       /* -0 keeps its sign */
    assert_int_equal(e[0], 254);
    assert_int_equal(e[1], 254);
}

/* Codes times powers of two survive the way there and back exactly; a second tensor in BF16. */
static void the_way_back_is_exact_for_exact_values(void **state) {
    (void)state;
    enum { ROWS = 37, COLS = 130 };
    float in[ROWS * COLS], out[ROWS * COLS];
    uint16_t bf16[ROWS * COLS];
    uint8_t q[ROWS * COLS];
    int32_t words[COLS * 1];
    for (int i = 0; i < ROWS * COLS; ++i) {
        in[i] = ldexpf((float)(i * 37 % 15 - 7), i % COLS % 11 - 5);
    }
    for (int fp4 = 0; fp4 < 2; ++fp4) {
        for (int i = 0; i < ROWS * COLS && fp4; ++i) { /* what E2M1 holds: 0 .. 4 and 6 */
            in[i] = ldexpf((float)(i * 37 % 9 - 4), i % COLS % 11 - 5);
            if (i < COLS) in[i] = ldexpf(6.0f, i % COLS % 11 - 5);
        }
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        args.x = dg_tensor_2d(in, DG_DTYPE_F32, ROWS, COLS);
        args.out[0].data = fp4 ? dg_tensor_2d(q, DG_DTYPE_E2M1X2, ROWS, COLS / 2)
                               : dg_tensor_2d(q, DG_DTYPE_E4M3, ROWS, COLS);
        args.out[0].scale = dg_tensor_2d(words, DG_DTYPE_I32, 1, COLS);
        args.out[0].gran[0] = 0, args.out[0].gran[1] = 1;
        args.out[0].k_axis = DG_K_AXIS_ROWS;
        quantize(NULL, &args);
        dg_dequantize_args_t back = DG_DEQUANTIZE_ARGS_INIT;
        back.q = args.out[0];
        back.x = dg_tensor_2d(out, DG_DTYPE_F32, ROWS, COLS);
        memset(out, POISON, sizeof out);
        assert_int_equal(dg_dequantize(NULL, &back, NULL), DG_STATUS_OK);
        for (int i = 0; i < ROWS * COLS; ++i) assert_true(out[i] == in[i]);
        back.x = dg_tensor_2d(bf16, DG_DTYPE_BF16, ROWS, COLS);
        assert_int_equal(dg_dequantize(NULL, &back, NULL), DG_STATUS_OK);
        for (int i = 0; i < ROWS * COLS; ++i) {
            uint32_t bits;
            memcpy(&bits, &in[i], sizeof bits);
            if (in[i] != 0) assert_int_equal(bf16[i], bits >> 16);
        }
    }
}

static void rows_outside_groups_are_not_dequantised(void **state) {
    (void)state;
    const int32_t psum[] = {5, 37}; /* alignment 32: rows 0..4 and 32..36 */
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, M, N);
    args.groups.form = DG_GROUPS_PSUM;
    args.groups.alignment = 32;
    args.groups.values = dg_tensor_1d(psum, DG_DTYPE_I32, 2);
    args.out[0] = make_out(codes[0], factors[0], M, N, 4, 1);
    quantize(NULL, &args);
    dg_dequantize_args_t back = DG_DEQUANTIZE_ARGS_INIT;
    back.q = args.out[0];
    back.groups = args.groups;
    back.x = dg_tensor_2d(factors[1], DG_DTYPE_F32, M, N);
    assert_int_equal(dg_dequantize(NULL, &back, NULL), DG_STATUS_OK);
    for (int i = 0; i < M * N; ++i) {
        const int row = i / N, inside = row < 5 || (row >= 32 && row < 37);
        if (inside) assert_true(fabsf(factors[1][i] - x[i]) <= fabsf(x[i]) / 16 + 1e-3f);
        if (!inside) assert_memory_equal(&factors[1][i], &factors[3][i], sizeof(float));
    }
}

static void empty_tensors_need_no_memory(void **state) {
    (void)state;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(NULL, DG_DTYPE_BF16, 0, N);
    args.out[0] = make_out(NULL, NULL, 0, N, 1, 128);
    quantize(NULL, &args);
    args.x = dg_tensor_2d(NULL, DG_DTYPE_BF16, M, 0);
    args.out[0] = make_out(NULL, NULL, M, 0, 1, 128);
    quantize(NULL, &args);
    const int64_t sizes[3] = {0, 0, 0}; /* rows, but in no group: nothing is written */
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, M, N);
    args.out[0] = make_out(codes[0], factors[0], M, N, 128, 1);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.host_sizes = sizes, args.groups.host_count = 3;
    quantize(NULL, &args);
    assert_memory_equal(codes[0], codes[1], sizeof codes[0]);
    assert_memory_equal(factors[0], factors[1], sizeof factors[0]);
}

static void wrong_sizes_are_clamped_if_the_context_says_so(void **state) {
    (void)state;
    const int32_t sizes[] = {-5, 40, INT32_MAX, 7};
    const int64_t ranges[4][2] = {{0, 0}, {0, 40}, {40, M}, {M, M}};
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.group_values = DG_GROUP_VALUES_CLAMP;
    dg_context_t *ctx;
    assert_int_equal(dg_context_create(&ctx, &options), DG_STATUS_OK);
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, M, N);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, 4);
    args.out[0] = make_out(codes[0], factors[0], M, N, 32, 1);
    args.out[0].scale.shape[0] = 6;
    quantize(ctx, &args);
    assert_int_equal(quantize_each(ranges, 4, codes[1], factors[1]), 6);
    assert_memory_equal(codes[0], codes[1], sizeof codes[0]);
    assert_memory_equal(factors[0], factors[1], sizeof factors[0]);
    dg_context_destroy(ctx);
}

static void rows_of_factors_are_counted(void **state) {
    (void)state;
    const int64_t sizes[] = {0, 1, 128, 129, 512, 513, -3, INT64_MAX};
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 7, 128, 0), 0 + 1 + 1 + 2 + 4 + 5);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 7, 128, 1), 0 + 1 + 1 + 1 + 1 + 2);
    assert_int_equal(dg_k_grouped_scale_rows(sizes + 7, 1, INT32_MAX, 1), (INT64_C(1) << 30) + 1);
    assert_int_equal(dg_k_grouped_scale_rows(NULL, 0, 32, 0), 0);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 7, 0, 0), -1);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, -1, 32, 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_pass_gives_the_bits_of_two, poison_all),
        cmocka_unit_test_setup(groups_of_every_form_are_cast_one_by_one, poison_all),
        cmocka_unit_test_setup(odd_groups_share_bytes_of_fp4, poison_all),
        cmocka_unit_test_setup(bits_do_not_depend_on_threads, poison_all),
        cmocka_unit_test_setup(special_blocks_are_as_documented, poison_all),
        cmocka_unit_test_setup(the_way_back_is_exact_for_exact_values, poison_all),
        cmocka_unit_test_setup(rows_outside_groups_are_not_dequantised, poison_all),
        cmocka_unit_test_setup(empty_tensors_need_no_memory, poison_all),
        cmocka_unit_test_setup(wrong_sizes_are_clamped_if_the_context_says_so, poison_all),
        cmocka_unit_test(rows_of_factors_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
