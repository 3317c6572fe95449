/* SPDX-License-Identifier: MIT
 *
 * Checks of single tensors: what is refused, what passes, and that absurd extents and strides end in
 * an error instead of an overflow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/tensor.h"

#define BF16_OR_F32 (DG_DTYPE_BIT(DG_DTYPE_BF16) | DG_DTYPE_BIT(DG_DTYPE_F32))

static float memory[64];

static dg_status_t check(dg_tensor_t tensor, int32_t rank) {
    return dg_check_tensor(&tensor, "a", ".data", BF16_OR_F32, rank);
}

static void ordinary_tensors_pass(void **state) {
    (void)state;
    assert_int_equal(check(dg_tensor_2d(memory, DG_DTYPE_F32, 4, 8), 2), DG_STATUS_OK);
    assert_int_equal(check(dg_tensor_2d(NULL, DG_DTYPE_F32, 0, 8), 2), DG_STATUS_OK);
    assert_int_equal(check(dg_tensor_2d(NULL, DG_DTYPE_BF16, 8, 0), 2), DG_STATUS_OK);
    dg_tensor_t odd = dg_tensor_2d(memory, DG_DTYPE_F32, 1, 8);
    odd.stride[0] = INT64_MIN; /* of an axis of extent 1: never looked at */
    assert_int_equal(check(odd, 2), DG_STATUS_OK);
}

static void wrong_tensors_are_refused(void **state) {
    (void)state;
    const dg_tensor_t none = DG_NO_TENSOR;
    assert_int_equal(check(none, 2), DG_STATUS_NULL_POINTER);
    assert_int_equal(check(dg_tensor_2d(NULL, DG_DTYPE_F32, 4, 8), 2), DG_STATUS_NULL_POINTER);
    assert_int_equal(check(dg_tensor_2d(memory, DG_DTYPE_I32, 4, 8), 2), DG_STATUS_BAD_DTYPE);
    assert_int_equal(check(dg_tensor_2d(memory, (dg_dtype_t)99, 4, 8), 2), DG_STATUS_BAD_DTYPE);
    assert_int_equal(check(dg_tensor_2d(memory, (dg_dtype_t)-1, 4, 8), 2), DG_STATUS_BAD_DTYPE);
    assert_int_equal(check(dg_tensor_2d(memory, DG_DTYPE_F32, 4, 8), 3), DG_STATUS_BAD_RANK);
    assert_int_equal(check(dg_tensor_2d(memory, DG_DTYPE_F32, -1, 8), 2), DG_STATUS_BAD_SHAPE);
    assert_int_equal(
        check(dg_tensor_2d((char *)memory + 2, DG_DTYPE_F32, 4, 8), 2), DG_STATUS_MISALIGNED);
    assert_int_equal(check(dg_tensor_2d((char *)memory + 2, DG_DTYPE_BF16, 4, 8), 2), DG_STATUS_OK);
}

static void offsets_past_int64_are_refused(void **state) {
    (void)state;
    const int64_t huge = INT64_C(1) << 61;
    assert_int_equal(check(dg_tensor_2d(memory, DG_DTYPE_F32, huge, 8), 2), DG_STATUS_BAD_SHAPE);
    assert_int_equal(
        check(dg_tensor_2d(memory, DG_DTYPE_F32, INT64_MAX, INT64_MAX), 2), DG_STATUS_BAD_SHAPE);
    dg_tensor_t far = dg_tensor_2d(memory, DG_DTYPE_F32, 4, 8);
    far.stride[0] = huge;
    assert_int_equal(check(far, 2), DG_STATUS_BAD_SHAPE);
    far.stride[0] = INT64_MIN;
    assert_int_equal(check(far, 2), DG_STATUS_BAD_SHAPE);
    far.stride[0] = far.stride[1] = 0; /* no reach at all, but 2^64 elements */
    far.shape[0] = far.shape[1] = INT64_C(1) << 32;
    assert_int_equal(check(far, 2), DG_STATUS_BAD_SHAPE);
}

static dg_status_t check_rows(int64_t n0, int64_t n1, int64_t s0, int64_t s1) {
    dg_tensor_t tensor = dg_tensor_2d(memory, DG_DTYPE_F32, n0, n1);
    tensor.stride[0] = s0, tensor.stride[1] = s1;
    return dg_check_output_rows(&tensor, "d", "");
}

static void outputs_have_rows_apart(void **state) {
    (void)state;
    assert_int_equal(check_rows(4, 8, 8, 1), DG_STATUS_OK);
    assert_int_equal(check_rows(4, 8, 11, 1), DG_STATUS_OK);
    assert_int_equal(check_rows(1, 8, -3, 1), DG_STATUS_OK);
    assert_int_equal(check_rows(4, 1, 1, 77), DG_STATUS_OK);
    assert_int_equal(check_rows(0, 8, 0, 0), DG_STATUS_OK);
    assert_int_equal(check_rows(4, 8, 7, 1), DG_STATUS_BAD_STRIDE);
    assert_int_equal(check_rows(4, 8, 0, 1), DG_STATUS_BAD_STRIDE);
    assert_int_equal(check_rows(4, 8, -8, 1), DG_STATUS_BAD_STRIDE);
    assert_int_equal(check_rows(4, 8, 1, 4), DG_STATUS_BAD_STRIDE);
}

static void transpose_exchanges_the_last_axes(void **state) {
    (void)state;
    const dg_tensor_t t = dg_tensor_transpose(dg_tensor_3d(memory, DG_DTYPE_F32, 2, 3, 4));
    assert_int_equal(t.shape[0], 2);
    assert_int_equal(t.shape[1], 4);
    assert_int_equal(t.shape[2], 3);
    assert_int_equal(t.stride[0], 12);
    assert_int_equal(t.stride[1], 1);
    assert_int_equal(t.stride[2], 4);
}

static void dtype_lists_read_well(void **state) {
    (void)state;
    assert_string_equal(dg_format_dtypes(BF16_OR_F32).bytes, "bf16 or f32");
    assert_string_equal(dg_format_dtypes(DG_DTYPE_BIT(DG_DTYPE_I32)).bytes, "i32");
    assert_string_equal(
        dg_format_dtypes(BF16_OR_F32 | DG_DTYPE_BIT(DG_DTYPE_U8)).bytes, "bf16, f32 or u8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_tensors_pass),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(offsets_past_int64_are_refused),
        cmocka_unit_test(outputs_have_rows_apart),
        cmocka_unit_test(transpose_exchanges_the_last_axes),
        cmocka_unit_test(dtype_lists_read_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
