/* SPDX-License-Identifier: MIT
 *
 * Speed of the casts on the CPU beside that of memcpy, in GB/s of bytes read and written.
 *
 *     bench/cpu_cast [rows columns]          default 4096 x 7168, best of five
 *
 * Prints one line for each recipe and thread count. A cast near the speed of memory cannot be
 * faster; the factor pass comes out of the cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deep_gemm/deep_gemm.h"

enum { REPEATS = 5 };

typedef struct recipe_t {
    const char *name;
    dg_dtype_t x, data, scale;
    int32_t gran[2], gran_second[2]; /* the second output's; 0, 0: none */
    int transposed;
} recipe_t;

static const recipe_t recipes[] = {
    {"per token  bf16 e4m3 f32", DG_DTYPE_BF16, DG_DTYPE_E4M3, DG_DTYPE_F32, {1, 128}, {0, 0}, 0},
    {"per token  f32  e4m3 f32", DG_DTYPE_F32, DG_DTYPE_E4M3, DG_DTYPE_F32, {1, 128}, {0, 0}, 0},
    {"per token  bf16 e4m3 i32", DG_DTYPE_BF16, DG_DTYPE_E4M3, DG_DTYPE_I32, {1, 128}, {0, 0}, 0},
    {"per token  bf16 fp4  i32", DG_DTYPE_BF16, DG_DTYPE_E2M1X2, DG_DTYPE_I32, {1, 32}, {0, 0}, 0},
    {"per chan.  bf16 e4m3 f32", DG_DTYPE_BF16, DG_DTYPE_E4M3, DG_DTYPE_F32, {128, 1}, {0, 0}, 0},
    {"per block  bf16 e4m3 f32", DG_DTYPE_BF16, DG_DTYPE_E4M3, DG_DTYPE_F32, {128, 128}, {0, 0}, 0},
    {"transposed bf16 e4m3 f32", DG_DTYPE_BF16, DG_DTYPE_E4M3, DG_DTYPE_F32, {128, 1}, {0, 0}, 1},
    {"both casts bf16 e4m3 f32", DG_DTYPE_BF16, DG_DTYPE_E4M3, DG_DTYPE_F32, {1, 128}, {128, 1}, 0},
};

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fill(uint16_t *x, int64_t count) {
    uint32_t state = 1;
    for (int64_t i = 0; i < count; ++i) { /* BF16 values and halves of F32 values, all finite */
        state = state * 1664525u + 1013904223u;
        x[i] = (uint16_t)(0x3C00u + (state >> 22) + (state >> 16 & 0x8000u));
    }
}

static dg_quantized_t make_output(
    const recipe_t *recipe, const int32_t *gran, void *data, void *scale, int64_t m, int64_t n) {
    dg_quantized_t out = DG_NO_QUANTIZED;
    const int64_t cols = recipe->data == DG_DTYPE_E2M1X2 ? n / 2 : n;
    const int64_t rows_of_factors = (m + gran[0] - 1) / gran[0];
    const int64_t blocks = (n + gran[1] - 1) / gran[1];
    out.data = recipe->transposed ? dg_tensor_transpose(dg_tensor_2d(data, recipe->data, cols, m))
                                  : dg_tensor_2d(data, recipe->data, m, cols);
    out.scale = dg_tensor_2d(scale, recipe->scale, rows_of_factors,
        recipe->scale == DG_DTYPE_I32 ? (blocks + 3) / 4 : blocks);
    out.gran[0] = gran[0], out.gran[1] = gran[1];
    return out;
}

/* Bytes of a dense tensor. */
static double bytes_of(const dg_tensor_t *t) {
    return (double)(t->shape[0] * t->shape[1] * dg_dtype_size(t->dtype));
}

int main(int argc, char **argv) {
    const int64_t m = argc > 2 ? strtoll(argv[1], NULL, 10) : 4096;
    const int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 7168;
    const size_t count = (size_t)(m * n);
    uint16_t *x = malloc(4 * count);
    uint8_t *data[2] = {malloc(count), malloc(count)};
    float *scale[2] = {malloc(4 * count / 16 + 65536), malloc(4 * count / 16 + 65536)};
    if (!x || !data[0] || !data[1] || !scale[0] || !scale[1]) return 1;
    fill(x, 2 * (int64_t)count);
    for (int threads = 1; threads <= 2; ++threads) {
        dg_set_num_sms(NULL, 0);
        dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
        options.num_threads = threads;
        dg_context_t *ctx;
        if (dg_context_create(&ctx, &options) != DG_STATUS_OK) return 1;
        for (size_t r = 0; r < sizeof recipes / sizeof *recipes; ++r) {
            dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
            args.x = dg_tensor_2d(x, recipes[r].x, m, n);
            double bytes = bytes_of(&args.x), best = 1e9;
            for (int i = 0; i < (recipes[r].gran_second[0] != 0 ? 2 : 1); ++i) {
                args.out[i] = make_output(&recipes[r],
                    i == 0 ? recipes[r].gran : recipes[r].gran_second, data[i], scale[i], m, n);
                bytes += bytes_of(&args.out[i].data) + bytes_of(&args.out[i].scale);
            }
            for (int i = 0; i < REPEATS; ++i) {
                const double begin = seconds();
                if (dg_quantize(ctx, &args, NULL) != DG_STATUS_OK) {
                    fprintf(stderr, "%s\n", dg_last_error());
                    return 1;
                }
                const double time = seconds() - begin;
                best = time < best ? time : best;
            }
            printf("%s  %lld x %lld  threads=%d  %7.2f ms  %6.2f GB/s\n", recipes[r].name,
                (long long)m, (long long)n, threads, 1e3 * best, 1e-9 * bytes / best);
        }
        dg_context_destroy(ctx);
    }
    double best = 1e9;
    for (int i = 0; i < REPEATS; ++i) {
        const double begin = seconds();
        memcpy(data[0], x, count);
        const double time = seconds() - begin;
        best = time < best ? time : best;
    }
    printf("memcpy %zu bytes  threads=1  %7.2f ms  %6.2f GB/s read and written (%d)\n", count,
        1e3 * best, 2e-9 * (double)count / best, data[0][count / 2]);
    free(x), free(data[0]), free(data[1]), free(scale[0]), free(scale[1]);
    return 0;
}
