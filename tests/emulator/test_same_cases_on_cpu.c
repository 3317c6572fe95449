/* SPDX-License-Identifier: MIT
 *
 * The CPU backend on the very cases that fp8_gemm_block gets on the emulator and on a GPU: exact
 * inputs must give the same bits in all three, random ones come within the tolerance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "fp8_gemm_case.h"

#define SLACK (1.0 / (1 << 20))

static dg_tensor_t matrix(void *data, dg_dtype_t dtype, int64_t rows, int64_t columns,
    int64_t row_stride, int64_t column_stride) {
    dg_tensor_t tensor = dg_tensor_2d(data, dtype, rows, columns);
    tensor.stride[0] = row_stride;
    tensor.stride[1] = column_stride;
    return tensor;
}

/* d: [m, pitch] bf16, n fastest */
static void compute(const dg_fp8_gemm_case_t *c, uint16_t *d) {
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = matrix(c->a, DG_DTYPE_E4M3, c->m, c->k, c->k_pitch, 1);
    args.a.scale = matrix(c->scale_a, DG_DTYPE_F32, c->m, c->k_blocks, 1, c->scale_a_pitch);
    args.a.gran_mn = 1;
    args.a.gran_k = 128;
    args.b.data = matrix(c->b, DG_DTYPE_E4M3, c->n, c->k, c->k_pitch, 1);
    args.b.scale = matrix(c->scale_b, DG_DTYPE_F32, c->scale_b_rows, c->k_blocks, c->k_blocks, 1);
    args.b.gran_mn = 128;
    args.b.gran_k = 128;
    args.d = matrix(d, DG_DTYPE_BF16, c->m, c->n, c->pitch, 1);
    assert_int_equal(dg_gemm(NULL, &args, NULL), DG_STATUS_OK);
}

static void run(int32_t m, int32_t n, int32_t k, bool exact) {
    dg_fp8_gemm_case_t c;
    char text[200];
    assert_true(dg_make_fp8_gemm_case(&c, m, n, k, exact, 7));
    const size_t bytes = dg_fp8_gemm_case_d_bytes(&c);
    uint16_t *d = malloc(bytes);
    assert_non_null(d);
    memset(d, 0xff, bytes);
    compute(&c, d);
    if (dg_check_fp8_gemm_case(&c, d, 1, SLACK, text, sizeof text))
        fail_msg("%d x %d x %d: %s", m, n, k, text);
    free(d);
    dg_free_fp8_gemm_case(&c);
}

static void same_cases(void **state) {
    (void)state;
    static const int32_t shapes[][3] = {{128, 128, 128}, {1, 8, 384}, {200, 232, 640},
        {130, 136, 400}, {70, 131, 256}, {64, 128, 34 * 128}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int exact = 0; exact < 2; exact++)
            run(shapes[i][0], shapes[i][1], shapes[i][2], exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
