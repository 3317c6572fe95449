/* SPDX-License-Identifier: MIT
 *
 * Offsets beyond 2^31 and 2^32, of bytes and of elements: every tensor of each family is spread over
 * a sparse mapping of 20 GiB, of which only the pages touched exist, and must give the bits of the
 * same call on dense tensors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "sample.h"

enum { ROWS = 3, N = 40, K = 150, GROUPS = 3 };

static const int64_t mapping_bytes = INT64_C(20) << 30;
static char *mapping;
static int64_t used; /* bytes from the start of each far row on */

static int map_memory(void **state) {
    (void)state;
    void *memory = mmap(NULL, (size_t)mapping_bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mapping = memory == MAP_FAILED ? NULL : memory;
    return 0;
}

static int unmap_memory(void **state) {
    (void)state;
    return mapping != NULL ? munmap(mapping, (size_t)mapping_bytes) : 0;
}

/* A copy of the tensor with axis 0 spread so that its last element lies `elements` away from its
 * first; in elements, so that both bytes and elements pass the limits. */
static dg_tensor_t spread(const dg_tensor_t *dense, int64_t elements) {
    dg_tensor_t far = *dense;
    const int64_t size = dg_dtype_size(dense->dtype);
    const int64_t row_bytes = size * dense->stride[0];
    far.stride[0] = elements / (dense->shape[0] - 1);
    far.data = mapping + used;
    used += (row_bytes + 4095) / 4096 * 4096;
    assert_true(used + (elements + dense->stride[0]) * size <= mapping_bytes);
    for (int64_t i = 0; i < dense->shape[0]; i++) {
        memcpy((char *)far.data + i * far.stride[0] * size,
            (const char *)dense->data + i * row_bytes, (size_t)row_bytes);
    }
    return far;
}

static void assert_same_rows(const dg_tensor_t *far, const dg_tensor_t *dense) {
    const int64_t size = dg_dtype_size(dense->dtype);
    for (int64_t i = 0; i < dense->shape[0]; i++) {
        assert_memory_equal((const char *)far->data + i * far->stride[0] * size,
            (const char *)dense->data + i * dense->stride[0] * size,
            (size_t)(dense->stride[0] * size));
    }
}

/* Elements past 2^32 for bytes; past 2^31 for wider ones, which are past 2^32 bytes then. */
static const int64_t far_bytes = (INT64_C(1) << 32) + 12345;
static const int64_t far_words = (INT64_C(1) << 31) + 12346;

static void begin(sample_t *sample, uint64_t seed) {
    if (mapping == NULL) skip();
    used = 0;
    sample_begin(sample, seed);
}

static void dense_gemm(void **state) {
    (void)state;
    sample_t sample;
    begin(&sample, 1);
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = sample_matrix(&sample, DG_DTYPE_E4M3, ROWS, K, false, 0);
    args.a.scale = sample_matrix(&sample, DG_DTYPE_F32, ROWS, 2, false, 0);
    args.a.gran_mn = 1, args.a.gran_k = 128;
    args.b.data = sample_matrix(&sample, DG_DTYPE_E4M3, N, K, false, 0);
    args.c = sample_matrix(&sample, DG_DTYPE_F32, ROWS, N, false, 0);
    args.d = sample_matrix(&sample, DG_DTYPE_F32, ROWS, N, false, 0);
    dg_gemm_args_t far = args;
    far.a.data = spread(&args.a.data, far_bytes);
    far.a.scale = spread(&args.a.scale, far_words);
    far.b.data = spread(&args.b.data, far_bytes);
    far.c = spread(&args.c, far_words);
    far.d = spread(&args.d, far_words);
    sample_succeeded(dg_gemm(NULL, &args, NULL));
    sample_succeeded(dg_gemm(NULL, &far, NULL));
    assert_same_rows(&far.d, &args.d);
    sample_end(&sample);
}

static void m_grouped_gemm(void **state) {
    (void)state;
    static const int32_t index[ROWS] = {2, 0, 2}, rows[ROWS] = {1, 2, 0};
    const int64_t b_shape[3] = {GROUPS, N, K};
    const int32_t order[3] = {0, 1, 2};
    sample_t sample;
    begin(&sample, 2);
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = sample_matrix(&sample, DG_DTYPE_BF16, ROWS, K, false, 0);
    args.b.data = sample_tensor(&sample, DG_DTYPE_BF16, 3, b_shape, order, 0);
    args.d = sample_matrix(&sample, DG_DTYPE_BF16, ROWS, N, false, 0);
    args.groups.form = DG_GROUPS_INDEX;
    args.groups.values = dg_tensor_1d(index, DG_DTYPE_I32, ROWS);
    args.a_rows = dg_tensor_1d(rows, DG_DTYPE_I32, ROWS);
    dg_m_grouped_gemm_args_t far = args;
    far.a.data = spread(&args.a.data, far_words);
    far.b.data = spread(&args.b.data, far_words);
    far.d = spread(&args.d, far_words);
    sample_succeeded(dg_m_grouped_gemm(NULL, &args, NULL));
    sample_succeeded(dg_m_grouped_gemm(NULL, &far, NULL));
    assert_same_rows(&far.d, &args.d);
    sample_end(&sample);
}

static void k_grouped_gemm(void **state) {
    (void)state;
    enum { TOKENS = 40 };
    static const int64_t sizes[GROUPS] = {17, 0, 23};
    const int64_t d_shape[3] = {GROUPS, 7, N};
    const int32_t order[3] = {0, 1, 2};
    int64_t rows[TOKENS];
    sample_t sample;
    begin(&sample, 3);
    for (int t = 0; t < TOKENS; t++) rows[t] = TOKENS - 1 - t;
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = args.b.form = DG_K_TOKENS_FIRST;
    args.a.data = sample_matrix(&sample, DG_DTYPE_E4M3, TOKENS, 7, false, 0);
    args.b.data = sample_matrix(&sample, DG_DTYPE_E4M3, TOKENS, N, false, 0);
    args.b.scale = sample_matrix(&sample, DG_DTYPE_F32, GROUPS, N, false, 0);
    args.b.gran_k = 128;
    args.b.rows = dg_tensor_1d(rows, DG_DTYPE_I64, TOKENS);
    args.d = sample_tensor(&sample, DG_DTYPE_F32, 3, d_shape, order, 0);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I64, GROUPS);
    dg_k_grouped_gemm_args_t far = args;
    far.a.data = spread(&args.a.data, far_bytes);
    far.b.data = spread(&args.b.data, far_bytes);
    far.b.scale = spread(&args.b.scale, far_words);
    far.d = spread(&args.d, far_words);
    sample_succeeded(dg_k_grouped_gemm(NULL, &args, NULL));
    sample_succeeded(dg_k_grouped_gemm(NULL, &far, NULL));
    assert_same_rows(&far.d, &args.d);
    sample_end(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_gemm),
        cmocka_unit_test(m_grouped_gemm),
        cmocka_unit_test(k_grouped_gemm),
    };
    return cmocka_run_group_tests(tests, map_memory, unmap_memory);
}
