/* SPDX-License-Identifier: MIT
 *
 * From problems to works: alignments against a plain reading of their definition, contiguity with
 * axes of one element, and that no byte is left to chance.
 */
#include "plan/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

#include "model/tensor.h"
#include "random_work.h"

/* The definition, read literally: try 128, 64, ... */
static int expect_alignment(uintptr_t address, const int64_t *extents, const int64_t *strides,
    int axes, int contiguous, int64_t bytes_twice) {
    for (int alignment = 128; alignment > 1; alignment /= 2) {
        bool divides = address % (uintptr_t)alignment == 0;
        for (int i = 0; i < axes; i++) {
            const int64_t stride = strides[i] * bytes_twice / 2;
            if (i == contiguous || extents[i] <= 1) continue;
            if (stride <= 0 || stride >= INT64_C(1) << 40 || stride % alignment != 0)
                divides = false;
        }
        if (divides) return alignment;
    }
    return 1;
}

static int64_t draw_stride(dg_random_t *random) {
    const int64_t factor = INT64_C(1) << dg_draw(random, 0, 7);
    return dg_draw(random, 0, 9)   ? factor * dg_draw(random, 1, 2000)
           : dg_draw(random, 0, 1) ? -factor
                                   : 0;
}

static const void *draw_address(dg_random_t *random) {
    return (const void *)(uintptr_t)(dg_draw(random, 0, 4096) << dg_draw(random, 0, 7));
}

static void aligns_as_defined(void **state) {
    static const dg_dtype_t dtypes[] = {DG_DTYPE_E4M3, DG_DTYPE_BF16, DG_DTYPE_E2M1X2};
    static const int64_t bytes_twice[] = {2, 4, 1};
    dg_random_t random = {4};
    (void)state;
    for (int round = 0; round < 20000; round++) {
        dg_gemm_problem_t problem;
        dg_work_t work;
        memset(&problem, 0, sizeof problem);
        const int type = (int)dg_draw(&random, 0, 2);
        const bool k_contiguous = dg_draw(&random, 0, 1);
        const int64_t pitch = draw_stride(&random) * 2;
        problem.m = dg_draw(&random, 2, 50);
        problem.n = dg_draw(&random, 1, 50);
        problem.k = dg_draw(&random, 2, 50);
        problem.a.data = draw_address(&random);
        problem.a.dtype = problem.b.dtype = dtypes[type];
        problem.a.mn_stride = k_contiguous ? pitch : 1;
        problem.a.k_stride = k_contiguous ? 1 : pitch;
        problem.b.mn_stride = problem.b.k_stride = 1;
        problem.out.dtype = DG_DTYPE_F32;
        problem.out.d = (void *)(uintptr_t)draw_address(&random);
        problem.out.row_stride = draw_stride(&random);
        memset(&work, 0xA5, sizeof work);
        dg_gemm_work(&problem, &work);
        const int64_t extents[2] = {problem.m, problem.k};
        const int64_t strides[2] = {problem.a.mn_stride, problem.a.k_stride};
        assert_int_equal(work.a.k_contiguous, pitch == 1 || k_contiguous);
        assert_int_equal(
            work.a.alignment, expect_alignment((uintptr_t)problem.a.data, extents, strides, 2,
                                  work.a.k_contiguous ? 1 : 0, bytes_twice[type]));
        const int64_t out_extents[2] = {problem.m, problem.n};
        const int64_t out_strides[2] = {problem.out.row_stride, 1};
        assert_int_equal(work.d_alignment,
            expect_alignment((uintptr_t)problem.out.d, out_extents, out_strides, 2, 1, 8));
        assert_int_equal(work.c_alignment, 0);
    }
}

/* An axis of one element has any stride: it must neither spoil an alignment nor name the layout. */
static void ignores_idle_strides(void **state) {
    dg_gemm_problem_t problem;
    dg_work_t work;
    (void)state;
    memset(&problem, 0, sizeof problem);
    problem.m = 1, problem.n = 256, problem.k = 512;
    problem.a = (dg_side_t){.dtype = DG_DTYPE_E4M3, .mn_stride = 1, .k_stride = 1};
    problem.a.scale = (dg_factors_t){.dtype = DG_DTYPE_F32,
        .mn_stride = 7,
        .k_stride = 4,
        .count_k = 4,
        .gran_mn = 1,
        .gran_k = 128};
    problem.b = (dg_side_t){.dtype = DG_DTYPE_E4M3, .mn_stride = 512, .k_stride = 1};
    problem.out = (dg_output_t){.dtype = DG_DTYPE_BF16, .row_stride = 3};
    dg_gemm_work(&problem, &work);
    assert_int_equal(work.a.k_contiguous, 1);
    assert_int_equal(work.a.alignment, 128);
    assert_int_equal(work.a.scale_mn_contiguous, 1);
    assert_int_equal(work.a.scale_alignment, 16);
    assert_int_equal(work.d_alignment, 128);
    problem.a.scale.k_stride = 1;
    dg_gemm_work(&problem, &work);
    assert_int_equal(work.a.scale_mn_contiguous, 0);
    assert_int_equal(work.a.scale_alignment, 128);
    problem.m = 64, problem.k = 1, problem.a.mn_stride = 1, problem.a.k_stride = 1;
    dg_gemm_work(&problem, &work);
    assert_int_equal(work.a.k_contiguous, 0);
    problem.a.mn_stride = 48;
    dg_gemm_work(&problem, &work);
    assert_int_equal(work.a.k_contiguous, 1);
    assert_int_equal(work.a.alignment, 16);
}

static void describes_groups_along_m(void **state) {
    dg_m_grouped_problem_t problem;
    dg_work_t work;
    int32_t rows[4] = {0, 1, 2, 3};
    (void)state;
    memset(&problem, 0, sizeof problem);
    problem.group_count = 6, problem.rows = 4, problem.n = 64, problem.k = 128;
    problem.expected_m = 17;
    problem.a = (dg_side_t){.dtype = DG_DTYPE_BF16,
        .mn_stride = 136,
        .k_stride = 1,
        .group_stride = 4,
        .gather_extent = 1};
    problem.b = (dg_side_t){
        .dtype = DG_DTYPE_BF16, .mn_stride = 128, .k_stride = 1, .group_stride = 64 * 128 + 4};
    problem.out = (dg_output_t){.dtype = DG_DTYPE_BF16, .row_stride = 64, .group_stride = 1};
    problem.groups.form = DG_GROUPS_PSUM;
    problem.groups.alignment = 32;
    problem.zero_padding = true;
    memset(&work, 0xA5, sizeof work);
    dg_m_grouped_gemm_work(&problem, &work);
    assert_int_equal(work.family, DG_FAMILY_M_GROUPED_GEMM);
    assert_int_equal(work.expected_m, 17);
    assert_int_equal(work.group_alignment, 32);
    assert_int_equal(work.zero_padding, 1);
    assert_int_equal(work.a.alignment, 16);
    assert_int_equal(work.b.alignment, 8);
    assert_int_equal(work.d_alignment, 128);
    problem.a_rows = dg_tensor_1d(rows, DG_DTYPE_I32, 4);
    dg_m_grouped_gemm_work(&problem, &work);
    assert_int_equal(work.a.gathered, 1);
    assert_int_equal(work.a.alignment, 128);
    problem.groups.form = DG_GROUPS_MASKED;
    problem.a_rows = (dg_tensor_t)DG_NO_TENSOR;
    dg_m_grouped_gemm_work(&problem, &work);
    assert_int_equal(work.a.alignment, 8);
    assert_int_equal(work.d_alignment, 2);
    assert_int_equal(work.group_alignment, 0);
    assert_int_equal(work.zero_padding, 0);
}

static void describes_groups_along_k(void **state) {
    dg_k_grouped_problem_t problem;
    dg_work_t work;
    void *outputs[2] = {(void *)(uintptr_t)4096, (void *)(uintptr_t)(4096 + 32)};
    const void *inputs[2] = {outputs[0], (void *)(uintptr_t)(8192 + 8)};
    const int64_t sizes[2] = {48, 16}, odd[2] = {48, 17};
    (void)state;
    memset(&problem, 0, sizeof problem);
    problem.group_count = 2, problem.m = 8, problem.n = 16, problem.tokens = 64;
    problem.a.flat = true;
    problem.a.side = (dg_side_t){.data = (void *)(uintptr_t)64, .dtype = DG_DTYPE_E4M3};
    problem.b.side = (dg_side_t){.dtype = DG_DTYPE_E4M3, .mn_stride = 1, .k_stride = 16};
    problem.out = (dg_output_t){.dtype = DG_DTYPE_F32, .row_stride = 16, .c_row_stride = 16};
    problem.groups.form = DG_GROUPS_SIZES;
    problem.groups.host_sizes = sizes;
    problem.groups.host_count = 2;
    problem.d_list = outputs;
    problem.c_list = inputs;
    memset(&work, 0xA5, sizeof work);
    dg_k_grouped_gemm_work(&problem, &work);
    assert_int_equal(work.k, 64);
    assert_int_equal(work.a.flat, 1);
    assert_int_equal(work.a.k_contiguous, 1);
    assert_int_equal(work.a.alignment, 64);
    assert_int_equal(work.b.k_contiguous, 0);
    assert_int_equal(work.b.alignment, 16);
    assert_int_equal(work.aligned_groups, 1);
    assert_int_equal(work.k_output, DG_K_OUTPUT_LIST);
    assert_int_equal(work.accumulates, 1);
    assert_int_equal(work.d_alignment, 32);
    assert_int_equal(work.c_alignment, 8);
    problem.groups.host_sizes = odd;
    dg_k_grouped_gemm_work(&problem, &work);
    assert_int_equal(work.aligned_groups, 0);
}

/* Same facts, other addresses and rubbish around them: the same bytes. */
static void leaves_no_byte_to_chance(void **state) {
    dg_random_t random = {5};
    (void)state;
    for (int round = 0; round < 1000; round++) {
        dg_gemm_problem_t problem;
        dg_work_t one, two;
        memset(&problem, 0, sizeof problem);
        problem.m = dg_draw_extent(&random, 5000);
        problem.n = dg_draw_extent(&random, 5000);
        problem.k = dg_draw_extent(&random, 5000);
        problem.a = (dg_side_t){.dtype = DG_DTYPE_E4M3, .mn_stride = problem.k, .k_stride = 1};
        problem.b = (dg_side_t){.dtype = DG_DTYPE_E4M3, .mn_stride = problem.k, .k_stride = 1};
        problem.out = (dg_output_t){.dtype = DG_DTYPE_BF16, .row_stride = problem.n};
        problem.a.data = (const void *)(uintptr_t)(dg_draw(&random, 1, 1000) * 128);
        memset(&one, 0xA5, sizeof one);
        dg_gemm_work(&problem, &one);
        problem.a.data = (const void *)(uintptr_t)(dg_draw(&random, 1, 1000) * 128);
        problem.a.group_stride = problem.b.group_stride = dg_draw(&random, 0, 100);
        problem.out.c_row_stride = dg_draw(&random, 0, 100);
        memset(&two, 0x5A, sizeof two);
        dg_gemm_work(&problem, &two);
        assert_memory_equal(&one, &two, sizeof one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_as_defined),
        cmocka_unit_test(ignores_idle_strides),
        cmocka_unit_test(describes_groups_along_m),
        cmocka_unit_test(describes_groups_along_k),
        cmocka_unit_test(leaves_no_byte_to_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
