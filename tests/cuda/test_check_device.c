/* SPDX-License-Identifier: MIT
 *
 * check_device (DG_CHECK_DEVICE) on a device of the fake driver: group values and lists of rows in
 * device memory are refused as those of the host are, nothing is launched then, and right ones pass.
 * Off, while preparing and under capture nobody waits. What needs a launch is skipped in a build
 * without kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"
#include "fake_driver.h"

enum { ROWS = 300, N = 64, K = 128, GROUPS = 3, BYTES = 1 << 20 };

static const dg_device_t gpu = {DG_DEVICE_CUDA, 0};
static fake_controls_t controls;
static void *memory, *values, *list; /* of the device, whose memory is memory of the host */
static dg_context_t *ctx;

static dg_tensor_t on_gpu(dg_tensor_t tensor) {
    tensor.device = gpu;
    return tensor;
}

static int set_up(void **state) {
    (void)state;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.check_device = DG_ON;
    if (dg_context_create(&ctx, &options) != DG_STATUS_OK) return 1;
    if (dg_device_alloc(gpu, BYTES, &memory) != DG_STATUS_OK) return 1;
    if (dg_device_alloc(gpu, BYTES, &values) != DG_STATUS_OK) return 1;
    if (dg_device_alloc(gpu, BYTES, &list) != DG_STATUS_OK) return 1;
    for (int32_t i = 0; i < ROWS; i++) ((int32_t *)list)[i] = ROWS - 1 - i;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    dg_device_free(gpu, memory);
    dg_device_free(gpu, values);
    dg_device_free(gpu, list);
    return dg_context_destroy(ctx) != DG_STATUS_OK;
}

static dg_m_grouped_gemm_args_t rows_in_groups(dg_group_form_t form, int64_t count) {
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = on_gpu(dg_tensor_2d(memory, DG_DTYPE_BF16, ROWS, K));
    args.b.data = on_gpu(dg_tensor_3d((char *)memory + 100000, DG_DTYPE_BF16, GROUPS, N, K));
    args.d = on_gpu(dg_tensor_2d((char *)memory + 200000, DG_DTYPE_BF16, ROWS, N));
    args.groups.form = form;
    args.groups.values = on_gpu(dg_tensor_1d(values, DG_DTYPE_I32, count));
    return args;
}

static dg_k_grouped_gemm_args_t tokens_in_groups(void) {
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a.form = args.b.form = DG_K_TOKENS_FIRST;
    args.a.data = on_gpu(dg_tensor_2d(memory, DG_DTYPE_BF16, ROWS, N));
    args.b.data = on_gpu(dg_tensor_2d((char *)memory + 100000, DG_DTYPE_BF16, ROWS, N));
    args.d = on_gpu(dg_tensor_3d((char *)memory + 200000, DG_DTYPE_F32, GROUPS, N, N));
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = on_gpu(dg_tensor_1d(values, DG_DTYPE_I32, GROUPS));
    return args;
}

static dg_launch_t everything(void) {
    dg_launch_t launch = DG_LAUNCH_INIT;
    launch.workspace = (char *)memory + BYTES / 2;
    launch.workspace_size = BYTES / 2;
    return launch;
}

static void set_values(int32_t first, int32_t second, int32_t third) {
    const int32_t three[GROUPS] = {first, second, third};
    memcpy(values, three, sizeof three);
}

static int launches(void) {
    return atomic_load(&controls.driver->calls[FAKE_cuLaunchKernelEx]);
}

static int waits(void) {
    return atomic_load(&controls.driver->calls[FAKE_cuStreamSynchronize]);
}

/* The call was refused under the name of `argument`, the message has `text`, nothing was launched. */
static void check_refused(dg_status_t status, int before, const char *argument, const char *text) {
    assert_int_equal(status, DG_STATUS_BAD_VALUE);
    assert_string_equal(dg_last_error_argument(), argument);
    assert_non_null(strstr(dg_last_error(), text));
    assert_int_equal(launches(), before);
}

static void check_accepted(dg_status_t status, int before) {
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_COMPILER) skip();
    assert_int_equal(status, DG_STATUS_OK);
    assert_true(launches() > before);
}

static void rows_of_groups(void **state) {
    (void)state;
    const dg_launch_t launch = everything();
    dg_m_grouped_gemm_args_t args = rows_in_groups(DG_GROUPS_OFFSETS, GROUPS);
    const int before = launches();
    set_values(100, 90, 300);
    check_refused(dg_m_grouped_gemm(ctx, &args, &launch), before, "groups.values", "entry 1 is 90");
    set_values(100, 200, 301);
    check_refused(
        dg_m_grouped_gemm(ctx, &args, &launch), before, "groups.values", "entry 2 is 301");
    set_values(100, 100, 299);
    check_accepted(dg_m_grouped_gemm(ctx, &args, &launch), before);
}

static void group_of_each_row(void **state) {
    (void)state;
    const dg_launch_t launch = everything();
    const dg_m_grouped_gemm_args_t args = rows_in_groups(DG_GROUPS_INDEX, ROWS);
    int32_t *index = values;
    for (int32_t i = 0; i < ROWS; i++) index[i] = i % (GROUPS + 1) - 1; /* -1: of no group */
    index[271] = GROUPS;
    const int before = launches();
    check_refused(
        dg_m_grouped_gemm(ctx, &args, &launch), before, "groups.values", "entry 271 is 3");
    index[271] = -7;
    check_accepted(dg_m_grouped_gemm(ctx, &args, &launch), before);
}

static void gathered_rows(void **state) {
    (void)state;
    const dg_launch_t launch = everything();
    dg_m_grouped_gemm_args_t args = rows_in_groups(DG_GROUPS_SIZES, GROUPS);
    args.a_rows = on_gpu(dg_tensor_1d(list, DG_DTYPE_I32, ROWS));
    set_values(0, ROWS - 1, 0);
    int32_t *rows = list;
    const int before = launches();
    rows[5] = ROWS;
    check_refused(dg_m_grouped_gemm(ctx, &args, &launch), before, "a_rows", "entry 5 is 300");
    rows[5] = 0;
    rows[ROWS - 1] = ROWS; /* of no group: nobody reads it */
    check_accepted(dg_m_grouped_gemm(ctx, &args, &launch), before);
    rows[ROWS - 1] = 0;
}

static void tokens_of_groups(void **state) {
    (void)state;
    const dg_launch_t launch = everything();
    dg_k_grouped_gemm_args_t args = tokens_in_groups();
    const int before = launches();
    set_values(100, -1, 200);
    check_refused(dg_k_grouped_gemm(ctx, &args, &launch), before, "groups.values", "entry 1 is -1");
    set_values(100, 100, 101);
    check_refused(
        dg_k_grouped_gemm(ctx, &args, &launch), before, "groups.values", "entry 2 is 101");
    args.b.rows = on_gpu(dg_tensor_1d(list, DG_DTYPE_I32, ROWS));
    ((int32_t *)list)[299] = 1000;
    set_values(100, 100, 100);
    check_refused(dg_k_grouped_gemm(ctx, &args, &launch), before, "b.rows", "entry 299 is 1000");
    ((int32_t *)list)[299] = 0;
    check_accepted(dg_k_grouped_gemm(ctx, &args, &launch), before);
}

/* Values with a stride, 64 bits wide. */
static void values_that_lie_apart(void **state) {
    (void)state;
    const dg_launch_t launch = everything();
    dg_k_grouped_gemm_args_t args = tokens_in_groups();
    args.groups.values = on_gpu(dg_tensor_1d(values, DG_DTYPE_I64, GROUPS));
    args.groups.values.stride[0] = 2;
    const int64_t apart[] = {100, -5, 200, -5, 1};
    memcpy(values, apart, sizeof apart);
    const int before = launches();
    check_refused(dg_k_grouped_gemm(ctx, &args, &launch), before, "groups.values", "entry 2 is 1");
    ((int64_t *)values)[4] = 0;
    check_accepted(dg_k_grouped_gemm(ctx, &args, &launch), before);
}

static void groups_of_a_cast(void **state) {
    (void)state;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = on_gpu(dg_tensor_2d(memory, DG_DTYPE_BF16, ROWS, K));
    args.out[0].data = on_gpu(dg_tensor_2d((char *)memory + 100000, DG_DTYPE_E4M3, ROWS, K));
    args.out[0].scale = on_gpu(dg_tensor_2d((char *)memory + 200000, DG_DTYPE_F32, 5, K));
    args.out[0].gran[0] = 128;
    args.out[0].gran[1] = 1;
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = on_gpu(dg_tensor_1d(values, DG_DTYPE_I32, GROUPS));
    const int before = launches();
    set_values(100, 300, 0);
    check_refused(dg_quantize(ctx, &args, NULL), before, "groups.values", "entry 1 is 300");
    set_values(129, 42, 129); /* 2 + 1 + 2 rows of factors */
    check_accepted(dg_quantize(ctx, &args, NULL), before);
    set_values(129, 1, 170);
    args.out[0].scale.shape[0] = 4;
    const int after = launches();
    assert_int_equal(dg_quantize(ctx, &args, NULL), DG_STATUS_BAD_SCALE);
    assert_int_equal(launches(), after);
}

static void nobody_waits_unasked(void **state) {
    (void)state;
    dg_launch_t launch = everything();
    dg_k_grouped_gemm_args_t args = tokens_in_groups();
    assert_int_equal(dg_stream_create(gpu, &launch.stream), DG_STATUS_OK);
    set_values(1000, -1, 0); /* clamped by the kernels */
    const int before = launches(), waited = waits();
    check_accepted(dg_k_grouped_gemm(NULL, &args, &launch), before);
    launch.prepare = 1;
    assert_int_equal(dg_k_grouped_gemm(ctx, &args, &launch), DG_STATUS_OK);
    launch.prepare = 0;
    controls.driver->capturing = true;
    assert_int_equal(dg_k_grouped_gemm(ctx, &args, &launch), DG_STATUS_OK);
    controls.driver->capturing = false;
    assert_int_equal(waits(), waited);
    assert_int_equal(dg_k_grouped_gemm(ctx, &args, &launch), DG_STATUS_BAD_VALUE);
    assert_int_equal(waits(), waited + 1);
    assert_int_equal(dg_stream_destroy(gpu, launch.stream), DG_STATUS_OK);
}

static void context_of_a_gpu(void **state) {
    (void)state;
    dg_context_t *other;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.device = (dg_device_t){DG_DEVICE_CUDA, 1};
    assert_int_equal(dg_context_create(&other, &options), DG_STATUS_OK);
    assert_int_equal(dg_context_get_options(other, &options), DG_STATUS_OK);
    assert_int_equal(options.device.type, DG_DEVICE_CUDA);
    assert_int_equal(options.device.id, 1);
    assert_int_equal(dg_context_destroy(other), DG_STATUS_OK);
    options.device.id = 99;
    assert_int_equal(dg_context_create(&other, &options), DG_STATUS_BAD_DEVICE);
}

static void ids_and_rows_of_slots(void **state) {
    (void)state;
    const int before = launches();
    char *lists = list;
    int32_t *ids = memory, *rows = values;
    dg_route_tokens_args_t route = DG_ROUTE_TOKENS_ARGS_INIT;
    route.ids = on_gpu(dg_tensor_2d(ids, DG_DTYPE_I32, 2, 2));
    route.rows = on_gpu(dg_tensor_2d(lists + 40000, DG_DTYPE_I32, 2, 2));
    route.counts = on_gpu(dg_tensor_1d(lists + 50000, DG_DTYPE_I32, GROUPS));
    route.ends = on_gpu(dg_tensor_1d(lists + 60000, DG_DTYPE_I32, GROUPS));
    route.sources = on_gpu(dg_tensor_1d(lists + 70000, DG_DTYPE_I32, 4));
    ids[0] = 0, ids[1] = -1, ids[2] = 2, ids[3] = GROUPS;
    check_refused(dg_route_tokens(ctx, &route, NULL), before, "ids", "entry [1, 1] is 3");
    dg_unpermute_rows_args_t back = DG_UNPERMUTE_ROWS_ARGS_INIT;
    back.x = on_gpu(dg_tensor_2d((char *)memory + 100000, DG_DTYPE_F32, 5, N));
    back.rows = on_gpu(dg_tensor_2d(rows, DG_DTYPE_I32, 2, 2));
    back.out = on_gpu(dg_tensor_2d((char *)memory + 200000, DG_DTYPE_F32, 2, N));
    rows[0] = 4, rows[1] = 5, rows[2] = rows[3] = -1;
    check_refused(dg_unpermute_rows(ctx, &back, NULL), before, "rows", "entry [0, 1] is 5");
    ids[3] = rows[1] = 1;
    check_accepted(dg_route_tokens(ctx, &route, NULL), before);
    check_accepted(dg_unpermute_rows(ctx, &back, NULL), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_groups),
        cmocka_unit_test(group_of_each_row),
        cmocka_unit_test(gathered_rows),
        cmocka_unit_test(tokens_of_groups),
        cmocka_unit_test(values_that_lie_apart),
        cmocka_unit_test(groups_of_a_cast),
        cmocka_unit_test(nobody_waits_unasked),
        cmocka_unit_test(context_of_a_gpu),
        cmocka_unit_test(ids_and_rows_of_slots),
    };
    controls = open_fake_driver();
    return cmocka_run_group_tests_name("check_device", tests, set_up, tear_down);
}
