/* SPDX-License-Identifier: MIT
 *
 * Random operands; see operand.h. The factors are drawn first, then the codes; each is written to
 * its place in guarded memory and its value noted, so nothing is ever read back through a view.
 */
#include "operand.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "reference.h"

static int64_t ceil_div(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}

static uint16_t bf16_bits(double x) {
    return ref_round_bf16(x);
}

code_t code_random(rng_t *rng, dg_dtype_t dtype, values_t values) {
    static const uint8_t e4m3_integer[] = {0x00, 0x38, 0x40, 0x44, 0x48, 0xB8, 0xC0, 0xC4, 0xC8};
    static const uint8_t e2m1_integer[] = {0, 2, 4, 5, 6, 10, 12, 13, 14};
    code_t code = {0, 0.0};
    const int64_t pick = rng_range(rng, 0, 8);
    switch (dtype) {
    case DG_DTYPE_E4M3:
        code.bits = values == VALUES_INTEGER ? e4m3_integer[pick] : rng_next(rng) & 0xFF;
        if ((code.bits & 0x7F) == 0x7F) code.bits ^= 1;
        code.value = ref_e4m3((uint8_t)code.bits);
        break;
    case DG_DTYPE_E2M1X2:
        code.bits = values == VALUES_INTEGER ? e2m1_integer[pick] : rng_next(rng) & 15;
        code.value = ref_e2m1(code.bits);
        break;
    default:
        code.value = values == VALUES_INTEGER ? (double)(pick - 4) : rng_normal(rng) * 4.0;
        code.bits = bf16_bits(code.value);
        code.value = ref_bf16((uint16_t)code.bits);
    }
    return code;
}

code_t factor_random(rng_t *rng, dg_dtype_t dtype, values_t values) {
    code_t code = {0, 0.0};
    const int exponent =
        (int)(values == VALUES_INTEGER ? rng_range(rng, 0, 2) : rng_range(rng, -8, 8));
    if (dtype != DG_DTYPE_F32) {
        code.bits = (uint32_t)(127 + exponent);
        code.value = ref_e8m0((uint8_t)code.bits);
        return code;
    }
    const double mantissa = values == VALUES_INTEGER ? 1.0 : 1.0 + rng_unit(rng);
    const float factor = (float)ldexp(mantissa, exponent);
    memcpy(&code.bits, &factor, sizeof factor);
    code.value = factor;
    return code;
}

void code_store(dg_dtype_t dtype, void *base, int64_t index, uint32_t bits) {
    uint8_t *bytes = base;
    if (dtype == DG_DTYPE_E2M1X2) {
        uint8_t *pair = bytes + index / 2;
        const int shift = index % 2 ? 4 : 0;
        *pair = (uint8_t)(((unsigned)*pair & (0xF0U >> shift)) | (bits << shift));
    } else {
        const size_t size = (size_t)dg_dtype_size(dtype);
        memcpy(bytes + (size_t)index * size, &bits, size); /* little endian, as the library asks */
    }
}

/* Scale tensor of a spec and its values: [max(groups, 1), mn_blocks, k_blocks]. */
static double *scale_make(rng_t *rng, const operand_spec_t *spec, int64_t groups, int64_t mn_blocks,
    int64_t k_blocks, dg_tensor_t *view) {
    const int64_t count = groups > 0 ? groups : 1;
    const bool packed = spec->scale == DG_DTYPE_I32;
    const int64_t columns = packed ? ceil_div(k_blocks, 4) : k_blocks;
    int64_t mn_stride = columns;
    int64_t k_stride = 1;
    if (spec->order == SCALE_ALIGNED) {
        mn_stride = 1;
        k_stride = ceil_div(mn_blocks, 4) * 4;
    } else if (spec->order == SCALE_LOOSE) {
        k_stride = 3;
        mn_stride = 3 * columns + 5;
    }
    const int64_t span =
        mn_stride * (mn_blocks > 0 ? mn_blocks : 1) + k_stride * (columns > 0 ? columns : 1);
    const int64_t size = dg_dtype_size(spec->scale);
    uint8_t *memory = guard_take((size_t)(count * span * size), 0, "scale factors");
    memset(memory, 0xFF, (size_t)(count * span * size)); /* NaN in each of the three types */
    double *value = guard_scratch((size_t)(count * mn_blocks * k_blocks) * sizeof *value);
    for (int64_t g = 0; g < count; g++) {
        for (int64_t i = 0; i < mn_blocks; i++) {
            for (int64_t j = 0; j < k_blocks; j++) {
                const code_t factor = factor_random(rng, spec->scale, spec->values);
                const int64_t at = g * span + i * mn_stride + (packed ? j / 4 : j) * k_stride;
                value[(g * mn_blocks + i) * k_blocks + j] = factor.value;
                if (packed) {
                    memory[at * 4 + j % 4] = (uint8_t)factor.bits;
                } else {
                    code_store(spec->scale, memory, at, factor.bits);
                }
            }
        }
    }
    *view = dg_tensor_3d(memory, spec->scale, count, mn_blocks, columns);
    view->stride[0] = span;
    view->stride[1] = mn_stride;
    view->stride[2] = k_stride;
    return value;
}

/* Drops the leading axis of a rank-3 view. */
static dg_tensor_t matrix_of(dg_tensor_t view) {
    view.rank = 2;
    view.shape[0] = view.shape[1], view.shape[1] = view.shape[2], view.shape[2] = 0;
    view.stride[0] = view.stride[1], view.stride[1] = view.stride[2], view.stride[2] = 0;
    return view;
}

operand_t operand_make(
    rng_t *rng, const operand_spec_t *spec, int64_t groups, int64_t mn, int64_t k) {
    operand_t operand = {.groups = groups, .mn = mn, .k = k};
    const int64_t count = groups > 0 ? groups : 1;
    const int64_t pack = spec->dtype == DG_DTYPE_E2M1X2 ? 2 : 1;
    const int64_t lines = spec->mn_major ? k : mn;
    const int64_t length = (spec->mn_major ? mn : k) / pack;
    const int64_t size = dg_dtype_size(spec->dtype), unit = spec->aligned ? 16 / size : 1;
    const int64_t pad = ceil_div(spec->pad, unit) * unit;
    const int64_t line_stride = ceil_div(length, unit) * unit + pad;
    const int64_t group_stride = lines * line_stride + pad;
    const int64_t skew = spec->pad > 0 && !spec->aligned ? rng_range(rng, 0, 3) * size : 0;
    uint8_t *memory = guard_take((size_t)(count * group_stride * size), (size_t)skew, "operand");
    memset(memory, 0xFF, (size_t)(count * group_stride * size)); /* NaN in E4M3 and BF16 */
    operand.value = guard_scratch((size_t)(count * mn * k) * sizeof(double));

    const double *factors = NULL;
    int64_t mn_blocks = 0;
    int64_t k_blocks = 0;
    if (spec->scale != DG_DTYPE_NONE) {
        mn_blocks = ceil_div(mn, spec->gran_mn);
        k_blocks = ceil_div(k, spec->gran_k);
        factors = scale_make(rng, spec, groups, mn_blocks, k_blocks, &operand.view.scale);
    }
    for (int64_t g = 0; g < count; g++) {
        for (int64_t i = 0; i < mn; i++) {
            for (int64_t j = 0; j < k; j++) {
                const code_t code = code_random(rng, spec->dtype, spec->values);
                const int64_t line = g * group_stride + (spec->mn_major ? j : i) * line_stride;
                code_store(spec->dtype, memory + line * size, spec->mn_major ? i : j, code.bits);
                const double factor = factors == NULL
                                          ? 1.0
                                          : factors[(g * mn_blocks + i / spec->gran_mn) * k_blocks +
                                                    j / spec->gran_k];
                operand.value[(g * mn + i) * k + j] = code.value * factor;
            }
        }
    }
    operand.view.data = dg_tensor_3d(
        memory, spec->dtype, count, spec->mn_major ? mn / pack : mn, spec->mn_major ? k : k / pack);
    operand.view.data.stride[0] = group_stride;
    operand.view.data.stride[1] = spec->mn_major ? 1 : line_stride;
    operand.view.data.stride[2] = spec->mn_major ? line_stride : 1;
    operand.view.gran_mn = spec->gran_mn;
    operand.view.gran_k = spec->gran_k;
    if (groups == 0) {
        operand.view.data = matrix_of(operand.view.data);
        if (factors != NULL) operand.view.scale = matrix_of(operand.view.scale);
    }
    return operand;
}

const char *operand_text(const operand_spec_t *spec) {
    static _Thread_local char buffers[4][96];
    static _Thread_local unsigned turn;
    char *text = buffers[turn++ % 4];
    snprintf(text, sizeof buffers[0], "%s %s pad %lld scale %s order %d %dx%d",
        dg_dtype_string(spec->dtype), spec->mn_major ? "mn-major" : "k-major", (long long)spec->pad,
        spec->scale ? dg_dtype_string(spec->scale) : "none", (int)spec->order, spec->gran_mn,
        spec->gran_k);
    return text;
}
