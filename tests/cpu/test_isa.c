/* SPDX-License-Identifier: MIT
 *
 * Every instruction set this CPU has against the portable one, bit for bit (any NaN equals any
 * other). Self-contained, so that it can be carried to a machine with other instruction sets; those
 * that are absent are skipped by name.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/cast_kernels.h"
#include "cpu/pack.h"
#include "engine_case.h"
#include "model/dtype.h"

/* The test's parameter: which instruction set. */
static const dg_cpu_kernels_t *find_or_skip(void **state) {
    const dg_cpu_isa_t kind = *(const dg_cpu_isa_t *)*state;
    const dg_cpu_kernels_t *kernels = dg_cpu_find_kernels(kind);
    if (!kernels) {
        print_message("%s: not on this machine, skipped\n", dg_cpu_isa_string(kind));
        skip();
    }
    return kernels;
}

static bool same_bits(float x, float y) {
    uint32_t p, q;
    memcpy(&p, &x, 4);
    memcpy(&q, &y, 4);
    const uint32_t infinity = 0x7F800000;
    return p == q || ((p & 0x7FFFFFFF) > infinity && (q & 0x7FFFFFFF) > infinity);
}

/* Guards against: a decoder that loses subnormals, signs, NaN, or one of the 256 or 65536 codes. */
static void test_decoders(void **state) {
    const dg_cpu_kernels_t *kernels = find_or_skip(state);
    uint8_t *bytes = aligned_alloc(64, 256);
    uint16_t *halves = aligned_alloc(64, 65536 * 2);
    float *got = aligned_alloc(64, 65536 * 4), *expected = aligned_alloc(64, 65536 * 4);
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    for (int i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
    kernels->decode_e4m3(bytes, 256, got);
    dg_cpu_kernels_portable.decode_e4m3(bytes, 256, expected);
    for (int i = 0; i < 256; i++) assert_true(same_bits(got[i], expected[i]));
    kernels->decode_bf16(halves, 65536, got);
    dg_cpu_kernels_portable.decode_bf16(halves, 65536, expected);
    for (int i = 0; i < 65536; i++) assert_true(same_bits(got[i], expected[i]));
    free(bytes);
    free(halves);
    free(got);
    free(expected);
}

/* Guards against: an encoder that rounds, saturates or signs differently anywhere. Values that
 * differ in the 20 upper bits, each with lower bits on and beside every bound between codes; run
 * lengths that end inside a vector. */
static void test_encoders(void **state) {
    find_or_skip(state);
    enum { UPPERS = 256, LOWERS = 5, COUNT = UPPERS * LOWERS - 3 };
    static const uint32_t lower[LOWERS] = {0, 1, 0x7FF, 0x800, 0xFFF};
    static float values[UPPERS * LOWERS];
    static uint8_t got[COUNT];
    dg_cpu_pool_t *pool;
    assert_int_equal(dg_cpu_create_pool(1, *(const dg_cpu_isa_t *)*state, &pool), DG_STATUS_OK);
    const dg_cpu_source_kernels_t *kernels = &dg_cpu_cast_kernels(pool)->f32;
    const float one = 1.0f;
    const dg_cast_run_t run = {.values = values, .count = COUNT, .gran = COUNT};
    for (uint32_t first = 0; first < 1u << 20; first += UPPERS) {
        for (uint32_t i = 0; i < UPPERS * LOWERS; i++) {
            values[i] = dg_bits_float((first + i / LOWERS) << 12 | lower[i % LOWERS]);
        }
        kernels->encode_e4m3_blocks(&run, &one, got);
        for (int i = 0; i < COUNT; i++) assert_int_equal(got[i], dg_encode_e4m3(values[i]));
        kernels->encode_e2m1_blocks(&run, &one, got);
        for (int i = 0; i < COUNT; i++) assert_int_equal(got[i], dg_encode_e2m1(values[i]));
    }
    dg_cpu_destroy_pool(pool);
}

/* Guards against: a maximum that loses NaN or a sign, or counts a value outside its block or row. */
static void test_magnitudes(void **state) {
    find_or_skip(state);
    enum { ROWS = 5, COLS = 77, STRIDE = 90, GRAN = 31, FIRST = 11 };
    static float values[ROWS * STRIDE];
    static uint16_t halves[ROWS * STRIDE];
    dg_cpu_pool_t *pool;
    assert_int_equal(dg_cpu_create_pool(1, *(const dg_cpu_isa_t *)*state, &pool), DG_STATUS_OK);
    const dg_cpu_cast_kernels_t *kernels = dg_cpu_cast_kernels(pool);
    uint64_t random = 9;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < ROWS * STRIDE; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            halves[i] = (uint16_t)(random >> 48);
            if (round % 2 == 0) halves[i] &= 0xBFFF; /* no NaN, which would hide all else */
            values[i] = dg_decode_bf16(halves[i]);
        }
        uint32_t columns[2][COLS], blocks[2][4], column[COLS], block[4];
        for (int i = 0; i < COLS; i++) columns[0][i] = columns[1][i] = column[i] = (uint32_t)i;
        for (int i = 0; i < 4; i++) blocks[0][i] = blocks[1][i] = block[i] = 5;
        for (int i = 0; i < ROWS * STRIDE; i++) {
            const uint32_t bits = dg_float_bits(values[i]) & 0x7FFFFFFF;
            const int at = i % STRIDE;
            if (at < COLS && bits > column[at]) column[at] = bits;
            uint32_t *largest = &block[(FIRST + at) / GRAN];
            if (i < COLS && bits > *largest) *largest = bits;
        }
        kernels->f32.max_columns(values, STRIDE, ROWS, COLS, columns[0]);
        kernels->bf16.max_columns(halves, STRIDE, ROWS, COLS, columns[1]);
        kernels->f32.max_blocks(&(dg_cast_run_t){values, COLS, FIRST, GRAN}, blocks[0]);
        kernels->bf16.max_blocks(&(dg_cast_run_t){halves, COLS, FIRST, GRAN}, blocks[1]);
        for (int t = 0; t < 2; t++) {
            assert_memory_equal(columns[t], column, sizeof column);
            assert_memory_equal(blocks[t], block, sizeof block);
        }
    }
    dg_cpu_destroy_pool(pool);
}

static float random_float(uint64_t *state, bool with_specials) {
    static const float specials[] = {0.0f, -0.0f, 1e-45f, -1e-38f, 3e38f, -3e38f};
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const uint32_t high = (uint32_t)(*state >> 32);
    if (with_specials && high % 5 == 0) return specials[high / 5 % 6];
    const float magnitude = (float)(high & 0xFFFFFF) * 0x1p-20f;
    return high >> 31 ? -magnitude : magnitude;
}

/* Guards against: another order, a missing fusion, flushed subnormals, a wrong sign of zero, in a
 * micro-kernel and in each of its variants for few rows. */
static void test_micro_kernel(void **state) {
    const dg_cpu_kernels_t *kernels = find_or_skip(state);
    enum { MAX_K = 128 };
    float *a = aligned_alloc(64, MAX_K * DG_CPU_MAX_COLS * 4);
    float *b = aligned_alloc(64, MAX_K * DG_CPU_MAX_COLS * 4);
    float *scale_a = aligned_alloc(64, 128), *scale_b = aligned_alloc(64, 128);
    float *total = aligned_alloc(64, DG_CPU_MAX_ROWS * DG_CPU_MAX_COLS * 4);
    static float before[DG_CPU_MAX_ROWS * DG_CPU_MAX_COLS];
    uint64_t random = 5;
    for (int round = 0; round < 40 * kernels->rows; round++) {
        const int used_rows = round % kernels->rows + 1;
        const bool specials = round / kernels->rows % 2 == 1;
        const int k_count = round % 3 == 0 ? MAX_K : 1 + round % 37;
        for (int i = 0; i < MAX_K * DG_CPU_MAX_COLS; i++) {
            a[i] = random_float(&random, specials);
            b[i] = random_float(&random, specials);
        }
        for (int i = 0; i < 32; i++) {
            scale_a[i] = random_float(&random, specials);
            scale_b[i] = random_float(&random, specials);
        }
        for (int i = 0; i < kernels->rows * kernels->cols; i++) {
            total[i] = before[i] = random_float(&random, specials);
        }
        kernels->multiply(k_count, used_rows, a, b, scale_a, scale_b, total);
        for (int i = 0; i < used_rows; i++) {
            for (int j = 0; j < kernels->cols; j++) {
                float sum = 0;
                for (int k = 0; k < k_count; k++) {
                    sum = fmaf(a[k * kernels->rows + i], b[k * kernels->cols + j], sum);
                }
                const int at = i * kernels->cols + j;
                const float expected = fmaf(scale_a[i] * scale_b[j], sum, before[at]);
                assert_true(same_bits(total[at], expected));
            }
        }
    }
    free(a);
    free(b);
    free(scale_a);
    free(scale_b);
    free(total);
}

/* Guards against: a table whose micro-tile the packer or the tiling does not serve. */
static void test_whole_products(void **state) {
    const dg_cpu_kernels_t *kernels = find_or_skip(state);
    const dg_cpu_isa_t kind = *(const dg_cpu_isa_t *)*state;
    dg_cpu_pool_t *pool, *portable;
    assert_int_equal(dg_cpu_create_pool(2, kind, &pool), DG_STATUS_OK);
    assert_ptr_equal(dg_cpu_pool_kernels(pool), kernels);
    assert_int_equal(dg_cpu_create_pool(1, DG_CPU_ISA_PORTABLE, &portable), DG_STATUS_OK);
    for (uint64_t seed = 1; seed <= 120; seed++) {
        const case_spec_t spec = draw_case(seed + 5000, 6e5);
        case_t made;
        make_case(&made, &spec, seed);
        assert_int_equal(dg_cpu_run(portable, &made.product, 1), DG_STATUS_OK);
        void *expected = malloc(made.d_bytes);
        memcpy(expected, made.d, made.d_bytes);
        reset_output(&made);
        assert_int_equal(dg_cpu_run(pool, &made.product, 1), DG_STATUS_OK);
        check_same(&made, expected);
        check_case(&made);
        free(expected);
        free_case(&made);
    }
    dg_cpu_destroy_pool(pool);
    dg_cpu_destroy_pool(portable);
}

/* Guards against: an absent instruction set being silently replaced. */
static void test_absent_sets_are_refused(void **state) {
    (void)state;
    for (int kind = -1; kind <= DG_CPU_ISA_COUNT; kind++) {
        dg_cpu_pool_t *pool;
        const dg_status_t status = dg_cpu_create_pool(1, (dg_cpu_isa_t)kind, &pool);
        const bool present = dg_cpu_find_kernels((dg_cpu_isa_t)kind) != NULL;
        assert_int_equal(status, present ? DG_STATUS_OK : DG_STATUS_UNSUPPORTED);
        assert_int_equal(pool != NULL, present);
        dg_cpu_destroy_pool(pool);
    }
}

static dg_cpu_isa_t kinds[] = {
    DG_CPU_ISA_PORTABLE, DG_CPU_ISA_AVX2, DG_CPU_ISA_AVX512, DG_CPU_ISA_NEON};

#define FOR_KIND(test, index)                                                                      \
    { #test "[" #index "]", test, NULL, NULL, &kinds[index] }
#define FOR_EACH_KIND(test)                                                                        \
    FOR_KIND(test, 0), FOR_KIND(test, 1), FOR_KIND(test, 2), FOR_KIND(test, 3)

int main(void) {
    const struct CMUnitTest tests[] = {
        FOR_EACH_KIND(test_decoders),
        FOR_EACH_KIND(test_encoders),
        FOR_EACH_KIND(test_magnitudes),
        FOR_EACH_KIND(test_micro_kernel),
        FOR_EACH_KIND(test_whole_products),
        cmocka_unit_test(test_absent_sets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
