/* SPDX-License-Identifier: MIT
 *
 * Calls of casts and scale layouts that must be refused. Each line spoils one thing of a good call
 * and says which status and which argument the answer names; outputs stay as they were, byte for
 * byte, and the good call works before and after.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

enum { M = 64, N = 96, POISON = 0x3C };

/* Memory of one call: inputs at the front, outputs behind. */
typedef struct arena_t {
    float x[M * N];
    int32_t sizes[4];
    uint8_t codes[2][M * N];
    float factors[2][M * N];
    int32_t words[M * N];
    float back[M * N];
} arena_t;

static arena_t arena, before;

/* A good call of each function, to be spoilt. */
typedef struct calls_t {
    dg_quantize_args_t quantize;
    dg_dequantize_args_t dequantize;
    dg_scale_convert_args_t convert;
    dg_scale_pack_k_grouped_args_t pack;
    dg_scale_transform_args_t transform;
    dg_tensor_t transform_out;
    dg_launch_t launch;
} calls_t;

static calls_t make_calls(void) {
    calls_t c = {DG_QUANTIZE_ARGS_INIT, DG_DEQUANTIZE_ARGS_INIT, DG_SCALE_CONVERT_ARGS_INIT,
        DG_SCALE_PACK_K_GROUPED_ARGS_INIT, DG_SCALE_TRANSFORM_ARGS_INIT, DG_NO_TENSOR,
        DG_LAUNCH_INIT};
    c.quantize.x = dg_tensor_2d(arena.x, DG_DTYPE_F32, M, N);
    c.quantize.out[0].data = dg_tensor_2d(arena.codes[0], DG_DTYPE_E4M3, M, N);
    c.quantize.out[0].scale = dg_tensor_2d(arena.factors[0], DG_DTYPE_F32, M, 3);
    c.quantize.out[0].gran[0] = 1, c.quantize.out[0].gran[1] = 32;
    c.quantize.out[1].data = dg_tensor_2d(arena.codes[1], DG_DTYPE_E2M1X2, M, N / 2);
    c.quantize.out[1].scale = dg_tensor_2d(arena.factors[1], DG_DTYPE_F32, 5, N);
    c.quantize.out[1].gran[0] = 32, c.quantize.out[1].gran[1] = 1;
    c.quantize.groups.form = DG_GROUPS_SIZES;
    c.quantize.groups.values = dg_tensor_1d(arena.sizes, DG_DTYPE_I32, 4);
    c.dequantize.q = c.quantize.out[0];
    c.dequantize.groups = c.quantize.groups;
    c.dequantize.x = dg_tensor_2d(arena.back, DG_DTYPE_F32, M, N);
    c.convert.src = dg_tensor_2d(arena.x, DG_DTYPE_F32, M, 10);
    c.convert.dst = dg_tensor_2d(arena.words, DG_DTYPE_I32, M, 3);
    c.pack.src = dg_tensor_2d(arena.x, DG_DTYPE_F32, 5, N);
    c.pack.dst = dg_tensor_2d(arena.words, DG_DTYPE_I32, 4, N);
    c.pack.gran_k = 32;
    c.pack.groups = c.quantize.groups;
    c.transform.scale = dg_tensor_2d(arena.x, DG_DTYPE_F32, M, 10);
    c.transform.mn = M, c.transform.k = 1280, c.transform.gran_mn = 1, c.transform.gran_k = 128;
    c.transform.arch_major = 10;
    c.transform_out = dg_scale_mn_major(arena.words, DG_DTYPE_I32, 0, M, 3);
    return c;
}

static dg_status_t run(const calls_t *c, char function) {
    switch (function) {
    case 'q': return dg_quantize(NULL, &c->quantize, &c->launch);
    case 'd': return dg_dequantize(NULL, &c->dequantize, &c->launch);
    case 'c': return dg_scale_convert(NULL, &c->convert, &c->launch);
    case 'p': return dg_scale_pack_k_grouped(NULL, &c->pack, &c->launch);
    default: return dg_scale_transform(NULL, &c->transform, &c->transform_out, &c->launch);
    }
}

static void set_up(void) {
    memset(&arena, POISON, sizeof arena);
    for (int i = 0; i < M * N; ++i) arena.x[i] = (float)(1 << i % 7);
    arena.sizes[0] = 3, arena.sizes[1] = 0, arena.sizes[2] = 33, arena.sizes[3] = 20;
}

/* X(function, what is spoilt, status, argument named) */
#define REFUSALS                                                                                   \
    X('q', c.quantize.struct_size--, BAD_STRUCT_SIZE, "args.struct_size")                          \
    X('q', c.launch.struct_size = 0, BAD_STRUCT_SIZE, "launch.struct_size")                        \
    X('q', c.quantize.x.data = NULL, NULL_POINTER, "x")                                            \
    X('q', c.quantize.x.dtype = DG_DTYPE_E4M3, BAD_DTYPE, "x")                                     \
    X('q', c.quantize.x.rank = 5, BAD_RANK, "x")                                                   \
    X('q', c.quantize.x.rank = 1, BAD_RANK, "x")                                                   \
    X('q', c.quantize.x.shape[0] = -1, BAD_SHAPE, "x")                                             \
    X('q', c.quantize.x.stride[0] = INT64_MAX / 4, BAD_SHAPE, "x")                                 \
    X('q', c.quantize.x.data = (char *)arena.x + 1, MISALIGNED, "x")                               \
    X('q', c.quantize.groups.form = DG_GROUPS_MASKED, BAD_ENUM, "groups.form")                     \
    X('q', c.quantize.groups.form = (dg_group_form_t)77, BAD_ENUM, "groups.form")                  \
    X('q', c.quantize.groups.form = DG_GROUPS_NONE, BAD_ENUM, "groups.form")                       \
    X('q', c.quantize.groups.values.dtype = DG_DTYPE_F32, BAD_DTYPE, "groups.values")              \
    X('q', c.quantize.groups.alignment = -1, BAD_VALUE, "groups.alignment")                        \
    X('q', arena.sizes[1] = -1, BAD_VALUE, "groups.values")                                        \
    X('q', arena.sizes[3] = 29, BAD_VALUE, "groups.values")                                        \
    X('q', arena.sizes[3] = INT32_MAX, BAD_VALUE, "groups.values")                                 \
    X('q', c.quantize.groups.form = DG_GROUPS_OFFSETS, BAD_VALUE, "groups.values")                 \
    X('q', c.quantize.out[0].data.dtype = DG_DTYPE_U8, BAD_DTYPE, "out[0].data")                   \
    X('q', c.quantize.out[0].data.shape[1] = N - 1, BAD_SHAPE, "out[0].data")                      \
    X('q', c.quantize.out[0].data.stride[0] = N - 1, BAD_STRIDE, "out[0].data")                    \
    X('q', c.quantize.out[0].data.stride[1] = 0, BAD_STRIDE, "out[0].data")                        \
    X('q', c.quantize.out[0].data.data = arena.x, OVERLAP, "out[0].data")                          \
    X('q', c.quantize.out[0].gran[0] = -1, BAD_VALUE, "out[0].gran[0]")                            \
    X('q', c.quantize.out[0].gran[1] = 128, BAD_SCALE, "out[0].scale")                             \
    X('q', c.quantize.out[0].power_of_two = (dg_switch_t)3, BAD_ENUM, "out[0].power_of_two")       \
    X('q', c.quantize.out[0].k_axis = (dg_k_axis_t)-1, BAD_ENUM, "out[0].k_axis")                  \
    X('q', c.quantize.out[0].scale.shape[0] = M - 9, BAD_SCALE, "out[0].scale")                    \
    X('q', c.quantize.out[0].scale.dtype = DG_DTYPE_BF16, BAD_DTYPE, "out[0].scale")               \
    X('q', c.quantize.out[0].scale.dtype = DG_DTYPE_I32, BAD_SCALE, "out[0].scale")                \
    X('q', c.quantize.out[0].scale.data = &arena.x[7], OVERLAP, "out[0].scale")                    \
    X('q', c.quantize.out[0].scale.rank = 0, BAD_RANK, "out[0].scale")                             \
    X('q', c.quantize.out[0].scale.device.type = DG_DEVICE_CUDA, BAD_DEVICE, "out[0].scale")       \
    X('q', c.quantize.out[1].data.shape[1] = N, BAD_SHAPE, "out[1].data")                          \
    X('q', c.quantize.out[1].data.shape[0] = M / 2, BAD_SHAPE, "out[1].data")                      \
    X('q', c.quantize.out[1].data.stride[1] = 2, BAD_STRIDE, "out[1].data")                        \
    X('q', c.quantize.out[1].data.data = arena.codes[0], OVERLAP, "out[1].data")                   \
    X('q', c.quantize.out[1].scale.data = arena.factors[0], OVERLAP, "out[1].scale")               \
    X('q', c.quantize.out[1].scale.shape[0] = 3, BAD_SCALE, "out[1].scale")                        \
    X('q', memset(&c.quantize.out[1].data, 0, sizeof(dg_tensor_t)), NULL_POINTER, "out[1].data")   \
    X('d', c.dequantize.struct_size++, BAD_STRUCT_SIZE, "args.struct_size")                        \
    X('d', c.dequantize.x.dtype = DG_DTYPE_I32, BAD_DTYPE, "x")                                    \
    X('d', c.dequantize.x.stride[0] = 1, BAD_STRIDE, "x")                                          \
    X('d', c.dequantize.x.data = arena.factors[0], OVERLAP, "x")                                   \
    X('d', c.dequantize.q.data.data = NULL, NULL_POINTER, "q.data")                                \
    X('d', c.dequantize.q.scale.shape[1] = 4, BAD_SCALE, "q.scale")                                \
    X('d', c.dequantize.q.gran[1] = -128, BAD_VALUE, "q.gran[1]")                                  \
    X('d', c.dequantize.groups.form = DG_GROUPS_INDEX, BAD_ENUM, "groups.form")                    \
    X('c', c.convert.struct_size = 0, BAD_STRUCT_SIZE, "args.struct_size")                         \
    X('c', c.convert.src.rank = 1, BAD_RANK, "src")                                                \
    X('c', c.convert.dst.rank = 3, BAD_RANK, "src")                                                \
    X('c', c.convert.src.dtype = DG_DTYPE_I64, BAD_DTYPE, "src")                                   \
    X('c', c.convert.dst.dtype = DG_DTYPE_E4M3, BAD_DTYPE, "dst")                                  \
    X('c', c.convert.src.shape[0] = M - 1, BAD_SHAPE, "src")                                       \
    X('c', c.convert.dst.shape[1] = 4, BAD_SHAPE, "dst")                                           \
    X('c', c.convert.dst.shape[1] = 2, BAD_SHAPE, "src")                                           \
    X('c', c.convert.k_blocks = -1, BAD_VALUE, "k_blocks")                                         \
    X('c', c.convert.k_blocks = 13, BAD_SHAPE, "dst")                                              \
    X('c', c.convert.repeat_mn = -4, BAD_VALUE, "repeat_mn")                                       \
    X('c', c.convert.repeat_mn = 2, BAD_SHAPE, "src")                                              \
    X('c', c.convert.dst.stride[0] = 2, BAD_STRIDE, "dst")                                         \
    X('c', c.convert.dst.data = &arena.x[M * 10 - 1], OVERLAP, "dst")                              \
    X('c', c.convert.groups = c.quantize.groups, BAD_ENUM, "groups.form")                          \
    X('c', arena.x[10 * M - 1] = 3.0f, BAD_SCALE, "src")                                           \
    X('p', c.pack.gran_k = 64, BAD_VALUE, "gran_k")                                                \
    X('p', c.pack.src.dtype = DG_DTYPE_E8M0, BAD_DTYPE, "src")                                     \
    X('p', c.pack.src.shape[0] = 3, BAD_SCALE, "src")                                              \
    X('p', c.pack.dst.shape[0] = 2, BAD_SHAPE, "dst")                                              \
    X('p', c.pack.dst.shape[1] = N - 1, BAD_SHAPE, "dst")                                          \
    X('p', c.pack.groups.form = DG_GROUPS_NONE, BAD_ENUM, "groups.form")                           \
    X('p', arena.sizes[2] = -7, BAD_VALUE, "groups.values")                                        \
    X('p', arena.x[2 * N] = 0.1f, BAD_SCALE, "src")                                                \
    X('t', c.transform.mn = -1, BAD_VALUE, "args.mn")                                              \
    X('t', c.transform.k = -1, BAD_VALUE, "args.k")                                                \
    X('t', c.transform.gran_mn = 0, BAD_VALUE, "args.gran_mn")                                     \
    X('t', c.transform.gran_k = 127, BAD_VALUE, "args.gran_k")                                     \
    X('t', c.transform.groups = -1, BAD_VALUE, "args.groups")                                      \
    X('t', c.transform.arch_major = 8, BAD_VALUE, "args.arch_major")                               \
    X('t', c.transform.keep_f32 = (dg_switch_t)9, BAD_ENUM, "args.keep_f32")                       \
    X('t', c.transform.mn = M + 1, BAD_SCALE, "scale")                                             \
    X('t', c.transform.scale.dtype = DG_DTYPE_E8M0, BAD_DTYPE, "scale")                            \
    X('t', c.transform_out.dtype = DG_DTYPE_F32, BAD_DTYPE, "out")                                 \
    X('t', c.transform_out.stride[1] = M + 4, BAD_STRIDE, "out")                                   \
    X('t', c.transform_out.shape[0] = M - 4, BAD_SHAPE, "out")                                     \
    X('t', c.transform.psum = c.quantize.groups, BAD_ENUM, "psum.form")                            \
    X('t', arena.x[0] = -2.0f, BAD_SCALE, "scale")

static void check_refused(
    const calls_t *c, char function, dg_status_t status, const char *argument, const char *what) {
    before = arena;
    const dg_status_t got = run(c, function);
    if (got != status || strcmp(dg_last_error_argument(), argument) != 0) {
        fail_msg("%s: %s about \"%s\", expected %s about \"%s\"\n%s", what, dg_status_string(got),
            dg_last_error_argument(), dg_status_string(status), argument, dg_last_error());
    }
    if (memcmp(&arena, &before, sizeof arena) != 0) fail_msg("%s: memory was written", what);
}

static void every_fault_is_named_and_leaves_no_trace(void **state) {
    (void)state;
    int count = 0;
#define X(function, spoil, status, argument)                                                       \
    {                                                                                              \
        set_up();                                                                                  \
        calls_t c = make_calls();                                                                  \
        if (run(&c, function) != DG_STATUS_OK) fail_msg("good call: %s", dg_last_error());         \
        set_up();                                                                                  \
        spoil;                                                                                     \
        check_refused(&c, function, DG_STATUS_##status, argument, #spoil);                         \
        ++count;                                                                                   \
    }
    REFUSALS
#undef X
    assert_true(count >= 80);
}

static void missing_structs_are_refused(void **state) {
    (void)state;
    assert_int_equal(dg_quantize(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_dequantize(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_scale_convert(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_scale_pack_k_grouped(NULL, NULL, NULL), DG_STATUS_NULL_POINTER);
    const calls_t c = make_calls();
    assert_int_equal(dg_scale_transform_layout(NULL, &c.transform, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_scale_transform(NULL, &c.transform, NULL, NULL), DG_STATUS_NULL_POINTER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_named_and_leaves_no_trace),
        cmocka_unit_test(missing_structs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
