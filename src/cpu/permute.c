/* SPDX-License-Identifier: MIT
 *
 * See permute.h. Tokens are dealt out to the pool's threads in bunches; a token's row is read once and
 * stays in the cache for its slots. What is computed with goes through FP32 in stretches of columns.
 */
#include "cpu/permute.h"

#include <string.h>

#include "base/error.h"
#include "base/integer.h"
#include "cpu/row_values.h"
#include "model/tensor.h"

enum {
    BUNCH = 16,        /* tokens or rows of one task */
    STRETCH = 512,     /* columns that are in FP32 at a time */
    PARTIAL_SUMS = 256 /* of a dot product: moe.h */
};

/* Entry [token, slot] of `rows`, -1 unless it is a row below `limit`. */
static int64_t row_at(const dg_tensor_t *rows, int64_t token, int64_t slot, int64_t limit) {
    const int64_t at = token * dg_tensor_stride(rows, 0) + slot * dg_tensor_stride(rows, 1);
    const int32_t row = ((const int32_t *)rows->data)[at];
    return row >= 0 && row < limit ? row : -1;
}

static float weight_at(const dg_tensor_t *weights, int64_t token, int64_t slot) {
    const int64_t at = token * dg_tensor_stride(weights, 0) + slot * dg_tensor_stride(weights, 1);
    return ((const float *)weights->data)[at];
}

/* ---- permute */

static char *address_of(const dg_tensor_t *matrix, int64_t row) {
    return (char *)matrix->data + row * dg_tensor_stride(matrix, 0) * dg_dtype_size(matrix->dtype);
}

/* Row `from` of x becomes row `to` of out; the bytes of a value are copied as they are. */
static void copy_row(const dg_permute_rows_args_t *args, int64_t from, int64_t to) {
    const size_t size = (size_t)dg_dtype_size(args->x.dtype);
    const int64_t n = args->x.shape[1];
    const int64_t x_step = dg_tensor_stride(&args->x, 1) * (int64_t)size;
    const int64_t out_step = dg_tensor_stride(&args->out, 1) * (int64_t)size;
    const char *x = address_of(&args->x, from);
    char *out = address_of(&args->out, to);
    if (x_step == (int64_t)size && out_step == (int64_t)size) {
        memcpy(out, x, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n; i++) memcpy(out + i * out_step, x + i * x_step, size);
}

static void copy_scaled(const dg_permute_rows_args_t *args, int64_t token, const int64_t *row,
    const float *weight, int64_t count) {
    float value[STRETCH], scaled[STRETCH];
    const int64_t n = args->x.shape[1];
    for (int64_t begin = 0; begin < n; begin += STRETCH) {
        const int64_t length = n - begin < STRETCH ? n - begin : STRETCH;
        dg_load_row_values(&args->x, token, begin, length, value);
        for (int64_t s = 0; s < count; s++) {
            for (int64_t i = 0; i < length; i++) scaled[i] = value[i] * weight[s];
            dg_store_row_values(&args->out, row[s], begin, length, scaled);
        }
    }
}

static void permute_token(const dg_permute_rows_args_t *args, int64_t token) {
    enum { SLOTS = 16 }; /* that share one reading of x */
    int64_t row[SLOTS], count = 0;
    float weight[SLOTS];
    const int64_t topk = args->rows.shape[1];
    for (int64_t s = 0; s < topk; s++) {
        row[count] = row_at(&args->rows, token, s, args->out.shape[0]);
        if (row[count] < 0) continue;
        if (!dg_tensor_given(&args->weights)) {
            copy_row(args, token, row[count]);
            continue;
        }
        weight[count] = weight_at(&args->weights, token, s);
        if (++count < SLOTS) continue;
        copy_scaled(args, token, row, weight, count);
        count = 0;
    }
    if (count > 0) copy_scaled(args, token, row, weight, count);
}

static void clear_row(const dg_tensor_t *out, int64_t row) {
    const size_t size = (size_t)dg_dtype_size(out->dtype);
    const int64_t step = dg_tensor_stride(out, 1) * (int64_t)size;
    char *address = address_of(out, row);
    for (int64_t i = 0; i < out->shape[1]; i++) memset(address + i * step, 0, size);
}

static dg_status_t permute_bunch(void *context, int64_t index, int worker) {
    (void)worker;
    const dg_permute_rows_args_t *args = context;
    const int64_t tokens = args->x.shape[0], begin = index * BUNCH;
    for (int64_t t = begin; t < begin + BUNCH && t < tokens; t++) permute_token(args, t);
    return DG_STATUS_OK;
}

static dg_status_t clear_bunch(void *context, int64_t index, int worker) {
    (void)worker;
    const dg_permute_rows_args_t *args = context;
    const int64_t rows = args->out.shape[0], begin = index * BUNCH;
    const int64_t step = dg_tensor_stride(&args->sources, 0);
    for (int64_t i = begin; i < begin + BUNCH && i < rows; i++) {
        if (((const int32_t *)args->sources.data)[i * step] < 0) clear_row(&args->out, i);
    }
    return DG_STATUS_OK;
}

dg_status_t dg_cpu_permute_rows(dg_cpu_pool_t *pool, const dg_permute_rows_args_t *args) {
    dg_permute_rows_args_t shared = *args;
    if (dg_tensor_given(&args->sources)) {
        const int64_t tasks = dg_ceil_div(args->out.shape[0], BUNCH);
        DG_TRY(dg_cpu_run_tasks(pool, clear_bunch, &shared, tasks, 0, 0));
    }
    const int64_t tasks = dg_ceil_div(args->x.shape[0], BUNCH);
    return dg_cpu_run_tasks(pool, permute_bunch, &shared, tasks, 0, 0);
}

/* ---- unpermute */

static void sum_stretch(
    const dg_unpermute_rows_args_t *args, int64_t token, int64_t begin, int64_t length) {
    float sum[STRETCH] = {0.0f}, value[STRETCH];
    for (int64_t s = 0; s < args->rows.shape[1]; s++) {
        const int64_t row = row_at(&args->rows, token, s, args->x.shape[0]);
        if (row < 0) continue;
        dg_load_row_values(&args->x, row, begin, length, value);
        if (dg_tensor_given(&args->weights)) {
            const float weight = weight_at(&args->weights, token, s);
            for (int64_t i = 0; i < length; i++) sum[i] += weight * value[i];
        } else {
            for (int64_t i = 0; i < length; i++) sum[i] += value[i];
        }
    }
    dg_store_row_values(&args->out, token, begin, length, sum);
}

static dg_status_t unpermute_bunch(void *context, int64_t index, int worker) {
    (void)worker;
    const dg_unpermute_rows_args_t *args = context;
    const int64_t tokens = args->out.shape[0], n = args->out.shape[1], first = index * BUNCH;
    for (int64_t t = first; t < first + BUNCH && t < tokens; t++) {
        for (int64_t begin = 0; begin < n; begin += STRETCH)
            sum_stretch(args, t, begin, n - begin < STRETCH ? n - begin : STRETCH);
    }
    return DG_STATUS_OK;
}

dg_status_t dg_cpu_unpermute_rows(dg_cpu_pool_t *pool, const dg_unpermute_rows_args_t *args) {
    dg_unpermute_rows_args_t shared = *args;
    const int64_t tasks = dg_ceil_div(args->out.shape[0], BUNCH);
    return dg_cpu_run_tasks(pool, unpermute_bunch, &shared, tasks, 0, 0);
}

/* ---- dot */

static float dot_row(const dg_dot_rows_args_t *args, int64_t token, int64_t row) {
    float sum[PARTIAL_SUMS] = {0.0f}, a[PARTIAL_SUMS], b[PARTIAL_SUMS];
    const int64_t n = args->a.shape[1];
    for (int64_t begin = 0; begin < n; begin += PARTIAL_SUMS) {
        const int64_t length = n - begin < PARTIAL_SUMS ? n - begin : PARTIAL_SUMS;
        dg_load_row_values(&args->a, token, begin, length, a);
        dg_load_row_values(&args->b, row, begin, length, b);
        for (int64_t i = 0; i < length; i++) sum[i] += a[i] * b[i];
    }
    static const int pairs[] = {4, 2, 1, 128, 64, 32, 16, 8};
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        for (int i = 0; i + pairs[p] < PARTIAL_SUMS; i++)
            if ((i & pairs[p]) == 0) sum[i] += sum[i + pairs[p]];
    }
    return sum[0];
}

static dg_status_t dot_bunch(void *context, int64_t index, int worker) {
    (void)worker;
    const dg_dot_rows_args_t *args = context;
    const int64_t tokens = args->a.shape[0], first = index * BUNCH;
    float *out = args->out.data;
    for (int64_t t = first; t < first + BUNCH && t < tokens; t++) {
        for (int64_t s = 0; s < args->rows.shape[1]; s++) {
            const int64_t row = row_at(&args->rows, t, s, args->b.shape[0]);
            out[t * dg_tensor_stride(&args->out, 0) + s * dg_tensor_stride(&args->out, 1)] =
                row < 0 ? 0.0f : dot_row(args, t, row);
        }
    }
    return DG_STATUS_OK;
}

dg_status_t dg_cpu_dot_rows(dg_cpu_pool_t *pool, const dg_dot_rows_args_t *args) {
    dg_dot_rows_args_t shared = *args;
    const int64_t tasks = dg_ceil_div(args->a.shape[0], BUNCH);
    return dg_cpu_run_tasks(pool, dot_bunch, &shared, tasks, 0, 0);
}
