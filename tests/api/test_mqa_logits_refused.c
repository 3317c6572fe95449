/* SPDX-License-Identifier: MIT
 *
 * What dg_mqa_logits, dg_paged_mqa_logits and dg_paged_mqa_logits_schedule refuse: with which
 * status, naming which argument, and without a byte of memory changed. Each row is a call that works
 * but for one change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

enum { S = 3, H = 8, D = 64, TOKENS = 40, PAGE = 8, PAGES = 5 };

static struct memory_t {
    _Alignas(256) uint8_t q[S * H * D], kv[TOKENS * (D + 4)];
    uint32_t words[S * H + TOKENS];
    float weights[S * H], logits[S * TOKENS];
    int32_t starts[S], ends[S], table[S * PAGES], schedule[8];
} memory;

/* All three calls, so that a row can change any of them. */
typedef struct calls_t {
    dg_mqa_logits_args_t flat;
    dg_paged_mqa_logits_args_t paged;
    dg_paged_mqa_logits_schedule_args_t schedule;
} calls_t;

static void make_calls(calls_t *calls) {
    *calls = (calls_t){DG_MQA_LOGITS_ARGS_INIT, DG_PAGED_MQA_LOGITS_ARGS_INIT,
        DG_PAGED_MQA_LOGITS_SCHEDULE_ARGS_INIT};
    dg_mqa_logits_args_t *flat = &calls->flat;
    flat->q = dg_tensor_3d(memory.q, DG_DTYPE_E4M3, S, H, D);
    flat->kv = dg_tensor_2d(memory.kv, DG_DTYPE_E4M3, TOKENS, D);
    flat->kv_scale = dg_tensor_1d(memory.words, DG_DTYPE_F32, TOKENS);
    flat->weights = dg_tensor_2d(memory.weights, DG_DTYPE_F32, S, H);
    flat->starts = dg_tensor_1d(memory.starts, DG_DTYPE_I32, S);
    flat->ends = dg_tensor_1d(memory.ends, DG_DTYPE_I32, S);
    flat->logits = dg_tensor_2d(memory.logits, DG_DTYPE_F32, S, TOKENS);
    dg_paged_mqa_logits_args_t *paged = &calls->paged;
    paged->q = dg_tensor_3d(memory.q, DG_DTYPE_E4M3, 1, H, D);
    paged->q.rank = 4;
    const int64_t shape[4] = {S, 1, H, D}, stride[4] = {H * D, H * D, D, 1};
    memcpy(paged->q.shape, shape, sizeof shape);
    memcpy(paged->q.stride, stride, sizeof stride);
    paged->kv_cache = dg_tensor_3d(memory.kv, DG_DTYPE_U8, 1, PAGE, D + 4);
    paged->kv_cache.rank = 4;
    const int64_t cache[4] = {PAGES, PAGE, 1, D + 4}, step[4] = {PAGE * (D + 4), D + 4, 0, 1};
    memcpy(paged->kv_cache.shape, cache, sizeof cache);
    memcpy(paged->kv_cache.stride, step, sizeof step);
    paged->weights = flat->weights;
    paged->context_lens = dg_tensor_2d(memory.ends, DG_DTYPE_I32, S, 1);
    paged->block_table = dg_tensor_2d(memory.table, DG_DTYPE_I32, S, PAGES);
    paged->indices = dg_tensor_1d(memory.starts, DG_DTYPE_I32, S);
    paged->schedule = dg_tensor_2d(memory.schedule, DG_DTYPE_I32, 4, 2);
    paged->logits = flat->logits;
    calls->schedule.context_lens = dg_tensor_2d(memory.ends, DG_DTYPE_I32, S, 1);
    calls->schedule.schedule = paged->schedule;
}

typedef enum family_t { FLAT, PAGED, SCHEDULE } family_t;

typedef struct row_t {
    family_t family;
    dg_status_t status;
    const char *argument;
    struct {
        size_t offset, size;
        int64_t value;
    } change[4];
} row_t;

#define SET(member, v)                                                                             \
    { offsetof(calls_t, member), sizeof(((calls_t *)0)->member), (int64_t)(intptr_t)(v) }
#define CLEAR(member) SET(member, 0)

static const row_t rows[] = {
    {FLAT, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", {SET(flat.struct_size, 8)}},
    {FLAT, DG_STATUS_NULL_POINTER, "q", {CLEAR(flat.q)}},
    {FLAT, DG_STATUS_BAD_DTYPE, "q", {SET(flat.q.dtype, DG_DTYPE_BF16)}},
    {FLAT, DG_STATUS_BAD_RANK, "q", {SET(flat.q.rank, 2)}},
    {FLAT, DG_STATUS_BAD_STRIDE, "q", {SET(flat.q.stride[2], 2)}},
    {FLAT, DG_STATUS_BAD_STRIDE, "q", {CLEAR(flat.q.stride[2])}},
    {FLAT, DG_STATUS_BAD_SHAPE, "q",
        {SET(flat.q.dtype, DG_DTYPE_E2M1X2), SET(flat.q.shape[2], 65)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "q",
        {SET(flat.q.shape[2], 33), SET(flat.kv.shape[1], 16), SET(flat.kv.dtype, DG_DTYPE_E2M1X2)}},
    {FLAT, DG_STATUS_BAD_SCALE, "q_scale", {SET(flat.q.dtype, DG_DTYPE_E2M1X2)}},
    {FLAT, DG_STATUS_BAD_SCALE, "q_scale",
        {SET(flat.q_scale.data, memory.words), SET(flat.q_scale.device.type, DG_DEVICE_CPU),
            SET(flat.q_scale.dtype, DG_DTYPE_I32)}},
    {FLAT, DG_STATUS_NULL_POINTER, "kv", {CLEAR(flat.kv)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "kv", {SET(flat.kv.shape[1], D - 1)}},
    {FLAT, DG_STATUS_BAD_STRIDE, "kv", {SET(flat.kv.stride[1], 3)}},
    {FLAT, DG_STATUS_BAD_STRIDE, "kv", {CLEAR(flat.kv.stride[1])}},
    {FLAT, DG_STATUS_BAD_SHAPE, "kv",
        {SET(flat.kv.shape[1], 65), SET(flat.kv.dtype, DG_DTYPE_E2M1X2),
            SET(flat.q.shape[2], 130)}},
    {FLAT, DG_STATUS_BAD_SCALE, "kv_scale",
        {SET(flat.kv.shape[1], D / 2), SET(flat.kv.dtype, DG_DTYPE_E2M1X2), CLEAR(flat.kv_scale)}},
    {FLAT, DG_STATUS_BAD_DTYPE, "kv_scale", {SET(flat.kv_scale.dtype, DG_DTYPE_I32)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "kv_scale", {SET(flat.kv_scale.shape[0], TOKENS + 1)}},
    {FLAT, DG_STATUS_MISALIGNED, "kv_scale", {SET(flat.kv_scale.data, (char *)memory.words + 2)}},
    {FLAT, DG_STATUS_BAD_DTYPE, "weights", {SET(flat.weights.dtype, DG_DTYPE_I32)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "weights", {SET(flat.weights.shape[1], H - 1)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "starts", {SET(flat.starts.shape[0], S - 1)}},
    {FLAT, DG_STATUS_NULL_POINTER, "ends", {CLEAR(flat.ends)}},
    {FLAT, DG_STATUS_BAD_DTYPE, "ends", {SET(flat.ends.dtype, DG_DTYPE_I64)}},
    {FLAT, DG_STATUS_BAD_ENUM, "clean", {SET(flat.clean, 3)}},
    {FLAT, DG_STATUS_BAD_ENUM, "compressed", {SET(flat.compressed, -1)}},
    {FLAT, DG_STATUS_NULL_POINTER, "logits", {CLEAR(flat.logits)}},
    {FLAT, DG_STATUS_BAD_DTYPE, "logits", {SET(flat.logits.dtype, DG_DTYPE_I32)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "logits", {SET(flat.logits.shape[0], S - 1)}},
    {FLAT, DG_STATUS_BAD_SHAPE, "logits", {SET(flat.logits.shape[1], TOKENS - 1)}},
    {FLAT, DG_STATUS_BAD_STRIDE, "logits", {SET(flat.logits.stride[0], TOKENS - 1)}},
    {FLAT, DG_STATUS_OVERLAP, "logits", {SET(flat.logits.data, memory.weights)}},
    {FLAT, DG_STATUS_BAD_DEVICE, "ends", {SET(flat.ends.device.type, DG_DEVICE_CUDA)}},
    {PAGED, DG_STATUS_BAD_RANK, "q", {SET(paged.q.rank, 3)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "weights", {SET(paged.weights.shape[0], S + 1)}},
    {PAGED, DG_STATUS_BAD_DTYPE, "kv_cache", {SET(paged.kv_cache.dtype, DG_DTYPE_E4M3)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "kv_cache", {SET(paged.kv_cache.shape[3], D)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "kv_cache", {SET(paged.kv_cache.shape[2], 2)}},
    {PAGED, DG_STATUS_BAD_STRIDE, "kv_cache", {SET(paged.kv_cache.stride[1], D + 8)}},
    {PAGED, DG_STATUS_BAD_STRIDE, "kv_cache", {SET(paged.kv_cache.stride[3], 2)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "context_lens", {SET(paged.context_lens.shape[1], 2)}},
    {PAGED, DG_STATUS_BAD_DTYPE, "block_table", {SET(paged.block_table.dtype, DG_DTYPE_F32)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "block_table", {SET(paged.block_table.shape[0], S - 1)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "indices", {SET(paged.indices.shape[0], S - 1)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "indices",
        {SET(paged.q.shape[0], 1), SET(paged.q.shape[1], S), SET(paged.block_table.shape[0], 1)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "schedule", {SET(paged.schedule.shape[1], 1)}},
    {PAGED, DG_STATUS_BAD_ENUM, "clean", {SET(paged.clean, 7)}},
    {PAGED, DG_STATUS_BAD_SHAPE, "logits", {SET(paged.logits.shape[0], S + 1)}},
    {PAGED, DG_STATUS_OVERLAP, "logits", {SET(paged.logits.data, memory.table)}},
    {SCHEDULE, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", {SET(schedule.struct_size, 1)}},
    {SCHEDULE, DG_STATUS_NULL_POINTER, "context_lens", {CLEAR(schedule.context_lens)}},
    {SCHEDULE, DG_STATUS_BAD_RANK, "context_lens", {SET(schedule.context_lens.rank, 3)}},
    {SCHEDULE, DG_STATUS_BAD_SHAPE, "schedule", {SET(schedule.schedule.shape[0], 1)}},
    {SCHEDULE, DG_STATUS_BAD_SHAPE, "schedule", {SET(schedule.schedule.shape[1], 3)}},
    {SCHEDULE, DG_STATUS_OVERLAP, "schedule", {SET(schedule.schedule.data, memory.ends)}},
};

static dg_status_t make_the_call(const calls_t *calls, family_t family) {
    switch (family) {
    case FLAT: return dg_mqa_logits(NULL, &calls->flat, NULL);
    case PAGED: return dg_paged_mqa_logits(NULL, &calls->paged, NULL);
    default: return dg_paged_mqa_logits_schedule(NULL, &calls->schedule, NULL);
    }
}

static void test_unchanged_calls_work(void **state) {
    (void)state;
    calls_t calls;
    make_calls(&calls);
    for (int family = FLAT; family <= SCHEDULE; family++)
        if (make_the_call(&calls, (family_t)family) != DG_STATUS_OK)
            fail_msg("%s", dg_last_error());
    assert_int_equal(dg_mqa_logits(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_paged_mqa_logits(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_paged_mqa_logits_schedule(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const functions[] = {
        "dg_mqa_logits:", "dg_paged_mqa_logits:", "dg_paged_mqa_logits_schedule:"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row_t *row = &rows[i];
        calls_t calls;
        make_calls(&calls);
        for (int c = 0; c < 4 && row->change[c].size > 0; c++) {
            char *at = (char *)&calls + row->change[c].offset;
            const size_t size = row->change[c].size;
            memset(at, 0, size);
            memcpy(at, &row->change[c].value, size < 8 ? size : 8);
        }
        struct memory_t before = memory;
        const dg_status_t status = make_the_call(&calls, row->family);
        if (status != row->status || strcmp(dg_last_error_argument(), row->argument) != 0)
            fail_msg("row %zu: expected %s at %s, got %s: %s", i, dg_status_string(row->status),
                row->argument, dg_status_string(status), dg_last_error());
        const size_t length = strlen(functions[row->family]);
        assert_int_equal(strncmp(dg_last_error(), functions[row->family], length), 0);
        assert_memory_equal(&before, &memory, sizeof memory);
    }
}

/* Without a GPU: no kernel runs, and the message says what is missing. */
static void test_no_gpu(void **state) {
    (void)state;
    calls_t calls;
    make_calls(&calls);
    dg_tensor_t *const tensors[] = {&calls.flat.q, &calls.flat.kv, &calls.flat.kv_scale,
        &calls.flat.weights, &calls.flat.starts, &calls.flat.ends, &calls.flat.logits,
        &calls.schedule.context_lens, &calls.schedule.schedule};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        tensors[i]->device.type = DG_DEVICE_CUDA;
    const struct memory_t before = memory;
    assert_int_equal(make_the_call(&calls, FLAT), DG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(dg_last_error(), "libcuda"));
    assert_int_equal(make_the_call(&calls, SCHEDULE), DG_STATUS_UNSUPPORTED);
    assert_memory_equal(&before, &memory, sizeof memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged_calls_work),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_gpu),
    };
    return cmocka_run_group_tests_name("mqa_logits_refused", tests, NULL, NULL);
}
