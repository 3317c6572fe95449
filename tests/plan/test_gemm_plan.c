/* SPDX-License-Identifier: MIT
 *
 * Plans through the public API: without memory and without a GPU they are those of the planner,
 * refusals name what is wrong, candidates and runner-up agree with the plan, and the kernels of a
 * range are those of its members.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

static const dg_plan_query_t h200 = {sizeof(dg_plan_query_t), "H200", NULL, NULL, NULL};

/* FP8 with 1 x 128 factors on a, M-major and aligned, and 128 x 128 on b; no memory. */
static dg_gemm_args_t make_args(int64_t m, int64_t n, int64_t k) {
    const int64_t blocks = (k + 127) / 128;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(NULL, DG_DTYPE_E4M3, m, k);
    args.a.scale = dg_tensor_2d(NULL, DG_DTYPE_F32, m, blocks);
    args.a.scale.stride[0] = 1;
    args.a.scale.stride[1] = (m + 3) / 4 * 4;
    args.a.gran_mn = 1, args.a.gran_k = 128;
    args.b.data = dg_tensor_2d(NULL, DG_DTYPE_E4M3, n, k);
    args.b.scale = dg_tensor_2d(NULL, DG_DTYPE_F32, (n + 127) / 128, blocks);
    args.b.gran_mn = 128, args.b.gran_k = 128;
    args.d = dg_tensor_2d(NULL, DG_DTYPE_BF16, m, n);
    return args;
}

static void plans_without_memory(void **state) {
    const dg_gemm_args_t args = make_args(4096, 7168, 2048);
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    (void)state;
    assert_int_equal(dg_gemm_plan(NULL, &args, &h200, &info), DG_STATUS_OK);
    assert_string_equal(info.machine, "H200");
    assert_string_equal(info.kernel, "sm90_fp8_gemm_block");
    assert_int_equal(info.stage_count, 1);
    assert_int_equal(strncmp(info.stage[0].specialisation, "sm90_fp8_gemm_block BLOCK_M=", 28), 0);
    assert_true(info.stage[0].grid > 0 && info.stage[0].grid <= 132);
    assert_true(info.us > 50 && info.us < 200);
    assert_true(info.runner_up_us >= info.us);
    assert_string_not_equal(info.runner_up, info.stage[0].specialisation);
    assert_null(args.a.data.data);
}

static void plans_other_families(void **state) {
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    dg_m_grouped_gemm_args_t m = DG_M_GROUPED_GEMM_ARGS_INIT;
    dg_k_grouped_gemm_args_t k = DG_K_GROUPED_GEMM_ARGS_INIT;
    (void)state;
    m.a.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 1000, 512);
    m.b.data = dg_tensor_3d(NULL, DG_DTYPE_BF16, 8, 256, 512);
    m.d = dg_tensor_2d(NULL, DG_DTYPE_BF16, 1000, 256);
    m.groups.form = DG_GROUPS_SIZES;
    m.groups.values = dg_tensor_1d(NULL, DG_DTYPE_I32, 8);
    assert_int_equal(dg_m_grouped_gemm_plan(NULL, &m, &h200, &info), DG_STATUS_OK);
    assert_non_null(info.kernel);
    assert_string_equal(info.kernel, info.stage[info.stage_count - 1].kernel);
    k.a.form = k.b.form = DG_K_TOKENS_FIRST;
    k.a.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 1000, 512);
    k.b.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 1000, 256);
    k.d = dg_tensor_3d(NULL, DG_DTYPE_F32, 8, 512, 256);
    k.groups = m.groups;
    assert_int_equal(dg_k_grouped_gemm_plan(NULL, &k, &h200, &info), DG_STATUS_OK);
    assert_non_null(info.kernel);
    k.d = dg_tensor_2d(NULL, DG_DTYPE_F32, 512, 256);
    k.output = DG_K_OUTPUT_LIST;
    assert_int_equal(dg_k_grouped_gemm_plan(NULL, &k, &h200, &info), DG_STATUS_OK);
    assert_non_null(info.kernel);
}

static void plans_nothing_for_nothing(void **state) {
    const dg_gemm_args_t args = make_args(0, 128, 128);
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    (void)state;
    assert_int_equal(dg_gemm_plan(NULL, &args, &h200, &info), DG_STATUS_OK);
    assert_null(info.kernel);
    assert_int_equal(info.stage_count, 0);
}

static void refuses(const dg_gemm_args_t *args, const dg_plan_query_t *query, dg_plan_info_t *info,
    dg_status_t status, const char *argument) {
    assert_int_equal(dg_gemm_plan(NULL, args, query, info), status);
    assert_string_equal(dg_last_error_argument(), argument);
}

static void refuses_what_is_wrong(void **state) {
    dg_gemm_args_t args = make_args(128, 128, 128);
    dg_plan_query_t query = h200;
    dg_plan_info_t info = DG_PLAN_INFO_INIT, kept = info;
    (void)state;
    refuses(NULL, &h200, &info, DG_STATUS_NULL_POINTER, "args");
    refuses(&args, &h200, NULL, DG_STATUS_NULL_POINTER, "info");
    refuses(&args, NULL, &info, DG_STATUS_BAD_DEVICE, "query.machine");
    query.machine = "H2000";
    refuses(&args, &query, &info, DG_STATUS_BAD_VALUE, "query.machine");
    query = h200;
    query.only = "sm90_fp8_gemm_block BLOCK_M=256";
    refuses(&args, &query, &info, DG_STATUS_BAD_VALUE, "specialisation");
    query = h200;
    query.struct_size = 1;
    refuses(&args, &query, &info, DG_STATUS_BAD_STRUCT_SIZE, "query.struct_size");
    args.b.data.shape[1] = 127;
    refuses(&args, &h200, &info, DG_STATUS_BAD_SHAPE, "b.data");
    args = make_args(128, 128, 128);
    args.a.gran_k = 7;
    refuses(&args, &h200, &info, DG_STATUS_BAD_VALUE, "a.gran_k");
    assert_memory_equal(&info, &kept, sizeof info);
}

typedef struct seen_t {
    int count, refused;
    double best;
    char best_text[DG_PLAN_TEXT];
} seen_t;

static void see(void *user, const dg_plan_candidate_t *candidate) {
    seen_t *seen = user;
    seen->count++;
    assert_non_null(candidate->kernel);
    if (candidate->refusal != NULL) {
        seen->refused++;
        return;
    }
    assert_non_null(candidate->specialisation);
    if (seen->best > 0 && candidate->us >= seen->best) return;
    seen->best = candidate->us;
    snprintf(seen->best_text, sizeof seen->best_text, "%s", candidate->specialisation);
}

static void tells_all_candidates(void **state) {
    const dg_gemm_args_t args = make_args(4096, 7168, 512);
    seen_t seen = {0};
    dg_plan_query_t query = h200;
    dg_plan_info_t info = DG_PLAN_INFO_INIT, again = DG_PLAN_INFO_INIT;
    (void)state;
    query.candidate = see;
    query.user = &seen;
    assert_int_equal(dg_gemm_plan(NULL, &args, &query, &info), DG_STATUS_OK);
    assert_true(seen.count > 5 && seen.refused > 0);
    assert_string_equal(seen.best_text, info.stage[0].specialisation);
    assert_true(seen.best == info.us);
    query = h200;
    query.only = info.runner_up;
    assert_int_equal(dg_gemm_plan(NULL, &args, &query, &again), DG_STATUS_OK);
    assert_string_equal(again.stage[0].specialisation, info.runner_up);
    assert_true(again.us == info.runner_up_us);
    assert_true(again.runner_up_us == 0);
}

static void follows_the_settings(void **state) {
    const dg_gemm_args_t args = make_args(4096, 7168, 2048);
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_plan_info_t all = DG_PLAN_INFO_INIT, half = DG_PLAN_INFO_INIT;
    dg_context_t *ctx;
    (void)state;
    options.num_sms = 67;
    assert_int_equal(dg_context_create(&ctx, &options), DG_STATUS_OK);
    assert_int_equal(dg_gemm_plan(NULL, &args, &h200, &all), DG_STATUS_OK);
    assert_int_equal(dg_gemm_plan(ctx, &args, &h200, &half), DG_STATUS_OK);
    assert_true(half.stage[0].grid <= 67);
    assert_true(half.us > 1.5 * all.us);
    assert_int_equal(dg_context_destroy(ctx), DG_STATUS_OK);
}

typedef struct list_t {
    int count;
    char text[64][DG_PLAN_TEXT];
} list_t;

static void add(void *user, const char *specialisation) {
    list_t *list = user;
    assert_true(list->count < 64);
    for (int i = 0; i < list->count; i++) assert_string_not_equal(list->text[i], specialisation);
    snprintf(list->text[list->count++], DG_PLAN_TEXT, "%s", specialisation);
}

static int holds(const list_t *list, const char *text) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], text) == 0) return 1;
    return 0;
}

static void enumerates_ranges(void **state) {
    const dg_gemm_args_t args = make_args(5000, 2112, 7168);
    dg_plan_request_t request = {&args, NULL, NULL, 1, 5000};
    static list_t list;
    (void)state;
    assert_int_equal(dg_plan_enumerate(NULL, &request, 1, &h200, add, &list), DG_STATUS_OK);
    assert_true(list.count >= 2);
    for (int64_t m = 4; m <= 5000; m += 332) {
        const dg_gemm_args_t one = make_args(m, 2112, 7168);
        dg_plan_info_t info = DG_PLAN_INFO_INIT;
        assert_int_equal(dg_gemm_plan(NULL, &one, &h200, &info), DG_STATUS_OK);
        assert_true(holds(&list, info.stage[0].specialisation));
    }
    request.rows_from = 0;
    assert_int_equal(dg_plan_enumerate(NULL, &request, 1, &h200, add, &list), DG_STATUS_BAD_VALUE);
    request.rows_to = 0;
    request.gemm = NULL;
    assert_int_equal(dg_plan_enumerate(NULL, &request, 1, &h200, add, &list), DG_STATUS_BAD_VALUE);
    assert_int_equal(dg_plan_enumerate(NULL, NULL, 0, &h200, add, &list), DG_STATUS_OK);
}

static void lists_machines(void **state) {
    dg_plan_machine_t machine = {.struct_size = sizeof machine};
    int h200s = 0;
    (void)state;
    for (int32_t i = 0; dg_plan_machine(i, &machine) == DG_STATUS_OK; i++)
        h200s += strcmp(machine.name, "H200") == 0 && machine.sms == 132;
    assert_int_equal(h200s, 1);
    assert_int_equal(dg_plan_machine(-1, &machine), DG_STATUS_BAD_VALUE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_without_memory),
        cmocka_unit_test(plans_other_families),
        cmocka_unit_test(plans_nothing_for_nothing),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(tells_all_candidates),
        cmocka_unit_test(follows_the_settings),
        cmocka_unit_test(enumerates_ranges),
        cmocka_unit_test(lists_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
