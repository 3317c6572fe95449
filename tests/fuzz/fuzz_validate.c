/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target over the checks of the GEMM families: bytes become calls whose tensors lie in a
 * fixed arena, most of them nearly right. Whatever the call, it must return; a refusal must carry a
 * message and change nothing, a success may change nothing but its output.
 *
 *     cmake --preset clang && ninja -C build/clang fuzz_validate
 *     build/clang/tests/fuzz/fuzz_validate -max_total_time=60 -max_len=400 -len_control=0
 *
 * A caller's promise is that tensors lie in its memory. Where the bytes break it, only the workspace
 * query is made, which checks the same and reads no tensor; so too where a product would take long.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "deep_gemm/deep_gemm.h"

enum { ARENA_BYTES = 1 << 16, LIST_ENTRIES = 1024, MAX_EXTENT = 300 };

static _Alignas(256) uint8_t arena[ARENA_BYTES];
static uint8_t before[ARENA_BYTES];

/* The input, read front to back; zeros behind its end. */
typedef struct stream_t {
    const uint8_t *data;
    size_t size;
} stream_t;

static uint8_t take(stream_t *stream) {
    if (stream->size == 0) return 0;
    stream->size--;
    return *stream->data++;
}

static int64_t take_wide(stream_t *stream) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | take(stream);
    return (int64_t)value;
}

/* Mostly a usual extent, now and then anything. */
static int64_t take_extent(stream_t *stream) {
    static const int64_t usual[] = {0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 127, 128, 129, 256};
    const uint8_t kind = take(stream);
    if (kind == 255) return take_wide(stream);
    return kind >= 240 ? (int8_t)take(stream) : usual[kind % 16];
}

/* A dense tensor in the arena, then a few bytes of damage. */
static dg_tensor_t take_tensor(
    stream_t *stream, dg_dtype_t dtype, int32_t rank, const int64_t *shape) {
    dg_tensor_t tensor = {.device = {DG_DEVICE_CPU, 0}, .dtype = dtype, .rank = rank};
    const uint8_t damage = take(stream);
    uint64_t stride = 1;
    tensor.data = arena + (take(stream) * 256u + (damage & 1 ? take(stream) : 0)) % ARENA_BYTES;
    for (int32_t i = rank - 1; i >= 0; i--) {
        tensor.shape[i] = shape[i];
        tensor.stride[i] = (int64_t)stride;
        stride *= (uint64_t)shape[i];
    }
    if (damage & 2 && rank > 1) tensor = dg_tensor_transpose(tensor);
    if (damage & 4) tensor.shape[take(stream) % DG_MAX_RANK] = take_extent(stream);
    if (damage & 8) tensor.stride[take(stream) % DG_MAX_RANK] = take_extent(stream);
    switch (damage >> 4) {
    case 1: tensor.dtype = (dg_dtype_t)(int8_t)take(stream); break;
    case 2: tensor.rank = (int8_t)take(stream); break;
    case 3: tensor.data = NULL; break;
    case 4: tensor.device.type = (dg_device_type_t)(take(stream) % 4); break;
    case 5: memset(&tensor, 0, sizeof tensor); break;
    default: break;
    }
    return tensor;
}

static dg_dtype_t take_dtype(stream_t *stream) {
    static const dg_dtype_t usual[] = {DG_DTYPE_E4M3, DG_DTYPE_E2M1X2, DG_DTYPE_BF16};
    return usual[take(stream) % 3];
}

static dg_tensor_t take_scale(stream_t *stream, int32_t rank, const int64_t *shape, bool packed) {
    static const dg_dtype_t usual[] = {DG_DTYPE_F32, DG_DTYPE_E8M0, DG_DTYPE_I32, DG_DTYPE_NONE};
    const dg_dtype_t dtype = usual[take(stream) % (packed ? 3 : 4)];
    int64_t words[3] = {shape[0], shape[1], shape[2]};
    if (dtype == DG_DTYPE_NONE) return (dg_tensor_t)DG_NO_TENSOR;
    if (dtype == DG_DTYPE_I32) words[rank - 1] = words[rank - 1] / 4 + (words[rank - 1] % 4 != 0);
    return take_tensor(stream, dtype, rank, words);
}

static int64_t ceil_divide(int64_t count, int64_t by) {
    return count / by + (count % by > 0);
}

static dg_operand_t take_operand(
    stream_t *stream, dg_dtype_t dtype, int64_t groups, int64_t mn, int64_t k) {
    dg_operand_t operand = DG_NO_OPERAND;
    const bool packed = dtype == DG_DTYPE_E2M1X2;
    const int64_t shape[3] = {groups, mn, packed ? k / 2 : k};
    const int32_t rank = groups < 0 ? 2 : 3;
    operand.data = take_tensor(stream, dtype, rank, shape + 3 - rank);
    if (dtype == DG_DTYPE_BF16 && take(stream) < 250) return operand;
    operand.gran_mn = take(stream) & 1 ? 1 : 128;
    operand.gran_k = take(stream) & 1 ? 32 : 128;
    const int64_t blocks[4] = {
        groups, ceil_divide(mn, operand.gran_mn), ceil_divide(k, operand.gran_k), 0};
    operand.scale = take_scale(stream, rank, blocks + 3 - rank, packed);
    if (take(stream) > 250) operand.gran_mn = (int32_t)take_wide(stream);
    if (take(stream) > 250) operand.gran_k = (int32_t)take_wide(stream);
    return operand;
}

static dg_k_operand_t take_k_operand(stream_t *stream, dg_dtype_t dtype, int64_t mn, int64_t r) {
    dg_k_operand_t operand = DG_NO_K_OPERAND;
    const bool packed = dtype == DG_DTYPE_E2M1X2;
    operand.form = (dg_k_form_t)(1 + take(stream) % 3);
    const int64_t first[2] = {r, packed ? mn / 2 : mn}, last[2] = {mn, packed ? r / 2 : r};
    const int64_t flat = (int64_t)((uint64_t)mn * (uint64_t)last[1]);
    operand.data = operand.form == DG_K_FLAT ? take_tensor(stream, dtype, 1, &flat)
                                             : take_tensor(stream, dtype, 2,
                                                   operand.form == DG_K_TOKENS_LAST ? last : first);
    operand.gran_k = take(stream) & 1 ? 32 : 128;
    const int64_t rows[4] = {take_extent(stream), mn, 0, 0};
    if (dtype != DG_DTYPE_BF16 || take(stream) > 250) {
        operand.scale = take_scale(stream, 2, rows, packed);
    }
    if (take(stream) % 8 == 0) operand.rows = take_tensor(stream, DG_DTYPE_I32, 1, &r);
    if (take(stream) > 250) operand.form = (dg_k_form_t)(int8_t)take(stream);
    return operand;
}

static dg_groups_t take_groups(stream_t *stream, int64_t groups, int64_t rows) {
    dg_groups_t made = DG_NO_GROUPS;
    const uint8_t form = take(stream);
    made.form = (dg_group_form_t)(form < 128 ? 1 + form % 3 : form % 8);
    const bool by_row = made.form == DG_GROUPS_INDEX || made.form == DG_GROUPS_BLOCK_INDEX;
    const int64_t count = by_row ? rows : groups;
    made.values = take_tensor(stream, take(stream) & 1 ? DG_DTYPE_I32 : DG_DTYPE_I64, 1, &count);
    made.alignment = take(stream) % 34 - 1;
    if (take(stream) % 8 == 0) {
        made.host_sizes = (const int64_t *)(const void *)(arena + take(stream) * 8);
        made.host_count = groups;
        if (take(stream) & 1) memset(&made.values, 0, sizeof made.values);
    }
    return made;
}

/* What one call consists of. */
typedef struct call_t {
    dg_context_t *ctx;
    const dg_tensor_t *tensors[10]; /* that lie in the arena, if the caller keeps its promise */
    int tensor_count;
    const dg_tensor_t *d;
} call_t;

static bool lies_in_arena(const dg_tensor_t *tensor) {
    const int64_t size = dg_dtype_size(tensor->dtype);
    const int32_t rank = tensor->rank < 0 || tensor->rank > DG_MAX_RANK ? 0 : tensor->rank;
    int64_t low = 0, high = size;
    for (int32_t i = 0; i < rank; i++) {
        if (tensor->shape[i] > MAX_EXTENT * MAX_EXTENT || tensor->shape[i] < 0) return false;
        if (tensor->shape[i] == 0) return true;
        if (tensor->shape[i] == 1) continue;
        if (tensor->stride[i] > ARENA_BYTES || tensor->stride[i] < -ARENA_BYTES) return false;
        const int64_t reach = (tensor->shape[i] - 1) * tensor->stride[i] * size;
        if (reach < 0) low += reach;
        if (reach > 0) high += reach;
    }
    if (tensor->data == NULL) return true;
    const int64_t begin = (int64_t)((uintptr_t)tensor->data - (uintptr_t)arena);
    return begin + low >= 0 && begin + high <= ARENA_BYTES;
}

/* Products of these extents are soon done. */
static bool is_small(const dg_tensor_t *tensor) {
    const int32_t rank = tensor->rank < 0 || tensor->rank > DG_MAX_RANK ? 0 : tensor->rank;
    for (int32_t i = 0; i < rank; i++) {
        if (tensor->shape[i] > (rank == 1 ? MAX_EXTENT * MAX_EXTENT : MAX_EXTENT)) return false;
    }
    return true;
}

static bool keeps_promise(const call_t *call) {
    for (int i = 0; i < call->tensor_count; i++) {
        if (!lies_in_arena(call->tensors[i]) || !is_small(call->tensors[i])) return false;
    }
    return true;
}

static void require(bool condition) {
    if (!condition) abort();
}

/* The bytes of d's interval, which a success may change. */
static void find_output(const dg_tensor_t *d, size_t *begin, size_t *end) {
    int64_t reach = dg_dtype_size(d->dtype);
    *begin = *end = 0;
    for (int32_t i = 0; i < d->rank; i++) {
        if (d->shape[i] == 0) return;
        if (d->shape[i] > 1) reach += (d->shape[i] - 1) * d->stride[i] * dg_dtype_size(d->dtype);
    }
    *begin = (size_t)((uintptr_t)d->data - (uintptr_t)arena);
    *end = *begin + (size_t)reach;
}

static void check_result(const call_t *call, dg_status_t status, bool listed) {
    if (status != DG_STATUS_OK) {
        require(dg_last_error()[0] != '\0');
        require(status >= DG_STATUS_OK && status <= DG_STATUS_INTERNAL);
        require(status != DG_STATUS_INTERNAL);
        require(memcmp(before, arena, ARENA_BYTES) == 0);
        return;
    }
    size_t begin, end;
    if (listed) return;
    find_output(call->d, &begin, &end);
    require(memcmp(before, arena, begin) == 0);
    require(memcmp(before + end, arena + end, ARENA_BYTES - end) == 0);
}

static const dg_plan_query_t on_h200 = {sizeof(dg_plan_query_t), "H200", NULL, NULL, NULL};

/* Plans of arguments that hold anything: a reason or a plan that could be launched. */
static void check_plan(dg_status_t status, const dg_plan_info_t *info) {
    if (status != DG_STATUS_OK) {
        require(dg_last_error()[0] != '\0' && status != DG_STATUS_INTERNAL);
        return;
    }
    if (info->kernel == NULL) return;
    require(info->us > 0 && info->stage_count >= 1 && info->stage_count <= DG_PLAN_MAX_STAGES);
    require(info->stage[info->stage_count - 1].grid >= 1);
}

static void fuzz_gemm(stream_t *stream, call_t *call) {
    const int64_t m = take_extent(stream), n = take_extent(stream), k = take_extent(stream);
    const int64_t shape[2] = {m, n};
    const dg_dtype_t dtype = take(stream) & 1 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const dg_dtype_t a = take_dtype(stream), b = take(stream) > 200 ? take_dtype(stream) : a;
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a = take_operand(stream, a, -1, m, k);
    args.b = take_operand(stream, b, -1, n, k);
    args.d = take_tensor(stream, dtype, 2, shape);
    const uint8_t c = take(stream);
    if (c % 4 == 1) args.c = args.d;
    if (c % 4 == 2) args.c = take_tensor(stream, dtype, 2, shape);
    const dg_tensor_t *tensors[] = {
        &args.a.data, &args.a.scale, &args.b.data, &args.b.scale, &args.c, &args.d};
    memcpy(call->tensors, tensors, sizeof tensors);
    call->tensor_count = 6;
    call->d = &args.d;
    size_t bytes;
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    check_plan(dg_gemm_plan(call->ctx, &args, &on_h200, &info), &info);
    if (!keeps_promise(call)) {
        check_result(call, dg_gemm_workspace(call->ctx, &args, &bytes), true);
        return;
    }
    check_result(call, dg_gemm(call->ctx, &args, NULL), false);
}

static void fuzz_cublaslt(stream_t *stream, call_t *call) {
    static const dg_dtype_t types[] = {DG_DTYPE_BF16, DG_DTYPE_F16, DG_DTYPE_F32, DG_DTYPE_E4M3};
    const int64_t m = take_extent(stream), n = take_extent(stream), k = take_extent(stream);
    const int64_t shape[3][2] = {{m, k}, {n, k}, {m, n}};
    const dg_dtype_t type = types[take(stream) % 4];
    const dg_dtype_t out = take(stream) & 1 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    dg_cublaslt_gemm_args_t args = DG_CUBLASLT_GEMM_ARGS_INIT;
    args.a = take_tensor(stream, type, 2, shape[0]);
    args.b = take_tensor(stream, take(stream) > 200 ? take_dtype(stream) : type, 2, shape[1]);
    args.d = take_tensor(stream, out, 2, shape[2]);
    const uint8_t c = take(stream);
    if (c % 4 == 1) args.c = args.d;
    if (c % 4 == 2) args.c = take_tensor(stream, out, 2, shape[2]);
    const dg_tensor_t *tensors[] = {&args.a, &args.b, &args.c, &args.d};
    memcpy(call->tensors, tensors, sizeof tensors);
    call->tensor_count = 4;
    call->d = &args.d;
    size_t bytes;
    if (!keeps_promise(call)) {
        check_result(call, dg_cublaslt_gemm_workspace(call->ctx, &args, &bytes), true);
        return;
    }
    check_result(call, dg_cublaslt_gemm(call->ctx, &args, NULL), false);
}

static void fuzz_m_grouped(stream_t *stream, call_t *call) {
    const int64_t r = take_extent(stream), n = take_extent(stream), k = take_extent(stream);
    const int64_t groups = take(stream) % 8;
    const dg_dtype_t dtype = take(stream) & 1 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const dg_dtype_t a = take_dtype(stream);
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.groups = take_groups(stream, groups, r);
    const bool masked = args.groups.form == DG_GROUPS_MASKED;
    const int64_t shape[3] = {groups, r, n};
    args.a = take_operand(stream, a, masked ? groups : -1, r, k);
    args.b = take_operand(stream, a, groups, n, k);
    args.d = take_tensor(stream, dtype, masked ? 3 : 2, shape + (masked ? 0 : 1));
    const uint8_t c = take(stream);
    if (c % 4 == 1) args.c = args.d;
    if (c % 4 == 2) args.c = take_tensor(stream, dtype, masked ? 3 : 2, shape + (masked ? 0 : 1));
    if (take(stream) % 4 == 0) args.a_rows = take_tensor(stream, DG_DTYPE_I32, 1, &r);
    args.zero_padding = (dg_switch_t)(take(stream) % 4);
    args.expected_m = (int8_t)take(stream);
    const dg_tensor_t *tensors[] = {&args.a.data, &args.a.scale, &args.b.data, &args.b.scale,
        &args.c, &args.d, &args.groups.values, &args.a_rows};
    memcpy(call->tensors, tensors, sizeof tensors);
    call->tensor_count = 8;
    call->d = &args.d;
    size_t bytes;
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    check_plan(dg_m_grouped_gemm_plan(call->ctx, &args, &on_h200, &info), &info);
    if (!keeps_promise(call)) {
        check_result(call, dg_m_grouped_gemm_workspace(call->ctx, &args, &bytes), true);
        return;
    }
    check_result(call, dg_m_grouped_gemm(call->ctx, &args, NULL), false);
}

/* Addresses of outputs: a few per call, repeated; those of c are shifted or the same. */
static void fill_lists(stream_t *stream, void **d_list, const void **c_list) {
    const int step = take(stream) * 4, shift = (int8_t)take(stream) / 32 * 4;
    const uint8_t damage = take(stream);
    for (int i = 0; i < LIST_ENTRIES; i++) {
        d_list[i] = arena + 4096 + i * step % (ARENA_BYTES / 4);
        c_list[i] = (char *)d_list[i] + shift;
    }
    if (damage > 200) d_list[damage % 8] = NULL;
}

static void fuzz_k_grouped(stream_t *stream, call_t *call) {
    static void *d_list[LIST_ENTRIES];
    static const void *c_list[LIST_ENTRIES];
    const int64_t m = take_extent(stream), n = take_extent(stream), r = take_extent(stream);
    const int64_t groups = take(stream) % 8;
    const dg_dtype_t dtype = take(stream) & 1 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    const dg_dtype_t a = take_dtype(stream);
    const int64_t shape[3] = {groups, m, n};
    dg_k_grouped_gemm_args_t args = DG_K_GROUPED_GEMM_ARGS_INIT;
    args.a = take_k_operand(stream, a, m, r);
    args.b = take_k_operand(stream, a, n, r);
    args.groups = take_groups(stream, groups, r);
    args.output = (dg_k_output_t)(take(stream) % 4);
    const int32_t rank = args.output == DG_K_OUTPUT_STACK ? 3 : 2;
    args.d = take_tensor(stream, dtype, rank, shape + 3 - rank);
    if (args.output == DG_K_OUTPUT_LIST) {
        fill_lists(stream, d_list, c_list);
        args.d_list = d_list;
        args.c_list = take(stream) & 1 ? c_list : NULL;
    }
    const uint8_t c = take(stream);
    if (c % 4 == 1 && args.output != DG_K_OUTPUT_LIST) args.c = args.d;
    if (c % 4 == 2) args.c = take_tensor(stream, dtype, rank, shape + 3 - rank);
    if (take(stream) > 200) args.num_tokens = take_extent(stream);
    dg_tensor_t listed = args.d; /* the farthest that an entry of d_list or c_list can reach */
    if (args.output == DG_K_OUTPUT_LIST) {
        args.d.data = take(stream) > 240 ? args.d.data : NULL;
        listed.data = arena + 4096 + ARENA_BYTES / 4 + 16;
    }
    const dg_tensor_t *tensors[] = {&args.a.data, &args.a.scale, &args.b.data, &args.b.scale,
        &args.c, &listed, &args.groups.values, &args.a.rows, &args.b.rows, &args.d};
    memcpy(call->tensors, tensors, sizeof tensors);
    call->tensor_count = 10;
    call->d = &args.d;
    size_t bytes;
    const bool listed_output = args.output == DG_K_OUTPUT_LIST;
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    check_plan(dg_k_grouped_gemm_plan(call->ctx, &args, &on_h200, &info), &info);
    if (!keeps_promise(call)) {
        check_result(call, dg_k_grouped_gemm_workspace(call->ctx, &args, &bytes), true);
        return;
    }
    check_result(call, dg_k_grouped_gemm(call->ctx, &args, NULL), listed_output);
}

/* Small numbers, so that group values are often in range; made once, copied from a place that the
 * input chooses. */
static void fill_arena(stream_t *stream) {
    static uint8_t pattern[ARENA_BYTES + 1024];
    if (pattern[0] == 0) {
        uint32_t state = 1;
        for (size_t i = 0; i < sizeof pattern; i += 4) {
            state = state * 1664525u + 1013904223u;
            pattern[i] = (uint8_t)(state >> 24 & 7);
        }
        pattern[0] = 1;
    }
    memcpy(arena, pattern + take(stream) * 4, ARENA_BYTES);
    arena[take(stream) * 16] = take(stream);
    memcpy(before, arena, ARENA_BYTES);
}

static dg_context_t *make_context(dg_group_values_t group_values) {
    dg_context_t *ctx;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.num_threads = 1;
    options.group_values = group_values;
    require(dg_context_create(&ctx, &options) == DG_STATUS_OK);
    return ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static dg_context_t *refusing, *clamping;
    stream_t stream = {data, size};
    call_t call = {0};
    if (refusing == NULL) {
        refusing = make_context(DG_GROUP_VALUES_REFUSE);
        clamping = make_context(DG_GROUP_VALUES_CLAMP);
    }
    fill_arena(&stream);
    const uint8_t family = take(&stream);
    call.ctx = family & 8 ? clamping : refusing;
    if (family >= 240) {
        fuzz_cublaslt(&stream, &call);
        return 0;
    }
    switch (family % 3) {
    case 0: fuzz_gemm(&stream, &call); break;
    case 1: fuzz_m_grouped(&stream, &call); break;
    default: fuzz_k_grouped(&stream, &call); break;
    }
    return 0;
}
