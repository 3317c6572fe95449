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

DEVICE void sum_part(const dg_any_sum_rows_args_t *args, int64_t token, int64_t column) {
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
            if (row[i] >= 0) load_values(&args->x, row[i], column, args->columns, values[i]);
        UNROLL
        for (int i = 0; i < AHEAD; i++) {
            if (row[i] < 0) continue;
            UNROLL
            for (int c = 0; c < 8; c++) sum[c] += multiply(weight[i], values[i][c]);
        }
    }
    store_values(&args->out, token, column, args->columns, sum);
}

KERNEL_PER_SM(THREADS, 3)
dg_any_unpermute_rows(KERNEL_PARAMETER dg_any_sum_rows_args_t args) {
    const int64_t parts = (args.columns + DG_SUM_COLUMNS - 1) / DG_SUM_COLUMNS;
    dependency_wait();
    for (int64_t unit = (int64_t)block_index() * WARPS + warp_index(); unit < args.tokens * parts;
         unit += (int64_t)block_count() * WARPS) {
        const int64_t column = unit % parts * DG_SUM_COLUMNS + lane_index() * 8;
        if (column < args.columns) sum_part(&args, unit / parts, column);
    }
}
