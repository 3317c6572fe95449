/* SPDX-License-Identifier: MIT
 *
 * See sample.h.
 */
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void sample_begin(sample_t *sample, uint64_t seed) {
    sample->state = seed * 0x9E3779B97F4A7C15u + 1;
    sample->count = 0;
}

void sample_end(sample_t *sample) {
    for (int i = 0; i < sample->count; i++) free(sample->buffers[i]);
    sample->count = 0;
}

static uint64_t next(sample_t *sample) {
    sample->state ^= sample->state << 13;
    sample->state ^= sample->state >> 7;
    sample->state ^= sample->state << 17;
    return sample->state >> 11;
}

int64_t sample_between(sample_t *sample, int64_t low, int64_t high) {
    return low + (int64_t)(next(sample) % (uint64_t)(high - low + 1));
}

void *sample_bytes(sample_t *sample, int64_t bytes) {
    assert_in_range(sample->count, 0, 63);
    void *buffer = malloc((size_t)bytes + 1);
    assert_non_null(buffer);
    memset(buffer, 0xFF, (size_t)bytes + 1);
    sample->buffers[sample->count++] = buffer;
    return buffer;
}

static void write_random(sample_t *sample, const dg_tensor_t *tensor, int64_t offset) {
    uint8_t *at = (uint8_t *)tensor->data + offset * dg_dtype_size(tensor->dtype);
    const uint64_t random = next(sample);
    uint8_t exponents[4];
    for (int i = 0; i < 4; i++) exponents[i] = (uint8_t)(124 + (random >> 8 * i & 0xFF) % 7);
    const float factor =
        ldexpf(1.0f + (float)(random % 1000) / 1000.0f, (int)(random >> 20 & 3) - 2);
    const float wide = (float)((int64_t)(random % 2001) - 1000) / 64.0f;
    uint32_t bits;
    memcpy(&bits, &wide, 4);
    switch (tensor->dtype) {
    case DG_DTYPE_E4M3: *at = (random & 0x7F) == 0x7F ? 0x3A : (uint8_t)random; break;
    case DG_DTYPE_E2M1X2: *at = (uint8_t)random; break;
    case DG_DTYPE_BF16: memcpy(at, (uint8_t *)&bits + 2, 2); break;
    case DG_DTYPE_F32: memcpy(at, &factor, 4); break;
    case DG_DTYPE_E8M0: *at = exponents[0]; break;
    case DG_DTYPE_I32: memcpy(at, exponents, 4); break;
    default: fail();
    }
}

static int64_t offset_of(const dg_tensor_t *tensor, const int64_t *index) {
    int64_t offset = 0;
    for (int32_t i = 0; i < tensor->rank; i++) offset += index[i] * tensor->stride[i];
    return offset;
}

/* The next index in row-major order; false after the last. */
static bool advance(const dg_tensor_t *tensor, int64_t *index) {
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        if (++index[i] < tensor->shape[i]) return true;
        index[i] = 0;
    }
    return false;
}

dg_tensor_t sample_tensor(sample_t *sample, dg_dtype_t dtype, int32_t rank, const int64_t *shape,
    const int32_t *order, int64_t pad) {
    dg_tensor_t tensor = {
        .device = {DG_DEVICE_CPU, 0}, .dtype = dtype, .rank = rank, .shape = {0}, .stride = {0}};
    int64_t stride = 1, index[DG_MAX_RANK] = {0};
    bool empty = false;
    for (int32_t i = rank - 1; i >= 0; i--) {
        const int32_t axis = order[i];
        tensor.shape[axis] = shape[axis];
        tensor.stride[axis] = stride;
        empty = empty || shape[axis] == 0;
        stride *= shape[axis] + (i == rank - 1 ? pad : 0);
    }
    if (empty) return tensor;
    tensor.data = sample_bytes(sample, stride * dg_dtype_size(dtype));
    do {
        write_random(sample, &tensor, offset_of(&tensor, index));
    } while (advance(&tensor, index));
    return tensor;
}

dg_tensor_t sample_matrix(
    sample_t *sample, dg_dtype_t dtype, int64_t n0, int64_t n1, bool transposed, int64_t pad) {
    const int64_t shape[2] = {n0, n1};
    const int32_t rows[2] = {0, 1}, columns[2] = {1, 0};
    return sample_tensor(sample, dtype, 2, shape, transposed ? columns : rows, pad);
}

static double e4m3_value(unsigned code) {
    const double sign = code & 0x80 ? -1 : 1;
    const int exponent = (int)(code >> 3 & 15), mantissa = (int)(code & 7);
    if (exponent == 15 && mantissa == 7) return NAN;
    if (exponent == 0) return sign * ldexp(mantissa, -9);
    return sign * ldexp(8 + mantissa, exponent - 10);
}

static double e2m1_value(unsigned code) {
    static const double magnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
}

static double e8m0_value(unsigned code) {
    return code == 255 ? NAN : ldexp(1, (int)code - 127);
}

double sample_value(const dg_tensor_t *tensor, const int64_t *index, int32_t packed) {
    const int64_t parts = tensor->dtype == DG_DTYPE_E2M1X2 ? 2
                          : tensor->dtype == DG_DTYPE_I32  ? 4
                                                           : 1;
    int64_t at[DG_MAX_RANK] = {0};
    for (int32_t i = 0; i < tensor->rank; i++) at[i] = i == packed ? index[i] / parts : index[i];
    const int64_t part = parts > 1 ? index[packed] % parts : 0;
    const uint8_t *bytes =
        (const uint8_t *)tensor->data + offset_of(tensor, at) * dg_dtype_size(tensor->dtype);
    uint32_t word = 0;
    float value;
    switch (tensor->dtype) {
    case DG_DTYPE_E4M3: return e4m3_value(*bytes);
    case DG_DTYPE_E2M1X2: return e2m1_value(part == 0 ? *bytes & 15u : (unsigned)*bytes >> 4);
    case DG_DTYPE_E8M0: return e8m0_value(*bytes);
    case DG_DTYPE_I32: return e8m0_value(bytes[part]);
    case DG_DTYPE_BF16:
        word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
        memcpy(&value, &word, 4);
        return (double)value;
    default: memcpy(&value, bytes, 4); return (double)value;
    }
}

double sample_operand_value(
    const dg_operand_t *operand, int32_t packed, int64_t g, int64_t i, int64_t k) {
    const int32_t skip = 3 - operand->data.rank;
    const int64_t index[3] = {g, i, k};
    const double value = sample_value(&operand->data, index + skip, packed);
    if (operand->scale.dtype == DG_DTYPE_NONE) return value;
    const int64_t block[3] = {g, i / operand->gran_mn, k / operand->gran_k};
    return value * sample_value(&operand->scale, block + skip, operand->scale.rank - 1);
}

void sample_check(const dg_tensor_t *d, const int64_t *index, double expected, double magnitude) {
    const double value = sample_value(d, index, -1);
    const double rounding = d->dtype == DG_DTYPE_BF16 ? ldexp(1, -8) : ldexp(1, -23);
    const double bound = rounding * fabs(expected) + ldexp(1, -20) * magnitude;
    if (fabs(value - expected) <= bound) return;
    fail_msg("element [%lld, %lld, %lld]: %.9g, expected %.9g within %.3g", (long long)index[0],
        d->rank > 1 ? (long long)index[1] : -1, d->rank > 2 ? (long long)index[2] : -1, value,
        expected, bound);
}

void sample_succeeded(dg_status_t status) {
    if (status != DG_STATUS_OK) {
        fail_msg("%s: %s", dg_status_string(status), dg_last_error());
    }
}

void sample_poison(const dg_tensor_t *tensor) {
    int64_t index[DG_MAX_RANK] = {0};
    const size_t size = (size_t)dg_dtype_size(tensor->dtype);
    if (tensor->data == NULL) return;
    do {
        memset((uint8_t *)tensor->data + (size_t)offset_of(tensor, index) * size, 0xFF, size);
    } while (advance(tensor, index));
}

static int64_t span_of(const dg_tensor_t *tensor) {
    int64_t last[DG_MAX_RANK];
    for (int32_t i = 0; i < tensor->rank; i++) last[i] = tensor->shape[i] - 1;
    return tensor->data == NULL ? 0 : (offset_of(tensor, last) + 1) * dg_dtype_size(tensor->dtype);
}

uint8_t *sample_copy(sample_t *sample, const dg_tensor_t *tensor) {
    uint8_t *copy = sample_bytes(sample, span_of(tensor));
    if (tensor->data != NULL) memcpy(copy, tensor->data, (size_t)span_of(tensor));
    return copy;
}

void sample_check_between(const dg_tensor_t *tensor, uint8_t *before) {
    int64_t index[DG_MAX_RANK] = {0};
    const size_t size = (size_t)dg_dtype_size(tensor->dtype);
    if (tensor->data == NULL) return;
    do {
        const size_t at = (size_t)offset_of(tensor, index) * size;
        memcpy(before + at, (const uint8_t *)tensor->data + at, size);
    } while (advance(tensor, index));
    assert_memory_equal(tensor->data, before, (size_t)span_of(tensor));
}
