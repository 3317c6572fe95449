/* SPDX-License-Identifier: MIT
 *
 * Layouts of scale factors against exponents drawn one by one: dg_scale_convert between all types,
 * orders and groups, with repeated rows and with gaps; dg_scale_pack_k_grouped; the transform of a
 * GPU generation. Rows and groups are multiples of nothing, and both axes are longer than a word.
 * Guards against padding that is read or written and factors that are rounded without a word.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "grouping.h"
#include "guard.h"
#include "random_data.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const dg_dtype_t types[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32};

static int64_t ceil_div(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}

/* A poisoned tensor for [groups, mn, blocks] factors; order 0 rows, 1 MN-major aligned, 2 loose. */
static dg_tensor_t scale_tensor(
    dg_dtype_t dtype, int64_t groups, int64_t mn, int64_t blocks, int order, const char *name) {
    const int64_t columns = dtype == DG_DTYPE_I32 ? ceil_div(blocks, 4) : blocks;
    const int64_t count = groups > 0 ? groups : 1;
    const int64_t mn_stride = order == 0 ? columns : order == 1 ? 1 : 2 * columns + 3;
    const int64_t k_stride = order == 0 ? 1 : order == 1 ? ceil_div(mn, 4) * 4 : 2;
    const int64_t span = order == 1 ? k_stride * columns : mn * mn_stride;
    void *memory = guard_take((size_t)(count * span * dg_dtype_size(dtype)), 0, name);
    dg_tensor_t tensor = groups > 0 ? dg_tensor_3d(memory, dtype, groups, mn, columns)
                                    : dg_tensor_2d(memory, dtype, mn, columns);
    if (groups > 0) tensor.stride[0] = span;
    tensor.stride[tensor.rank - 2] = mn_stride;
    tensor.stride[tensor.rank - 1] = k_stride;
    return tensor;
}

/* Address of the factor (for I32 of its byte) of row i, block j. */
static uint8_t *factor_at(const dg_tensor_t *t, int64_t g, int64_t i, int64_t j) {
    const int64_t column = t->dtype == DG_DTYPE_I32 ? j / 4 : j;
    const int64_t at = (t->rank == 3 ? g * t->stride[0] : 0) + i * t->stride[t->rank - 2] +
                       column * t->stride[t->rank - 1];
    return (uint8_t *)t->data + at * dg_dtype_size(t->dtype) +
           (t->dtype == DG_DTYPE_I32 ? j % 4 : 0);
}

static void factor_store(const dg_tensor_t *t, int64_t g, int64_t i, int64_t j, uint8_t exponent) {
    const float value = ldexpf(1.0F, exponent - 127);
    uint8_t *at = factor_at(t, g, i, j);
    if (t->dtype == DG_DTYPE_F32) {
        memcpy(at, &value, sizeof value);
    } else {
        *at = exponent;
    }
}

/* The factor must be 2^(exponent - 127), or with exponent 0 a zero; allows its bytes. */
static void factor_expect(const dg_tensor_t *t, int64_t g, int64_t i, int64_t j, uint8_t exponent) {
    const uint8_t *at = factor_at(t, g, i, j);
    const float want = exponent == 0 ? 0.0F : ldexpf(1.0F, exponent - 127);
    float got = 0.0F;
    bool good = *at == exponent;
    if (t->dtype == DG_DTYPE_F32) {
        memcpy(&got, at, sizeof got);
        good = memcmp(&got, &want, sizeof got) == 0;
    }
    if (!good) {
        label_fail("[%lld, %lld, %lld]: got byte %d or %g, want exponent %d", (long long)g,
            (long long)i, (long long)j, *at, (double)got, exponent);
    }
    guard_allow(at, t->dtype == DG_DTYPE_F32 ? 4 : 1);
}

/* Bytes of the last word that no block has must be zero. */
static void tail_expect(const dg_tensor_t *t, int64_t g, int64_t i, int64_t blocks) {
    if (t->dtype != DG_DTYPE_I32) return;
    for (int64_t j = blocks; j % 4 != 0; j++) factor_expect(t, g, i, j, 0);
}

/* [groups, rows, blocks] exponents, written to src. */
static uint8_t *draw(
    rng_t *rng, const dg_tensor_t *src, int64_t groups, int64_t rows, int64_t blocks) {
    uint8_t *exponent = guard_scratch((size_t)(groups * rows * blocks));
    for (int64_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < blocks; j++) {
                const uint8_t e = (uint8_t)rng_range(rng, 1, 254);
                exponent[(g * rows + i) * blocks + j] = e;
                factor_store(src, g, i, j, e);
            }
        }
    }
    return exponent;
}

static const int64_t extents[][3] = {
    {0, 1, 1}, {0, 5, 3}, {1, 127, 4}, {3, 129, 9}, {7, 2, 57}, {2, 64, 8}, {0, 260, 33}};

static void test_convert(void **state) {
    (void)state;
    for (int kind = 0; kind < 3 * 3 * 9 * 3; kind++) {
        const dg_dtype_t from = types[kind % 3], to = types[kind / 3 % 3];
        const int from_order = kind / 9 % 3, to_order = kind / 27 % 3;
        const int32_t repeat = kind / 81 == 0 ? 0 : kind / 81 == 1 ? 128 : 3;
        for (size_t s = 0; s < COUNT(extents); s++) {
            const int64_t groups = extents[s][0], mn = extents[s][1], blocks = extents[s][2];
            const int64_t rows = repeat > 1 ? ceil_div(mn, repeat) : mn;
            const int64_t count = groups > 0 ? groups : 1;
            rng_t rng = rng_make(100 + (uint64_t)kind);
            const dg_tensor_t src = scale_tensor(from, groups, rows, blocks, from_order, "src");
            const uint8_t *exponent = draw(&rng, &src, count, rows, blocks);
            dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
            args.src = src;
            args.dst = scale_tensor(to, groups, mn, blocks, to_order, "dst");
            args.repeat_mn = repeat;
            /* both packed: only the number itself says where the last word ends */
            if (from == DG_DTYPE_I32 || kind % 2) args.k_blocks = blocks;
            label("convert %s order %d to %s order %d, groups=%lld mn=%lld blocks=%lld repeat=%d "
                  "seed=%d",
                dg_dtype_string(from), from_order, dg_dtype_string(to), to_order, (long long)groups,
                (long long)mn, (long long)blocks, repeat, 100 + kind);
            guard_seal();
            expect_ok(dg_scale_convert(NULL, &args, NULL));
            for (int64_t g = 0; g < count; g++) {
                for (int64_t i = 0; i < mn; i++) {
                    const int64_t row = g * rows + (repeat > 1 ? i / repeat : i);
                    for (int64_t j = 0; j < blocks; j++) {
                        factor_expect(&args.dst, g, i, j, exponent[row * blocks + j]);
                    }
                    tail_expect(&args.dst, g, i, blocks);
                }
            }
            guard_check();
            guard_release();
        }
    }
}

/* Gaps hold NaN: not looked at, and zeros in the result. */
static void test_convert_psum(void **state) {
    (void)state;
    static const int64_t sizes[] = {5, 0, 33, 1};
    for (int kind = 0; kind < 9; kind++) {
        rng_t rng = rng_make(300 + (uint64_t)kind);
        const grouping_t grouping =
            grouping_make(&rng, DG_GROUPS_PSUM, DG_DTYPE_I32, sizes, 4, 0, 16);
        dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
        args.src = scale_tensor(DG_DTYPE_F32, 0, grouping.rows, 6, kind % 3, "src");
        args.dst = scale_tensor(types[kind / 3], 0, grouping.rows, 6, 1, "dst");
        args.groups = grouping.view;
        uint8_t *exponent = guard_scratch((size_t)grouping.rows * 6);
        for (int64_t i = 0; i < grouping.rows * 6; i++) {
            if (grouping.of_row[i / 6] < 0) continue;
            exponent[i] = (uint8_t)rng_range(&rng, 1, 254);
            factor_store(&args.src, 0, i / 6, i % 6, exponent[i]);
        }
        label("convert psum to %s, order %d", dg_dtype_string(types[kind / 3]), kind % 3);
        guard_seal();
        expect_ok(dg_scale_convert(NULL, &args, NULL));
        for (int64_t i = 0; i < grouping.rows; i++) {
            for (int64_t j = 0; j < 6; j++) factor_expect(&args.dst, 0, i, j, exponent[i * 6 + j]);
            tail_expect(&args.dst, 0, i, 6);
        }
        guard_check();
        guard_release();
    }
}

/* One bad factor anywhere: refused by name, nothing written. Zero is fine. */
static void test_refusal(void **state) {
    (void)state;
    static const float bad[] = {1.5F, 0.3F, -2.0F, NAN, INFINITY, 1e-40F};
    for (size_t b = 0; b <= COUNT(bad); b++) {
        rng_t rng = rng_make(400 + b);
        dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
        args.src = scale_tensor(DG_DTYPE_F32, 0, 37, 9, 0, "src");
        args.dst = scale_tensor(DG_DTYPE_I32, 0, 37, 9, 1, "dst");
        const uint8_t *exponent = draw(&rng, &args.src, 1, 37, 9);
        const float value = b < COUNT(bad) ? bad[b] : 0.0F;
        memcpy(factor_at(&args.src, 0, 36, 8), &value, sizeof value);
        label("pack %g", (double)value);
        guard_seal();
        if (b < COUNT(bad)) {
            expect_status(dg_scale_convert(NULL, &args, NULL), DG_STATUS_BAD_SCALE);
            assert_string_equal(dg_last_error_argument(), "src");
        } else {
            expect_ok(dg_scale_convert(NULL, &args, NULL));
            for (int64_t e = 0; e < 37 * 9; e++) {
                factor_expect(&args.dst, 0, e / 9, e % 9, e == 37 * 9 - 1 ? 0 : exponent[e]);
            }
            for (int64_t i = 0; i < 37; i++) tail_expect(&args.dst, 0, i, 9);
        }
        guard_check();
        guard_release();
    }
}

static void test_pack_k_grouped(void **state) {
    (void)state;
    static const int64_t lists[][4] = {{5, 0, 130, 700}, {0, 0, 0, 0}, {129, 640, 0, 0}};
    for (int kind = 0; kind < 3 * 2 * 3; kind++) {
        const int64_t *sizes = lists[kind % 3];
        const int32_t gran = kind / 3 % 2 ? 32 : 128;
        const int64_t mn = 37;
        rng_t rng = rng_make(500 + (uint64_t)kind);
        const grouping_t grouping =
            grouping_make(&rng, (dg_group_form_t)(1 + kind / 6), DG_DTYPE_I64, sizes, 4, 3, 64);
        const int64_t blocks = dg_k_grouped_scale_rows(sizes, 4, gran, 0);
        const int64_t words = dg_k_grouped_scale_rows(sizes, 4, gran, 1);
        dg_scale_pack_k_grouped_args_t args = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
        args.src = scale_tensor(DG_DTYPE_F32, 0, blocks, mn, kind % 2 ? 2 : 0, "src");
        const uint8_t *exponent = draw(&rng, &args.src, 1, blocks, mn);
        int32_t *memory = guard_take((size_t)((words + 2) * mn) * 4, 0, "dst");
        args.dst = dg_tensor_2d(memory, DG_DTYPE_I32, words + 2, mn);
        args.gran_k = gran;
        args.groups = grouping.view;
        label("pack k_grouped, kind %d, gran %d", kind, gran);
        guard_seal();
        expect_ok(dg_scale_pack_k_grouped(NULL, &args, NULL));
        int64_t block = 0, word = 0;
        for (int64_t g = 0; g < 4; g++) {
            const int64_t count = ceil_div(sizes[g], gran);
            for (int64_t w = 0; w < ceil_div(count, 4); w++, word++) {
                for (int64_t i = 0; i < mn; i++) {
                    uint32_t want = 0;
                    for (int64_t b = 4 * w; b < count && b < 4 * w + 4; b++) {
                        want |= (uint32_t)exponent[(block + b) * mn + i] << (8 * (b % 4));
                    }
                    assert_int_equal((uint32_t)memory[word * mn + i], want);
                }
            }
            block += count;
        }
        guard_allow(memory, (size_t)(words * mn) * 4);
        guard_check();
        guard_release();
    }
}

/* The table of scale_layout.h: type, gran_mn, generation -> layout. */
static void test_transform(void **state) {
    (void)state;
    static const struct {
        dg_dtype_t from;
        int32_t gran_mn, arch;
        dg_switch_t keep;
        dg_dtype_t to;
        bool aligned; /* MN-major aligned; else as given */
    } table[] = {{DG_DTYPE_F32, 1, 9, DG_DEFAULT, DG_DTYPE_F32, true},
        {DG_DTYPE_F32, 128, 9, DG_DEFAULT, DG_DTYPE_F32, false},
        {DG_DTYPE_F32, 1, 0, DG_DEFAULT, DG_DTYPE_F32, true},
        {DG_DTYPE_F32, 1, 10, DG_DEFAULT, DG_DTYPE_I32, true},
        {DG_DTYPE_F32, 128, 10, DG_DEFAULT, DG_DTYPE_I32, true},
        {DG_DTYPE_F32, 1, 10, DG_ON, DG_DTYPE_F32, true},
        {DG_DTYPE_I32, 1, 9, DG_DEFAULT, DG_DTYPE_I32, true},
        {DG_DTYPE_I32, 1, 10, DG_DEFAULT, DG_DTYPE_I32, true},
        {DG_DTYPE_I32, 128, 10, DG_DEFAULT, DG_DTYPE_I32, true}};
    for (size_t c = 0; c < COUNT(table); c++) {
        for (int64_t groups = 0; groups < 4; groups += 3) {
            const int64_t mn = 261, k = 1000, blocks = 8, count = groups > 0 ? groups : 1;
            const int64_t rows = ceil_div(mn, table[c].gran_mn);
            rng_t rng = rng_make(600 + c);
            dg_scale_transform_args_t args = DG_SCALE_TRANSFORM_ARGS_INIT;
            args.scale = scale_tensor(table[c].from, groups, rows, blocks, 0, "scale");
            const uint8_t *exponent = draw(&rng, &args.scale, count, rows, blocks);
            args.mn = mn, args.k = k, args.groups = groups;
            args.gran_mn = table[c].gran_mn, args.gran_k = 128;
            args.arch_major = table[c].arch, args.keep_f32 = table[c].keep;
            dg_tensor_t layout = DG_NO_TENSOR;
            label("transform, row %zu of the table, groups=%lld", c, (long long)groups);
            guard_seal();
            expect_ok(dg_scale_transform_layout(NULL, &args, &layout));
            assert_int_equal(layout.dtype, table[c].to);
            if (!table[c].aligned) {
                assert_ptr_equal(layout.data, args.scale.data);
                guard_release();
                continue;
            }
            assert_null(layout.data);
            const int64_t columns = table[c].to == DG_DTYPE_I32 ? 2 : 8;
            const dg_tensor_t want = dg_scale_mn_major(NULL, layout.dtype, groups, mn, columns);
            assert_int_equal(layout.rank, want.rank);
            for (int axis = 0; axis < want.rank; axis++) {
                assert_int_equal(layout.shape[axis], want.shape[axis]);
                assert_int_equal(layout.stride[axis], want.stride[axis]);
            }
            layout.data = guard_take((size_t)(4 * count * 264 * columns), 0, "out");
            guard_seal();
            expect_ok(dg_scale_transform(NULL, &args, &layout, NULL));
            for (int64_t e = 0; e < count * mn * blocks; e++) {
                const int64_t g = e / (mn * blocks), i = e / blocks % mn, j = e % blocks;
                const int64_t row = g * rows + i / table[c].gran_mn;
                factor_expect(&layout, g, i, j, exponent[row * blocks + j]);
            }
            guard_check();
            guard_release();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_convert, guard_teardown),
        cmocka_unit_test_teardown(test_convert_psum, guard_teardown),
        cmocka_unit_test_teardown(test_refusal, guard_teardown),
        cmocka_unit_test_teardown(test_pack_k_grouped, guard_teardown),
        cmocka_unit_test_teardown(test_transform, guard_teardown),
    };
    return cmocka_run_group_tests_name("scale layout", tests, NULL, NULL);
}
