/* SPDX-License-Identifier: MIT
 *
 * Extents at and around every border that a tile, a vector or a block of factors could have, in
 * every axis and every combination; axes of extent 1 whose strides must not be looked at; empty
 * tensors without memory. Guards against tails that are read, written or forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int64_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 255, 257};

/* One of the many kinds of dense problems. */
static gemm_case_t kind_of(uint64_t kind) {
    gemm_case_t test = {.a = fp8_1x128(),
        .b = fp8_128x128(),
        .d = kind % 2 ? DG_DTYPE_BF16 : DG_DTYPE_F32,
        .c = (addend_t)(kind / 2 % 3),
        .d_pad = (int64_t)(kind / 6 % 2)};
    if (kind % 5 == 1) test.a = test.b = bf16_plain();
    if (kind % 5 == 2) test.a.gran_k = 32, test.b.scale = DG_DTYPE_I32;
    if (kind % 5 == 3) test.a.scale = DG_DTYPE_NONE, test.b.scale = DG_DTYPE_E8M0;
    test.a.mn_major = kind / 12 % 2;
    test.b.mn_major = kind / 24 % 2;
    test.a.pad = (int64_t)(kind / 7 % 2);
    return test;
}

static void test_gemm_cube(void **state) {
    (void)state;
    uint64_t kind = 0;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t j = 0; j < COUNT(sizes); j++) {
            for (size_t l = 0; l < COUNT(sizes); l++) {
                const gemm_case_t test = kind_of(kind);
                gemm_verify(NULL, &test, sizes[i], sizes[j], sizes[l], kind);
                kind += 7; /* prime to the number of kinds */
            }
        }
    }
}

/* E2M1X2 needs an even axis: the even sizes. */
static void test_fp4_cube(void **state) {
    (void)state;
    static const int64_t even[] = {0, 2, 4, 30, 32, 34, 126, 128, 130, 258};
    uint64_t seed = 5000;
    for (size_t i = 0; i < COUNT(even); i++) {
        for (size_t j = 0; j < COUNT(even); j++) {
            for (size_t l = 0; l < COUNT(even); l++, seed++) {
                if ((i + j + l) % 2) continue;
                const operand_spec_t fp4 = {
                    .dtype = DG_DTYPE_E2M1X2, .scale = DG_DTYPE_E8M0, .gran_mn = 1, .gran_k = 32};
                gemm_case_t test = {.a = fp4, .b = fp4, .d = DG_DTYPE_F32};
                test.a.mn_major = seed / 2 % 2;
                test.b.mn_major = seed / 4 % 2;
                gemm_verify(NULL, &test, even[i], even[j], even[l], seed);
            }
        }
    }
}

static void test_m_grouped(void **state) {
    (void)state;
    uint64_t seed = 10000;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t j = 0; j < COUNT(sizes); j++, seed++) {
            const int64_t groups[3] = {
                sizes[i], sizes[j], sizes[(5 * i + 7 * j + 1) % COUNT(sizes)]};
            const m_grouped_case_t test = {.a = fp8_1x128(),
                .b = fp8_128x128(),
                .d = DG_DTYPE_F32,
                .form = (dg_group_form_t)(1 + seed % 6),
                .tail = (int64_t)(seed % 4)};
            const int64_t n = sizes[(i + j + seed) % COUNT(sizes)];
            const int64_t k = sizes[(3 * i + j) % COUNT(sizes)];
            m_grouped_verify(NULL, &test, groups, 3, n > 129 ? 33 : n, k, seed);
        }
    }
}

static void test_k_grouped(void **state) {
    (void)state;
    uint64_t seed = 20000;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t j = 0; j < COUNT(sizes); j++, seed++) {
            const int64_t groups[3] = {
                sizes[i], sizes[j], sizes[(5 * i + 7 * j + 1) % COUNT(sizes)]};
            k_grouped_case_t test = {.d = DG_DTYPE_F32,
                .c = (addend_t)(seed % 3),
                .output = (dg_k_output_t)(seed / 3 % 3)};
            test.a = (k_spec_t){.form = (dg_k_form_t)(1 + seed % 3),
                .dtype = DG_DTYPE_E4M3,
                .scale = DG_DTYPE_F32,
                .gran_k = 128};
            test.b = test.a;
            test.b.form = (dg_k_form_t)(1 + seed / 3 % 3);
            test.b.scale = DG_DTYPE_I32;
            test.b.gran_k = seed % 2 ? 32 : 128;
            const int64_t m = sizes[(i + j + seed) % COUNT(sizes)];
            const int64_t n = sizes[(3 * i + j) % COUNT(sizes)];
            k_grouped_verify(NULL, &test, groups, 3, m > 129 ? 33 : m, n > 129 ? 31 : n, seed);
        }
    }
}

static const int64_t odd_strides[] = {
    0, -1, -3, 7, INT32_MAX, INT64_C(1) << 40, INT64_MAX, INT64_MIN};

static void poison_unit_axes(dg_tensor_t *tensor, int64_t stride) {
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->shape[axis] == 1) tensor->stride[axis] = stride;
    }
}

/* Extents of 1 in each combination of axes; their strides hold anything. */
static void test_unit_axes_with_odd_strides(void **state) {
    (void)state;
    for (size_t s = 0; s < COUNT(odd_strides); s++) {
        for (int unit = 1; unit < 8; unit++) {
            for (int major = 0; major < 4; major++) {
                const int64_t m = unit & 1 ? 1 : 6, n = unit & 2 ? 1 : 7, k = unit & 4 ? 1 : 130;
                rng_t rng = rng_make(30000 + (uint64_t)(unit * 4 + major));
                operand_spec_t spec = fp8_1x128();
                spec.mn_major = major / 2;
                const operand_t a = operand_make(&rng, &spec, 0, m, k);
                spec.mn_major = major % 2;
                spec.gran_mn = 128;
                const operand_t b = operand_make(&rng, &spec, 0, n, k);
                const output_t output =
                    output_make(&rng, DG_DTYPE_F32, 0, m, n, 2, C_SEPARATE, VALUES_RANDOM);
                dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
                args.a = a.view, args.b = b.view, args.c = output.c, args.d = output.d;
                dg_tensor_t *const tensors[] = {
                    &args.a.data, &args.a.scale, &args.b.data, &args.b.scale, &args.c, &args.d};
                for (size_t t = 0; t < COUNT(tensors); t++) {
                    poison_unit_axes(tensors[t], odd_strides[s]);
                }
                label("gemm m=%lld n=%lld k=%lld, unit axes with stride %lld, major=%d",
                    (long long)m, (long long)n, (long long)k, (long long)odd_strides[s], major);
                guard_seal();
                expect_ok(dg_gemm(NULL, &args, NULL));
                for (int64_t i = 0; i < m; i++) {
                    for (int64_t j = 0; j < n; j++) {
                        output_judge(JUDGE_BOUND, &output, 0, i, j,
                            ref_dot(a.value + i * k, b.value + j * k, k));
                    }
                }
                guard_check();
                guard_release();
            }
        }
    }
}

/* A tensor without elements needs no address and has no strides worth reading. */
static dg_tensor_t without_memory(
    dg_dtype_t dtype, int32_t rank, int64_t n0, int64_t n1, int64_t n2) {
    dg_tensor_t tensor = dg_tensor_3d(NULL, dtype, n0, n1, n2);
    tensor.rank = rank;
    for (int axis = 0; axis < 3; axis++) tensor.stride[axis] = INT64_MIN + axis;
    return tensor;
}

static void test_gemm_without_memory(void **state) {
    (void)state;
    float b[4 * 8] = {0}, d[3 * 4];
    label("gemm without memory");
    for (int i = 0; i < 12; i++) d[i] = 99.0F;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = without_memory(DG_DTYPE_BF16, 2, 0, 8, 0);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_BF16, 4, 8);
    args.d = without_memory(DG_DTYPE_F32, 2, 0, 4, 0);
    expect_ok(dg_gemm(NULL, &args, NULL));
    args.a.data = without_memory(DG_DTYPE_BF16, 2, 3, 0, 0);
    args.b.data = without_memory(DG_DTYPE_BF16, 2, 4, 0, 0);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 3, 4);
    expect_ok(dg_gemm(NULL, &args, NULL));
    for (int i = 0; i < 12; i++) assert_true(d[i] == 0.0F);
    args.c = dg_tensor_2d(b, DG_DTYPE_F32, 3, 4);
    for (int i = 0; i < 12; i++) b[i] = (float)i;
    expect_ok(dg_gemm(NULL, &args, NULL));
    assert_memory_equal(b, d, sizeof d);
}

static void test_grouped_without_memory(void **state) {
    (void)state;
    const int64_t none[3] = {0, 0, 0};
    float d[3 * 2 * 4];
    label("grouped without memory");
    dg_m_grouped_gemm_args_t forward = DG_M_GROUPED_GEMM_ARGS_INIT;
    uint16_t weights[3 * 4 * 8] = {0};
    forward.a.data = without_memory(DG_DTYPE_BF16, 2, 0, 8, 0);
    forward.b.data = dg_tensor_3d(weights, DG_DTYPE_BF16, 3, 4, 8);
    forward.d = without_memory(DG_DTYPE_F32, 2, 0, 4, 0);
    forward.groups.form = DG_GROUPS_SIZES;
    forward.groups.values = dg_tensor_1d(none, DG_DTYPE_I64, 3);
    expect_ok(dg_m_grouped_gemm(NULL, &forward, NULL));
    forward.groups.form = DG_GROUPS_INDEX;
    forward.groups.values = without_memory(DG_DTYPE_I32, 1, 0, 0, 0);
    expect_ok(dg_m_grouped_gemm(NULL, &forward, NULL));
    dg_k_grouped_gemm_args_t gradient = DG_K_GROUPED_GEMM_ARGS_INIT;
    gradient.a.form = gradient.b.form = DG_K_TOKENS_FIRST;
    gradient.a.data = without_memory(DG_DTYPE_BF16, 2, 0, 2, 0);
    gradient.b.data = without_memory(DG_DTYPE_BF16, 2, 0, 4, 0);
    gradient.d = dg_tensor_3d(d, DG_DTYPE_F32, 3, 2, 4);
    gradient.groups.form = DG_GROUPS_SIZES;
    gradient.groups.values = dg_tensor_1d(none, DG_DTYPE_I64, 3);
    for (int i = 0; i < 24; i++) d[i] = 99.0F;
    expect_ok(dg_k_grouped_gemm(NULL, &gradient, NULL));
    for (int i = 0; i < 24; i++) assert_true(d[i] == 0.0F);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gemm_cube, guard_teardown),
        cmocka_unit_test_teardown(test_fp4_cube, guard_teardown),
        cmocka_unit_test_teardown(test_m_grouped, guard_teardown),
        cmocka_unit_test_teardown(test_k_grouped, guard_teardown),
        cmocka_unit_test_teardown(test_unit_axes_with_odd_strides, guard_teardown),
        cmocka_unit_test(test_gemm_without_memory),
        cmocka_unit_test(test_grouped_without_memory),
    };
    return cmocka_run_group_tests_name("edges", tests, NULL, NULL);
}
