/* SPDX-License-Identifier: MIT
 *
 * Outputs; see output.h. What is not judged stays guarded, so guard_check() finds a write there.
 */
#include "output.h"

#include <math.h>
#include <string.h>

#include "guard.h"

static dg_tensor_t tensor_make(dg_dtype_t dtype, int64_t groups, int64_t m, int64_t n, int64_t pad,
    int64_t skew, const char *name) {
    const int64_t count = groups > 0 ? groups : 1;
    const int64_t row_stride = n + pad;
    const int64_t group_stride = m * row_stride + pad;
    const int64_t size = dg_dtype_size(dtype);
    void *memory = guard_take((size_t)(count * group_stride * size), (size_t)(skew * size), name);
    dg_tensor_t tensor =
        groups > 0 ? dg_tensor_3d(memory, dtype, groups, m, n) : dg_tensor_2d(memory, dtype, m, n);
    if (groups > 0) tensor.stride[0] = group_stride;
    tensor.stride[tensor.rank - 2] = row_stride;
    return tensor;
}

static int64_t offset_of(const dg_tensor_t *tensor, int64_t g, int64_t i, int64_t j) {
    const int64_t group = tensor->rank == 3 ? g * tensor->stride[0] : 0;
    return group + i * tensor->stride[tensor->rank - 2] + j;
}

static void fill_c(rng_t *rng, output_t *output, int64_t count, values_t values) {
    output->c_value = guard_scratch((size_t)(count * output->m * output->n) * sizeof(double));
    double *value = output->c_value;
    for (int64_t g = 0; g < count; g++) {
        for (int64_t i = 0; i < output->m; i++) {
            for (int64_t j = 0; j < output->n; j++, value++) {
                const int64_t at = offset_of(&output->c, g, i, j);
                const double x = values == VALUES_INTEGER ? (double)rng_range(rng, -64, 64)
                                                          : rng_normal(rng) * 32;
                if (output->c.dtype == DG_DTYPE_BF16) {
                    ((uint16_t *)output->c.data)[at] = ref_round_bf16(x);
                } else {
                    ((float *)output->c.data)[at] = (float)x;
                }
                *value = ref_read(&output->c, at);
            }
        }
    }
}

output_t output_make(rng_t *rng, dg_dtype_t dtype, int64_t groups, int64_t m, int64_t n,
    int64_t pad, addend_t addend, values_t values) {
    output_t output = {.m = m, .n = n};
    output.d = tensor_make(dtype, groups, m, n, pad, rng_range(rng, 0, pad > 0 ? 3 : 0), "d");
    if (addend == C_ALIAS) output.c = output.d;
    if (addend == C_SEPARATE) {
        output.c = tensor_make(dtype, groups, m, n, pad > 0 ? pad + 1 : 0, 1, "c");
    }
    if (addend != C_NONE) fill_c(rng, &output, groups > 0 ? groups : 1, values);
    return output;
}

static void allow(const output_t *output, int64_t offset) {
    const size_t size = (size_t)dg_dtype_size(output->d.dtype);
    guard_allow((const uint8_t *)output->d.data + (size_t)offset * size, size);
}

void output_judge(
    judge_t how, const output_t *output, int64_t g, int64_t i, int64_t j, ref_sum_t product) {
    const int64_t offset = offset_of(&output->d, g, i, j);
    if (output->c_value != NULL) {
        product.value += output->c_value[(g * output->m + i) * output->n + j];
    }
    ref_judge(how, &output->d, offset, product, g * output->m + i, j);
    allow(output, offset);
}

void output_zero(const output_t *output, int64_t g, int64_t i, int64_t j) {
    const int64_t offset = offset_of(&output->d, g, i, j);
    const ref_sum_t zero = {0.0, 0.0};
    ref_judge(JUDGE_EXACT, &output->d, offset, zero, g * output->m + i, j);
    allow(output, offset);
}
