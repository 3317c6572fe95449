/* SPDX-License-Identifier: MIT
 *
 * See refusal.h.
 */
#include "refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

memory_t memory;
void *d_list[GROUPS], *d_twice[GROUPS], *d_odd[GROUPS], *d_null[GROUPS];
const void *c_list[GROUPS], *c_odd[GROUPS], *c_null[GROUPS], *c_crossed[GROUPS];

static void make_gemm(dg_gemm_args_t *args) {
    *args = (dg_gemm_args_t)DG_GEMM_ARGS_INIT;
    args->a.data = dg_tensor_2d(memory.a, DG_DTYPE_E4M3, M, K);
    args->a.scale = dg_tensor_2d(memory.scale_a, DG_DTYPE_F32, M, BLOCKS);
    args->a.gran_mn = 1, args->a.gran_k = 128;
    args->b.data = dg_tensor_2d(memory.b, DG_DTYPE_E4M3, N, K);
    args->b.scale = dg_tensor_2d(memory.scale_b, DG_DTYPE_F32, 1, BLOCKS);
    args->b.gran_mn = 128, args->b.gran_k = 128;
    args->c = dg_tensor_2d(memory.c, DG_DTYPE_F32, M, N);
    args->d = dg_tensor_2d(memory.d, DG_DTYPE_F32, M, N);
}

static void make_m_grouped(dg_m_grouped_gemm_args_t *args) {
    *args = (dg_m_grouped_gemm_args_t)DG_M_GROUPED_GEMM_ARGS_INIT;
    args->a.data = dg_tensor_2d(memory.a, DG_DTYPE_E4M3, ROWS, K);
    args->a.scale = dg_tensor_2d(memory.scale_a, DG_DTYPE_F32, ROWS, BLOCKS);
    args->a.gran_mn = 1, args->a.gran_k = 128;
    args->b.data = dg_tensor_3d(memory.b, DG_DTYPE_E4M3, GROUPS, N, K);
    args->b.scale = dg_tensor_3d(memory.scale_b, DG_DTYPE_F32, GROUPS, 1, BLOCKS);
    args->b.gran_mn = 128, args->b.gran_k = 128;
    args->c = dg_tensor_2d(memory.c, DG_DTYPE_F32, ROWS, N);
    args->d = dg_tensor_2d(memory.d, DG_DTYPE_F32, ROWS, N);
    args->groups.form = DG_GROUPS_SIZES;
    args->groups.values = dg_tensor_1d(memory.sizes, DG_DTYPE_I32, GROUPS);
    args->a_rows = dg_tensor_1d(memory.rows, DG_DTYPE_I32, ROWS);
}

static dg_k_operand_t make_k_operand(const void *data, const float *scale, int64_t mn) {
    dg_k_operand_t operand = DG_NO_K_OPERAND;
    operand.form = DG_K_TOKENS_FIRST;
    operand.data = dg_tensor_2d(data, DG_DTYPE_E4M3, ROWS, mn);
    operand.scale = dg_tensor_2d(scale, DG_DTYPE_F32, GROUPS, mn);
    operand.gran_k = 32;
    operand.rows = dg_tensor_1d(memory.rows, DG_DTYPE_I32, ROWS);
    return operand;
}

static void make_k_grouped(dg_k_grouped_gemm_args_t *args) {
    *args = (dg_k_grouped_gemm_args_t)DG_K_GROUPED_GEMM_ARGS_INIT;
    args->a = make_k_operand(memory.a, memory.scale_a, M);
    args->b = make_k_operand(memory.b, memory.scale_b, N);
    args->c = dg_tensor_3d(memory.c, DG_DTYPE_F32, GROUPS, M, N);
    args->d = dg_tensor_3d(memory.d, DG_DTYPE_F32, GROUPS, M, N);
    args->groups.form = DG_GROUPS_SIZES;
    args->groups.values = dg_tensor_1d(memory.sizes, DG_DTYPE_I32, GROUPS);
    args->num_tokens = ROWS;
}

static void make_listed(dg_k_grouped_gemm_args_t *args) {
    make_k_grouped(args);
    args->output = DG_K_OUTPUT_LIST;
    args->c = (dg_tensor_t)DG_NO_TENSOR;
    args->d = dg_tensor_2d(NULL, DG_DTYPE_F32, M, N);
    args->d_list = d_list;
    args->c_list = c_list;
}

static void make_call(call_t *call) {
    *call = (call_t){.launch = DG_LAUNCH_INIT};
    make_gemm(&call->gemm);
    make_m_grouped(&call->m);
    make_k_grouped(&call->k);
    make_listed(&call->list);
}

int make_memory(void **state) {
    (void)state;
    memset(&memory, 0x11, sizeof memory);
    for (int g = 0; g < GROUPS; g++) {
        memory.sizes[g] = 3;
        memory.host_sizes[g] = 5;
        memory.huge_sizes[g] = INT64_MAX;
        d_list[g] = memory.d + g * M * N;
        c_list[g] = memory.c + g * M * N;
    }
    for (int g = 0; g < GROUPS; g++) {
        c_crossed[g] = d_list[1 - g];
        d_twice[g] = memory.d + 10 * g;
        d_odd[g] = (char *)d_list[g] + g;
        d_null[g] = g == 0 ? d_list[g] : NULL;
        c_odd[g] = (const char *)c_list[g] + 2 * g;
        c_null[g] = g == 0 ? c_list[g] : NULL;
    }
    for (int r = 0; r < ROWS; r++) memory.rows[r] = ROWS - 1 - r;
    return 0;
}

static void apply(call_t *call, const change_t *change) {
    char *at = (char *)call + change->offset;
    const int32_t narrow = (int32_t)change->value;
    if (change->size == sizeof narrow) {
        memcpy(at, &narrow, sizeof narrow);
    } else if (change->size == sizeof change->value) {
        memcpy(at, &change->value, sizeof change->value);
    } else {
        memset(at, 0, change->size);
    }
}

static dg_status_t make_the_call(const call_t *call, family_t family) {
    size_t size = 0, *bytes = call->no_bytes ? NULL : &size;
    const dg_gemm_args_t *gemm = call->no_args ? NULL : &call->gemm;
    const dg_m_grouped_gemm_args_t *m = call->no_args ? NULL : &call->m;
    const dg_k_grouped_gemm_args_t *k = call->no_args        ? NULL
                                        : family == K_LISTED ? &call->list
                                                             : &call->k;
    switch (family) {
    case GEMM:
        return call->query ? dg_gemm_workspace(call->ctx, gemm, bytes)
                           : dg_gemm(call->ctx, gemm, &call->launch);
    case M_GROUPED:
        return call->query ? dg_m_grouped_gemm_workspace(call->ctx, m, bytes)
                           : dg_m_grouped_gemm(call->ctx, m, &call->launch);
    default:
        return call->query ? dg_k_grouped_gemm_workspace(call->ctx, k, bytes)
                           : dg_k_grouped_gemm(call->ctx, k, &call->launch);
    }
}

static void check_refusal(const refusal_t *row, int index) {
    static const char *const functions[] = {
        "dg_gemm", "dg_m_grouped_gemm", "dg_k_grouped_gemm", "dg_k_grouped_gemm"};
    call_t call;
    make_call(&call);
    for (int i = 0; i < 8 && row->changes[i].size > 0; i++) apply(&call, &row->changes[i]);
    memory_t before;
    memcpy(&before, &memory, sizeof memory);
    const dg_status_t status = make_the_call(&call, row->family);
    const char *message = dg_last_error();
    if (status != row->status || strcmp(dg_last_error_argument(), row->argument) != 0) {
        fail_msg("row %d: expected %s at %s, got %s: %s", index, dg_status_string(row->status),
            row->argument, dg_status_string(status), status == DG_STATUS_OK ? "" : message);
    }
    const size_t length = strlen(functions[row->family]);
    if (strncmp(message, functions[row->family], length) != 0 ||
        strstr(message, row->argument) == NULL || strstr(message, row->value) == NULL ||
        strstr(message, row->remedy) == NULL) {
        fail_msg("row %d: the message lacks \"%s\" or \"%s\": %s", index, row->value, row->remedy,
            message);
    }
    assert_memory_equal(&before, &memory, sizeof memory);
}

dg_status_t make_unchanged_call(family_t family) {
    call_t call;
    make_call(&call);
    return make_the_call(&call, family);
}

/* The first row of each (status, argument) pair. */
static refusal_t distinct[256];
static int distinct_count;

static void remember(const refusal_t *row) {
    for (int i = 0; i < distinct_count; i++) {
        if (distinct[i].status == row->status && strcmp(distinct[i].argument, row->argument) == 0) {
            return;
        }
    }
    assert_in_range(distinct_count, 0, 255);
    distinct[distinct_count++] = *row;
}

void check_refusals(const refusal_t *rows, int count) {
    for (int i = 0; i < count; i++) {
        check_refusal(&rows[i], i);
        remember(&rows[i]);
    }
}

int count_distinct_refusals(void) {
    return distinct_count;
}
