/* SPDX-License-Identifier: MIT
 *
 * The casts against golden vectors made with PyTorch (tests/golden/make_cast_golden.py), bit for
 * bit, on every instruction set this machine has and with outputs dense and transposed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

enum { POISON = 0xEE, GUARD = 64 };

/* One case of the file; pointers into its bytes. */
typedef struct golden_t {
    dg_dtype_t x_dtype, data_dtype, scale_dtype;
    int32_t rank, shape[4], gran[4], power_of_two, k_axis, pair_axis, group_count;
    const int32_t *sizes;
    int32_t x_bytes, data_bytes, scale_bytes;
    const uint8_t *x, *data, *scale;
} golden_t;

typedef struct golden_file_t {
    uint8_t *bytes;
    size_t size;
} golden_file_t;

static golden_file_t file;

static int load_file(void **state) {
    (void)state;
    FILE *in = fopen(DG_GOLDEN_DIR "/cast.golden", "rb");
    if (!in) return -1;
    fseek(in, 0, SEEK_END);
    file.size = (size_t)ftell(in);
    rewind(in);
    file.bytes = malloc(file.size);
    const int complete = file.bytes && fread(file.bytes, 1, file.size, in) == file.size;
    fclose(in);
    return complete ? 0 : -1;
}

static int free_file(void **state) {
    (void)state;
    free(file.bytes);
    return 0;
}

static int32_t take(const int32_t **at) {
    return *(*at)++;
}

/* Reads the case at `bytes`; returns where the next one begins. */
static const uint8_t *read_case(const uint8_t *bytes, golden_t *g) {
    const int32_t *at = (const int32_t *)(const void *)bytes;
    g->x_dtype = (dg_dtype_t)take(&at);
    g->data_dtype = (dg_dtype_t)take(&at);
    g->scale_dtype = (dg_dtype_t)take(&at);
    g->rank = take(&at);
    for (int i = 0; i < 4; ++i) g->shape[i] = take(&at);
    for (int i = 0; i < 4; ++i) g->gran[i] = take(&at);
    g->power_of_two = take(&at);
    g->k_axis = take(&at);
    g->pair_axis = take(&at);
    g->group_count = take(&at);
    g->sizes = at;
    if (g->group_count > 0) at += g->group_count;
    g->x_bytes = take(&at);
    g->data_bytes = take(&at);
    g->scale_bytes = take(&at);
    g->x = (const uint8_t *)at;
    g->data = g->x + (g->x_bytes + 3) / 4 * 4;
    g->scale = g->data + (g->data_bytes + 3) / 4 * 4;
    return g->scale + (g->scale_bytes + 3) / 4 * 4;
}

static dg_tensor_t make_tensor(
    const void *data, dg_dtype_t dtype, int32_t rank, const int64_t *shape) {
    dg_tensor_t t = {.data = (void *)(uintptr_t)data,
        .device = {DG_DEVICE_CPU, 0},
        .dtype = dtype,
        .rank = rank};
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; --i) {
        t.shape[i] = shape[i], t.stride[i] = stride;
        stride *= shape[i];
    }
    return t;
}

/* The tensor with its memory order of axes reversed. */
static void reverse_order(dg_tensor_t *t) {
    int64_t stride = 1;
    for (int32_t i = 0; i < t->rank; ++i) {
        t->stride[i] = stride;
        stride *= t->shape[i];
    }
}

/* Gathers the elements of t, row-major, into dense: so memory orders compare alike. */
static void gather(const dg_tensor_t *t, uint8_t *dense) {
    const int64_t size = dg_dtype_size(t->dtype);
    int64_t shape[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
    for (int32_t i = 0; i < t->rank; ++i) {
        shape[4 - t->rank + i] = t->shape[i];
        stride[4 - t->rank + i] = t->stride[i];
    }
    for (int64_t a = 0; a < shape[0]; ++a) {
        for (int64_t b = 0; b < shape[1]; ++b) {
            for (int64_t c = 0; c < shape[2]; ++c) {
                for (int64_t d = 0; d < shape[3]; ++d) {
                    const int64_t at =
                        a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
                    memcpy(dense, (const uint8_t *)t->data + at * size, (size_t)size);
                    dense += size;
                }
            }
        }
    }
}

static int is_nan_f32(const uint8_t *bytes) {
    float value;
    memcpy(&value, bytes, sizeof value);
    return value != value;
}

/* Any NaN factor equals any other. */
static void assert_same(const uint8_t *got, const uint8_t *want, int32_t size, dg_dtype_t dtype,
    int number, const char *what) {
    for (int32_t i = 0; i < size; ++i) {
        if (got[i] == want[i]) continue;
        if (dtype == DG_DTYPE_F32 && is_nan_f32(got + i / 4 * 4) && is_nan_f32(want + i / 4 * 4)) {
            continue;
        }
        fail_msg("case %d, %s: byte %d is %#x, expected %#x", number, what, i, got[i], want[i]);
    }
}

/* Rows of factors that the case has, from the bytes stored. */
static int64_t scale_rows(const golden_t *g, const int64_t *scale_shape) {
    int64_t row = dg_dtype_size(g->scale_dtype);
    for (int32_t i = 1; i < g->rank; ++i) row *= scale_shape[i];
    return g->scale_bytes / row;
}

static void check_case(dg_context_t *ctx, const golden_t *g, int number, int reversed) {
    int64_t shape[4], data_shape[4], scale_shape[4];
    const int32_t k_axis = g->k_axis == DG_K_AXIS_ROWS ? 0 : g->rank - 1;
    for (int32_t i = 0; i < g->rank; ++i) {
        const int32_t gran = g->gran[i] ? g->gran[i] : g->shape[i];
        shape[i] = g->shape[i];
        data_shape[i] = i == g->pair_axis ? shape[i] / 2 : shape[i];
        scale_shape[i] = (shape[i] + gran - 1) / gran;
        if (g->scale_dtype == DG_DTYPE_I32 && i == k_axis)
            scale_shape[i] = (scale_shape[i] + 3) / 4;
    }
    scale_shape[0] = scale_rows(g, scale_shape);
    size_t data_size = 1;
    for (int32_t i = 0; i < g->rank; ++i) data_size *= (size_t)data_shape[i];
    const size_t scale_size = (size_t)g->scale_bytes;
    uint8_t *data = malloc(data_size + 2 * GUARD), *scale = malloc(scale_size + 2 * GUARD);
    uint8_t *dense = malloc(data_size + scale_size);
    assert_true(data && scale && dense);
    memset(data, POISON, data_size + 2 * GUARD);
    memset(scale, POISON, scale_size + 2 * GUARD);

    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = make_tensor(g->x, g->x_dtype, g->rank, shape);
    args.out[0].data = make_tensor(data + GUARD, g->data_dtype, g->rank, data_shape);
    args.out[0].scale = make_tensor(scale + GUARD, g->scale_dtype, g->rank, scale_shape);
    memcpy(args.out[0].gran, g->gran, sizeof g->gran);
    args.out[0].power_of_two = g->power_of_two ? DG_ON : DG_DEFAULT;
    args.out[0].k_axis = (dg_k_axis_t)g->k_axis;
    const int movable = g->pair_axis < 0 || data_shape[g->pair_axis] == shape[g->pair_axis];
    if (reversed && movable) reverse_order(&args.out[0].data);
    if (g->pair_axis == 0) reverse_order(&args.out[0].data);
    if (reversed) reverse_order(&args.out[0].scale);
    if (g->group_count >= 0) {
        args.groups.form = DG_GROUPS_SIZES;
        args.groups.values = dg_tensor_1d(g->sizes, DG_DTYPE_I32, g->group_count);
    }
    if (dg_quantize(ctx, &args, NULL) != DG_STATUS_OK) fail_msg("%d: %s", number, dg_last_error());

    gather(&args.out[0].data, dense);
    assert_same(dense, g->data, g->data_bytes, g->data_dtype, number, "codes");
    for (size_t i = (size_t)g->data_bytes; i < data_size; ++i) assert_int_equal(dense[i], POISON);
    gather(&args.out[0].scale, dense);
    assert_same(dense, g->scale, g->scale_bytes, g->scale_dtype, number, "factors");
    for (size_t i = 0; i < GUARD; ++i) {
        assert_int_equal(data[i], POISON);
        assert_int_equal(scale[i], POISON);
        assert_int_equal(data[GUARD + data_size + i], POISON);
        assert_int_equal(scale[GUARD + scale_size + i], POISON);
    }
    free(data), free(scale), free(dense);
}

static void check_all(dg_cpu_isa_t isa, int32_t threads) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    options.cpu_isa = isa;
    options.num_threads = threads;
    dg_context_t *ctx;
    const dg_status_t status = dg_context_create(&ctx, &options);
    if (status == DG_STATUS_UNSUPPORTED) return; /* this processor lacks it */
    assert_int_equal(status, DG_STATUS_OK);
    int count = 0;
    for (const uint8_t *at = file.bytes; at < file.bytes + file.size; ++count) {
        golden_t golden;
        at = read_case(at, &golden);
        check_case(ctx, &golden, count, 0);
        check_case(ctx, &golden, count, 1);
    }
    assert_true(count > 100);
    dg_context_destroy(ctx);
}

static void golden_vectors_match_in_portable_code(void **state) {
    (void)state;
    check_all(DG_CPU_ISA_PORTABLE, 1);
}

static void golden_vectors_match_on_every_instruction_set(void **state) {
    (void)state;
    check_all(DG_CPU_ISA_AVX2, 2);
    check_all(DG_CPU_ISA_AVX512, 2);
    check_all(DG_CPU_ISA_NEON, 2);
    check_all(DG_CPU_ISA_AUTO, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors_match_in_portable_code),
        cmocka_unit_test(golden_vectors_match_on_every_instruction_set),
    };
    return cmocka_run_group_tests(tests, load_file, free_file);
}
