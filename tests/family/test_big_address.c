/* SPDX-License-Identifier: MIT
 *
 * Offsets past 2^31 and 2^32, in bytes and in elements, for every tensor of every family. The
 * memory is a sparse mapping of which a few pages are touched, so the work stays small. Guards
 * against a product of extents or strides taken in 32 bits. Skipped where the mapping is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

enum { M = 3, N = 3, K = 130, TENSORS = 6 };

static const int64_t strides[] = {
    (INT64_C(1) << 31) + 16, (INT64_C(1) << 32) + 16, INT64_C(0x7FFFFFF0)};

/* Bytes reserved for each tensor: four strides of 2^32 four-byte elements and some. */
static const size_t span = (size_t)17 << 32;
static uint8_t *reserved[TENSORS];

static int reserve(void **state) {
    (void)state;
    for (int i = 0; i < TENSORS; i++) {
        void *memory = mmap(
            NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return -1;
        reserved[i] = memory;
    }
    return 0;
}

/* Gives the pages back, so that each case begins with zeros. */
static int forget(void **state) {
    for (int i = 0; i < TENSORS; i++) madvise(reserved[i], span, MADV_DONTNEED);
    return guard_teardown(state);
}

static int unreserve(void **state) {
    (void)state;
    for (int i = 0; i < TENSORS; i++) munmap(reserved[i], span);
    return 0;
}

/* A value that tells where it stands: exact in BF16 and E4M3. */
static double mark(int64_t i, int64_t k, int64_t salt) {
    return (double)((i * 7 + k * 3 + salt) % 5 - 2);
}

static void put(const dg_tensor_t *tensor, int64_t offset, double value) {
    static const uint8_t e4m3[] = {0xC0, 0xB8, 0x00, 0x38, 0x40};
    if (tensor->dtype == DG_DTYPE_E4M3) {
        ((uint8_t *)tensor->data)[offset] = e4m3[(int)value + 2];
    } else if (tensor->dtype == DG_DTYPE_BF16) {
        ((uint16_t *)tensor->data)[offset] = ref_round_bf16(value);
    } else {
        ((float *)tensor->data)[offset] = (float)value;
    }
}

/* [rows, columns] with lines `stride` apart, marked with `salt`; its memory is reserved[slot]. */
static dg_tensor_t big(
    int slot, dg_dtype_t dtype, int64_t rows, int64_t columns, int64_t stride, int64_t salt) {
    dg_tensor_t tensor = dg_tensor_2d(reserved[slot], dtype, rows, columns);
    tensor.stride[0] = stride;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < columns; k++) put(&tensor, i * stride + k, mark(i, k, salt));
    }
    return tensor;
}

/* sum over k in [0, size) of mark(i, k) mark(j, k) */
static double dot(int64_t i, int64_t salt_a, int64_t j, int64_t salt_b, int64_t size) {
    double sum = 0.0;
    for (int64_t k = 0; k < size; k++) sum += mark(i, k, salt_a) * mark(j, k, salt_b);
    return sum;
}

static void expect_f32(const dg_tensor_t *d, int64_t offset, double want, int64_t i, int64_t j) {
    const double got = ((const float *)d->data)[offset];
    if (got != want) {
        label_fail("[%lld, %lld]: got %g, want %g", (long long)i, (long long)j, got, want);
    }
}

static void test_gemm(void **state) {
    (void)state;
    for (int s = 0; s < 3; s++) {
        for (int turned = 0; turned < 2; turned++) {
            const dg_dtype_t dtype = s == 1 ? DG_DTYPE_BF16 : DG_DTYPE_E4M3;
            dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
            label("gemm with strides of %lld, turned %d", (long long)strides[s], turned);
            /* turned: k is the axis with the large stride */
            const int64_t k = turned ? 3 : K;
            args.a.data = big(0, dtype, turned ? k : M, turned ? M : k, strides[s], 1);
            args.b.data = big(1, dtype, turned ? k : N, turned ? N : k, strides[s], 2);
            if (turned) {
                args.a.data = dg_tensor_transpose(args.a.data);
                args.b.data = dg_tensor_transpose(args.b.data);
            }
            args.c = big(2, DG_DTYPE_F32, M, N, strides[s], 3);
            args.d = big(3, DG_DTYPE_F32, M, N, strides[s], 4);
            expect_ok(dg_gemm(NULL, &args, NULL));
            for (int64_t i = 0; i < M; i++) {
                for (int64_t j = 0; j < N; j++) {
                    double want = mark(i, j, 3);
                    for (int64_t l = 0; l < k; l++) {
                        want +=
                            turned ? mark(l, i, 1) * mark(l, j, 2) : mark(i, l, 1) * mark(j, l, 2);
                    }
                    expect_f32(&args.d, i * strides[s] + j, want, i, j);
                }
            }
            expect_f32(&args.d, N, 0.0, 0, N);
            forget(state);
        }
    }
}

/* Factors far apart along either of their axes. */
static void test_scales(void **state) {
    (void)state;
    for (int s = 0; s < 3; s++) {
        for (int turned = 0; turned < 2; turned++) {
            dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
            label("gemm with factors %lld apart, turned %d", (long long)strides[s], turned);
            args.a.data = big(0, DG_DTYPE_E4M3, M, K, K, 1);
            args.b.data = big(1, DG_DTYPE_E4M3, N, K, K, 2);
            args.a.scale = big(4, DG_DTYPE_F32, turned ? 2 : M, turned ? M : 2, strides[s], 5);
            if (turned) args.a.scale = dg_tensor_transpose(args.a.scale);
            args.a.gran_mn = 1, args.a.gran_k = 128;
            args.d = big(3, DG_DTYPE_F32, M, N, N, 4);
            expect_ok(dg_gemm(NULL, &args, NULL));
            for (int64_t i = 0; i < M; i++) {
                for (int64_t j = 0; j < N; j++) {
                    double want = 0.0;
                    for (int64_t l = 0; l < K; l++) {
                        const double factor = turned ? mark(l / 128, i, 5) : mark(i, l / 128, 5);
                        want += factor * mark(i, l, 1) * mark(j, l, 2);
                    }
                    expect_f32(&args.d, i * N + j, want, i, j);
                }
            }
            forget(state);
        }
    }
}

/* Groups of b, rows of a and d, each past the border. */
static void test_m_grouped(void **state) {
    (void)state;
    const int64_t sizes[3] = {1, 0, 2};
    for (int s = 0; s < 3; s++) {
        dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
        label("m_grouped with strides of %lld", (long long)strides[s]);
        args.a.data = big(0, DG_DTYPE_E4M3, M, K, strides[s], 1);
        args.b.data = dg_tensor_3d(reserved[1], DG_DTYPE_E4M3, 3, N, K);
        args.b.data.stride[0] = strides[s];
        for (int64_t g = 0; g < 3; g++) {
            for (int64_t j = 0; j < N; j++) {
                for (int64_t k = 0; k < K; k++) {
                    put(&args.b.data, g * strides[s] + j * K + k, mark(j, k, 2 + g));
                }
            }
        }
        args.d = big(3, DG_DTYPE_F32, M, N, strides[s], 4);
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I64, 3);
        expect_ok(dg_m_grouped_gemm(NULL, &args, NULL));
        for (int64_t i = 0; i < M; i++) {
            for (int64_t j = 0; j < N; j++) {
                const double want = dot(i, 1, j, i == 0 ? 2 : 4, K);
                expect_f32(&args.d, i * strides[s] + j, want, i, j);
            }
        }
        forget(state);
    }
}

/* Gathered rows whose bytes are past 2^32. A library may refuse numbers of rows past 2^31 by name,
 * but may not cut them off. */
static void verify_gather(const int64_t *rows, int64_t a_rows, bool may_refuse) {
    const int64_t size = 3;
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    label("m_grouped, gather of row %lld", (long long)rows[0]);
    args.a.data = dg_tensor_2d(reserved[0], DG_DTYPE_E4M3, a_rows, 8);
    args.b.data = dg_tensor_3d(reserved[1], DG_DTYPE_E4M3, 1, N, 8);
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t k = 0; k < 8; k++) {
            put(&args.a.data, rows[i] * 8 + k, mark(i, k, 1));
            put(&args.b.data, i * 8 + k, mark(i, k, 2));
        }
    }
    args.d = big(3, DG_DTYPE_F32, 3, N, N, 4);
    args.a_rows = dg_tensor_1d(rows, DG_DTYPE_I64, 3);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(&size, DG_DTYPE_I64, 1);
    const dg_status_t status = dg_m_grouped_gemm(NULL, &args, NULL);
    if (may_refuse && status == DG_STATUS_UNSUPPORTED) {
        assert_string_equal(dg_last_error_argument(), "a_rows");
        for (int64_t e = 0; e < 9; e++) expect_f32(&args.d, e, mark(e / N, e % N, 4), e / N, e % N);
        return;
    }
    expect_ok(status);
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < N; j++) expect_f32(&args.d, i * N + j, dot(i, 1, j, 2, 8), i, j);
    }
    dg_k_grouped_gemm_args_t gradient = DG_K_GROUPED_GEMM_ARGS_INIT;
    label("k_grouped, gather of row %lld", (long long)rows[0]);
    gradient.a.form = gradient.b.form = DG_K_TOKENS_FIRST;
    gradient.a.data = args.a.data;
    gradient.a.rows = args.a_rows;
    gradient.b.data = big(2, DG_DTYPE_E4M3, 3, N, N, 3);
    gradient.d = dg_tensor_3d(reserved[3], DG_DTYPE_F32, 1, 8, N);
    gradient.groups = args.groups;
    expect_ok(dg_k_grouped_gemm(NULL, &gradient, NULL));
    for (int64_t i = 0; i < 8; i++) {
        for (int64_t j = 0; j < N; j++) {
            double want = 0.0;
            for (int64_t t = 0; t < 3; t++) want += mark(t, i, 1) * mark(t, j, 3);
            expect_f32(&gradient.d, i * N + j, want, i, j);
        }
    }
}

static void test_gather(void **state) {
    (void)state;
    static const int64_t within[3] = {INT32_MAX - 1, 7, 1 << 30};
    static const int64_t beyond[3] = {(INT64_C(1) << 32) + 5, 7, (INT64_C(1) << 31) + 1};
    verify_gather(within, INT32_MAX, false);
    forget(state);
    verify_gather(beyond, (INT64_C(1) << 32) + 9, true);
}

/* Tokens far apart, so that the last group starts past the border; slices of d far apart. */
static void test_k_grouped(void **state) {
    (void)state;
    const int64_t sizes[2] = {2, 1};
    for (int s = 0; s < 3; s++) {
        dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
        label("k_grouped with strides of %lld", (long long)strides[s]);
        args.a.form = args.b.form = DG_K_TOKENS_FIRST;
        args.a.data = big(0, DG_DTYPE_E4M3, 3, M, strides[s], 1);
        args.b.data = big(1, DG_DTYPE_E4M3, 3, N, strides[s], 2);
        args.a.scale = big(4, DG_DTYPE_F32, 2, M, strides[s], 5);
        args.a.gran_k = 128;
        args.d = dg_tensor_3d(reserved[3], DG_DTYPE_F32, 2, M, N);
        args.d.stride[0] = strides[s];
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I64, 2);
        expect_ok(dg_k_grouped_gemm(NULL, &args, NULL));
        for (int64_t i = 0; i < M; i++) {
            for (int64_t j = 0; j < N; j++) {
                const double first = mark(0, i, 1) * mark(0, j, 2) + mark(1, i, 1) * mark(1, j, 2);
                const double second = mark(2, i, 1) * mark(2, j, 2);
                expect_f32(&args.d, i * N + j, first * mark(0, i, 5), i, j);
                expect_f32(&args.d, strides[s] + i * N + j, second * mark(1, i, 5), i, j);
            }
        }
        forget(state);
    }
}

int main(void) {
    if (reserve(NULL) != 0) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gemm, forget),
        cmocka_unit_test_teardown(test_scales, forget),
        cmocka_unit_test_teardown(test_m_grouped, forget),
        cmocka_unit_test_teardown(test_gather, forget),
        cmocka_unit_test_teardown(test_k_grouped, forget),
    };
    return cmocka_run_group_tests_name("big addresses", tests, NULL, unreserve);
}
