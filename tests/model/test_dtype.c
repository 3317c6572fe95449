/* SPDX-License-Identifier: MIT
 *
 * Single values of the narrow types: every code there is, and encodings against a search for the
 * nearest code in double precision.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/dtype.h"

static double e4m3_value(int code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    const double magnitude = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
    return code & 0x80 ? -magnitude : magnitude;
}

static void test_e4m3_decodes_by_definition(void **state) {
    (void)state;
    for (int code = 0; code < 256; code++) {
        const float value = dg_decode_e4m3((uint8_t)code);
        if ((code & 0x7F) == 0x7F) {
            assert_true(isnan(value));
        } else {
            assert_true((double)value == e4m3_value(code));
            assert_int_equal(!!signbit(value), code >> 7);
            assert_int_equal(dg_encode_e4m3(value), code);
        }
    }
}

/* The code nearest to value, the even one of two. */
static int nearest_e4m3(float value) {
    if (isnan(value) || fabs((double)value) > 464) return 0x7F;
    int best = 0;
    double best_distance = INFINITY;
    for (int code = 0; code < 0x7F; code++) {
        const double distance = fabs(e4m3_value(code) - fabs((double)value));
        if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
            best = code;
            best_distance = distance;
        }
    }
    return best | (signbit(value) ? 0x80 : 0);
}

static void check_e4m3(float value) {
    assert_int_equal(dg_encode_e4m3(value), nearest_e4m3(value));
    assert_int_equal(dg_encode_e4m3(-value), nearest_e4m3(-value));
}

/* Guards against: ties, the step from subnormals to normals, and the ends of the range. */
static void test_e4m3_encodes_to_nearest_even(void **state) {
    (void)state;
    for (int code = 0; code < 0x7E; code++) {
        const float middle = (float)((e4m3_value(code) + e4m3_value(code + 1)) / 2);
        check_e4m3(middle);
        check_e4m3(nextafterf(middle, 0));
        check_e4m3(nextafterf(middle, 1000));
    }
    const float edges[] = {0, 1e-45f, 0x1p-126f, 0x1p-10f, 448, 463.9f, 464, nextafterf(464, 1000),
        480, 3e38f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) check_e4m3(edges[i]);
    uint32_t bits = 1;
    for (int i = 0; i < 200000; i++) {
        bits = bits * 1664525u + 1013904223u;
        check_e4m3(dg_bits_float(bits));                              /* any exponent */
        check_e4m3(dg_bits_float(bits % (20u << 23) + (112u << 23))); /* those that matter */
    }
}

static void test_e2m1(void **state) {
    (void)state;
    static const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (int code = 0; code < 8; code++) {
        assert_true(dg_decode_e2m1((uint8_t)code) == values[code]);
        assert_true(dg_decode_e2m1((uint8_t)(code + 8)) == -values[code]);
        assert_int_equal(!!signbit(dg_decode_e2m1((uint8_t)(code + 8))), 1);
        assert_int_equal(dg_encode_e2m1(values[code]), code);
        assert_int_equal(dg_encode_e2m1(-values[code]), code ? code + 8 : 0);
        if (code == 7) continue;
        const float middle = (values[code] + values[code + 1]) / 2;
        assert_int_equal(dg_encode_e2m1(middle), code); /* ties go down */
        assert_int_equal(dg_encode_e2m1(nextafterf(middle, 9)), code + 1);
        assert_int_equal(dg_encode_e2m1(nextafterf(-middle, -9)), code + 9);
    }
    assert_int_equal(dg_encode_e2m1(1e30f), 7);
    assert_int_equal(dg_encode_e2m1(-INFINITY), 15);
    assert_int_equal(dg_encode_e2m1(NAN), 0);
    assert_int_equal(dg_encode_e2m1(-0.1f), 0);
}

static void test_e8m0(void **state) {
    (void)state;
    for (int code = 0; code < 255; code++) {
        assert_true((double)dg_decode_e8m0((uint8_t)code) == ldexp(1, code - 127));
        if (code > 0) assert_int_equal(dg_encode_e8m0(dg_decode_e8m0((uint8_t)code)), code);
    }
    assert_true(isnan(dg_decode_e8m0(255)));
    assert_int_equal(dg_encode_e8m0(0), 0);
}

/* Guards against: double rounding, a carry into the exponent, NaN turned into infinity. */
static void test_bf16(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        const float value = dg_decode_bf16((uint16_t)code);
        if (isnan(value)) {
            assert_int_equal(dg_encode_bf16(value), code | 0x40);
            continue;
        }
        assert_int_equal(dg_encode_bf16(value), code);
        if (isinf(value)) continue;
        const uint32_t bits = dg_float_bits(value);
        assert_int_equal(dg_encode_bf16(dg_bits_float(bits + 0x7FFF)), code);
        assert_int_equal(dg_encode_bf16(dg_bits_float(bits + 0x8000)), code + code % 2);
        assert_int_equal(dg_encode_bf16(dg_bits_float(bits + 0x8001)), code + 1);
    }
    assert_true(isnan(dg_decode_bf16(dg_encode_bf16(dg_bits_float(0x7F800001u)))));
}

static void test_f16_decodes_by_definition(void **state) {
    (void)state;
    for (int code = 0; code < 65536; code++) {
        const int exponent = code >> 10 & 31, mantissa = code & 1023;
        const double magnitude = exponent == 31 ? (mantissa != 0 ? NAN : INFINITY)
                                 : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                                : ldexp(mantissa, -24);
        const float value = dg_decode_f16((uint16_t)code);
        assert_int_equal(!!signbit(value), code >> 15);
        if (isnan(magnitude)) {
            assert_true(isnan(value));
        } else {
            assert_true(fabs((double)value) == magnitude);
        }
    }
}

static void test_dtype_table(void **state) {
    (void)state;
    static const char *const names[] = {
        "?", "e4m3", "e2m1x2", "e8m0", "bf16", "f32", "i32", "i64", "u8", "f16", "?"};
    static const int sizes[] = {0, 1, 1, 1, 2, 4, 4, 8, 1, 2, 0};
    for (int i = 0; i < 11; i++) {
        assert_string_equal(dg_dtype_string((dg_dtype_t)i), names[i]);
        assert_int_equal(dg_dtype_size((dg_dtype_t)i), sizes[i]);
    }
    assert_string_equal(dg_dtype_string((dg_dtype_t)-1), "?");
    assert_int_equal(dg_dtype_from_dlpack(10, 8, 1), DG_DTYPE_E4M3);
    assert_int_equal(dg_dtype_from_dlpack(17, 4, 2), DG_DTYPE_E2M1X2);
    assert_int_equal(dg_dtype_from_dlpack(14, 8, 1), DG_DTYPE_E8M0);
    assert_int_equal(dg_dtype_from_dlpack(4, 16, 1), DG_DTYPE_BF16);
    assert_int_equal(dg_dtype_from_dlpack(2, 32, 1), DG_DTYPE_F32);
    assert_int_equal(dg_dtype_from_dlpack(0, 32, 1), DG_DTYPE_I32);
    assert_int_equal(dg_dtype_from_dlpack(0, 64, 1), DG_DTYPE_I64);
    assert_int_equal(dg_dtype_from_dlpack(1, 8, 1), DG_DTYPE_U8);
    assert_int_equal(dg_dtype_from_dlpack(2, 16, 1), DG_DTYPE_F16);
    assert_int_equal(dg_dtype_from_dlpack(2, 64, 1), DG_DTYPE_NONE);
    assert_int_equal(dg_dtype_from_dlpack(4, 16, 2), DG_DTYPE_NONE);
    assert_int_equal(dg_dtype_from_dlpack(0, 0, 0), DG_DTYPE_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_e4m3_decodes_by_definition),
        cmocka_unit_test(test_e4m3_encodes_to_nearest_even),
        cmocka_unit_test(test_e2m1),
        cmocka_unit_test(test_e8m0),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_f16_decodes_by_definition),
        cmocka_unit_test(test_dtype_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
