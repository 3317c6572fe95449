/* SPDX-License-Identifier: MIT
 *
 * Rows of groups back to their tokens (deep_gemm/moe.h): the weighted sum of a token's rows, in FP32 and
 * in the order of its slots. Parameters: args/permute.h.
 *
 * A warp takes 256 columns of a token, eight a lane, so no sum is shared and none is added twice. The
 * rows of four slots are on their way at a time. */
#include "any/row_values.cuh"
#include "device/warp.cuh"

#define WARPS (THREADS / 32)
#define AHEAD 4 /* slots */
#define SHARED_BYTES 0

/* Eight columns from `column` on, all of them there, of rows that can be read 16 bytes at a time. */
DEVICE void sum_eight(const dg_any_sum_rows_args_t *args, int64_t token, int64_t column) {
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int64_t first = 0; first < args->topk; first += AHEAD) {
        float values[AHEAD][8], weight[AHEAD];
        int64_t row[AHEAD];
        UNROLL
        for (int i = 0; i < AHEAD; i++) {
            const int64_t slot = first + i;
            row[i] = slot < args->topk ? row_at(&args->rows, token, slot, args->x.rows) : -1;
            weight[i] = 1.0f;
            if (row[i] >= 0 && args->weights.data != NULL)
                weight[i] = weight_at(&args->weights, token, slot);
        }
        UNROLL
        for (int i = 0; i < AHEAD; i++)
            if (row[i] >= 0) load_eight(&args->x, row[i], column, values[i]);
        UNROLL
        for (int i = 0; i < AHEAD; i++) {
            if (row[i] < 0) continue;
            UNROLL
            for (int c = 0; c < 8; c++) sum[c] += multiply(weight[i], values[i][c]);
        }
    }
    store_values(&args->out, token, column, args->columns, sum);
}

DEVICE void sum_one(const dg_any_sum_rows_args_t *args, int64_t token, int64_t column) {
    float sum = 0.0f;
    for (int64_t slot = 0; slot < args->topk; slot++) {
        const int64_t row = row_at(&args->rows, token, slot, args->x.rows);
        if (row < 0) continue;
        const bool weighted = args->weights.data != NULL;
        const float weight = weighted ? weight_at(&args->weights, token, slot) : 1.0f;
        sum += multiply(weight, load_value(&args->x, row, column));
    }
    store_value(&args->out, token, column, sum);
}

DEVICE void sum_part(const dg_any_sum_rows_args_t *args, int64_t token, int64_t column) {
    if (args->x.vector && column + 8 <= args->columns) {
        sum_eight(args, token, column);
        return;
    }
    for (int64_t c = column; c < column + 8 && c < args->columns; c++) sum_one(args, token, c);
}

KERNEL_PER_SM(THREADS, 3)
dg_any_unpermute_rows(KERNEL_PARAMETER dg_any_sum_rows_args_t args) {
    const int64_t parts = (args.columns + DG_SUM_COLUMNS - 1) / DG_SUM_COLUMNS;
    dependency_wait();
    for (int64_t unit = (int64_t)block_index() * WARPS + warp_index(); unit < args.tokens * parts;
         unit += (int64_t)block_count() * WARPS) {
        const int64_t column = unit % parts * DG_SUM_COLUMNS + lane_index() * 8;
        sum_part(&args, unit / parts, column);
    }
}
