/* SPDX-License-Identifier: MIT
 *
 * See batch.h.
 */
#include "cpu/batch.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

const void *dg_cpu_advance(const void *data, dg_dtype_t dtype, int64_t count) {
    if (count == 0) return data; /* an empty tensor has no address */
    const int64_t bytes = dtype == DG_DTYPE_E2M1X2 ? count / 2 : count * dg_dtype_size(dtype);
    return (const char *)data + bytes;
}

dg_cpu_operand_t dg_cpu_operand(const dg_side_t *side, int64_t group) {
    const dg_factors_t *scale = &side->scale;
    return (dg_cpu_operand_t){
        .data = dg_cpu_advance(side->data, side->dtype, group * side->group_stride),
        .dtype = side->dtype,
        .row_stride = side->mn_stride,
        .k_stride = side->k_stride,
        .scale = dg_cpu_advance(scale->data, scale->dtype, group * scale->group_stride),
        .scale_dtype = scale->dtype,
        .scale_row_stride = scale->mn_stride,
        .scale_k_stride = scale->k_stride,
        .gran_mn = scale->gran_mn,
        .gran_k = scale->gran_k,
    };
}

dg_cpu_operand_t dg_cpu_skip_rows(const dg_cpu_operand_t *operand, int64_t begin) {
    dg_cpu_operand_t rest = *operand;
    rest.data = dg_cpu_advance(operand->data, operand->dtype, begin * operand->row_stride);
    if (operand->scale != NULL) {
        rest.scale = dg_cpu_advance(operand->scale, operand->scale_dtype,
            begin / operand->gran_mn * operand->scale_row_stride);
    }
    return rest;
}

dg_cpu_product_t dg_cpu_result(
    const dg_output_t *out, int64_t group, int64_t begin, int64_t m, int64_t n) {
    const int64_t to = group * out->group_stride + begin * out->row_stride;
    const int64_t from = group * out->c_group_stride + begin * out->c_row_stride;
    return (dg_cpu_product_t){
        .m = m,
        .n = n,
        .c = out->c != NULL ? dg_cpu_advance(out->c, out->dtype, from) : NULL,
        .c_row_stride = out->c_row_stride,
        .d = (char *)out->d + to * dg_dtype_size(out->dtype),
        .d_row_stride = out->row_stride,
        .d_dtype = out->dtype,
    };
}

void dg_cpu_clear_row(const dg_cpu_product_t *product, int64_t row) {
    const size_t size = (size_t)dg_dtype_size(product->d_dtype);
    char *d = (char *)product->d + row * product->d_row_stride * (int64_t)size;
    const size_t bytes = (size_t)product->n * size;
    if (product->c == NULL) {
        memset(d, 0, bytes);
        return;
    }
    const char *c = (const char *)product->c + row * product->c_row_stride * (int64_t)size;
    if (c != d) memcpy(d, c, bytes);
}

static bool has_k(const dg_cpu_product_t *product) {
    for (int64_t s = 0; s < product->segment_count; s++) {
        if (product->segments[s].k_count > 0) return true;
    }
    return false;
}

dg_status_t dg_cpu_run_batch(dg_cpu_pool_t *pool, dg_cpu_product_t *products, int64_t count) {
    int64_t busy = 0; /* products with something to multiply, moved to the front */
    for (int64_t i = 0; i < count; i++) {
        if (products[i].m == 0 || products[i].n == 0 || !has_k(&products[i])) continue;
        const dg_cpu_product_t idle = products[busy];
        products[busy++] = products[i];
        products[i] = idle;
    }
    const dg_status_t status = dg_cpu_run(pool, products, busy);
    if (status == DG_STATUS_OUT_OF_MEMORY) return status; /* with a message of its own */
    DG_REQUIRE(status == DG_STATUS_OK, status, "", "",
        "the CPU engine failed (%s); please report it", dg_status_string(status));
    for (int64_t i = busy; i < count; i++) {
        const dg_cpu_product_t *idle = &products[i];
        for (int64_t row = 0; idle->n > 0 && row < idle->m; row++) {
            dg_cpu_clear_row(idle, idle->d_rows ? idle->d_rows[row] : row);
        }
    }
    return DG_STATUS_OK;
}
