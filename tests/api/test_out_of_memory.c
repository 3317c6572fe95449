/* SPDX-License-Identifier: MIT
 *
 * Memory that runs out, at every place where the library asks for some. The linker puts the functions
 * below between the library and the C library. Whichever request fails, the call either does without
 * (a worker that has no memory stays away) or answers OUT_OF_MEMORY with a message on the calling
 * thread and has written nothing. It leaks nothing (LeakSanitizer looks), and the same context gives
 * the right result once there is memory again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static atomic_long left = -1; /* requests that are still granted; -1: all */
static atomic_bool failed;

static bool refuses(void) {
    if (atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) > 0) return false;
    atomic_store(&left, 0);
    atomic_store(&failed, true);
    return true;
}

void *__wrap_malloc(size_t size) {
    return refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return refuses() ? NULL : __real_aligned_alloc(alignment, size);
}

enum { N = 300, GROUPS = 4 };

static uint8_t a[N * N], b[GROUPS * N * N], codes[N * N];
static float x[N * N], d[GROUPS * N * N], factors[N * N], good[GROUPS * N * N];
static int32_t sizes[GROUPS] = {100, 0, 150, 50}, group_of_row[N], words[N * N];

typedef dg_status_t (*call_fn)(dg_context_t *ctx);

static dg_status_t call_gemm(dg_context_t *ctx) {
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, N, N);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_E4M3, N, N);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, N, N);
    return dg_gemm(ctx, &args, NULL);
}

static dg_status_t call_m_grouped(dg_context_t *ctx) {
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, N, N);
    args.b.data = dg_tensor_3d(b, DG_DTYPE_E4M3, GROUPS, N, N);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, N, N);
    args.groups.form = DG_GROUPS_INDEX;
    args.groups.values = dg_tensor_1d(group_of_row, DG_DTYPE_I32, N);
    return dg_m_grouped_gemm(ctx, &args, NULL);
}

static dg_status_t call_k_grouped(dg_context_t *ctx) {
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = args.b.form = DG_K_TOKENS_FIRST;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_E4M3, N, N);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_E4M3, N, N);
    args.d = dg_tensor_3d(d, DG_DTYPE_F32, GROUPS, N, N);
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, GROUPS);
    return dg_k_grouped_gemm(ctx, &args, NULL);
}

static dg_status_t call_quantize(dg_context_t *ctx) {
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = dg_tensor_2d(x, DG_DTYPE_F32, N, N);
    args.out[0].data = dg_tensor_2d(codes, DG_DTYPE_E4M3, N, N);
    args.out[0].scale = dg_tensor_2d(d, DG_DTYPE_F32, N, 3);
    args.out[0].gran[0] = 1, args.out[0].gran[1] = 128;
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = dg_tensor_1d(sizes, DG_DTYPE_I32, GROUPS);
    return dg_quantize(ctx, &args, NULL);
}

static dg_status_t call_dequantize(dg_context_t *ctx) {
    dg_dequantize_args_t args = DG_DEQUANTIZE_ARGS_INIT;
    args.q.data = dg_tensor_2d(a, DG_DTYPE_E4M3, N, N);
    args.q.scale = dg_tensor_2d(factors, DG_DTYPE_F32, N, 3);
    args.q.gran[0] = 1, args.q.gran[1] = 128;
    args.x = dg_tensor_2d(d, DG_DTYPE_F32, N, N);
    return dg_dequantize(ctx, &args, NULL);
}

static dg_status_t call_convert(dg_context_t *ctx) {
    dg_scale_convert_args_t args = DG_SCALE_CONVERT_ARGS_INIT;
    args.src = dg_tensor_2d(factors, DG_DTYPE_F32, N, N);
    args.dst = dg_tensor_2d(words, DG_DTYPE_I32, N, N / 4);
    return dg_scale_convert(ctx, &args, NULL);
}

/* Lets the first, second .. request of a new context's first call fail, until none is left to. */
static void starve(call_fn call) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.num_threads = 3;
    memset(d, 0x55, sizeof d);
    assert_int_equal(call(NULL), DG_STATUS_OK);
    memcpy(good, d, sizeof d);
    bool starved = true;
    int refusals = 0;
    for (long granted = 0; starved; granted++) {
        dg_context_t *ctx;
        assert_int_equal(dg_context_create(&ctx, &options), DG_STATUS_OK);
        dg_gemm(ctx, NULL, NULL); /* leaves a message of its own */
        memset(d, 0x55, sizeof d);
        atomic_store(&failed, false);
        atomic_store(&left, granted);
        const dg_status_t status = call(ctx);
        atomic_store(&left, -1);
        starved = atomic_load(&failed);
        if (status == DG_STATUS_OUT_OF_MEMORY) {
            refusals++;
            assert_true(starved);
            assert_non_null(strstr(dg_last_error(), "no memory for"));
            for (size_t i = 0; i < sizeof d; i++) assert_int_equal(((uint8_t *)d)[i], 0x55);
        } else {
            assert_int_equal(status, DG_STATUS_OK);
            assert_memory_equal(d, good, sizeof d);
        }
        assert_int_equal(call(ctx), DG_STATUS_OK);
        assert_memory_equal(d, good, sizeof d);
        assert_int_equal(dg_context_destroy(ctx), DG_STATUS_OK);
        assert_true(granted < 100);
    }
    assert_true(refusals > 0);
}

static void products(void **state) {
    (void)state;
    starve(call_gemm);
    starve(call_m_grouped);
    starve(call_k_grouped);
}

static void casts(void **state) {
    (void)state;
    starve(call_quantize);
    starve(call_dequantize);
    starve(call_convert);
}

static int fill(void **state) {
    (void)state;
    for (int i = 0; i < GROUPS * N * N; i++) b[i] = (uint8_t)(i % 110);
    for (int i = 0; i < N * N; i++)
        a[i] = (uint8_t)(i % 120), x[i] = (float)(i % 91) - 45, factors[i] = 2;
    for (int i = 0; i < N; i++) group_of_row[i] = i % (GROUPS + 1) - 1;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(casts)};
    return cmocka_run_group_tests(tests, fill, NULL);
}
