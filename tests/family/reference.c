/* SPDX-License-Identifier: MIT
 *
 * Decoding, FP64 sums and the bound; see reference.h.
 */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "guard.h"

static double decode_e4m3(uint8_t code) {
    const double sign = code & 0x80 ? -1.0 : 1.0;
    const int exponent = (code >> 3) & 15;
    const int mantissa = code & 7;
    if (exponent == 15 && mantissa == 7) return NAN;
    if (exponent == 0) return sign * ldexp(mantissa, -9);
    return sign * ldexp(8 + mantissa, exponent - 10);
}

/* All values of E4M3 by code, made once a thread: decoding is most of what a reference does. */
static const double *e4m3_table(void) {
    static _Thread_local double table[256];
    static _Thread_local bool made;
    if (!made) {
        for (int code = 0; code < 256; code++) table[code] = decode_e4m3((uint8_t)code);
        made = true;
    }
    return table;
}

double ref_e4m3(uint8_t code) {
    return e4m3_table()[code];
}

double ref_e2m1(unsigned code) {
    static const double magnitude[8] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
    return code & 8 ? -magnitude[code & 7] : magnitude[code & 7];
}

double ref_e8m0(uint8_t code) {
    return code == 255 ? NAN : ldexp(1.0, (int)code - 127);
}

double ref_bf16(uint16_t code) {
    const uint32_t bits = (uint32_t)code << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t ref_round_bf16(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double magnitude = fabs(x);
    if (isnan(x)) return 0x7FC0;
    if (magnitude == 0.0) return sign;
    int exponent;
    frexp(magnitude, &exponent); /* magnitude = f * 2^exponent, f in [0.5, 1) */
    int unit = exponent - 8;     /* 8 significant bits */
    if (unit < -133) unit = -133;
    const double rounded = ldexp(nearbyint(ldexp(magnitude, -unit)), unit);
    if (isinf(magnitude) || rounded >= 0x1p128) return sign | 0x7F80;
    const float value = (float)rounded;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(sign | (bits >> 16));
}

uint8_t ref_round_e4m3(float x) {
    const double *value = e4m3_table();
    const double magnitude = fabs((double)x);
    if (!(magnitude <= 464.0)) return 0x7F;
    int below = 0; /* the largest code up to magnitude; positive codes are in order */
    for (int half = 64; half > 0; half /= 2) {
        if (below + half < 127 && value[below + half] <= magnitude) below += half;
    }
    int best = below;
    if (below < 126) {
        const double down = magnitude - value[below], up = value[below + 1] - magnitude;
        if (up < down || (up == down && below % 2 == 1)) best = below + 1;
    }
    return (uint8_t)(signbit(x) ? best | 0x80 : best);
}

uint8_t ref_round_e2m1(float x) {
    unsigned best = 0;
    for (unsigned code = 1; code < 8; code++) {
        const double midpoint = (ref_e2m1(code - 1) + ref_e2m1(code)) / 2.0;
        if (fabs((double)x) > midpoint) best = code;
    }
    return (uint8_t)(best != 0 && signbit(x) ? best | 8 : best);
}

double ref_read(const dg_tensor_t *tensor, int64_t offset) {
    switch (tensor->dtype) {
    case DG_DTYPE_E4M3: return ref_e4m3(((const uint8_t *)tensor->data)[offset]);
    case DG_DTYPE_E8M0: return ref_e8m0(((const uint8_t *)tensor->data)[offset]);
    case DG_DTYPE_BF16: return ref_bf16(((const uint16_t *)tensor->data)[offset]);
    case DG_DTYPE_F32: return ((const float *)tensor->data)[offset];
    case DG_DTYPE_I32: return ((const int32_t *)tensor->data)[offset];
    case DG_DTYPE_I64: return (double)((const int64_t *)tensor->data)[offset];
    default: label_fail("ref_read: dtype %d", (int)tensor->dtype);
    }
}

ref_sum_t ref_dot(const double *a, const double *b, int64_t k) {
    ref_sum_t sum = {0.0, 0.0};
    for (int64_t i = 0; i < k; i++) {
        const double product = a[i] * b[i];
        sum.value += product;
        sum.magnitude += fabs(product);
    }
    return sum;
}

static bool same_bits(const dg_tensor_t *d, int64_t offset, double want) {
    if (d->dtype == DG_DTYPE_BF16) {
        return ((const uint16_t *)d->data)[offset] == ref_round_bf16(want);
    }
    const float rounded = (float)want;
    return memcmp((const float *)d->data + offset, &rounded, sizeof rounded) == 0;
}

double ref_sum_error = 0x1p-20;

void ref_judge(
    judge_t how, const dg_tensor_t *d, int64_t offset, ref_sum_t sum, int64_t i, int64_t j) {
    const bool bf16 = d->dtype == DG_DTYPE_BF16;
    const double got = ref_read(d, offset);
    const double want = sum.value;
    /* the last term: half a unit of the smallest number, for results in the subnormal range */
    const double bound = fabs(want) * (bf16 ? 0x1p-8 : 0x1p-23) + sum.magnitude * ref_sum_error +
                         (bf16 ? 0x1p-134 : 0x1p-149);
    bool good;
    if (isnan(want)) {
        good = isnan(got);
    } else if (isinf(want)) {
        good = got == want;
    } else if (how == JUDGE_EXACT) {
        good = same_bits(d, offset, want);
    } else {
        good = fabs(got - want) <= bound;
    }
    if (!good) {
        label_fail("[%lld, %lld]: got %.9g, want %.9g, %s %.3g", (long long)i, (long long)j, got,
            want, how == JUDGE_EXACT ? "exactly; bound otherwise" : "bound", bound);
    }
}
