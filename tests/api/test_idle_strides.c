/* SPDX-License-Identifier: MIT
 *
 * Strides that nobody may look at: those of an axis of extent 1 and all of an empty tensor. Each
 * test leaves the smallest and largest numbers there and expects the call to work as without them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

static void succeeded(dg_status_t status) {
    if (status != DG_STATUS_OK) fail_msg("%s", dg_last_error());
}

/* An empty tensor without memory whose strides are absurd. */
static dg_tensor_t hollow(dg_dtype_t dtype, int32_t rank, int64_t n0, int64_t n1, int64_t n2) {
    dg_tensor_t tensor =
        rank == 2 ? dg_tensor_2d(NULL, dtype, n0, n1) : dg_tensor_3d(NULL, dtype, n0, n1, n2);
    for (int32_t i = 0; i < rank; i++) tensor.stride[i] = i % 2 == 0 ? INT64_MIN : INT64_MAX;
    return tensor;
}

/* m = 0: there is an accumulator, but nothing in it. */
static void an_empty_accumulator_has_any_strides(void **state) {
    (void)state;
    uint8_t b[3 * 4] = {0};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = hollow(DG_DTYPE_E4M3, 2, 0, 4, 0);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_E4M3, 3, 4);
    args.c = hollow(DG_DTYPE_F32, 2, 0, 3, 0);
    args.d = hollow(DG_DTYPE_F32, 2, 0, 3, 0);
    succeeded(dg_gemm(NULL, &args, NULL));
}

/* k = 0: both operands and their factors are empty, d is not. */
static void an_empty_fp4_operand_has_any_strides(void **state) {
    (void)state;
    float d[2][3] = {{1, 2, 3}, {4, 5, 6}};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = hollow(DG_DTYPE_E2M1X2, 2, 2, 0, 0);
    args.a.scale = hollow(DG_DTYPE_F32, 2, 2, 0, 0);
    args.b.data = hollow(DG_DTYPE_E4M3, 2, 3, 0, 0);
    args.a.gran_mn = 1, args.a.gran_k = 32;
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 2, 3);
    succeeded(dg_gemm(NULL, &args, NULL));
    for (int i = 0; i < 6; i++) assert_true(d[i / 3][i % 3] == 0.0f);
}

/* The place of the second group is never computed from such a stride either. */
static void empty_groups_have_any_strides(void **state) {
    (void)state;
    float d[3][5];
    const int32_t sizes[3] = {1, 0, 2};
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = hollow(DG_DTYPE_E4M3, 2, 3, 0, 0);
    args.b.data = hollow(DG_DTYPE_E2M1X2, 3, 3, 5, 0);
    args.b.scale = hollow(DG_DTYPE_E8M0, 3, 3, 5, 0);
    args.b.gran_mn = 1, args.b.gran_k = 128;
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 3, 5);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, 3);
    for (int i = 0; i < 15; i++) d[i / 5][i % 5] = 7;
    succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
    for (int i = 0; i < 15; i++) assert_true(d[i / 5][i % 5] == 0.0f);
}

/* No tokens: every group's gradient is its accumulator. */
static void no_tokens_have_any_strides(void **state) {
    (void)state;
    float d[2][2][3], c[2][2][3];
    const int64_t ends[2] = {0, 0};
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = DG_K_TOKENS_FIRST;
    args.a.data = hollow(DG_DTYPE_E2M1X2, 2, 0, 1, 0);
    args.a.scale = hollow(DG_DTYPE_I32, 2, 0, 2, 0);
    args.a.gran_k = 32;
    args.b.form = DG_K_TOKENS_LAST;
    args.b.data = hollow(DG_DTYPE_E4M3, 2, 3, 0, 0);
    args.c = dg_tensor_3d(c, DG_DTYPE_F32, 2, 2, 3);
    args.d = dg_tensor_3d(d, DG_DTYPE_F32, 2, 2, 3);
    args.groups.form = DG_GROUPS_OFFSETS;
    args.groups.values = dg_tensor_1d(ends, DG_DTYPE_I64, 2);
    for (int i = 0; i < 12; i++) (&c[0][0][0])[i] = (float)(i + 1), (&d[0][0][0])[i] = -1;
    succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    assert_memory_equal(d, c, sizeof d);
}

/* Extents whose product leaves 64 bits, were it not for the zero behind them. */
static void the_product_of_empty_extents_is_not_formed(void **state) {
    (void)state;
    const int64_t vast = INT64_C(1) << 40;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = hollow(DG_DTYPE_F32, 3, vast, vast, 0);
    args.out[0].data = hollow(DG_DTYPE_E4M3, 3, vast, vast, 0);
    args.out[0].scale = hollow(DG_DTYPE_F32, 3, vast, vast, 0);
    args.out[0].gran[0] = args.out[0].gran[1] = args.out[0].gran[2] = 1;
    succeeded(dg_quantize(NULL, &args, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_accumulator_has_any_strides),
        cmocka_unit_test(an_empty_fp4_operand_has_any_strides),
        cmocka_unit_test(empty_groups_have_any_strides),
        cmocka_unit_test(no_tokens_have_any_strides),
        cmocka_unit_test(the_product_of_empty_extents_is_not_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
