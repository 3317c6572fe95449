/* SPDX-License-Identifier: MIT
 *
 * Products through cuBLASLt, on a device of the fake driver and with a cuBLASLt of paper that
 * computes what its descriptors say: results of all forms, types and strides against sums of the
 * logical matrices; what the library is told; when handles, algorithms and workspace are had; that a
 * warm call asks for nothing; captures; and what happens when cuBLASLt refuses.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counters.h"
#include "cuda/driver.h"
#include "deep_gemm/deep_gemm.h"
#include "fake_cublaslt.h"
#include "fake_driver.h"
#include "model/dtype.h"

enum { M = 5, N = 7, K = 11, GAP = 3, ROOM = 64 * 64 };

static fake_controls_t controls;
static fake_cublaslt_t *lt;
static bool
    outside; /* a call came without a context of the device, or would have spoilt a capture */

static void watch(void) {
    if (controls.depth() == 0) outside = true;
    if (controls.driver->capturing && controls.capture_mode() != DG_CU_CAPTURE_MODE_RELAXED)
        outside = true;
}

/* One matrix on the device: its logical values, which are small integers, and where they lie. */
typedef struct matrix_t {
    double value[16][16];
    dg_tensor_t view;
    _Alignas(256) uint8_t memory[ROOM];
} matrix_t;

static matrix_t a, b, c, d;

static uint32_t random_state = 1;
static int draw(int count) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)(random_state >> 16) % count;
}

static void encode(void *memory, dg_dtype_t dtype, int64_t index, double value) {
    const float number = (float)value;
    /* F16 of 0, 1, 2 and 3, and their negatives: there is no encoder of it */
    static const uint16_t halves[] = {0, 0x3C00, 0x4000, 0x4200};
    switch (dtype) {
    case DG_DTYPE_E4M3: ((uint8_t *)memory)[index] = dg_encode_e4m3(number); break;
    case DG_DTYPE_BF16: ((uint16_t *)memory)[index] = dg_encode_bf16(number); break;
    case DG_DTYPE_F16:
        ((uint16_t *)memory)[index] =
            (uint16_t)(halves[value < 0 ? (int)-value : (int)value] | (value < 0 ? 0x8000 : 0));
        break;
    default: ((float *)memory)[index] = number;
    }
}

static double decode(const dg_tensor_t *view, int i, int j) {
    const int64_t index = i * view->stride[0] + j * view->stride[1];
    return view->dtype == DG_DTYPE_BF16
               ? (double)dg_decode_bf16(((const uint16_t *)view->data)[index])
               : (double)((const float *)view->data)[index];
}

/* [rows, cols] with lines along the last axis or, if `turned`, the first; `gap` elements between
 * lines, which are NaN like everything else that is not the matrix. */
static void make_matrix(
    matrix_t *matrix, dg_dtype_t dtype, int rows, int cols, bool turned, int gap, size_t offset) {
    memset(matrix->memory, 0xFF, sizeof matrix->memory);
    matrix->view = dg_tensor_2d(matrix->memory + offset, dtype, rows, cols);
    matrix->view.device.type = DG_DEVICE_CUDA;
    matrix->view.stride[0] = turned ? 1 : cols + gap;
    matrix->view.stride[1] = turned ? rows + gap : 1;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            matrix->value[i][j] = draw(7) - 3;
            encode(matrix->view.data, dtype,
                i * matrix->view.stride[0] + j * matrix->view.stride[1], matrix->value[i][j]);
        }
    }
}

/* form: bit 0: a is stored [k, m]; bit 1: b is stored [k, n]. adds: 0: no c; 1: c apart; 2: c is d. */
static dg_cublaslt_gemm_args_t make_call(
    int form, dg_dtype_t dtype, dg_dtype_t out, int adds, int gap) {
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    make_matrix(&a, dtype, M, K, (form & 1) != 0, gap, 0);
    make_matrix(&b, dtype, N, K, (form & 2) != 0, 2 * gap, 0);
    make_matrix(&c, out, M, N, false, 3 * gap, 0);
    make_matrix(&d, out, M, N, false, gap, 0);
    args.a = a.view;
    args.b = b.view;
    args.d = d.view;
    if (adds > 0) args.c = adds == 2 ? d.view : c.view;
    return args;
}

static void check_result(int adds) {
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = adds == 0 ? 0 : adds == 1 ? c.value[i][j] : d.value[i][j];
            for (int l = 0; l < K; l++) sum += a.value[i][l] * b.value[j][l];
            assert_true(decode(&d.view, i, j) == sum); /* below 2^7: exact in BF16 too */
        }
    }
    const int64_t row = d.view.stride[0], size = dg_dtype_size(d.view.dtype);
    for (int i = 0; i < M - 1; i++) { /* between the rows of d nothing is written */
        for (int64_t x = (i * row + N) * size; x < (i + 1) * row * size; x++)
            assert_int_equal(d.memory[x], 0xFF);
    }
}

static int reset(void **state) {
    (void)state;
    memset(lt->result, 0, sizeof lt->result);
    memset(lt->calls, 0, sizeof lt->calls);
    lt->no_algorithm = false;
    lt->workspace = 0;
    lt->on_call = watch;
    outside = false;
    reset_fake_driver(controls.driver);
    controls.set_context(-1);
    return 0;
}

static void every_form_type_and_stride(void **state) {
    (void)state;
    static const struct {
        dg_dtype_t in, out;
    } types[] = {{DG_DTYPE_BF16, DG_DTYPE_BF16}, {DG_DTYPE_BF16, DG_DTYPE_F32},
        {DG_DTYPE_E4M3, DG_DTYPE_BF16}, {DG_DTYPE_E4M3, DG_DTYPE_F32}, {DG_DTYPE_F16, DG_DTYPE_F32},
        {DG_DTYPE_F32, DG_DTYPE_F32}};
    for (int i = 0; i < 6 * 4 * 3 * 2; i++) {
        const int type = i % 6, form = i / 6 % 4, adds = i / 24 % 3, gap = i / 72 * GAP;
        const dg_cublaslt_gemm_args_t args =
            make_call(form, types[type].in, types[type].out, adds, gap);
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        check_result(adds);
        assert_true(lt->beta == (adds > 0 ? 1.0f : 0.0f));
        assert_ptr_equal(lt->address[2], adds == 1 ? c.view.data : d.view.data);
        assert_int_equal(lt->c.ld, adds == 1 ? N + 3 * gap : N + gap);
    }
    assert_false(outside);
    assert_int_equal(controls.depth(), 0);
}

static void check_layout(
    const fake_lt_layout_t *layout, int32_t type, uint64_t rows, uint64_t cols, int64_t ld) {
    assert_int_equal(layout->type, type);
    assert_int_equal(layout->rows, rows);
    assert_int_equal(layout->cols, cols);
    assert_int_equal(layout->ld, ld);
}

/* d^T [n, m] = b a^T, column after column. */
static void what_cublaslt_is_told_of_nt(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_BF16, 0, GAP);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    check_layout(&lt->a, 14, K, N, K + 2 * GAP);
    check_layout(&lt->b, 14, K, M, K + GAP);
    check_layout(&lt->c, 14, N, M, N + GAP);
    check_layout(&lt->d, 14, N, M, N + GAP);
    assert_ptr_equal(lt->address[0], b.view.data);
    assert_ptr_equal(lt->address[1], a.view.data);
    assert_ptr_equal(lt->address[3], d.view.data);
    assert_int_equal(lt->desc.transa, 1);
    assert_int_equal(lt->desc.transb, 0);
    assert_int_equal(lt->desc.scale_type, 0);
    assert_int_equal(lt->desc.compute, 68);
    assert_int_equal(lt->desc.num_sms, -1);
    assert_int_equal(lt->desc.fast, -1);
    assert_true(lt->alpha == 1.0f);
}

static void what_cublaslt_is_told_of_tn(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(3, DG_DTYPE_F32, DG_DTYPE_F32, 0, 0);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    check_layout(&lt->a, 0, N, K, N);
    check_layout(&lt->b, 0, M, K, M);
    assert_int_equal(lt->desc.transa, 0);
    assert_int_equal(lt->desc.transb, 1);
    assert_int_equal(lt->desc.compute, 77); /* TF32 */
}

static void fp8_sums_are_not_the_fast_ones(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_E4M3, DG_DTYPE_BF16, 0, 0);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    assert_int_equal(lt->a.type, 28);
    assert_int_equal(lt->desc.fast, 0);
    assert_int_equal(lt->desc.compute, 68);
}

static void limits_on_sms_are_passed_on(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 0);
    for (int32_t sms = 100; sms <= 102; sms++) {
        assert_int_equal(dg_set_num_sms(NULL, sms), DG_STATUS_OK);
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        assert_int_equal(lt->desc.num_sms, sms);
    }
    assert_int_equal(dg_set_num_sms(NULL, 0), DG_STATUS_OK);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    assert_int_equal(lt->desc.num_sms, -1);
}

static void addresses_and_bounds_of_the_search(void **state) {
    (void)state;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 1, 1);
    make_matrix(&a, DG_DTYPE_BF16, M, K, false, 1, 2);
    make_matrix(&b, DG_DTYPE_BF16, N, K, false, 2, 16);
    make_matrix(&c, DG_DTYPE_F32, M, N, false, 3, 128);
    args.a = a.view, args.b = b.view, args.c = c.view;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    check_result(1);
    assert_int_equal(lt->preference.workspace, 32 << 20);
    assert_int_equal(lt->preference.reduction, 2);
    static const uint32_t align[] = {16, 2, 128, 256}; /* cuBLASLt's A is b */
    assert_memory_equal(lt->preference.align, align, sizeof align);
}

static void workspace_is_the_callers(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(1, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 5);
    static _Alignas(256) uint8_t room[1024];
    size_t bytes = 0;
    lt->workspace = 1000;
    assert_int_equal(dg_cublaslt_gemm_workspace(NULL, &args, &bytes), DG_STATUS_OK);
    assert_int_equal(bytes, 1000);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_SMALL_WORKSPACE);
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.workspace = room;
    launch.workspace_size = 999;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, &launch), DG_STATUS_SMALL_WORKSPACE);
    assert_int_equal(lt->calls[FAKE_LT_cublasLtMatmul], 0);
    launch.workspace_size = sizeof room;
    launch.stream = &launch;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, &launch), DG_STATUS_OK);
    assert_ptr_equal(lt->workspace_address, room);
    assert_int_equal(lt->workspace_bytes, 1000);
    assert_ptr_equal(lt->stream, &launch);
    check_result(0);
}

static void *give(void *user, size_t bytes) {
    *(size_t *)user = bytes;
    static _Alignas(256) uint8_t room[1024];
    return bytes <= sizeof room ? room : NULL;
}

static void workspace_of_an_allocator(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(2, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 5);
    size_t asked = 0;
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.allocate = give;
    launch.allocate_user = &asked;
    lt->workspace = 512;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, &launch), DG_STATUS_OK);
    assert_int_equal(asked, 512);
    check_result(0);
}

static void a_prepared_call_computes_nothing(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 4);
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.prepare = 1;
    lt->workspace = 64;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, &launch), DG_STATUS_OK);
    assert_int_equal(lt->calls[FAKE_LT_cublasLtMatmulAlgoGetHeuristic], 1);
    assert_int_equal(lt->calls[FAKE_LT_cublasLtMatmul], 0);
}

/* Runs first: nothing has made a handle yet. */
static void one_handle_for_each_device_and_the_callers_own(void **state) {
    (void)state;
    static int own;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 0);
    args.handle = &own;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    assert_ptr_equal(lt->handle, &own);
    assert_int_equal(lt->calls[FAKE_LT_cublasLtCreate], 0);
    args.handle = NULL;
    for (int32_t i = 0; i < 4; i++) {
        args.a.device.id = args.b.device.id = args.d.device.id = i % 2;
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        assert_ptr_not_equal(lt->handle, &own);
        assert_int_equal(lt->calls[FAKE_LT_cublasLtCreate], i == 0 ? 1 : 2);
    }
    check_result(0);
    assert_false(outside);
}

static void a_warm_call_asks_for_nothing(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_BF16, 1, 2);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    for (int32_t context = -1; context <= 1; context++) { /* none, this device's, another's */
        controls.set_context(context);
        counters = (counters_t){0};
        memset(lt->calls, 0, sizeof lt->calls);
        for (int i = 0; i < 20; i++)
            assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        assert_int_equal(counters.requests, 0);
        assert_int_equal(counters.locks, 0);
        assert_int_equal(counters.lookups, 0);
        assert_int_equal(counters.texts, 0);
        for (int i = 0; i < FAKE_LT_CALL_COUNT; i++)
            assert_int_equal(lt->calls[i], i == FAKE_LT_cublasLtMatmul ? 20 : 0);
        assert_int_equal(controls.depth(), context >= 0);
    }
}

static void a_first_call_may_come_while_a_stream_captures(void **state) {
    (void)state;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 9);
    controls.driver->device_count = 3; /* one that no test has used */
    args.a.device.id = args.b.device.id = args.d.device.id = 2;
    controls.driver->capturing = true;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    assert_int_equal(lt->calls[FAKE_LT_cublasLtCreate], 1);
    assert_false(outside);
    assert_int_equal(controls.capture_mode(), 0); /* as it was */
    check_result(0);
}

static void refusals_of_cublaslt(void **state) {
    (void)state;
    const dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_E4M3, DG_DTYPE_F32, 0, 21);
    const int objects = lt->objects;
    lt->no_algorithm = true;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(dg_last_error(), "no algorithm for e4m3 [5, 11] (k-major)"));
    assert_non_null(strstr(dg_last_error(), "dg_gemm"));
    lt->no_algorithm = false;
    for (int i = FAKE_LT_cublasLtMatmulDescCreate; i < FAKE_LT_CALL_COUNT; i++) {
        lt->result[i] = 7;
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_DRIVER);
        assert_non_null(strstr(dg_last_error(), "of cuBLASLt 130100: CUBLAS_STATUS_INVALID_VALUE"));
        lt->result[i] = i == FAKE_LT_cublasLtMatmul ? 7 : 3;
        if (i < FAKE_LT_cublasLtMatmul)
            assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OUT_OF_MEMORY);
        lt->result[i] = 0;
        if (i < FAKE_LT_cublasLtMatmul) assert_int_equal(lt->objects, objects);
    }
    assert_int_equal(controls.capture_mode(), 0);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    check_result(0);
}

static void lines_that_overlap_are_refused(void **state) {
    (void)state;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 1, 0);
    args.c.stride[0] = 0;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_BAD_STRIDE);
    assert_string_equal(dg_last_error_argument(), "c");
    args.c.stride[0] = N;
    args.a.stride[0] = K - 1;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_BAD_STRIDE);
    assert_string_equal(dg_last_error_argument(), "a");
    assert_int_equal(lt->calls[FAKE_LT_cublasLtMatmul], 0);
}

static void nothing_to_do(void **state) {
    (void)state;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 0);
    args.a.shape[0] = args.d.shape[0] = 0;
    args.a.data = args.d.data = NULL;
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    for (int i = 0; i < FAKE_LT_CALL_COUNT; i++) assert_int_equal(lt->calls[i], 0);
}

/* A sum of nothing is a kernel of ours: of whatever types, cuBLASLt is not asked. */
static void an_empty_sum_is_our_own(void **state) {
    (void)state;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_F16, DG_DTYPE_F32, 1, 0);
    args.a.shape[1] = args.b.shape[1] = 0;
    const dg_status_t status = dg_cublaslt_gemm(NULL, &args, NULL);
    for (int i = 0; i < FAKE_LT_CALL_COUNT; i++) assert_int_equal(lt->calls[i], 0);
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_COMPILER) skip(); /* no kernels */
    assert_int_equal(status, DG_STATUS_OK);
    assert_true(atomic_load(&controls.driver->calls[FAKE_cuLaunchKernelEx]) > 0);
}

/* More products than are kept: the rest is made for one call and leaves nothing behind. */
static void any_number_of_products(void **state) {
    (void)state;
    enum { KEPT = 4096, MORE = 50 };
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 0);
    args.a.shape[0] = args.d.shape[0] = 1;
    for (int i = 0; i < KEPT + MORE; i++) { /* a single row's stride is nobody's business: sms is */
        assert_int_equal(dg_set_num_sms(NULL, 1000 + i), DG_STATUS_OK);
        assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
        assert_true(lt->objects <= 5 * KEPT * 3); /* three devices */
    }
    const int objects = lt->objects;
    assert_int_equal(dg_set_num_sms(NULL, 999), DG_STATUS_OK);
    assert_int_equal(dg_cublaslt_gemm(NULL, &args, NULL), DG_STATUS_OK);
    assert_int_equal(lt->objects, objects);
    assert_int_equal(dg_set_num_sms(NULL, 0), DG_STATUS_OK);
}

enum { THREADS = 4, SHARED = 40 };

static void *prepare_all(void *args) {
    dg_cublaslt_gemm_args_t own = *(const dg_cublaslt_gemm_args_t *)args;
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.prepare = 1;
    for (int32_t i = 0; i < SHARED; i++) {
        own.b.stride[0] = 500 + i; /* nothing is read */
        if (dg_cublaslt_gemm(NULL, &own, &launch) != DG_STATUS_OK) return args;
    }
    return NULL;
}

/* Threads that want the same products at once: each is made once, and all get it. */
static void threads_share_products(void **state) {
    (void)state;
    dg_cublaslt_gemm_args_t args = make_call(0, DG_DTYPE_BF16, DG_DTYPE_F32, 0, 0);
    args.a.device.id = args.b.device.id = args.d.device.id = 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, prepare_all, &args), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(lt->calls[FAKE_LT_cublasLtMatmulAlgoGetHeuristic], SHARED);
    assert_false(outside);
}

static fake_cublaslt_t *open_fake_cublaslt(void) {
    fake_cublaslt_fn *get;
    const char *path = getenv("DG_CUBLASLT");
    void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *address = library != NULL ? dlsym(library, "fake_cublaslt") : NULL;
    if (address == NULL) {
        print_error("DG_CUBLASLT must name the library of tests/cuda; start with ctest\n");
        exit(1);
    }
    memcpy(&get, &address, sizeof get);
    return get();
}

int main(void) {
    controls = open_fake_driver();
    lt = open_fake_cublaslt();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_handle_for_each_device_and_the_callers_own, reset),
        cmocka_unit_test_setup(every_form_type_and_stride, reset),
        cmocka_unit_test_setup(what_cublaslt_is_told_of_nt, reset),
        cmocka_unit_test_setup(what_cublaslt_is_told_of_tn, reset),
        cmocka_unit_test_setup(fp8_sums_are_not_the_fast_ones, reset),
        cmocka_unit_test_setup(limits_on_sms_are_passed_on, reset),
        cmocka_unit_test_setup(addresses_and_bounds_of_the_search, reset),
        cmocka_unit_test_setup(workspace_is_the_callers, reset),
        cmocka_unit_test_setup(workspace_of_an_allocator, reset),
        cmocka_unit_test_setup(a_prepared_call_computes_nothing, reset),
        cmocka_unit_test_setup(a_warm_call_asks_for_nothing, reset),
        cmocka_unit_test_setup(a_first_call_may_come_while_a_stream_captures, reset),
        cmocka_unit_test_setup(refusals_of_cublaslt, reset),
        cmocka_unit_test_setup(lines_that_overlap_are_refused, reset),
        cmocka_unit_test_setup(nothing_to_do, reset),
        cmocka_unit_test_setup(an_empty_sum_is_our_own, reset),
        cmocka_unit_test_setup(threads_share_products, reset),
        cmocka_unit_test_setup(any_number_of_products, reset),
    };
    return cmocka_run_group_tests_name("cublaslt", tests, NULL, NULL);
}
