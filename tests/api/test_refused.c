/* SPDX-License-Identifier: MIT
 *
 * Calls of the GEMM families that must be refused. Each row of the tables changes a few fields of a
 * call that works and says which status and argument the refusal names, which value its message
 * quotes and which remedy it gives. A refused call changes nothing: all memory of the test, inputs
 * and outputs, is compared byte for byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>

#include <cmocka.h>

#include "refusal.h"

#define CHECK(rows) check_refusals(rows, sizeof(rows) / sizeof *(rows))

static void the_calls_work_without_a_change(void **state) {
    (void)state;
    for (int family = GEMM; family <= K_LISTED; family++) {
        assert_int_equal(make_unchanged_call((family_t)family), DG_STATUS_OK);
    }
}

static void calls(void **state) {
    (void)state;
    dg_context_t *destroyed;
    assert_int_equal(dg_context_create(&destroyed, NULL), DG_STATUS_OK);
    assert_int_equal(dg_context_destroy(destroyed), DG_STATUS_OK);
    const refusal_t rows[] = {
        {GEMM, DG_STATUS_NULL_POINTER, "args", "NULL", "dg_gemm_args_t", {SET(no_args, 1)}},
        {GEMM, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", "17", "_INIT",
            {SET(gemm.struct_size, 17)}},
        {M_GROUPED, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", "0,", "_INIT",
            {SET(m.struct_size, 0)}},
        {K_GROUPED, DG_STATUS_BAD_STRUCT_SIZE, "args.struct_size", "18", "_INIT",
            {SET(k.struct_size, 18)}},
        {GEMM, DG_STATUS_BAD_CONTEXT, "ctx", "destroyed", "create another", {SET(ctx, destroyed)}},
        {M_GROUPED, DG_STATUS_BAD_STRUCT_SIZE, "launch.struct_size", "3,", "_INIT",
            {SET(launch.struct_size, 3)}},
        {K_GROUPED, DG_STATUS_NULL_POINTER, "launch.workspace", "64", "pass the address",
            {SET(launch.workspace_size, 64)}},
        {GEMM, DG_STATUS_MISALIGNED, "launch.workspace", "256", "align",
            {SET(launch.workspace, memory.a + 8)}},
        {GEMM, DG_STATUS_NULL_POINTER, "bytes", "NULL", "address",
            {SET(query, 1), SET(no_bytes, 1)}},
        {M_GROUPED, DG_STATUS_NULL_POINTER, "bytes", "NULL", "address",
            {SET(query, 1), SET(no_bytes, 1)}},
        {K_GROUPED, DG_STATUS_NULL_POINTER, "bytes", "NULL", "address",
            {SET(query, 1), SET(no_bytes, 1)}},
    };
    CHECK(rows);
}

static void results(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {GEMM, DG_STATUS_NULL_POINTER, "d", "no tensor", "dg_tensor_2d", {CLEAR(gemm.d)}},
        {GEMM, DG_STATUS_NULL_POINTER, "d", "[4, 6]", "address", {SET(gemm.d.data, 0)}},
        {GEMM, DG_STATUS_BAD_DTYPE, "d", "e4m3", "bf16 or f32", {SET(gemm.d.dtype, DG_DTYPE_E4M3)}},
        {GEMM, DG_STATUS_BAD_DTYPE, "d", "(-7)", "bf16 or f32", {SET(gemm.d.dtype, -7)}},
        {GEMM, DG_STATUS_BAD_RANK, "d", "rank 3", "expected 2", {SET(gemm.d.rank, 3)}},
        {GEMM, DG_STATUS_BAD_RANK, "d", "rank 1000", "expected 2", {SET(gemm.d.rank, 1000)}},
        {M_GROUPED, DG_STATUS_BAD_SHAPE, "d", "[-1, 6]", "at least 0", {SET(m.d.shape[0], -1)}},
        {GEMM, DG_STATUS_BAD_SHAPE, "d", "9223372036854775807", "check extents",
            {SET(gemm.d.shape[0], INT64_MAX)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "d", "[3, 4, 6]", "[groups, m, n]",
            {SET(k.d.shape[0], 3)}},
        {GEMM, DG_STATUS_BAD_STRIDE, "d", "stride 2", "row-major", {SET(gemm.d.stride[1], 2)}},
        {GEMM, DG_STATUS_BAD_STRIDE, "d", "[5, 1]", "own place", {SET(gemm.d.stride[0], 5)}},
        {M_GROUPED, DG_STATUS_BAD_STRIDE, "d", "[-6, 1]", "own place", {SET(m.d.stride[0], -6)}},
        {K_GROUPED, DG_STATUS_BAD_STRIDE, "d", "[0, 6, 1]", "own place", {SET(k.d.stride[0], 0)}},
        {GEMM, DG_STATUS_MISALIGNED, "d", "multiple of 4", "move",
            {SET(gemm.d.data, (char *)memory.d + 2)}},
        {GEMM, DG_STATUS_BAD_DEVICE, "d", "type 7", "set the tensor's device",
            {SET(gemm.d.device.type, 7)}},
        {GEMM, DG_STATUS_UNSUPPORTED, "", "no CUDA driver", "CPU memory",
            {SET(gemm.a.data.device.type, 2), SET(gemm.a.scale.device.type, 2),
                SET(gemm.b.data.device.type, 2), SET(gemm.b.scale.device.type, 2),
                SET(gemm.c.device.type, 2), SET(gemm.d.device.type, 2)}},
        {GEMM, DG_STATUS_OVERLAP, "d", "a.data", "another buffer", {SET(gemm.d.data, memory.a)}},
        {GEMM, DG_STATUS_OVERLAP, "d", "b.scale", "another buffer",
            {SET(gemm.d.data, memory.scale_b)}},
        {M_GROUPED, DG_STATUS_OVERLAP, "d", "groups.values", "another buffer",
            {SET(m.d.data, (char *)memory.sizes - 8)}},
        {M_GROUPED, DG_STATUS_OVERLAP, "d", "a_rows", "another buffer",
            {CLEAR(m.c), SET(m.d.data, memory.rows + 4)}},
        {K_GROUPED, DG_STATUS_OVERLAP, "d", "a.scale", "another buffer",
            {CLEAR(k.c), SET(k.d.data, memory.scale_a)}},
    };
    CHECK(rows);
}

static void accumulators(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {GEMM, DG_STATUS_NULL_POINTER, "c", "[4, 6]", "address", {SET(gemm.c.data, 0)}},
        {GEMM, DG_STATUS_BAD_DTYPE, "c", "bf16", "expected f32",
            {SET(gemm.c.dtype, DG_DTYPE_BF16)}},
        {M_GROUPED, DG_STATUS_BAD_RANK, "c", "rank 1", "expected 2", {SET(m.c.rank, 1)}},
        {GEMM, DG_STATUS_BAD_SHAPE, "c", "[4, 7]", "d's shape", {SET(gemm.c.shape[1], 7)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "c", "[1, 4, 6]", "d's shape", {SET(k.c.shape[0], 1)}},
        {GEMM, DG_STATUS_BAD_STRIDE, "c", "stride 2", "row-major", {SET(gemm.c.stride[1], 2)}},
        {GEMM, DG_STATUS_MISALIGNED, "c", "multiple of 4", "move",
            {SET(gemm.c.data, (char *)memory.c + 1)}},
        {GEMM, DG_STATUS_OVERLAP, "c", "partly overlaps d", "lie apart",
            {SET(gemm.c.data, memory.d + 1)}},
        {GEMM, DG_STATUS_OVERLAP, "c", "partly overlaps d", "lie apart",
            {SET(gemm.c.data, memory.d), SET(gemm.c.stride[0], 7)}},
        {K_GROUPED, DG_STATUS_OVERLAP, "c", "partly overlaps d", "lie apart",
            {SET(k.c.data, memory.d + 24)}},
        {GEMM, DG_STATUS_BAD_DEVICE, "c", "type 2", "copy", {SET(gemm.c.device.type, 2)}},
    };
    CHECK(rows);
}

static void operands(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {GEMM, DG_STATUS_NULL_POINTER, "a.data", "no tensor", "dg_tensor_2d", {CLEAR(gemm.a.data)}},
        {GEMM, DG_STATUS_NULL_POINTER, "b.data", "[6, 256]", "address", {SET(gemm.b.data.data, 0)}},
        {GEMM, DG_STATUS_BAD_DTYPE, "a.data", "f32", "e4m3, e2m1x2 or bf16",
            {SET(gemm.a.data.dtype, DG_DTYPE_F32)}},
        {GEMM, DG_STATUS_BAD_DTYPE, "b.data", "bf16", "convert",
            {SET(gemm.b.data.dtype, DG_DTYPE_BF16)}},
        {GEMM, DG_STATUS_BAD_RANK, "a.data", "rank 4", "expected 2", {SET(gemm.a.data.rank, 4)}},
        {M_GROUPED, DG_STATUS_BAD_RANK, "b.data", "rank 2", "expected 3", {SET(m.b.data.rank, 2)}},
        {GEMM, DG_STATUS_BAD_SHAPE, "a.data", "[5, 256]", "dg_tensor_transpose",
            {SET(gemm.a.data.shape[0], 5)}},
        {GEMM, DG_STATUS_BAD_SHAPE, "b.data", "k = 255", "equal k",
            {SET(gemm.b.data.shape[1], 255)}},
        {M_GROUPED, DG_STATUS_BAD_SHAPE, "b.data", "[3, 6, 256]", "each group",
            {SET(m.b.data.shape[0], 3)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "a.data", "[8, 5]", "TOKENS_LAST",
            {SET(k.a.data.shape[1], 5)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "b.data", "7 tokens", "as many tokens",
            {CLEAR(k.a.rows), CLEAR(k.b.rows), SET(k.b.data.shape[0], 7)}},
        {GEMM, DG_STATUS_BAD_SHAPE, "a.data", "9223372036854775807", "check extents",
            {SET(gemm.a.data.shape[1], INT64_MAX)}},
        {GEMM, DG_STATUS_BAD_STRIDE, "a.data", "[512, 2]", "contiguous",
            {SET(gemm.a.data.stride[0], 512), SET(gemm.a.data.stride[1], 2)}},
        {M_GROUPED, DG_STATUS_BAD_STRIDE, "b.data", "[1536, 512, 3]", "contiguous",
            {SET(m.b.data.stride[1], 512), SET(m.b.data.stride[2], 3)}},
        {GEMM, DG_STATUS_BAD_STRIDE, "b.data", "[1, 6]", "packed",
            {SET(gemm.b.data.dtype, DG_DTYPE_E2M1X2), SET(gemm.b.data.stride[0], 1),
                SET(gemm.b.data.stride[1], 6)}},
        {GEMM, DG_STATUS_MISALIGNED, "a.data", "multiple of 2", "move",
            {SET(gemm.a.data.dtype, DG_DTYPE_BF16), SET(gemm.a.data.data, memory.a + 1)}},
        {GEMM, DG_STATUS_MISALIGNED, "b.data", "multiple of 2", "move",
            {SET(gemm.b.data.dtype, DG_DTYPE_BF16), SET(gemm.b.data.data, memory.b + 1)}},
        {GEMM, DG_STATUS_BAD_DEVICE, "a.data", "type 2", "copy", {SET(gemm.a.data.device.type, 2)}},
        {K_GROUPED, DG_STATUS_BAD_DEVICE, "b.data", "type 0", "copy",
            {SET(k.b.data.device.type, 0)}},
    };
    CHECK(rows);
}

static void factors(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {GEMM, DG_STATUS_NULL_POINTER, "a.scale", "[4, 2]", "address", {SET(gemm.a.scale.data, 0)}},
        {GEMM, DG_STATUS_NULL_POINTER, "b.scale", "[1, 2]", "address", {SET(gemm.b.scale.data, 0)}},
        {GEMM, DG_STATUS_BAD_DTYPE, "a.scale", "bf16", "f32",
            {SET(gemm.a.scale.dtype, DG_DTYPE_BF16)}},
        {K_GROUPED, DG_STATUS_BAD_DTYPE, "b.scale", "u8", "e8m0",
            {SET(k.b.scale.dtype, DG_DTYPE_U8)}},
        {GEMM, DG_STATUS_BAD_RANK, "a.scale", "rank 1", "expected 2", {SET(gemm.a.scale.rank, 1)}},
        {M_GROUPED, DG_STATUS_BAD_RANK, "b.scale", "rank 2", "expected 3",
            {SET(m.b.scale.rank, 2)}},
        {GEMM, DG_STATUS_BAD_SCALE, "a.scale", "[4, 1], expected [4, 2]", "dg_quantize",
            {SET(gemm.a.scale.shape[1], 1)}},
        {GEMM, DG_STATUS_BAD_SCALE, "a.scale", "[4, 2], expected [4, 1]", "dg_quantize",
            {SET(gemm.a.scale.dtype, DG_DTYPE_I32)}},
        {M_GROUPED, DG_STATUS_BAD_SCALE, "b.scale", "[2, 1, 2], expected [2, 6, 2]", "dg_quantize",
            {SET(m.b.gran_mn, 1)}},
        {K_GROUPED, DG_STATUS_BAD_SCALE, "a.scale", "1 rows, expected at least 2", "dg_quantize",
            {SET(k.a.scale.shape[0], 1)}},
        {K_GROUPED, DG_STATUS_BAD_SCALE, "b.scale", "[2, 5]", "dg_quantize",
            {SET(k.b.scale.shape[1], 5)}},
        {GEMM, DG_STATUS_BAD_SCALE, "b.scale", "e2m1x2", "dg_quantize",
            {SET(gemm.b.data.dtype, DG_DTYPE_E2M1X2), SET(gemm.b.data.shape[1], 128),
                CLEAR(gemm.b.scale)}},
        {GEMM, DG_STATUS_BAD_SCALE, "a.scale", "bf16", "DG_NO_TENSOR",
            {SET(gemm.a.data.dtype, DG_DTYPE_BF16), SET(gemm.b.data.dtype, DG_DTYPE_BF16)}},
        {GEMM, DG_STATUS_BAD_SHAPE, "a.scale", "[-4, 2]", "at least 0",
            {SET(gemm.a.scale.shape[0], -4)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "b.scale", "[-2, 6]", "at least 0",
            {SET(k.b.scale.shape[0], -2)}},
        {GEMM, DG_STATUS_MISALIGNED, "a.scale", "multiple of 4", "move",
            {SET(gemm.a.scale.data, (char *)memory.scale_a + 2)}},
        {K_GROUPED, DG_STATUS_MISALIGNED, "b.scale", "multiple of 4", "move",
            {SET(k.b.scale.data, (char *)memory.scale_b + 3)}},
        {GEMM, DG_STATUS_BAD_DEVICE, "a.scale", "type 2", "copy",
            {SET(gemm.a.scale.device.type, 2)}},
        {M_GROUPED, DG_STATUS_BAD_DEVICE, "b.scale", "type 2", "copy",
            {SET(m.b.scale.device.type, 2)}},
        {GEMM, DG_STATUS_BAD_VALUE, "a.gran_mn", "0,", "quantised", {SET(gemm.a.gran_mn, 0)}},
        {GEMM, DG_STATUS_BAD_VALUE, "b.gran_mn", "-128", "quantised", {SET(gemm.b.gran_mn, -128)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "a.gran_k", "64", "32 or 128", {SET(m.a.gran_k, 64)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "b.gran_k", "2143289344", "32 or 128",
            {SET(k.b.gran_k, 0x7FC00000)}}, /* the bits of a NaN */
    };
    CHECK(rows);
}

static void groups(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {M_GROUPED, DG_STATUS_BAD_ENUM, "groups.form", "NONE (0)", "choose",
            {SET(m.groups.form, DG_GROUPS_NONE)}},
        {M_GROUPED, DG_STATUS_BAD_ENUM, "groups.form", "(99)", "MASKED", {SET(m.groups.form, 99)}},
        {K_GROUPED, DG_STATUS_BAD_ENUM, "groups.form", "INDEX", "PSUM",
            {SET(k.groups.form, DG_GROUPS_INDEX)}},
        {K_GROUPED, DG_STATUS_BAD_ENUM, "groups.form", "OFFSETS", "SIZES",
            {SET(k.groups.form, DG_GROUPS_OFFSETS), SET(k.a.form, DG_K_FLAT)}},
        {M_GROUPED, DG_STATUS_NULL_POINTER, "groups.values", "no tensor", "fill",
            {CLEAR(m.groups.values)}},
        {K_GROUPED, DG_STATUS_BAD_DTYPE, "groups.values", "f32", "i32 or i64",
            {SET(k.groups.values.dtype, DG_DTYPE_F32)}},
        {K_GROUPED, DG_STATUS_BAD_RANK, "groups.values", "rank 2", "expected 1",
            {SET(k.groups.values.rank, 2)}},
        {M_GROUPED, DG_STATUS_BAD_SHAPE, "groups.values", "[2], expected [8]", "each row",
            {SET(m.groups.form, DG_GROUPS_INDEX)}},
        {M_GROUPED, DG_STATUS_MISALIGNED, "groups.values", "multiple of 4", "move",
            {SET(m.groups.values.data, (char *)memory.sizes + 1)}},
        {M_GROUPED, DG_STATUS_BAD_DEVICE, "groups.values", "type 2", "copy",
            {SET(m.groups.values.device.type, 2)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "groups.values", "entry 0 is 9223372036854775807",
            "add up",
            {SET(m.groups.values.data, memory.huge_sizes),
                SET(m.groups.values.dtype, DG_DTYPE_I64)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "groups.values", "286331153", "0 .. 8",
            {SET(k.groups.form, DG_GROUPS_OFFSETS), SET(k.groups.values.data, memory.scale_a)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "groups.values", "entry 0 is 7", "clamp",
            {SET(m.groups.form, DG_GROUPS_INDEX), SET(m.groups.values.data, memory.rows),
                SET(m.groups.values.shape[0], ROWS)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "groups.alignment", "-16", "mk_alignment",
            {SET(m.groups.alignment, -16)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "groups.host_sizes", "sum 10", "at most 8",
            {SET(k.groups.host_sizes, memory.host_sizes), SET(k.groups.host_count, GROUPS)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "groups.host_sizes", "entry 1 is 5", "add up",
            {SET(k.groups.host_sizes, memory.host_sizes), SET(k.groups.host_count, GROUPS),
                CLEAR(k.groups.values)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "groups.host_count", "-1", "at least 0",
            {SET(m.groups.host_sizes, memory.host_sizes), SET(m.groups.host_count, -1)}},
        {M_GROUPED, DG_STATUS_BAD_ENUM, "zero_padding", "3,", "DG_OFF", {SET(m.zero_padding, 3)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "expected_m", "-5", "0 for unknown",
            {SET(m.expected_m, -5)}},
    };
    CHECK(rows);
}

static void row_lists(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {M_GROUPED, DG_STATUS_NULL_POINTER, "a_rows", "[8]", "address", {SET(m.a_rows.data, 0)}},
        {M_GROUPED, DG_STATUS_BAD_DTYPE, "a_rows", "u8", "i32 or i64",
            {SET(m.a_rows.dtype, DG_DTYPE_U8)}},
        {M_GROUPED, DG_STATUS_BAD_RANK, "a_rows", "rank 0", "expected 1", {SET(m.a_rows.rank, 0)}},
        {M_GROUPED, DG_STATUS_BAD_SHAPE, "a_rows", "[7], expected [8]", "pass as many",
            {SET(m.a_rows.shape[0], 7)}},
        {M_GROUPED, DG_STATUS_MISALIGNED, "a_rows", "multiple of 4", "move",
            {SET(m.a_rows.data, (char *)memory.rows + 2)}},
        {M_GROUPED, DG_STATUS_BAD_DEVICE, "a_rows", "type 2", "copy",
            {SET(m.a_rows.device.type, 2)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "a_rows", "entry 0 is 7, expected less than 7", "clamp",
            {SET(m.a.data.shape[0], 7), SET(m.a.scale.shape[0], 7)}},
        {M_GROUPED, DG_STATUS_BAD_VALUE, "a_rows", "MASKED", "DG_NO_TENSOR",
            {SET(m.groups.form, DG_GROUPS_MASKED), SET(m.d.rank, 3), SET(m.d.shape[0], GROUPS),
                SET(m.d.shape[1], 4), SET(m.d.shape[2], N), SET(m.d.stride[0], 24),
                SET(m.d.stride[1], 6), SET(m.d.stride[2], 1)}},
        {M_GROUPED, DG_STATUS_UNSUPPORTED, "a_rows", "4294967296", "split",
            {SET(m.a.data.shape[0], INT64_C(4294967296)), SET(m.a.data.stride[0], 0),
                SET(m.a.scale.shape[0], INT64_C(4294967296)), SET(m.a.scale.stride[0], 0)}},
        {K_GROUPED, DG_STATUS_NULL_POINTER, "a.rows", "[8]", "address", {SET(k.a.rows.data, 0)}},
        {K_GROUPED, DG_STATUS_BAD_DTYPE, "a.rows", "f32", "i32 or i64",
            {SET(k.a.rows.dtype, DG_DTYPE_F32)}},
        {K_GROUPED, DG_STATUS_BAD_RANK, "a.rows", "rank 2", "expected 1", {SET(k.a.rows.rank, 2)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "a.rows", "[-8]", "at least 0",
            {SET(k.a.rows.shape[0], -8)}},
        {K_GROUPED, DG_STATUS_MISALIGNED, "a.rows", "multiple of 4", "move",
            {SET(k.a.rows.data, (char *)memory.rows + 3)}},
        {K_GROUPED, DG_STATUS_BAD_DEVICE, "a.rows", "type 2", "copy",
            {SET(k.a.rows.device.type, 2)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "a.rows", "entry 0 is 7, expected less than 5", "clamp",
            {SET(k.a.data.shape[0], 5)}},
        {K_GROUPED, DG_STATUS_NULL_POINTER, "b.rows", "[8]", "address", {SET(k.b.rows.data, 0)}},
        {K_GROUPED, DG_STATUS_BAD_DTYPE, "b.rows", "e8m0", "i32 or i64",
            {SET(k.b.rows.dtype, DG_DTYPE_E8M0)}},
        {K_GROUPED, DG_STATUS_BAD_RANK, "b.rows", "rank 3", "expected 1", {SET(k.b.rows.rank, 3)}},
        {K_GROUPED, DG_STATUS_MISALIGNED, "b.rows", "multiple of 4", "move",
            {SET(k.b.rows.data, (char *)memory.rows + 1)}},
        {K_GROUPED, DG_STATUS_BAD_DEVICE, "b.rows", "type 0", "copy",
            {SET(k.b.rows.device.type, 0)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "b.rows", "form 2", "DG_NO_TENSOR",
            {SET(k.b.form, DG_K_TOKENS_LAST)}},
    };
    CHECK(rows);
}

static void k_grouped_arguments(void **state) {
    (void)state;
    const refusal_t rows[] = {
        {K_GROUPED, DG_STATUS_BAD_ENUM, "a.form", "0,", "DG_K_TOKENS_FIRST",
            {CLEAR(k.a.rows), SET(k.a.form, 0)}},
        {K_GROUPED, DG_STATUS_BAD_ENUM, "b.form", "4,", "DG_K_TOKENS_FIRST", {SET(k.b.form, 4)}},
        {K_GROUPED, DG_STATUS_BAD_ENUM, "output", "3,", "DG_K_OUTPUT_SUM", {SET(k.output, 3)}},
        {K_GROUPED, DG_STATUS_BAD_RANK, "d", "rank 3", "expected 2",
            {SET(k.output, DG_K_OUTPUT_SUM)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "num_tokens", "-1", "0 to take", {SET(k.num_tokens, -1)}},
        {K_GROUPED, DG_STATUS_BAD_SHAPE, "num_tokens", "9 tokens", "as many tokens",
            {SET(k.num_tokens, 9)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "d_list", "STACK", "DG_K_OUTPUT_LIST",
            {SET(k.d_list, d_list)}},
        {K_GROUPED, DG_STATUS_BAD_VALUE, "c_list", "STACK", "DG_K_OUTPUT_LIST",
            {SET(k.c_list, c_list)}},
        {K_LISTED, DG_STATUS_BAD_VALUE, "d", "LIST", "NULL", {SET(list.d.data, memory.d)}},
        {K_LISTED, DG_STATUS_BAD_VALUE, "c", "LIST", "c_list",
            {SET(list.c.data, memory.c), SET(list.c.device.type, 1)}},
        {K_LISTED, DG_STATUS_NULL_POINTER, "d_list", "2 outputs", "STACK", {SET(list.d_list, 0)}},
        {K_LISTED, DG_STATUS_NULL_POINTER, "d_list", "entry 1", "pass it",
            {SET(list.d_list, d_null)}},
        {K_LISTED, DG_STATUS_NULL_POINTER, "c_list", "entry 1", "pass it",
            {SET(list.c_list, c_null)}},
        {K_LISTED, DG_STATUS_MISALIGNED, "d_list", "entry 1", "move", {SET(list.d_list, d_odd)}},
        {K_LISTED, DG_STATUS_MISALIGNED, "c_list", "entry 1", "move", {SET(list.c_list, c_odd)}},
        {K_LISTED, DG_STATUS_BAD_VALUE, "d_list", "2000 groups", "1 .. 1024",
            {SET(list.groups.values.shape[0], 2000), SET(list.groups.values.stride[0], 0)}},
        {K_LISTED, DG_STATUS_OVERLAP, "d_list", "entries 0", "of its own",
            {SET(list.d_list, d_twice)}},
        {K_LISTED, DG_STATUS_OVERLAP, "d_list", "b.data", "another buffer",
            {SET(list.b.data.data, memory.d)}},
        {K_LISTED, DG_STATUS_OVERLAP, "c_list", "entry 0", "lie apart",
            {SET(list.c_list, c_crossed)}},
    };
    CHECK(rows);
}

static void at_least_eighty_pairs_are_distinct(void **state) {
    (void)state;
    print_message("%d distinct (status, argument) pairs\n", count_distinct_refusals());
    assert_in_range(count_distinct_refusals(), 80, 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calls_work_without_a_change),
        cmocka_unit_test(calls),
        cmocka_unit_test(results),
        cmocka_unit_test(accumulators),
        cmocka_unit_test(operands),
        cmocka_unit_test(factors),
        cmocka_unit_test(groups),
        cmocka_unit_test(row_lists),
        cmocka_unit_test(k_grouped_arguments),
        cmocka_unit_test(at_least_eighty_pairs_are_distinct),
    };
    return cmocka_run_group_tests(tests, make_memory, NULL);
}
