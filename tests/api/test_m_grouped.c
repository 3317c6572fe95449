/* SPDX-License-Identifier: MIT
 *
 * dg_m_grouped_gemm against an FP64 product row by row: each form of the groups, gathered rows of a,
 * factors whose blocks straddle group boundaries, rows that no product may touch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "sample.h"

enum { GROUPS = 5, ROWS = 130, N = 24, K = 200, MAX_M = 40 };

/* What must be in a row of d. */
enum { UNTOUCHED = -2, ZERO = -1 }; /* or the group whose matrix it is multiplied by */

/* Fills a, b and d; the group rows come from the caller. */
static void make_args(
    sample_t *sample, dg_m_grouped_gemm_args_t *args, dg_dtype_t dtype, int32_t gran_a, bool c) {
    const bool packed = dtype == DG_DTYPE_E2M1X2;
    const int64_t b_shape[3] = {GROUPS, packed ? N / 2 : N, K};
    const int64_t scale_shape[3] = {GROUPS, N, (K + 31) / 32};
    const int32_t order[3] = {0, 2, 1}; /* b stored [G, K, N] */
    *args = (dg_m_grouped_gemm_args_t)DG_M_GROUPED_GEMM_ARGS_INIT;
    args->a.data = sample_matrix(sample, dtype, ROWS, packed ? K / 2 : K, false, 1);
    args->b.data = sample_tensor(sample, dtype, 3, b_shape, order, 2);
    if (dtype != DG_DTYPE_BF16) {
        args->a.gran_mn = gran_a, args->a.gran_k = 128;
        args->a.scale =
            sample_matrix(sample, DG_DTYPE_F32, (ROWS + gran_a - 1) / gran_a, 2, true, 0);
        args->b.gran_mn = 1, args->b.gran_k = 32;
        args->b.scale = sample_tensor(sample, DG_DTYPE_F32, 3, scale_shape, order, 0);
    }
    args->d = sample_matrix(sample, DG_DTYPE_F32, ROWS, N, false, 3);
    if (c) args->c = sample_matrix(sample, DG_DTYPE_F32, ROWS, N, false, 0);
    memset(args->d.data, 0xAA, (size_t)(ROWS * (N + 3)) * 4);
}

static void check_row(
    const dg_m_grouped_gemm_args_t *args, int64_t row, int64_t source, int group) {
    for (int64_t j = 0; j < N; j++) {
        const int64_t index[3] = {row, j, 0};
        uint32_t bits;
        memcpy(&bits, (char *)args->d.data + (row * args->d.stride[0] + j) * 4, 4);
        if (group < 0) {
            assert_int_equal(bits, group == ZERO ? 0 : 0xAAAAAAAA);
            continue;
        }
        double sum = args->c.dtype != DG_DTYPE_NONE ? sample_value(&args->c, index, -1) : 0;
        double magnitude = fabs(sum);
        for (int64_t k = 0; source >= 0 && k < K; k++) {
            const double term =
                sample_operand_value(&args->a, 1, 0, source, k) *
                sample_operand_value(&args->b, args->b.data.shape[1] == N ? 2 : 1, group, j, k);
            sum += term;
            magnitude += fabs(term);
        }
        sample_check(&args->d, index, sum, magnitude);
    }
}

static void check_rows(
    const dg_m_grouped_gemm_args_t *args, const int *group_of_row, const int32_t *sources) {
    for (int64_t i = 0; i < ROWS; i++) {
        check_row(args, i, sources != NULL ? sources[i] : i, group_of_row[i]);
    }
}

/* Sizes with empty groups first, last and in between; 17 rows behind the last group. */
static const int32_t sizes[GROUPS] = {0, 61, 0, 52, 0};

static void sizes_place_groups_back_to_back(void **state) {
    (void)state;
    static const dg_dtype_t dtypes[] = {DG_DTYPE_E4M3, DG_DTYPE_E2M1X2, DG_DTYPE_BF16};
    static const int32_t grans[] = {1, 128, 10};
    for (int i = 0; i < 9; i++) {
        sample_t sample;
        dg_m_grouped_gemm_args_t args;
        int groups[ROWS];
        sample_begin(&sample, (uint64_t)i + 1);
        make_args(&sample, &args, dtypes[i % 3], grans[i / 3], i % 2);
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, GROUPS);
        for (int r = 0; r < ROWS; r++) groups[r] = r < 61 ? 1 : r < 113 ? 3 : UNTOUCHED;
        sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
        check_rows(&args, groups, NULL);
        sample_end(&sample);
    }
}

static void host_sizes_and_offsets_mean_the_same(void **state) {
    (void)state;
    static const int64_t host_sizes[GROUPS] = {0, 61, 0, 52, 0};
    static const int64_t ends[GROUPS] = {0, 61, 61, 113, 113};
    int groups[ROWS];
    sample_t sample;
    dg_m_grouped_gemm_args_t args;
    sample_begin(&sample, 3);
    make_args(&sample, &args, DG_DTYPE_E4M3, 1, false);
    for (int r = 0; r < ROWS; r++) groups[r] = r < 61 ? 1 : r < 113 ? 3 : UNTOUCHED;
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.host_sizes = host_sizes;
    args.groups.host_count = GROUPS;
    sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
    check_rows(&args, groups, NULL);
    memset(args.d.data, 0xAA, (size_t)(ROWS * (N + 3)) * 4);
    args.groups = (dg_groups_t)DG_NO_GROUPS;
    args.groups.form = DG_GROUPS_OFFSETS;
    args.groups.values = dg_tensor_1d(ends, DG_DTYPE_I64, GROUPS);
    sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
    check_rows(&args, groups, NULL);
    sample_end(&sample);
}

static void psum_pads_groups_with_zeros_if_asked(void **state) {
    (void)state;
    static const int32_t ends[GROUPS] = {10, 32, 50, 64, 130};
    for (int padding = 0; padding < 2; padding++) {
        int groups[ROWS];
        sample_t sample;
        dg_m_grouped_gemm_args_t args;
        sample_begin(&sample, 4);
        make_args(&sample, &args, DG_DTYPE_E4M3, 1, padding == 1);
        args.groups.form = DG_GROUPS_PSUM;
        args.groups.alignment = 16;
        args.groups.values = dg_tensor_1d(ends, DG_DTYPE_I32, GROUPS);
        args.zero_padding = padding ? DG_DEFAULT : DG_OFF;
        for (int r = 0; r < ROWS; r++) {
            groups[r] = r < 10   ? 0
                        : r < 16 ? (padding ? ZERO : UNTOUCHED)
                        : r < 32 ? 1
                        : r < 50 ? 2
                        : r < 64 ? (padding ? ZERO : UNTOUCHED)
                                 : 4;
        }
        sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
        check_rows(&args, groups, NULL);
        sample_end(&sample);
    }
}

static void an_index_is_judged_row_by_row(void **state) {
    (void)state;
    for (int gathered = 0; gathered < 2; gathered++) {
        int64_t index[2 * ROWS];
        int32_t sources[ROWS];
        int groups[ROWS];
        sample_t sample;
        dg_m_grouped_gemm_args_t args;
        sample_begin(&sample, 21 + (uint64_t)gathered);
        make_args(&sample, &args, gathered ? DG_DTYPE_E2M1X2 : DG_DTYPE_E4M3, 10, gathered == 0);
        for (int r = 0; r < ROWS; r++) {
            groups[r] = (int)sample_between(&sample, -1, GROUPS - 2);
            index[2 * r] = groups[r] < 0 ? -5 : groups[r];
            sources[r] = (int32_t)sample_between(&sample, -1, ROWS - 1);
        }
        args.groups.form = DG_GROUPS_INDEX;
        args.groups.values = dg_tensor_1d(index, DG_DTYPE_I64, ROWS);
        args.groups.values.stride[0] = 2;
        if (gathered) args.a_rows = dg_tensor_1d(sources, DG_DTYPE_I32, ROWS);
        sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
        check_rows(&args, groups, gathered ? sources : NULL);
        sample_end(&sample);
    }
}

static void a_block_index_speaks_for_its_block(void **state) {
    (void)state;
    int32_t index[ROWS];
    int groups[ROWS];
    sample_t sample;
    dg_m_grouped_gemm_args_t args;
    sample_begin(&sample, 8);
    make_args(&sample, &args, DG_DTYPE_BF16, 1, false);
    for (int r = 0; r < ROWS; r++) {
        static const int of_block[] = {3, -1, 0, 3, 4};
        groups[r] = of_block[r / 32] < 0 ? ZERO : of_block[r / 32];
        index[r] = r % 32 == 0 ? of_block[r / 32] : 1000 + r; /* never looked at */
    }
    args.groups.form = DG_GROUPS_BLOCK_INDEX;
    args.groups.alignment = 32;
    args.groups.values = dg_tensor_1d(index, DG_DTYPE_I32, ROWS);
    sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
    check_rows(&args, groups, NULL);
    sample_end(&sample);
}

/* a has fewer rows than d; entries for rows outside the groups are not looked at. */
static void rows_of_a_are_gathered(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        int64_t sources64[ROWS];
        int32_t sources[ROWS];
        int groups[ROWS];
        sample_t sample;
        dg_m_grouped_gemm_args_t args;
        sample_begin(&sample, 31);
        make_args(&sample, &args, DG_DTYPE_E4M3, 7, true);
        args.a.data.shape[0] = 71;
        args.a.scale.shape[0] = 11;
        for (int r = 0; r < ROWS; r++) {
            sources[r] = r < 113 ? (int32_t)sample_between(&sample, -2, 70) : 999;
            sources64[r] = sources[r];
            groups[r] = r < 61 ? 1 : r < 113 ? 3 : UNTOUCHED;
        }
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, GROUPS);
        args.a_rows = wide ? dg_tensor_1d(sources64, DG_DTYPE_I64, ROWS)
                           : dg_tensor_1d(sources, DG_DTYPE_I32, ROWS);
        sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
        check_rows(&args, groups, sources);
        sample_end(&sample);
    }
}

static void masked_leaves_rows_past_the_mask_alone(void **state) {
    (void)state;
    static const int32_t masks[GROUPS] = {0, 40, 13, 1, 39};
    const int64_t a_shape[3] = {GROUPS, MAX_M, K}, d_shape[3] = {GROUPS, MAX_M, N};
    const int64_t scale_shape[3] = {GROUPS, 3, 2};
    const int32_t order[3] = {0, 1, 2};
    sample_t sample;
    dg_m_grouped_gemm_args_t args;
    sample_begin(&sample, 6);
    make_args(&sample, &args, DG_DTYPE_E4M3, 1, false);
    args.a.data = sample_tensor(&sample, DG_DTYPE_E4M3, 3, a_shape, order, 0);
    args.a.scale = sample_tensor(&sample, DG_DTYPE_F32, 3, scale_shape, order, 0);
    args.a.gran_mn = 17;
    args.d = sample_tensor(&sample, DG_DTYPE_BF16, 3, d_shape, order, 0);
    memset(args.d.data, 0xAA, (size_t)GROUPS * MAX_M * N * 2);
    args.groups.form = DG_GROUPS_MASKED;
    args.groups.values = dg_tensor_1d(masks, DG_DTYPE_I32, GROUPS);
    sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
    for (int64_t x = 0; x < GROUPS * MAX_M * N; x++) {
        const int64_t index[3] = {x / N / MAX_M, x / N % MAX_M, x % N};
        if (index[1] >= masks[index[0]]) {
            assert_int_equal(((const uint16_t *)args.d.data)[x], 0xAAAA);
            continue;
        }
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < K; k++) {
            const double term = sample_operand_value(&args.a, 2, index[0], index[1], k) *
                                sample_operand_value(&args.b, 2, index[0], index[2], k);
            sum += term;
            magnitude += fabs(term);
        }
        sample_check(&args.d, index, sum, magnitude);
    }
    sample_end(&sample);
}

static void values_out_of_range_are_refused_or_clamped(void **state) {
    (void)state;
    int32_t index[ROWS];
    int groups[ROWS];
    sample_t sample;
    dg_m_grouped_gemm_args_t args;
    dg_context_t *clamping;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.group_values = DG_GROUP_VALUES_CLAMP;
    sample_succeeded(dg_context_create(&clamping, &options));
    sample_begin(&sample, 12);
    make_args(&sample, &args, DG_DTYPE_BF16, 1, false);
    for (int r = 0; r < ROWS; r++) {
        index[r] = r % 7;
        groups[r] = r % 7 < GROUPS ? r % 7 : ZERO;
    }
    args.groups.form = DG_GROUPS_INDEX;
    args.groups.values = dg_tensor_1d(index, DG_DTYPE_I32, ROWS);
    assert_int_equal(dg_m_grouped_gemm(NULL, &args, NULL), DG_STATUS_BAD_VALUE);
    for (int r = 0; r < ROWS; r++) check_row(&args, r, r, UNTOUCHED);
    sample_succeeded(dg_m_grouped_gemm(clamping, &args, NULL));
    check_rows(&args, groups, NULL);
    sample_succeeded(dg_context_destroy(clamping));
    sample_end(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_place_groups_back_to_back),
        cmocka_unit_test(host_sizes_and_offsets_mean_the_same),
        cmocka_unit_test(psum_pads_groups_with_zeros_if_asked),
        cmocka_unit_test(an_index_is_judged_row_by_row),
        cmocka_unit_test(a_block_index_speaks_for_its_block),
        cmocka_unit_test(rows_of_a_are_gathered),
        cmocka_unit_test(masked_leaves_rows_past_the_mask_alone),
        cmocka_unit_test(values_out_of_range_are_refused_or_clamped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
