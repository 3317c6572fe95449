/* SPDX-License-Identifier: MIT
 *
 * Whole calls of each GEMM family, and of deep_gemm/moe.h, on a device of the fake driver, with the kernels that are built
 * into the library: once everything is warm they ask for no memory, take no lock, read no
 * environment and format no text, in whatever context of the caller; and a prepared call finds
 * everything warm. Skipped in a build without kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "counters.h"
#include "deep_gemm/deep_gemm.h"
#include "fake_driver.h"

enum { M = 512, N = 256, K = 384, GROUPS = 4, CALLS = 50 };

static const dg_device_t gpu = {DG_DEVICE_CUDA, 0};
static fake_controls_t controls;
static void *buffers[6]; /* of the device, BUFFER_BYTES each */
enum { BUFFER_BYTES = GROUPS * M * K * 4 };
static dg_gemm_args_t block, vector, bf16;
static dg_m_grouped_gemm_args_t rows;
static dg_k_grouped_gemm_args_t tokens;

static dg_tensor_t on_gpu(dg_tensor_t tensor) {
    tensor.device = gpu;
    return tensor;
}

static dg_operand_t matrix(int index, dg_dtype_t dtype, int64_t mn, int32_t gran_mn) {
    dg_operand_t operand = DG_NO_OPERAND;
    operand.data = on_gpu(dg_tensor_2d(buffers[index], dtype, mn, K));
    if (gran_mn == 0) return operand;
    operand.scale = on_gpu(
        dg_tensor_2d(buffers[index + 2], DG_DTYPE_F32, (mn + gran_mn - 1) / gran_mn, K / 128));
    operand.gran_mn = gran_mn;
    operand.gran_k = 128;
    return operand;
}

static dg_gemm_args_t product(dg_dtype_t dtype, int32_t gran_a, int32_t gran_b, dg_dtype_t out) {
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = matrix(0, dtype, M, gran_a);
    args.b = matrix(1, dtype, N, gran_b);
    args.d = on_gpu(dg_tensor_2d(buffers[4], out, M, N));
    return args;
}

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) {
        if (dg_device_alloc(gpu, BUFFER_BYTES, &buffers[i]) != DG_STATUS_OK) return 1;
        if (dg_device_memset(gpu, buffers[i], 0, BUFFER_BYTES, NULL) != DG_STATUS_OK) return 1;
    }
    block = product(DG_DTYPE_E4M3, 1, 128, DG_DTYPE_BF16);
    vector = product(DG_DTYPE_E4M3, 1, 1, DG_DTYPE_F32);
    bf16 = product(DG_DTYPE_BF16, 0, 0, DG_DTYPE_BF16);
    const dg_tensor_t sizes = on_gpu(dg_tensor_1d(buffers[5], DG_DTYPE_I32, GROUPS));
    rows = (dg_m_grouped_gemm_args_t)DG_M_GROUPED_GEMM_ARGS_INIT;
    rows.a = matrix(0, DG_DTYPE_BF16, M, 0);
    rows.b.data = on_gpu(dg_tensor_3d(buffers[1], DG_DTYPE_BF16, GROUPS, N, K));
    rows.d = on_gpu(dg_tensor_2d(buffers[4], DG_DTYPE_BF16, M, N));
    rows.groups.form = DG_GROUPS_SIZES;
    rows.groups.values = sizes;
    tokens = (dg_k_grouped_gemm_args_t)DG_K_GROUPED_GEMM_ARGS_INIT;
    tokens.a.form = tokens.b.form = DG_K_TOKENS_FIRST;
    tokens.a.data = on_gpu(dg_tensor_2d(buffers[0], DG_DTYPE_BF16, K, M));
    tokens.b.data = on_gpu(dg_tensor_2d(buffers[1], DG_DTYPE_BF16, K, N));
    tokens.d = on_gpu(dg_tensor_3d(buffers[4], DG_DTYPE_F32, GROUPS, M, N));
    tokens.groups.form = DG_GROUPS_SIZES;
    tokens.groups.values = sizes;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) dg_device_free(gpu, buffers[i]);
    return 0;
}

static dg_status_t multiply(const void *args, const dg_launch_t *launch) {
    return dg_gemm(NULL, args, launch);
}

static dg_status_t multiply_rows(const void *args, const dg_launch_t *launch) {
    return dg_m_grouped_gemm(NULL, args, launch);
}

static dg_status_t multiply_tokens(const void *args, const dg_launch_t *launch) {
    return dg_k_grouped_gemm(NULL, args, launch);
}

static dg_launch_t make_launch(size_t workspace) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    assert_int_equal(dg_device_alloc(gpu, workspace, &launch.workspace), DG_STATUS_OK);
    launch.workspace_size = workspace;
    return launch;
}

/* Preparing loads and launches nothing, and after it the call itself loads nothing. Skips the test if
 * the build has no kernels. */
static void check(dg_status_t (*call)(const void *, const dg_launch_t *), const void *args,
    const dg_launch_t *launch) {
    atomic_int *launches = &controls.driver->calls[FAKE_cuLaunchKernelEx];
    atomic_int *loads = &controls.driver->calls[FAKE_cuLibraryLoadData];
    dg_launch_t prepared = DG_LAUNCH_INIT;
    prepared.prepare = 1;
    const int launched = atomic_load(launches);
    const dg_status_t status = call(args, &prepared);
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_COMPILER) {
        print_message("skipped: %s\n", dg_last_error());
        skip();
    }
    if (status != DG_STATUS_OK) print_error("%s\n", dg_last_error());
    assert_int_equal(status, DG_STATUS_OK);
    assert_int_equal(atomic_load(launches), launched);
    const int loaded = atomic_load(loads);
    assert_true(loaded > 0);
    assert_int_equal(call(args, launch), DG_STATUS_OK);
    assert_int_equal(atomic_load(loads), loaded);
    assert_true(atomic_load(launches) > launched);
    for (int32_t context = -1; context <= 1; context++) { /* none, this device's, another's */
        controls.set_context(context);
        counters = (counters_t){0};
        const int before = atomic_load(launches);
        for (int i = 0; i < CALLS; i++) assert_int_equal(call(args, launch), DG_STATUS_OK);
        assert_true(atomic_load(launches) >= before + CALLS);
        assert_int_equal(controls.driver->launch.device, 0);
        assert_int_equal(controls.depth(), context >= 0);
        assert_int_equal(counters.requests, 0);
        assert_int_equal(counters.locks, 0);
        assert_int_equal(counters.lookups, 0);
        assert_int_equal(counters.texts, 0);
    }
}

static void a_dense_product(const dg_gemm_args_t *args) {
    size_t bytes = 0;
    assert_int_equal(dg_gemm_workspace(NULL, args, &bytes), DG_STATUS_OK);
    const dg_launch_t launch = make_launch(bytes);
    check(multiply, args, &launch);
    assert_int_equal(dg_device_free(gpu, launch.workspace), DG_STATUS_OK);
}

static void fp8_with_blocks_of_factors(void **state) {
    (void)state;
    a_dense_product(&block);
}

static void fp8_with_vectors_of_factors(void **state) {
    (void)state;
    a_dense_product(&vector);
}

static void bf16_dense(void **state) {
    (void)state;
    a_dense_product(&bf16);
}

static void rows_in_groups(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_int_equal(dg_m_grouped_gemm_workspace(NULL, &rows, &bytes), DG_STATUS_OK);
    const dg_launch_t launch = make_launch(bytes);
    check(multiply_rows, &rows, &launch);
    assert_int_equal(dg_device_free(gpu, launch.workspace), DG_STATUS_OK);
}

static void tokens_in_groups(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_int_equal(dg_k_grouped_gemm_workspace(NULL, &tokens, &bytes), DG_STATUS_OK);
    const dg_launch_t launch = make_launch(bytes);
    check(multiply_tokens, &tokens, &launch);
    assert_int_equal(dg_device_free(gpu, launch.workspace), DG_STATUS_OK);
}

static dg_status_t route(const void *args, const dg_launch_t *launch) {
    return dg_route_tokens(NULL, args, launch);
}

static dg_status_t permute(const void *args, const dg_launch_t *launch) {
    return dg_permute_rows(NULL, args, launch);
}

static dg_status_t unpermute(const void *args, const dg_launch_t *launch) {
    return dg_unpermute_rows(NULL, args, launch);
}

static dg_status_t dot(const void *args, const dg_launch_t *launch) {
    return dg_dot_rows(NULL, args, launch);
}

static void tokens_to_experts(void **state) {
    (void)state;
    enum { TOPK = 2 };
    const dg_launch_t launch = DG_LAUNCH_INIT;
    char *lists = buffers[5];
    dg_route_tokens_args_t to = DG_ROUTE_TOKENS_ARGS_INIT;
    to.ids = on_gpu(dg_tensor_2d(lists, DG_DTYPE_I32, M, TOPK));
    to.rows = on_gpu(dg_tensor_2d(lists + 8192, DG_DTYPE_I32, M, TOPK));
    to.sources = on_gpu(dg_tensor_1d(lists + 16384, DG_DTYPE_I32, M * TOPK));
    to.counts = on_gpu(dg_tensor_1d(lists + 24576, DG_DTYPE_I32, GROUPS));
    to.ends = on_gpu(dg_tensor_1d(lists + 28672, DG_DTYPE_I32, GROUPS));
    check(route, &to, &launch);
    dg_permute_rows_args_t there = DG_PERMUTE_ROWS_ARGS_INIT;
    there.x = on_gpu(dg_tensor_2d(buffers[0], DG_DTYPE_BF16, M, N));
    there.rows = to.rows;
    there.sources = to.sources;
    there.out = on_gpu(dg_tensor_2d(buffers[1], DG_DTYPE_BF16, M * TOPK, N));
    check(permute, &there, &launch);
    dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
    back.x = there.out;
    back.rows = to.rows;
    back.out = on_gpu(dg_tensor_2d(buffers[4], DG_DTYPE_F32, M, N));
    check(unpermute, &back, &launch);
    dg_dot_rows_args_t products = DG_DOT_ROWS_ARGS_INIT;
    products.a = there.x;
    products.b = there.out;
    products.rows = to.rows;
    products.out = on_gpu(dg_tensor_2d(buffers[4], DG_DTYPE_F32, M, TOPK));
    check(dot, &products, &launch);
}

/* An allocator that tells what it was asked. */
typedef struct asked_t {
    size_t bytes;
    int times;
    void *memory;
} asked_t;

static void *give(void *user, size_t bytes) {
    asked_t *asked = user;
    asked->bytes = bytes;
    asked->times++;
    return asked->memory;
}

static dg_status_t multiply_with(asked_t *asked, size_t handed) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.workspace = handed > 0 ? asked->memory : NULL;
    launch.workspace_size = handed;
    launch.allocate = give;
    launch.allocate_user = asked;
    asked->times = 0;
    return dg_k_grouped_gemm(NULL, &tokens, &launch);
}

static void workspace_of_an_allocator(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_int_equal(dg_k_grouped_gemm_workspace(NULL, &tokens, &bytes), DG_STATUS_OK);
    assert_true(bytes > 0);
    dg_launch_t launch = make_launch(bytes);
    asked_t asked = {.memory = launch.workspace};
    const dg_status_t status = multiply_with(&asked, 0);
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_COMPILER) skip();
    assert_int_equal(status, DG_STATUS_OK);
    assert_int_equal(asked.times, 1);
    assert_int_equal(asked.bytes, bytes);
    assert_int_equal(multiply_with(&asked, bytes), DG_STATUS_OK);
    assert_int_equal(asked.times, 0); /* it was handed enough */
    assert_int_equal(multiply_with(&asked, bytes - 1), DG_STATUS_OK);
    assert_int_equal(asked.times, 1);

    atomic_int *launches = &controls.driver->calls[FAKE_cuLaunchKernelEx];
    const int before = atomic_load(launches);
    asked.memory = NULL;
    assert_int_equal(multiply_with(&asked, 0), DG_STATUS_OUT_OF_MEMORY);
    assert_string_equal(dg_last_error_argument(), "launch.allocate");
    asked.memory = (char *)launch.workspace + 8;
    assert_int_equal(multiply_with(&asked, 0), DG_STATUS_MISALIGNED);
    assert_int_equal(atomic_load(launches), before);
    assert_int_equal(dg_device_free(gpu, launch.workspace), DG_STATUS_OK);
}

int main(void) {
    controls = open_fake_driver();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_with_blocks_of_factors),
        cmocka_unit_test(fp8_with_vectors_of_factors),
        cmocka_unit_test(bf16_dense),
        cmocka_unit_test(rows_in_groups),
        cmocka_unit_test(tokens_in_groups),
        cmocka_unit_test(tokens_to_experts),
        cmocka_unit_test(workspace_of_an_allocator),
    };
    return cmocka_run_group_tests_name("warm_call", tests, set_up, tear_down);
}
