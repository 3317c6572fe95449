/* SPDX-License-Identifier: MIT
 *
 * Contractions, gaps in heads and the product in front of a hyper-connection's norm on a device of
 * the fake driver: a prepared call launches nothing and has everything ready, workspace is asked
 * for once, a warm call asks for no memory, takes no lock and formats no text, and the number of
 * launches is what it should be. Skipped in a build without kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counters.h"
#include "deep_gemm/deep_gemm.h"
#include "fake_driver.h"

enum { M = 64, N = 256, K = 384, HEADS = 4, BUFFER_BYTES = 1 << 20, CALLS = 20 };

static const dg_device_t gpu = {DG_DEVICE_CUDA, 0};
static fake_controls_t controls;
static void *buffers[6]; /* of the device, BUFFER_BYTES each */

/* An entry point and its query, with the type of arguments left open. */
typedef dg_status_t call_fn(const void *args, const dg_launch_t *launch);

typedef struct asked_t {
    void *memory;
    size_t bytes;
    int times;
} asked_t;

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) {
        if (dg_device_alloc(gpu, BUFFER_BYTES, &buffers[i]) != DG_STATUS_OK) return 1;
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) dg_device_free(gpu, buffers[i]);
    return 0;
}

static dg_tensor_t on_gpu(dg_tensor_t tensor) {
    tensor.device = gpu;
    return tensor;
}

static void *give(void *user, size_t bytes) {
    asked_t *asked = user;
    asked->bytes = bytes;
    asked->times++;
    return asked->memory;
}

/* workspace: of the query; launches: of one call */
static void check(call_fn *call, const void *args, size_t workspace, int launches) {
    atomic_int *launched = &controls.driver->calls[FAKE_cuLaunchKernelEx];
    asked_t asked = {.memory = buffers[5]};
    dg_launch_t launch = DG_LAUNCH_INIT;
    assert_in_range(workspace, 0, BUFFER_BYTES);
    launch.allocate = give;
    launch.allocate_user = &asked;
    launch.prepare = 1;
    int before = atomic_load(launched);
    const dg_status_t status = call(args, &launch);
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_COMPILER) {
        print_message("skipped: %s\n", dg_last_error());
        skip();
    }
    if (status != DG_STATUS_OK) print_error("%s\n", dg_last_error());
    assert_int_equal(status, DG_STATUS_OK);
    assert_int_equal(atomic_load(launched), before);
    assert_int_equal(asked.times, 0);
    launch.prepare = 0;
    assert_int_equal(call(args, &launch), DG_STATUS_OK);
    assert_int_equal(atomic_load(launched), before + launches);
    assert_int_equal(asked.times, workspace > 0);
    if (workspace > 0) assert_int_equal(asked.bytes, workspace);
    before = atomic_load(launched);
    counters = (counters_t){0};
    for (int i = 0; i < CALLS; i++) assert_int_equal(call(args, &launch), DG_STATUS_OK);
    assert_int_equal(atomic_load(launched), before + CALLS * launches);
    assert_int_equal(counters.requests, 0);
    assert_int_equal(counters.locks, 0);
    assert_int_equal(counters.lookups, 0);
    assert_int_equal(counters.texts, 0);
}

static dg_status_t contract(const void *args, const dg_launch_t *launch) {
    return dg_einsum(NULL, args, launch);
}

static dg_status_t leave_gaps(const void *args, const dg_launch_t *launch) {
    return dg_gemm_skip_head_mid(NULL, args, launch);
}

static dg_status_t multiply_before_norm(const void *args, const dg_launch_t *launch) {
    return dg_tf32_hc_prenorm_gemm(NULL, args, launch);
}

/* One number to workspace, the list of tiles, the product. */
static void a_product_for_each_head(void **state) {
    (void)state;
    size_t bytes = 0;
    dg_einsum_args_t args = DG_EINSUM_ARGS_INIT;
    args.expression = DG_EINSUM_BHR_HDR_BHD;
    args.a.data = on_gpu(dg_tensor_3d(buffers[0], DG_DTYPE_BF16, M, HEADS, K));
    args.b.data = on_gpu(dg_tensor_3d(buffers[1], DG_DTYPE_BF16, HEADS, N, K));
    args.d = on_gpu(dg_tensor_3d(buffers[2], DG_DTYPE_BF16, M, HEADS, N));
    assert_int_equal(dg_einsum_workspace(NULL, &args, &bytes), DG_STATUS_OK);
    assert_true(bytes > 0);
    check(contract, &args, bytes, 3);
}

/* However many products: one number, the list of segments, their sum. */
static void a_sum_of_products(void **state) {
    (void)state;
    size_t bytes = 0;
    dg_einsum_args_t args = DG_EINSUM_ARGS_INIT;
    args.expression = DG_EINSUM_BMK_BNK_MN;
    args.a.data = on_gpu(dg_tensor_3d(buffers[0], DG_DTYPE_BF16, 1000, 8, 16));
    args.b.data = on_gpu(dg_tensor_3d(buffers[1], DG_DTYPE_BF16, 1000, 24, 16));
    args.d = on_gpu(dg_tensor_2d(buffers[2], DG_DTYPE_F32, 8, 24));
    assert_int_equal(dg_einsum_workspace(NULL, &args, &bytes), DG_STATUS_OK);
    check(contract, &args, bytes, 3);
}

static void run_gaps(int32_t left, int32_t right, int launches) {
    size_t bytes = 0;
    dg_gemm_skip_head_mid_args_t args = DG_GEMM_SKIP_HEAD_MID_ARGS_INIT;
    const int64_t n = HEADS * (left + right);
    args.a.data = on_gpu(dg_tensor_2d(buffers[0], DG_DTYPE_E4M3, M, K));
    args.a.scale = on_gpu(dg_tensor_2d(buffers[3], DG_DTYPE_F32, M, K / 128));
    args.a.gran_mn = 1, args.a.gran_k = 128;
    args.b.data = on_gpu(dg_tensor_2d(buffers[1], DG_DTYPE_E4M3, n, K));
    args.b.scale = on_gpu(dg_tensor_2d(buffers[4], DG_DTYPE_F32, (n + 127) / 128, K / 128));
    args.b.gran_mn = 128, args.b.gran_k = 128;
    args.d = on_gpu(dg_tensor_2d(buffers[2], DG_DTYPE_BF16, M, n + HEADS * 64));
    args.left = left, args.mid = 64, args.right = right;
    assert_int_equal(dg_gemm_skip_head_mid_workspace(NULL, &args, &bytes), DG_STATUS_OK);
    check(leave_gaps, &args, bytes, launches);
}

/* Two batches of three launches; or a product for each part, those that cross a block in two. */
static void gaps_in_heads(void **state) {
    (void)state;
    run_gaps(128, 128, 6);
    run_gaps(64, 64, 8);
    run_gaps(96, 32, 8);
    run_gaps(100, 20, 11);
}

/* The product, and the sum of its slices. */
static void a_product_before_a_norm(void **state) {
    (void)state;
    size_t bytes = 0;
    dg_tf32_hc_prenorm_gemm_args_t args = DG_TF32_HC_PRENORM_GEMM_ARGS_INIT;
    args.a = on_gpu(dg_tensor_2d(buffers[0], DG_DTYPE_BF16, M, 4096));
    args.b = on_gpu(dg_tensor_2d(buffers[1], DG_DTYPE_F32, 24, 4096));
    args.d = on_gpu(dg_tensor_2d(buffers[2], DG_DTYPE_F32, M, 24));
    args.sqr_sum = on_gpu(dg_tensor_1d(buffers[3], DG_DTYPE_F32, M));
    assert_int_equal(dg_tf32_hc_prenorm_gemm_workspace(NULL, &args, &bytes), DG_STATUS_OK);
    assert_true(bytes > 0);
    check(multiply_before_norm, &args, bytes, 2);
    args.d = on_gpu(dg_tensor_3d(buffers[2], DG_DTYPE_F32, 3, M, 24));
    args.sqr_sum = on_gpu(dg_tensor_2d(buffers[3], DG_DTYPE_F32, 3, M));
    assert_int_equal(dg_tf32_hc_prenorm_gemm_workspace(NULL, &args, &bytes), DG_STATUS_OK);
    assert_int_equal(bytes, 0);
    check(multiply_before_norm, &args, 0, 1);
    args.a.stride[0] = 4097;
    assert_int_equal(dg_tf32_hc_prenorm_gemm(NULL, &args, NULL), DG_STATUS_BAD_STRIDE);
    args.a.stride[0] = 4096;
    args.b.data = (char *)buffers[1] + 4;
    assert_int_equal(dg_tf32_hc_prenorm_gemm(NULL, &args, NULL), DG_STATUS_MISALIGNED);
}

static dg_status_t score(const void *args, const dg_launch_t *launch) {
    return dg_mqa_logits(NULL, args, launch);
}

/* In whatever context of the caller: its maps need one. Heads that no line of the catalogue has run in
 * the next larger one; tokens backwards, which TMA does not step, in the general kernel. */
static void scores(void **state) {
    (void)state;
    for (int32_t heads = 3; heads <= 64; heads += 61) {
        dg_mqa_logits_args_t args = DG_MQA_LOGITS_ARGS_INIT;
        args.q = on_gpu(dg_tensor_3d(buffers[0], DG_DTYPE_E4M3, 4, heads, 128));
        args.kv = on_gpu(dg_tensor_2d(buffers[1], DG_DTYPE_E4M3, 256, 128));
        args.kv_scale = on_gpu(dg_tensor_1d(buffers[2], DG_DTYPE_F32, 256));
        args.weights = on_gpu(dg_tensor_2d(buffers[3], DG_DTYPE_F32, 4, heads));
        args.ends = on_gpu(dg_tensor_1d((char *)buffers[3] + 4096, DG_DTYPE_I32, 4));
        args.logits = on_gpu(dg_tensor_2d(buffers[4], DG_DTYPE_F32, 4, 256));
        for (int32_t context = -1; context <= 1; context++) { /* none, this device's, another's */
            controls.set_context(context);
            check(score, &args, 0, 1);
            assert_string_equal(controls.driver->launch.kernel, "dg_sm90_fp8_mqa_logits");
        }
        args.kv.data = (char *)buffers[1] + 255 * 128;
        args.kv.stride[0] = -128;
        check(score, &args, 0, 1);
        assert_string_equal(controls.driver->launch.kernel, "dg_any_mqa_logits");
    }
}

int main(void) {
    controls = open_fake_driver();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_for_each_head),
        cmocka_unit_test(a_sum_of_products),
        cmocka_unit_test(gaps_in_heads),
        cmocka_unit_test(a_product_before_a_norm),
        cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests_name("warm_expressions", tests, set_up, tear_down);
}
