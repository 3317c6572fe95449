/* SPDX-License-Identifier: MIT
 *
 * Layouts of scale factors against loops that say the same in the plainest way: values, shapes,
 * strides, padding words that stay as they were, rows between groups that hold NaN, refusals that
 * leave no trace.
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

enum { POISON = 0x5C };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A power of two from 2^-126 to 2^127, now and then zero. */
static float random_power(uint32_t *state) {
    const int exponent = (int)(next(state) % 254u) - 126;
    return next(state) % 16u == 0 ? 0.0f : ldexpf(1.0f, exponent);
}

static uint32_t exponent_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 23;
}

static float *make_factors(int64_t count, uint32_t seed) {
    float *factors = malloc((size_t)(count > 0 ? count : 1) * sizeof *factors);
    assert_non_null(factors);
    for (int64_t i = 0; i < count; ++i) factors[i] = random_power(&seed);
    return factors;
}

static void *make_poison(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(memory);
    memset(memory, POISON, bytes);
    return memory;
}

static void convert(const dg_scale_convert_args_t *args) {
    if (dg_scale_convert(NULL, args, NULL) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
}

/* Factors [g, mn, kb], row-major or column-major, to MN-major words; every word of the destination is
 * looked at, the padding too. groups 0: no leading axis. */
static void check_pack(int64_t groups, int64_t mn, int64_t kb, int column_major) {
    const int64_t matrices = groups > 0 ? groups : 1, words = (kb + 3) / 4;
    const int64_t pitch = (mn + 3) / 4 * 4, count = matrices * pitch * words;
    float *src = make_factors(matrices * mn * kb, (uint32_t)(mn * 31 + kb));
    uint32_t *dst = make_poison((size_t)count * 4);
    dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
    args.src = groups > 0 ? dg_tensor_3d(src, DG_DTYPE_F32, groups, mn, kb)
                          : dg_tensor_2d(src, DG_DTYPE_F32, mn, kb);
    if (column_major) {
        args.src.stride[args.src.rank - 1] = mn;
        args.src.stride[args.src.rank - 2] = 1;
    }
    args.dst = dg_scale_mn_major(dst, DG_DTYPE_I32, groups, mn, words);
    convert(&args);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t g = i / (pitch * words), w = i / pitch % words, row = i % pitch;
        uint32_t want = 0;
        for (int64_t b = 4 * w; b < 4 * w + 4 && b < kb; ++b) {
            const int64_t at = column_major ? (g * kb + b) * mn + row : (g * mn + row) * kb + b;
            if (row < mn) want |= exponent_of(src[at]) << 8 * (b % 4);
        }
        assert_int_equal(dst[i], row < mn ? want : 0x5C5C5C5Cu);
    }
    free(src), free(dst);
}

static void factors_are_packed_mn_major(void **state) {
    (void)state;
    const int64_t rows[] = {1, 3, 4, 127, 128, 4097}, blocks[] = {1, 4, 57},
                  groups[] = {0, 1, 3, 7};
    for (int r = 0; r < 6; ++r) {
        for (int b = 0; b < 3; ++b) {
            for (int g = 0; g < 4; ++g) {
                check_pack(groups[g], rows[r], blocks[b], 0);
                check_pack(groups[g], rows[r], blocks[b], 1);
            }
        }
    }
}

static void every_type_becomes_every_other(void **state) {
    (void)state;
    enum { ROWS = 37, BLOCKS = 11, WORDS = 3 };
    float *factors = make_factors(ROWS * BLOCKS, 5);
    for (int i = 0; i < ROWS * BLOCKS; ++i) { /* code 0 would come back as 2^-127, not as 0 */
        if (factors[i] == 0.0f) factors[i] = 0x1p-127f;
    }
    uint8_t bytes[ROWS * BLOCKS];
    int32_t words[ROWS * WORDS], words_again[ROWS * WORDS];
    float back[ROWS * BLOCKS];
    const dg_tensor_t as_f32 = dg_tensor_2d(factors, DG_DTYPE_F32, ROWS, BLOCKS);
    const dg_tensor_t as_e8m0 = dg_tensor_2d(bytes, DG_DTYPE_E8M0, ROWS, BLOCKS);
    const dg_tensor_t as_i32 = dg_tensor_2d(words, DG_DTYPE_I32, ROWS, WORDS);
    const dg_tensor_t as_i32_again = dg_tensor_2d(words_again, DG_DTYPE_I32, ROWS, WORDS);
    const dg_tensor_t as_back = dg_tensor_2d(back, DG_DTYPE_F32, ROWS, BLOCKS);
    const dg_tensor_t path[][2] = {
        {as_f32, as_e8m0}, {as_e8m0, as_i32}, {as_i32, as_i32_again}, {as_i32_again, as_back}};
    for (int i = 0; i < 4; ++i) {
        dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
        args.src = path[i][0], args.dst = path[i][1], args.k_blocks = i == 2 ? 11 : 0;
        convert(&args);
    }
    assert_memory_equal(back, factors, sizeof back);
    for (int i = 0; i < ROWS; ++i) assert_int_equal((uint32_t)words_again[i * WORDS + 2] >> 24, 0);
    free(factors);
}

static void rows_are_repeated(void **state) {
    (void)state;
    enum { MN = 300, SRC = 3, BLOCKS = 5 };
    float *src = make_factors(SRC * BLOCKS, 9), dst[MN * BLOCKS];
    dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
    args.src = dg_tensor_2d(src, DG_DTYPE_F32, SRC, BLOCKS);
    args.dst = dg_tensor_transpose(dg_tensor_2d(dst, DG_DTYPE_F32, BLOCKS, MN));
    args.repeat_mn = 128;
    convert(&args);
    for (int i = 0; i < MN; ++i) {
        for (int b = 0; b < BLOCKS; ++b) {
            assert_true(dst[b * MN + i] == src[i / 128 * BLOCKS + b]);
        }
    }
    free(src);
}

static void gaps_between_psum_groups_are_not_read(void **state) {
    (void)state;
    enum { MN = 700, BLOCKS = 6 };
    const int32_t psum[] = {0, 100, 128, 260, 600}; /* 0..99, 128..127, 128..259, 384..599 */
    float *src = make_factors(MN * BLOCKS, 11);
    int32_t dst[MN * 2];
    int inside[MN];
    for (int i = 0; i < MN; ++i) {
        inside[i] = i < 100 || (i >= 128 && i < 260) || (i >= 384 && i < 600);
        for (int b = 0; b < BLOCKS && !inside[i]; ++b) src[i * BLOCKS + b] = b % 2 ? NAN : -0.3f;
    }
    dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
    args.src = dg_tensor_2d(src, DG_DTYPE_F32, MN, BLOCKS);
    args.dst = dg_tensor_transpose(dg_tensor_2d(dst, DG_DTYPE_I32, 2, MN));
    args.groups.form = DG_GROUPS_PSUM;
    args.groups.values = dg_tensor_1d(psum, DG_DTYPE_I32, 5);
    memset(dst, POISON, sizeof dst);
    convert(&args);
    for (int i = 0; i < MN * 2; ++i) {
        const int row = i % MN, w = i / MN;
        uint32_t want = 0;
        for (int b = 4 * w; b < BLOCKS && b < 4 * w + 4 && inside[row]; ++b) {
            want |= exponent_of(src[row * BLOCKS + b]) << 8 * (b % 4);
        }
        assert_int_equal((uint32_t)dst[i], want);
    }
    free(src);
}

/* K groups against one word at a time; the row past the last group stays as it was. */
static void check_k_grouped(int groups, int gran_k, int64_t mn, int transposed) {
    int64_t sizes[300] = {0}, factor_rows = 0, word_rows = 0;
    uint32_t state = (uint32_t)(groups * 7 + gran_k);
    for (int g = 0; g < groups; ++g) {
        sizes[g] = next(&state) % 4u == 0 ? 0 : next(&state) % (6u * (uint32_t)gran_k);
        factor_rows += (sizes[g] + gran_k - 1) / gran_k;
        word_rows += (sizes[g] + 4 * gran_k - 1) / (4 * gran_k);
    }
    assert_int_equal(dg_k_grouped_scale_rows(sizes, groups, gran_k, 1), word_rows);
    float *src = make_factors(factor_rows * mn, state);
    uint32_t *dst = make_poison((size_t)((word_rows + 1) * mn) * 4);
    dg_scale_pack_k_grouped_args_t args = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
    args.src = dg_tensor_2d(src, DG_DTYPE_F32, factor_rows, mn);
    if (transposed)
        args.src = dg_tensor_transpose(dg_tensor_2d(src, DG_DTYPE_F32, mn, factor_rows));
    args.dst = dg_tensor_2d(dst, DG_DTYPE_I32, word_rows + 1, mn);
    args.gran_k = gran_k;
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I64, groups);
    if (dg_scale_pack_k_grouped(NULL, &args, NULL) != DG_STATUS_OK) fail_msg("%s", dg_last_error());
    int64_t row = 0, word = 0;
    for (int g = 0; g < groups; ++g) {
        const int64_t blocks = (sizes[g] + gran_k - 1) / gran_k;
        for (int64_t w = 0; w < (blocks + 3) / 4; ++w, ++word) {
            for (int64_t j = 0; j < mn; ++j) {
                uint32_t want = 0;
                for (int64_t b = 4 * w; b < 4 * w + 4 && b < blocks; ++b) {
                    const int64_t at = transposed ? j * factor_rows + row + b : (row + b) * mn + j;
                    want |= exponent_of(src[at]) << 8 * (b % 4);
                }
                assert_int_equal(dst[word * mn + j], want);
            }
        }
        row += blocks;
    }
    for (int64_t j = 0; j < mn; ++j) assert_int_equal(dst[word * mn + j], 0x5C5C5C5Cu);
    free(src), free(dst);
}

static void k_groups_start_their_own_words(void **state) {
    (void)state;
    const int groups[] = {0, 1, 2, 128, 300};
    const int64_t rows[] = {1, 3, 128, 260};
    for (int g = 0; g < 5; ++g) {
        for (int r = 0; r < 4; ++r) {
            check_k_grouped(groups[g], 32, rows[r], 0);
            check_k_grouped(groups[g], 128, rows[r], 1);
        }
    }
}

static void k_groups_may_be_ends_with_gaps(void **state) {
    (void)state;
    enum { MN = 5 };
    const int32_t psum[] = {100, 900, 1024}; /* alignment 128: 100, 772 and 0 tokens; gran 128 */
    float *src = make_factors((1 + 7) * MN, 2);
    uint32_t dst[3 * MN];
    dg_scale_pack_k_grouped_args_t args = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
    args.src = dg_tensor_2d(src, DG_DTYPE_F32, 8, MN);
    args.dst = dg_tensor_2d(dst, DG_DTYPE_I32, 3, MN);
    args.gran_k = 128;
    args.groups.form = DG_GROUPS_PSUM;
    args.groups.values = dg_tensor_1d(psum, DG_DTYPE_I32, 3);
    assert_int_equal(dg_scale_pack_k_grouped(NULL, &args, NULL), DG_STATUS_OK);
    for (int j = 0; j < MN; ++j) {
        assert_int_equal(dst[j], exponent_of(src[j]));
        for (int b = 0; b < 7; ++b) {
            const uint32_t got = dst[(1 + b / 4) * MN + j] >> 8 * (b % 4) & 255u;
            assert_int_equal(got, exponent_of(src[(1 + b) * MN + j]));
        }
        assert_int_equal(dst[2 * MN + j] >> 24, 0);
    }
    free(src);
}

static void factors_without_an_exponent_of_their_own_are_refused(void **state) {
    (void)state;
    enum { ROWS = 40, BLOCKS = 9 };
    const float wrong[] = {0.3f, -1.0f, NAN, INFINITY, 3.0f, 1e-45f, -0.0f, 0x1.8p-127f};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        float *src = make_factors(ROWS * BLOCKS, 1);
        int32_t dst[ROWS * 3], poison[ROWS * 3];
        memset(dst, POISON, sizeof dst);
        memset(poison, POISON, sizeof poison);
        src[37 * BLOCKS + 8] = wrong[i];
        dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
        args.src = dg_tensor_2d(src, DG_DTYPE_F32, ROWS, BLOCKS);
        args.dst = dg_tensor_2d(dst, DG_DTYPE_I32, ROWS, 3);
        assert_int_equal(dg_scale_convert(NULL, &args, NULL), DG_STATUS_BAD_SCALE);
        assert_non_null(strstr(dg_last_error(), "[37, 8]"));
        assert_string_equal(dg_last_error_argument(), "src");
        const int64_t sizes[] = {1, 500, 12 * 32}; /* rows 0, 1..16, 17..28 of [40, 9] */
        dg_scale_pack_k_grouped_args_t pack = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
        src[37 * BLOCKS + 8] = 1.0f;
        src[20 * BLOCKS + 7] = wrong[i];
        pack.src = args.src;
        pack.dst = dg_tensor_2d(dst, DG_DTYPE_I32, 8, BLOCKS);
        pack.gran_k = 32;
        pack.groups.form = DG_GROUPS_SIZES;
        pack.groups.host_sizes = sizes, pack.groups.host_count = 3;
        assert_int_equal(dg_scale_pack_k_grouped(NULL, &pack, NULL), DG_STATUS_BAD_SCALE);
        assert_non_null(strstr(dg_last_error(), "[20, 7]"));
        assert_memory_equal(dst, poison, sizeof dst);
        free(src);
    }
}

/* The table of dg_scale_transform_layout, line by line. */
static void transforms_have_the_layout_of_the_table(void **state) {
    (void)state;
    const struct {
        dg_dtype_t dtype;
        int32_t gran_mn, arch;
        dg_switch_t keep;
        dg_dtype_t wanted;
        int as_given, repeated;
    } lines[] = {
        {DG_DTYPE_F32, 1, 9, DG_DEFAULT, DG_DTYPE_F32, 0, 0},
        {DG_DTYPE_F32, 1, 0, DG_DEFAULT, DG_DTYPE_F32, 0, 0},
        {DG_DTYPE_F32, 128, 9, DG_DEFAULT, DG_DTYPE_F32, 1, 0},
        {DG_DTYPE_F32, 1, 10, DG_DEFAULT, DG_DTYPE_I32, 0, 0},
        {DG_DTYPE_F32, 128, 10, DG_OFF, DG_DTYPE_I32, 0, 1},
        {DG_DTYPE_F32, 1, 10, DG_ON, DG_DTYPE_F32, 0, 0},
        {DG_DTYPE_I32, 1, 9, DG_DEFAULT, DG_DTYPE_I32, 0, 0},
        {DG_DTYPE_I32, 1, 10, DG_DEFAULT, DG_DTYPE_I32, 0, 0},
        {DG_DTYPE_I32, 128, 9, DG_DEFAULT, DG_DTYPE_I32, 0, 1},
    };
    enum { MN = 301, K = 1100, BLOCKS = 9, WORDS = 3, GROUPS = 2 };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        const int64_t rows = lines[i].gran_mn == 1 ? MN : 3;
        const int64_t columns = lines[i].dtype == DG_DTYPE_I32 ? WORDS : BLOCKS;
        float *src = make_factors(GROUPS * rows * columns, (uint32_t)i);
        dg_scale_transform_args_t args = DG_SCALE_TRANSFORM_ARGS_INIT;
        args.scale = dg_tensor_3d(src, lines[i].dtype, GROUPS, rows, columns);
        args.mn = MN, args.k = K, args.groups = GROUPS;
        args.gran_mn = lines[i].gran_mn, args.gran_k = 128;
        args.arch_major = lines[i].arch, args.keep_f32 = lines[i].keep;
        dg_tensor_t out;
        assert_int_equal(dg_scale_transform_layout(NULL, &args, &out), DG_STATUS_OK);
        assert_int_equal(out.dtype, lines[i].wanted);
        assert_true(lines[i].as_given ? out.data == src : out.data == NULL);
        const int64_t out_rows = lines[i].as_given ? rows : MN;
        const int64_t out_columns = lines[i].wanted == DG_DTYPE_I32 ? WORDS : BLOCKS;
        assert_int_equal(out.shape[1], out_rows);
        assert_int_equal(out.shape[2], out_columns);
        if (!lines[i].as_given) {
            assert_int_equal(out.stride[1], 1);
            assert_int_equal(out.stride[2], 304);
            assert_int_equal(out.stride[0], 304 * out_columns);
        }
        out.data = make_poison((size_t)(4 * GROUPS * 304 * out_columns));
        assert_int_equal(dg_scale_transform(NULL, &args, &out, NULL), DG_STATUS_OK);
        for (int64_t g = 0; g < GROUPS; ++g) {
            for (int64_t r = 0; r < out_rows; ++r) {
                for (int64_t b = 0; b < BLOCKS; ++b) {
                    const int64_t from = g * rows + (lines[i].repeated ? r / 128 : r);
                    const uint32_t *in = (const uint32_t *)(const void *)src;
                    uint32_t want = in[from * columns + (columns == WORDS ? b / 4 : b)];
                    if (lines[i].dtype == DG_DTYPE_I32) want = want >> 8 * (b % 4) & 255u;
                    if (lines[i].dtype != lines[i].wanted) want >>= 23;
                    const int64_t column = out_columns == WORDS ? b / 4 : b;
                    uint32_t got =
                        ((const uint32_t *)out.data)[g * out.stride[0] + r * out.stride[1] +
                                                     column * out.stride[2]];
                    if (out_columns == WORDS) got = got >> 8 * (b % 4) & 255u;
                    assert_int_equal(got, want);
                }
            }
        }
        args.scale = out; /* what was made is what is wanted */
        if (!lines[i].repeated && lines[i].dtype == lines[i].wanted) {
            dg_tensor_t again;
            assert_int_equal(dg_scale_transform_layout(NULL, &args, &again), DG_STATUS_OK);
            assert_ptr_equal(again.data, out.data);
            assert_int_equal(dg_scale_transform(NULL, &args, &again, NULL), DG_STATUS_OK);
        }
        free(src), free(out.data);
    }
}

/* The second operand is wrong: the first one's output must not have been touched. */
static void a_pair_is_all_or_nothing(void **state) {
    (void)state;
    enum { MN = 130, BLOCKS = 4 };
    float *a = make_factors(MN * BLOCKS, 1), *b = make_factors(2 * BLOCKS, 2);
    dg_scale_transform_args_t args_a = DG_SCALE_TRANSFORM_ARGS_INIT;
    args_a.scale = dg_tensor_2d(a, DG_DTYPE_F32, MN, BLOCKS);
    args_a.mn = MN, args_a.k = 512, args_a.gran_mn = 1, args_a.gran_k = 128, args_a.arch_major = 10;
    dg_scale_transform_args_t args_b = args_a;
    args_b.scale = dg_tensor_2d(b, DG_DTYPE_F32, 2, BLOCKS);
    args_b.gran_mn = 128;
    dg_tensor_t out_a, out_b;
    assert_int_equal(dg_scale_transform_layout(NULL, &args_a, &out_a), DG_STATUS_OK);
    assert_int_equal(dg_scale_transform_layout(NULL, &args_b, &out_b), DG_STATUS_OK);
    uint32_t *words = make_poison(2 * 132 * 4), poison[2 * 132];
    memset(poison, POISON, sizeof poison);
    out_a.data = words, out_b.data = words + 132;
    b[6] = 0.7f;
    assert_int_equal(
        dg_scale_transform_pair(NULL, &args_a, &out_a, &args_b, &out_b, NULL), DG_STATUS_BAD_SCALE);
    assert_string_equal(dg_last_error_argument(), "b.scale");
    assert_non_null(strstr(dg_last_error(), "[1, 2]"));
    assert_memory_equal(words, poison, sizeof poison);
    b[6] = 0.5f;
    out_b.data = words + 100;
    assert_int_equal(
        dg_scale_transform_pair(NULL, &args_a, &out_a, &args_b, &out_b, NULL), DG_STATUS_OVERLAP);
    assert_memory_equal(words, poison, sizeof poison);
    out_b.data = words + 132;
    assert_int_equal(
        dg_scale_transform_pair(NULL, &args_a, &out_a, &args_b, &out_b, NULL), DG_STATUS_OK);
    for (int i = 0; i < MN; ++i) {
        uint32_t want_a = 0, want_b = 0;
        for (int k = 0; k < BLOCKS; ++k) {
            want_a |= exponent_of(a[i * BLOCKS + k]) << 8 * k;
            want_b |= exponent_of(b[i / 128 * BLOCKS + k]) << 8 * k;
        }
        assert_int_equal(words[i], want_a);
        assert_int_equal(words[132 + i], want_b);
    }
    free(a), free(b), free(words);
}

static void sizes_are_rounded_up_to_16_bytes(void **state) {
    (void)state;
    assert_int_equal(dg_tma_aligned_size(0, 4), 0);
    assert_int_equal(dg_tma_aligned_size(5, 4), 8);
    assert_int_equal(dg_tma_aligned_size(17, 1), 32);
    assert_int_equal(dg_tma_aligned_size(9, 2), 16);
    assert_int_equal(dg_tma_aligned_size(7, 16), 7);
    assert_int_equal(dg_tma_aligned_size(-1, 4), -1);
    assert_int_equal(dg_tma_aligned_size(1, 3), -1);
    assert_int_equal(dg_tma_aligned_size(1, 32), -1);
    assert_int_equal(dg_tma_aligned_size(INT64_MAX, 4), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_packed_mn_major),
        cmocka_unit_test(every_type_becomes_every_other),
        cmocka_unit_test(rows_are_repeated),
        cmocka_unit_test(gaps_between_psum_groups_are_not_read),
        cmocka_unit_test(k_groups_start_their_own_words),
        cmocka_unit_test(k_groups_may_be_ends_with_gaps),
        cmocka_unit_test(factors_without_an_exponent_of_their_own_are_refused),
        cmocka_unit_test(transforms_have_the_layout_of_the_table),
        cmocka_unit_test(a_pair_is_all_or_nothing),
        cmocka_unit_test(sizes_are_rounded_up_to_16_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
