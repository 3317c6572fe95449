/* SPDX-License-Identifier: MIT
 *
 * Rows and columns whose offsets are past 2^31 and 2^32 elements, for the functions of deep_gemm/moe.h.
 * The memory is a sparse mapping of which a few pages are touched. Skipped where the mapping is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "guard.h"

enum { TOKENS = 2, TOPK = 2, ROWS = 3, N = 3 };

static const size_t span = (size_t)13 << 32;
static float *reserved[2];

static int reserve(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *memory = mmap(
            NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return -1;
        reserved[i] = memory;
    }
    return 0;
}

static int unreserve(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) munmap(reserved[i], span);
    return guard_teardown(state);
}

static void test_far(void **state) {
    (void)state;
    static const int64_t strides[] = {
        INT64_C(0x7FFFFFF0), (INT64_C(1) << 31) + 16, (INT64_C(3) << 30) + 4};
    static const int32_t rows[TOKENS][TOPK] = {{2, 0}, {-1, 1}};
    static const float weights[TOKENS][TOPK] = {{2, 3}, {5, 7}};
    for (int kind = 0; kind < 6; kind++) {
        const int64_t far = strides[kind / 2];
        const int64_t row_stride = kind % 2 ? 1 : far, column_stride = kind % 2 ? far : 1;
        float *x = reserved[0], *out = reserved[1], dots[TOKENS][TOPK];
        label("stride %lld, %s", (long long)far, kind % 2 ? "columns apart" : "rows apart");
        dg_permute_rows_args_t permute = DG_PERMUTE_ROWS_ARGS_INIT;
        permute.x = dg_tensor_2d(x, DG_DTYPE_F32, TOKENS, N);
        permute.x.stride[0] = row_stride, permute.x.stride[1] = column_stride;
        permute.rows = dg_tensor_2d(rows, DG_DTYPE_I32, TOKENS, TOPK);
        permute.out = dg_tensor_2d(out, DG_DTYPE_F32, ROWS, N);
        permute.out.stride[0] = row_stride, permute.out.stride[1] = column_stride;
        for (int64_t t = 0; t < TOKENS; t++)
            for (int64_t j = 0; j < N; j++)
                x[t * row_stride + j * column_stride] = (float)(10 * t + j + 1);
        expect_ok(dg_permute_rows(NULL, &permute, NULL));
        dg_dot_rows_args_t dot = DG_DOT_ROWS_ARGS_INIT;
        dot.a = permute.x, dot.b = permute.out, dot.rows = permute.rows;
        dot.out = dg_tensor_2d(dots, DG_DTYPE_F32, TOKENS, TOPK);
        expect_ok(dg_dot_rows(NULL, &dot, NULL));
        dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
        back.x = permute.out, back.rows = permute.rows, back.out = permute.x;
        back.weights = dg_tensor_2d(weights, DG_DTYPE_F32, TOKENS, TOPK);
        expect_ok(dg_unpermute_rows(NULL, &back, NULL));
        float squares[TOKENS] = {0, 0};
        for (int64_t j = 0; j < N; j++) {
            const float first = (float)(j + 1), second = (float)(j + 11);
            const int64_t column = j * column_stride;
            assert_true(out[column] == first && out[2 * row_stride + column] == first);
            assert_true(out[row_stride + column] == second);
            assert_true(x[column] == 5 * first && x[row_stride + column] == 7 * second);
            squares[0] += first * first, squares[1] += second * second;
        }
        assert_true(dots[0][0] == squares[0] && dots[0][1] == squares[0]);
        assert_true(dots[1][0] == 0 && dots[1][1] == squares[1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_far, reserve, unreserve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
