/* SPDX-License-Identifier: MIT
 *
 * dg_tensors_overlap against a map of bytes: random strided views of a small buffer, in which every
 * kind of interleaving occurs, must overlap exactly if some byte belongs to both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "model/span.h"

enum { BUFFER_BYTES = 4096 };

static uint8_t buffer[BUFFER_BYTES];

static uint32_t random_state = 12345;

static int64_t between(int64_t low, int64_t high) {
    random_state = random_state * 1664525u + 1013904223u;
    return low + (int64_t)((random_state >> 8) % (uint32_t)(high - low + 1));
}

/* A view of rank 0..3 whose every element lies in the buffer. */
static dg_tensor_t random_view(void) {
    static const dg_dtype_t dtypes[] = {DG_DTYPE_E4M3, DG_DTYPE_BF16, DG_DTYPE_F32, DG_DTYPE_I64};
    for (;;) {
        dg_tensor_t view = {.device = {DG_DEVICE_CPU, 0}, .dtype = dtypes[between(0, 3)]};
        int64_t low = between(0, BUFFER_BYTES - 8);
        view.data = buffer + low;
        view.rank = (int32_t)between(0, 3);
        int64_t high = low + dg_dtype_size(view.dtype);
        for (int32_t i = 0; i < view.rank; i++) {
            view.shape[i] = between(1, 9);
            view.stride[i] = between(-40, 40);
            const int64_t reach = (view.shape[i] - 1) * view.stride[i] * dg_dtype_size(view.dtype);
            *(reach < 0 ? &low : &high) += reach;
            if (view.shape[i] == 1) view.stride[i] = between(0, 1) ? INT64_MIN : INT64_MAX;
        }
        if (low >= 0 && high <= BUFFER_BYTES) return view;
    }
}

/* Adds `mark` to each byte of each element. */
static void mark_view(const dg_tensor_t *view, uint8_t *map, uint8_t mark) {
    int64_t index[DG_MAX_RANK] = {0};
    for (int64_t count = 0;; count++) {
        int64_t offset = (const uint8_t *)view->data - buffer;
        int32_t axis = view->rank - 1;
        for (int32_t i = 0; i < view->rank; i++) {
            if (view->shape[i] > 1) {
                offset += index[i] * view->stride[i] * dg_dtype_size(view->dtype);
            }
        }
        for (int64_t b = 0; b < dg_dtype_size(view->dtype); b++) map[offset + b] |= mark;
        while (axis >= 0 && ++index[axis] == view->shape[axis]) index[axis--] = 0;
        if (axis < 0) return;
    }
}

static void random_views_against_a_map(void **state) {
    (void)state;
    int overlapping = 0, interleaving = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t map[BUFFER_BYTES] = {0};
        bool expected = false;
        const dg_tensor_t a = random_view(), b = random_view();
        mark_view(&a, map, 1);
        mark_view(&b, map, 2);
        for (int i = 0; i < BUFFER_BYTES; i++) expected = expected || map[i] == 3;
        assert_int_equal(dg_tensors_overlap(&a, &b), expected);
        const dg_span_t x = dg_tensor_span(&a), y = dg_tensor_span(&b);
        overlapping += expected;
        interleaving += !expected && x.begin < y.end && y.begin < x.end;
    }
    assert_true(overlapping > 1000 && interleaving > 1000);
}

static void column_slices_share_nothing(void **state) {
    (void)state;
    dg_tensor_t left = dg_tensor_2d(buffer, DG_DTYPE_F32, 16, 8);
    left.stride[0] = 16;
    dg_tensor_t right = left;
    right.data = buffer + 8 * 4;
    assert_false(dg_tensors_overlap(&left, &right));
    right.data = buffer + 8 * 4 - 1;
    assert_true(dg_tensors_overlap(&left, &right));
}

static void empty_views_share_nothing(void **state) {
    (void)state;
    const dg_tensor_t whole = dg_tensor_1d(buffer, DG_DTYPE_U8, BUFFER_BYTES);
    const dg_tensor_t empty = dg_tensor_2d(buffer, DG_DTYPE_U8, 0, INT64_MAX);
    const dg_tensor_t none = DG_NO_TENSOR;
    assert_false(dg_tensors_overlap(&whole, &empty));
    assert_false(dg_tensors_overlap(&none, &whole));
}

static void views_are_the_same_up_to_idle_strides(void **state) {
    (void)state;
    const dg_tensor_t a = dg_tensor_2d(buffer, DG_DTYPE_F32, 1, 8);
    dg_tensor_t b = a;
    b.stride[0] = -5;
    assert_true(dg_same_view(&a, &b));
    b.shape[1] = 7;
    assert_false(dg_same_view(&a, &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_views_against_a_map),
        cmocka_unit_test(column_slices_share_nothing),
        cmocka_unit_test(empty_views_share_nothing),
        cmocka_unit_test(views_are_the_same_up_to_idle_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
