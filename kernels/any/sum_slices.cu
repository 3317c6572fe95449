/* SPDX-License-Identifier: MIT
 *
 * Adds up, in order, the slices of d and of the sums of squares that
 * kernels/any/tf32_hc_prenorm_gemm.cu left for each split of k. A thread has one element of [m, n +
 * 1], the last column being the sums of squares. Parameters: args/tf32_hc_prenorm_gemm.h. */
#include "args/tf32_hc_prenorm_gemm.h"
#include "device/barrier.cuh"
#include "device/global.cuh"

#define SHARED_BYTES 0

KERNEL(THREADS)
dg_any_sum_slices(KERNEL_PARAMETER dg_any_sum_slices_args_t args) {
    const int64_t width = args.n + 1, count = args.m * width;
    dependency_wait();
    for (int64_t i = (int64_t)block_index() * THREADS + thread_index(); i < count;
         i += (int64_t)block_count() * THREADS) {
        const int64_t row = i / width, column = i - row * width;
        const bool is_square = column == args.n;
        const float *from =
            is_square ? args.sqr_sum_slices + row : args.d_slices + row * args.n + column;
        const int64_t step = is_square ? args.m : args.m * args.n;
        float sum = 0;
        UNROLL_BY(8)
        for (int64_t s = 0; s < args.splits; s++) sum += ld_global_f32(from + s * step);
        st_global_f32(is_square ? args.sqr_sum + row : args.d + row * args.d_stride + column, sum);
    }
}
