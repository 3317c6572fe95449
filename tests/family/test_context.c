/* SPDX-License-Identifier: MIT
 *
 * Contexts through the public API: options and their inheritance, setters, refusals, destroyed
 * contexts, struct sizes, the last error of each thread, the log hook, the environment table.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "product.h"

static dg_context_options_t options_of(const dg_context_t *ctx) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    expect_ok(dg_context_get_options(ctx, &options));
    return options;
}

/* A product of ones: d[0] = 2. */
static dg_status_t small_gemm(dg_context_t *ctx, float *d) {
    static const uint16_t ones[2] = {0x3F80, 0x3F80};
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(ones, DG_DTYPE_BF16, 1, 2);
    args.b.data = dg_tensor_2d(ones, DG_DTYPE_BF16, 1, 2);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 1, 1);
    return dg_gemm(ctx, &args, NULL);
}

static void test_defaults(void **state) {
    (void)state;
    label("defaults");
    const dg_context_options_t options = options_of(NULL);
    assert_int_equal(options.struct_size, sizeof options);
    assert_int_equal(options.device.type, DG_DEVICE_CPU);
    assert_in_range(options.num_threads, 1, 1024);
    assert_true(dg_cpu_isa_supported(options.cpu_isa));
    assert_int_not_equal(options.cpu_isa, DG_CPU_ISA_AUTO);
    assert_int_equal(options.num_sms, 0); /* all of them */
    assert_in_range(options.tc_util, 1, 100);
    assert_int_not_equal(options.pdl, DG_DEFAULT);
    assert_int_not_equal(options.batch_invariant, DG_DEFAULT);
    assert_int_equal(options.mk_alignment, 128);
    assert_int_equal(options.block_m_multiple, 1);
    assert_int_equal(options.block_n_multiple, 1);
    assert_int_equal(options.group_values, DG_GROUP_VALUES_REFUSE);
    assert_int_equal(options.log_level, DG_LOG_INFO);
    assert_null(options.log);
    assert_null(options.only);
}

static void test_options_are_kept(void **state) {
    (void)state;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_context_t *ctx = NULL;
    label("options");
    options.num_threads = 3;
    options.cpu_isa = DG_CPU_ISA_PORTABLE;
    options.num_sms = 77;
    options.tc_util = 55;
    options.pdl = DG_ON;
    options.batch_invariant = DG_ON;
    options.mk_alignment = 64;
    options.block_m_multiple = 16;
    options.block_n_multiple = 32;
    options.group_values = DG_GROUP_VALUES_CLAMP;
    options.log_level = DG_LOG_DEBUG;
    options.only = "any_gemm BLOCK_M=64 BLOCK_N=64 WIDE=0";
    expect_ok(dg_context_create(&ctx, &options));
    const dg_context_options_t got = options_of(ctx);
    assert_int_equal(got.num_threads, 3);
    assert_int_equal(got.cpu_isa, DG_CPU_ISA_PORTABLE);
    assert_int_equal(got.num_sms, 77);
    assert_int_equal(got.tc_util, 55);
    assert_int_equal(got.pdl, DG_ON);
    assert_int_equal(got.batch_invariant, DG_ON);
    assert_int_equal(got.mk_alignment, 64);
    assert_int_equal(got.block_m_multiple, 16);
    assert_int_equal(got.block_n_multiple, 32);
    assert_int_equal(got.group_values, DG_GROUP_VALUES_CLAMP);
    assert_int_equal(got.log_level, DG_LOG_DEBUG);
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.tc_util = 66;
    expect_ok(dg_context_set_options(ctx, &change));
    assert_int_equal(options_of(ctx).tc_util, 66);
    assert_int_equal(options_of(ctx).num_sms, 77);
    change.tc_util = 12;
    change.mk_alignment = 100; /* no power of two: all or none */
    expect_status(dg_context_set_options(ctx, &change), DG_STATUS_BAD_VALUE);
    assert_string_equal(dg_last_error_argument(), "options.mk_alignment");
    assert_int_equal(options_of(ctx).tc_util, 66);
    assert_ptr_equal(options_of(ctx).only, options.only);
    change = (dg_context_options_t)DG_CONTEXT_OPTIONS_INIT;
    change.only = "any_gemm BLOCK_M=64 BLOCK_N=64";
    expect_status(dg_context_set_options(ctx, &change), DG_STATUS_BAD_VALUE);
    assert_ptr_equal(options_of(ctx).only, options.only);
    change.only = "";
    expect_ok(dg_context_set_options(ctx, &change));
    assert_string_equal(options_of(ctx).only, "");
    expect_ok(dg_context_destroy(ctx));
}

static void test_inheritance(void **state) {
    (void)state;
    dg_context_t *before = NULL, *after = NULL;
    label("inheritance from the default context");
    const int32_t initial = options_of(NULL).tc_util;
    expect_ok(dg_context_create(&before, NULL));
    expect_ok(dg_set_tc_util(NULL, 41));
    expect_ok(dg_context_create(&after, NULL));
    assert_int_equal(options_of(before).tc_util, initial);
    assert_int_equal(options_of(after).tc_util, 41);
    expect_ok(dg_set_tc_util(NULL, 0));
    assert_int_equal(options_of(NULL).tc_util, initial);
    assert_int_equal(options_of(after).tc_util, 41);
    expect_ok(dg_context_destroy(before));
    expect_ok(dg_context_destroy(after));
}

typedef dg_status_t (*setter_t)(dg_context_t *ctx, int32_t value);
typedef dg_status_t (*getter_t)(const dg_context_t *ctx, int32_t *value);

static void test_setters(void **state) {
    (void)state;
    static const struct {
        setter_t set;
        getter_t get;
        int32_t good, bad;
        const char *argument;
    } settings[] = {
        {dg_set_num_sms, dg_get_num_sms, 120, 65536, "num_sms"},
        {dg_set_num_sms, dg_get_num_sms, 1, -1, "num_sms"},
        {dg_set_tc_util, dg_get_tc_util, 100, 101, "percent"},
        {dg_set_tc_util, dg_get_tc_util, 1, -1, "percent"},
        {dg_set_mk_alignment_for_contiguous_layout, dg_get_mk_alignment_for_contiguous_layout, 256,
            3, "alignment"},
        {dg_set_mk_alignment_for_contiguous_layout, dg_get_mk_alignment_for_contiguous_layout,
            65536, 131072, "alignment"},
        {dg_set_pdl, dg_get_pdl, 1, 1, ""},
        {dg_set_batch_invariant, dg_get_batch_invariant, 1, 1, ""},
    };
    dg_context_t *ctx = context_make(2, DG_CPU_ISA_AUTO);
    label("setters");
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        int32_t initial = -5, value = -5;
        expect_ok(settings[i].get(ctx, &initial));
        expect_ok(settings[i].set(ctx, settings[i].good));
        expect_ok(settings[i].get(ctx, &value));
        assert_int_equal(value, settings[i].good);
        if (settings[i].bad != settings[i].good) {
            expect_status(settings[i].set(ctx, settings[i].bad), DG_STATUS_BAD_VALUE);
            assert_string_equal(dg_last_error_argument(), settings[i].argument);
            expect_ok(settings[i].get(ctx, &value));
            assert_int_equal(value, settings[i].good);
        }
        expect_ok(settings[i].set(ctx, 0));
        expect_status(settings[i].get(ctx, NULL), DG_STATUS_NULL_POINTER);
    }
    expect_ok(dg_set_block_size_multiple_of(ctx, 64, 8));
    assert_int_equal(options_of(ctx).block_m_multiple, 64);
    assert_int_equal(options_of(ctx).block_n_multiple, 8);
    expect_status(dg_set_block_size_multiple_of(ctx, 64, 4097), DG_STATUS_BAD_VALUE);
    int32_t alignment = 0;
    expect_ok(dg_get_theoretical_mk_alignment_for_contiguous_layout(ctx, 0, &alignment));
    assert_int_equal(alignment, 128);
    expect_ok(dg_context_destroy(ctx));
}

/* The alignment of the context counts where the groups give none. */
static void test_alignment_in_force(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, 9};
    const m_grouped_case_t test = {.a = bf16_plain(),
        .b = bf16_plain(),
        .d = DG_DTYPE_F32,
        .form = DG_GROUPS_PSUM,
        .alignment = 16};
    dg_context_t *ctx = context_make(1, DG_CPU_ISA_AUTO);
    label("alignment in force");
    expect_ok(dg_set_mk_alignment_for_contiguous_layout(ctx, 16));
    m_grouped_verify(ctx, &test, sizes, 2, 4, 8, 1);
    rng_t rng = rng_make(2);
    const operand_spec_t spec = bf16_plain();
    const operand_t a = operand_make(&rng, &spec, 0, 25, 8);
    const operand_t b = operand_make(&rng, &spec, 2, 1, 8);
    grouping_t grouping = grouping_make(&rng, DG_GROUPS_PSUM, DG_DTYPE_I32, sizes, 2, 0, 16);
    grouping.view.alignment = 0;
    float d[25];
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a = a.view, args.b = b.view, args.groups = grouping.view;
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 25, 1);
    expect_ok(dg_m_grouped_gemm(ctx, &args, NULL));
    for (int64_t i = 0; i < 25; i++) {
        ref_sum_t sum = {0.0, 0.0};
        if (grouping.of_row[i] >= 0) {
            sum = ref_dot(a.value + i * 8, b.value + grouping.of_row[i] * 8, 8);
        }
        ref_judge(JUDGE_BOUND, &args.d, i, sum, i, 0);
    }
    expect_ok(dg_context_destroy(ctx));
}

static void test_refusals(void **state) {
    (void)state;
    dg_context_t *ctx = NULL;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    label("refused options");
    expect_status(dg_context_create(NULL, &options), DG_STATUS_NULL_POINTER);
    options.struct_size = 7;
    expect_status(dg_context_create(&ctx, &options), DG_STATUS_BAD_STRUCT_SIZE);
    expect_status(dg_context_get_options(NULL, &options), DG_STATUS_BAD_STRUCT_SIZE);
    options.struct_size = sizeof options;
    options.num_threads = 1025;
    expect_status(dg_context_create(&ctx, &options), DG_STATUS_BAD_VALUE);
    assert_string_equal(dg_last_error_argument(), "options.num_threads");
    assert_non_null(strstr(dg_last_error(), "1025"));
    options.num_threads = 0;
    options.cpu_isa = (dg_cpu_isa_t)99;
    expect_status(dg_context_create(&ctx, &options), DG_STATUS_BAD_ENUM);
    options.cpu_isa = dg_cpu_isa_supported(DG_CPU_ISA_NEON) ? DG_CPU_ISA_AVX2 : DG_CPU_ISA_NEON;
    expect_status(dg_context_create(&ctx, &options), DG_STATUS_UNSUPPORTED);
    options.cpu_isa = DG_CPU_ISA_AUTO;
    options.pdl = (dg_switch_t)3;
    expect_status(dg_context_create(&ctx, &options), DG_STATUS_BAD_ENUM);
    options.pdl = DG_DEFAULT;
    options.group_values = (dg_group_values_t)-1;
    expect_status(dg_context_create(&ctx, &options), DG_STATUS_BAD_ENUM);
    assert_null(ctx);
    float d = 99.0F;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.struct_size = 1;
    expect_status(dg_gemm(NULL, &args, NULL), DG_STATUS_BAD_STRUCT_SIZE);
    expect_status(dg_gemm(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_true(d == 99.0F);
}

static void test_destroyed_context(void **state) {
    (void)state;
    float d = 99.0F;
    int32_t value = 0;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    label("destroyed context");
    expect_ok(dg_context_destroy(NULL));
    dg_context_t *ctx = context_make(2, DG_CPU_ISA_AUTO);
    expect_ok(small_gemm(ctx, &d));
    assert_true(d == 2.0F);
    expect_ok(dg_context_destroy(ctx));
    d = 99.0F;
    expect_status(small_gemm(ctx, &d), DG_STATUS_BAD_CONTEXT);
    assert_true(d == 99.0F);
    expect_status(dg_context_destroy(ctx), DG_STATUS_BAD_CONTEXT);
    expect_status(dg_context_get_options(ctx, &options), DG_STATUS_BAD_CONTEXT);
    expect_status(dg_context_set_options(ctx, &options), DG_STATUS_BAD_CONTEXT);
    expect_status(dg_get_num_sms(ctx, &value), DG_STATUS_BAD_CONTEXT);
    expect_status(dg_set_num_sms(ctx, 3), DG_STATUS_BAD_CONTEXT);
    for (int i = 0; i < 50; i++) { /* its address is not handed out again */
        dg_context_t *next = context_make(1, DG_CPU_ISA_AUTO);
        assert_ptr_not_equal(next, ctx);
        expect_ok(dg_context_destroy(next));
    }
}

static void *fail_otherwise(void *unused) {
    (void)unused;
    const char *empty = dg_last_error();
    if (empty[0] != 0 || dg_last_error_argument()[0] != 0) return (void *)1;
    dg_set_tc_util(NULL, 1000);
    return strstr(dg_last_error(), "1000") == NULL ? (void *)2 : NULL;
}

static void test_last_error_is_of_the_thread(void **state) {
    (void)state;
    char before[1024];
    pthread_t thread;
    void *result = NULL;
    float d = 0.0F;
    label("last error");
    expect_status(dg_set_num_sms(NULL, -12345), DG_STATUS_BAD_VALUE);
    assert_non_null(strstr(dg_last_error(), "-12345"));
    strncpy(before, dg_last_error(), sizeof before - 1);
    before[sizeof before - 1] = 0;
    assert_int_equal(pthread_create(&thread, NULL, fail_otherwise, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    expect_ok(small_gemm(NULL, &d)); /* a success leaves the message */
    assert_string_equal(dg_last_error(), before);
    expect_status(dg_set_tc_util(NULL, 777), DG_STATUS_BAD_VALUE);
    assert_string_not_equal(dg_last_error(), before);
}

typedef struct log_count_t {
    int lines[4];
    int bad; /* lines with a newline, or empty */
} log_count_t;

static void count_line(void *user, dg_log_level_t level, const char *line) {
    log_count_t *count = user;
    count->lines[level]++;
    count->bad += line == NULL || line[0] == 0 || strchr(line, '\n') != NULL;
}

static void test_log(void **state) {
    (void)state;
    for (int level = DG_LOG_ERROR; level <= DG_LOG_DEBUG; level++) {
        log_count_t count = {{0, 0, 0, 0}, 0};
        dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
        dg_context_t *ctx = NULL;
        float d = 0.0F;
        label("log level %d", level);
        options.log = count_line;
        options.log_user = &count;
        options.log_level = (dg_log_level_t)level;
        expect_ok(dg_context_create(&ctx, &options));
        assert_true(options_of(ctx).log == count_line);
        for (int i = 0; i < 3; i++) expect_ok(small_gemm(ctx, &d));
        if (level == DG_LOG_DEBUG) assert_int_equal(count.lines[DG_LOG_DEBUG], 3);
        assert_int_equal(count.lines[DG_LOG_ERROR], 0);
        assert_int_equal(count.lines[DG_LOG_INFO], level >= DG_LOG_INFO); /* once, of threads */
        dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
        expect_status(dg_gemm(ctx, &args, NULL), DG_STATUS_NULL_POINTER);
        assert_int_equal(count.lines[DG_LOG_ERROR], 1);
        for (int above = level + 1; above <= DG_LOG_DEBUG; above++) {
            assert_int_equal(count.lines[above], 0);
        }
        assert_int_equal(count.bad, 0);
        expect_ok(dg_context_destroy(ctx));
    }
}

static void test_environment_table(void **state) {
    (void)state;
    label("environment table");
    dg_env_entry_t entry;
    int32_t count = 0;
    while (dg_env_entry(count, &entry) == DG_STATUS_OK) {
        assert_int_equal(strncmp(entry.name, "DG_", 3), 0);
        assert_true(entry.meaning != NULL && entry.meaning[0] != 0);
        assert_non_null(entry.initial);
        count++;
    }
    assert_true(count > 0);
    expect_status(dg_env_entry(count, &entry), DG_STATUS_BAD_VALUE);
    expect_status(dg_env_entry(-1, &entry), DG_STATUS_BAD_VALUE);
    expect_status(dg_env_entry(0, NULL), DG_STATUS_NULL_POINTER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_options_are_kept),
        cmocka_unit_test(test_inheritance),
        cmocka_unit_test(test_setters),
        cmocka_unit_test_teardown(test_alignment_in_force, guard_teardown),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_destroyed_context),
        cmocka_unit_test(test_last_error_is_of_the_thread),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_environment_table),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
