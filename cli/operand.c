/* SPDX-License-Identifier: MIT
 *
 * Makes and reads operands. Factors of half the operands lie transposed in memory (MN-major), since
 * the library takes any strides.
 */
#include "operand.h"

#include <string.h>

#include "number.h"

dg_dtype_t cli_dtype_of(int dtype, bool second) {
    switch (dtype) {
    case CLI_BF16: return DG_DTYPE_BF16;
    case CLI_FP4: return DG_DTYPE_E2M1X2;
    case CLI_FP8XFP4: return second ? DG_DTYPE_E2M1X2 : DG_DTYPE_E4M3;
    case CLI_FP4XFP8: return second ? DG_DTYPE_E4M3 : DG_DTYPE_E2M1X2;
    default: return DG_DTYPE_E4M3;
    }
}

static float random_float(cli_random_t *random) {
    const uint64_t bits = cli_random_bits(random);
    const uint32_t exponent = 122 + (uint32_t)(bits >> 32) % 8;
    const uint32_t code = ((uint32_t)bits & UINT32_C(0x807FFFFF)) | exponent << 23;
    float value;
    memcpy(&value, &code, sizeof value);
    return value;
}

void cli_fill_values(void *data, dg_dtype_t dtype, int64_t count, cli_random_t *random) {
    switch (dtype) {
    case DG_DTYPE_E4M3:
        for (int64_t i = 0; i < count; i++) {
            const uint64_t bits = cli_random_bits(random);
            const uint8_t magnitude = (uint8_t)(bits % 127); /* 0x7F is NaN */
            ((uint8_t *)data)[i] = (uint8_t)(magnitude | (bits >> 63) << 7);
        }
        break;
    case DG_DTYPE_E2M1X2:
        for (int64_t i = 0; i < (count + 1) / 2; i++) {
            ((uint8_t *)data)[i] = (uint8_t)cli_random_bits(random);
        }
        break;
    case DG_DTYPE_BF16:
        for (int64_t i = 0; i < count; i++) {
            ((uint16_t *)data)[i] = cli_bf16_code(random_float(random));
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) ((float *)data)[i] = random_float(random);
        break;
    }
}

cli_factors_t cli_make_factors(cli_pool_t *pool, int scale, int64_t groups, int64_t rows,
    int64_t blocks, cli_random_t *random) {
    if (scale == CLI_SCALE_NONE) return (cli_factors_t){.view = DG_NO_TENSOR};
    const int64_t slices = groups > 0 ? groups : 1;
    const int64_t words = scale == CLI_SCALE_UE8M0 ? (blocks + 3) / 4 : blocks;
    const dg_dtype_t dtype = scale == CLI_SCALE_UE8M0  ? DG_DTYPE_I32
                             : scale == CLI_SCALE_E8M0 ? DG_DTYPE_E8M0
                                                       : DG_DTYPE_F32;
    const bool mn_major = cli_random_below(random, 2) == 0;
    const int64_t count = slices * rows * words;
    void *data = cli_pool_take(pool, (size_t)(count * dg_dtype_size(dtype)));
    for (int64_t i = 0; i < count; i++) {
        uint8_t bytes[4];
        for (int j = 0; j < 4; j++) bytes[j] = (uint8_t)(123 + cli_random_below(random, 8));
        if (dtype == DG_DTYPE_I32) {
            ((uint32_t *)data)[i] = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
                                    (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        } else if (dtype == DG_DTYPE_E8M0) {
            ((uint8_t *)data)[i] = bytes[0];
        } else {
            const float value = random_float(random);
            ((float *)data)[i] = scale == CLI_SCALE_POW2 ? cli_e8m0_value(bytes[0])
                                 : value < 0             ? -value
                                                         : value;
        }
    }
    cli_factors_t factors = {.stride = {rows * words, mn_major ? 1 : words, mn_major ? rows : 1}};
    factors.view = mn_major ? dg_tensor_3d(data, dtype, slices, words, rows)
                            : dg_tensor_3d(data, dtype, slices, rows, words);
    if (mn_major) factors.view = dg_tensor_transpose(factors.view);
    if (groups == 0) { /* drop the leading axis */
        dg_tensor_t *view = &factors.view;
        view->rank = 2;
        for (int axis = 0; axis < 2; axis++) {
            view->shape[axis] = view->shape[axis + 1];
            view->stride[axis] = view->stride[axis + 1];
        }
    }
    return factors;
}

cli_operand_t cli_make_operand(cli_pool_t *pool, const cli_shape_t *shape, dg_dtype_t dtype,
    int64_t groups, int64_t mn, int64_t k, bool k_fastest, int64_t gran_mn, cli_random_t *random) {
    const int64_t slices = groups > 0 ? groups : 1;
    const int64_t outer = k_fastest ? mn : k, inner = k_fastest ? k : mn;
    const bool packed = dtype == DG_DTYPE_E2M1X2;
    const int64_t stored = packed ? inner / 2 : inner; /* elements of the view */
    const int64_t row = packed ? 2 * stored : stored;  /* values in memory */
    void *data = cli_pool_take(pool, (size_t)(slices * outer * stored * dg_dtype_size(dtype)));
    cli_fill_values(data, dtype, slices * outer * row, random);

    cli_operand_t operand = {.stride = {outer * row, k_fastest ? row : 1, k_fastest ? 1 : row}};
    operand.view = groups > 0 ? dg_tensor_3d(data, dtype, groups, outer, stored)
                              : dg_tensor_2d(data, dtype, outer, stored);
    if (!k_fastest) operand.view = dg_tensor_transpose(operand.view);
    operand.factors = cli_make_factors(pool, shape->scale, groups, (mn + gran_mn - 1) / gran_mn,
        (k + shape->gran - 1) / shape->gran, random);
    operand.factors.gran_mn = gran_mn;
    operand.factors.gran_k = shape->gran;
    return operand;
}

double cli_factor(const cli_factors_t *factors, int64_t group, int64_t row, int64_t block) {
    const dg_tensor_t *view = &factors->view;
    if (view->dtype == DG_DTYPE_NONE) return 1;
    const int64_t base = group * factors->stride[0] + row * factors->stride[1];
    if (view->dtype == DG_DTYPE_I32) {
        const uint32_t word = ((const uint32_t *)view->data)[base + block / 4 * factors->stride[2]];
        return (double)cli_e8m0_value((uint8_t)(word >> 8 * (block % 4)));
    }
    return cli_load(view->data, view->dtype, base + block * factors->stride[2]);
}

double cli_operand_value(const cli_operand_t *operand, int64_t group, int64_t mn, int64_t k) {
    const cli_factors_t *factors = &operand->factors;
    const double value = cli_load(operand->view.data, operand->view.dtype,
        group * operand->stride[0] + mn * operand->stride[1] + k * operand->stride[2]);
    if (factors->view.dtype == DG_DTYPE_NONE) return value;
    return value * cli_factor(factors, group, mn / factors->gran_mn, k / factors->gran_k);
}

double cli_tensor_bytes(const dg_tensor_t *tensor) {
    double bytes = (double)dg_dtype_size(tensor->dtype);
    for (int32_t axis = 0; axis < tensor->rank; axis++) bytes *= (double)tensor->shape[axis];
    return bytes;
}
