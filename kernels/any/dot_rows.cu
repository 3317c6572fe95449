/* SPDX-License-Identifier: MIT
 *
 * The product of each token with each of its rows (deep_gemm/moe.h): the gradient of the weights of
 * unpermute. Parameters: args/permute.h, x being the rows of groups, y those of tokens.
 *
 * A warp takes a slot. A lane has eight of the 256 partial sums; they are added in pairs, first the lane's
 * own, then those of lanes 16, 8, 4, 2, 1 apart. */
#include "any/row_values.cuh"
#include "device/warp.cuh"

#define WARPS (THREADS / 32)
#define SHARED_BYTES 0

/* All lanes. */
DEVICE float dot(const dg_any_sum_rows_args_t *args, int64_t token, int64_t row) {
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int64_t column = lane_index() * 8;
    if (args->x.vector && args->y.vector) {
        UNROLL_BY(2)
        for (; column + 8 <= args->columns; column += DG_SUM_COLUMNS) {
            float x[8], y[8];
            load_eight(&args->x, row, column, x);
            load_eight(&args->y, token, column, y);
            UNROLL
            for (int c = 0; c < 8; c++) sum[c] += multiply(x[c], y[c]);
        }
    }
    UNROLL /* the columns that are left, one partial sum after the other */
        for (int c = 0; c < 8; c++) {
        UNROLL_BY(1)
        for (int64_t at = column + c; at < args->columns; at += DG_SUM_COLUMNS)
            sum[c] += multiply(load_value(&args->x, row, at), load_value(&args->y, token, at));
    }
    UNROLL
    for (int apart = 4; apart > 0; apart /= 2) {
        UNROLL
        for (int c = 0; c < apart; c++) sum[c] += sum[c + apart];
    }
    UNROLL
    for (uint32_t apart = 16; apart > 0; apart /= 2) sum[0] += shuffle_xor_f32(sum[0], apart);
    return sum[0];
}

KERNEL_PER_SM(THREADS, 4)
dg_any_dot_rows(KERNEL_PARAMETER dg_any_sum_rows_args_t args) {
    dependency_wait();
    for (int64_t unit = (int64_t)block_index() * WARPS + warp_index();
         unit < args.tokens * args.topk; unit += (int64_t)block_count() * WARPS) {
        const int64_t token = unit / args.topk, slot = unit % args.topk;
        const int64_t row = row_at(&args.rows, token, slot, args.x.rows);
        const float product = row < 0 ? 0.0f : dot(&args, token, row);
        if (lane_index() == 0)
            st_global_f32((float *)args.dots.data + slot_offset(&args.dots, token, slot), product);
    }
}
