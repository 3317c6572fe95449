/* SPDX-License-Identifier: MIT
 *
 * dg_quantize of tensors with 1, 3 and 4 axes: blocks that take whole axes (custom dims), an input
 * whose first axis has stride 0, packed factors of stacked weights. Bit for bit against
 * reference_cast.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "guard.h"
#include "random_data.h"
#include "reference_cast.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Ranks 1, 3 and 4 with one factor for each index of some axes, and an input of stride 0. */
static void test_ranks_and_custom_dims(void **state) {
    (void)state;
    static const struct {
        int32_t rank;
        int64_t shape[4];
        int32_t gran[4];
        int64_t blocks[4];
    } cases[] = {
        {1, {300}, {128}, {3}},
        {1, {300}, {0}, {1}},
        {3, {4, 130, 200}, {1, 128, 128}, {4, 2, 2}},
        {3, {4, 13, 20}, {1, 0, 1}, {4, 1, 20}},
        {3, {4, 13, 20}, {0, 1, 0}, {1, 13, 1}},
        {4, {2, 3, 5, 7}, {1, 0, 1, 0}, {2, 1, 5, 1}},
        {4, {2, 3, 5, 7}, {2, 2, 2, 2}, {1, 2, 3, 4}},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const size_t n = i % COUNT(cases);
        const int32_t rank = cases[n].rank;
        const bool broadcast = i >= COUNT(cases);
        rng_t rng = rng_make(5000 + i);
        ref_cast_t want = {.shape = {1, 1, 1, 1}, .gran = {1, 1, 1, 1}, .first_axis = 4 - rank};
        int64_t total = 1, factors = 1;
        for (int32_t axis = 0; axis < rank; axis++) {
            want.shape[4 - rank + axis] = cases[n].shape[axis];
            want.gran[4 - rank + axis] = cases[n].gran[axis];
            total *= cases[n].shape[axis];
            factors *= cases[n].blocks[axis];
        }
        float *x = guard_scratch((size_t)total * sizeof *x);
        const int64_t period = broadcast ? total / cases[n].shape[0] : total;
        for (int64_t e = 0; e < total; e++)
            x[e] = e < period ? (float)rng_normal(&rng) : x[e - period];
        ref_cast(&want, x);
        uint8_t *codes = guard_take((size_t)total, 0, "codes");
        float *scale = guard_take((size_t)factors * sizeof *scale, 0, "factors");
        dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
        dg_quantized_t *out = &args.out[0];
        args.x.data = x, args.x.dtype = DG_DTYPE_F32;
        out->data.data = codes, out->data.dtype = DG_DTYPE_E4M3;
        out->scale.data = scale, out->scale.dtype = DG_DTYPE_F32;
        args.x.rank = out->data.rank = out->scale.rank = rank;
        args.x.device.type = out->data.device.type = out->scale.device.type = DG_DEVICE_CPU;
        int64_t stride = 1, scale_stride = 1;
        for (int32_t axis = rank - 1; axis >= 0; axis--) {
            args.x.shape[axis] = out->data.shape[axis] = cases[n].shape[axis];
            args.x.stride[axis] = out->data.stride[axis] = stride;
            out->scale.shape[axis] = cases[n].blocks[axis];
            out->scale.stride[axis] = scale_stride;
            out->gran[axis] = cases[n].gran[axis];
            stride *= cases[n].shape[axis];
            scale_stride *= cases[n].blocks[axis];
        }
        if (broadcast) args.x.stride[0] = 0;
        label("quantize rank %d, case %zu", rank, i);
        guard_seal();
        expect_ok(dg_quantize(NULL, &args, NULL));
        assert_memory_equal(scale, want.factor, (size_t)factors * sizeof *scale);
        assert_memory_equal(codes, want.code, (size_t)total);
        guard_allow(scale, (size_t)factors * sizeof *scale);
        guard_allow(codes, (size_t)total);
        guard_check();
        guard_release();
    }
}

/* Stacked weights [2, 600, 5] with 128 x 1 blocks: the five blocks of each column share words along
 * the axis before the last, four to a word. */
static void test_words_along_the_axis_before_the_last(void **state) {
    (void)state;
    enum { GROUPS = 2, ROWS = 600, COLUMNS = 5, BLOCKS = 5, WORDS = 2 };
    rng_t rng = rng_make(6000);
    float *x = guard_scratch(GROUPS * ROWS * COLUMNS * sizeof *x);
    for (int i = 0; i < GROUPS * ROWS * COLUMNS; i++) x[i] = (float)rng_normal(&rng);
    ref_cast_t want = {.shape = {1, GROUPS, ROWS, COLUMNS},
        .gran = {1, 1, 128, 1},
        .first_axis = 1,
        .power_of_two = true};
    ref_cast(&want, x);
    uint8_t *codes = guard_take(GROUPS * ROWS * COLUMNS, 0, "codes");
    uint32_t *words = guard_take(GROUPS * WORDS * COLUMNS * sizeof *words, 0, "words");
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_3d(x, DG_DTYPE_F32, GROUPS, ROWS, COLUMNS);
    args.out[0].data = dg_tensor_3d(codes, DG_DTYPE_E4M3, GROUPS, ROWS, COLUMNS);
    args.out[0].scale = dg_tensor_3d(words, DG_DTYPE_I32, GROUPS, WORDS, COLUMNS);
    args.out[0].gran[0] = 1, args.out[0].gran[1] = 128, args.out[0].gran[2] = 1;
    args.out[0].k_axis = DG_K_AXIS_ROWS;
    label("quantize rank 3, words along rows");
    guard_seal();
    expect_ok(dg_quantize(NULL, &args, NULL));
    assert_memory_equal(codes, want.code, GROUPS * ROWS * COLUMNS);
    for (int g = 0; g < GROUPS; g++) {
        for (int j = 0; j < COLUMNS; j++) {
            for (int b = 0; b < 4 * WORDS; b++) {
                uint32_t need = 0;
                if (b < BLOCKS) memcpy(&need, &want.factor[(g * BLOCKS + b) * COLUMNS + j], 4);
                const uint32_t word = words[(g * WORDS + b / 4) * COLUMNS + j];
                assert_int_equal(word >> (b % 4 * 8) & 255, need >> 23);
            }
        }
    }
    guard_allow(codes, GROUPS * ROWS * COLUMNS);
    guard_allow(words, GROUPS * WORDS * COLUMNS * sizeof *words);
    guard_check();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_ranks_and_custom_dims, guard_teardown),
        cmocka_unit_test_teardown(test_words_along_the_axis_before_the_last, guard_teardown),
    };
    return cmocka_run_group_tests_name("quantize ranks", tests, NULL, NULL);
}
