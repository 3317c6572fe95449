/* SPDX-License-Identifier: MIT
 *
 * How exactly Hopper adds FP8 products: runs accumulate_e4m3 (tests/conformance/programs.cu) on
 * random inputs and compares with sums in double.
 *
 *     fp8_accumulator programs.cubin
 *
 * Prints the largest error of any sum of 128 products, in units of the sum of its terms' magnitudes
 * and of its largest term. The first is the tolerance that tests of FP8 kernels allow, and has to
 * stay below 1 / 1024; the second shows that terms are cut off a fixed number of bits below the
 * largest one. */
#include "args.h"
#include "driver.h"
#include "fp8_gemm_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIALS 200
#define M 64
#define N 32
#define K 128
#define ALLOWED (1.0 / 1024)
#define SHARED_BYTES (1024 + CONFORM_INPUT_WORDS * 4)

/* Where element k of a row lies in a tile of 128-byte rows in 128-byte swizzle. */
static int swizzled(int row, int k) {
    return row * 128 + (k ^ (row % 8 << 4));
}

/* Finite codes of any magnitude up to `largest`. */
static void fill(uint8_t *codes, size_t count, uint8_t largest, uint64_t *state) {
    for (size_t i = 0; i < count; i++) {
        do {
            *state = *state * 6364136223846793005u + 1442695040888963407u;
            codes[i] = (uint8_t)(*state >> 40);
        } while ((codes[i] & 0x7f) > largest);
    }
}

typedef struct errors {
    double by_magnitudes, by_largest, sum; /* worst, worst, and sum of signed relative errors */
} errors_t;

/* a: [M, K], b: [N, K] e4m3, k fastest, swizzled; output: [16, 128] f32 as the program writes it */
static void compare(const uint8_t *a, const uint8_t *b, const float *output, errors_t *worst) {
    for (int i = 0; i < 16; i++)
        for (int thread = 0; thread < 128; thread++) {
            const int lane = thread % 32;
            const int row = thread / 32 * 16 + lane / 4 + (i & 2 ? 8 : 0);
            const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            double sum = 0, magnitudes = 0, largest = 0;
            for (int k = 0; k < K; k++) {
                const double term = (double)dg_decode_e4m3(a[swizzled(row, k)]) *
                                    (double)dg_decode_e4m3(b[swizzled(column, k)]);
                sum += term;
                magnitudes += fabs(term);
                largest = fmax(largest, fabs(term));
            }
            const double error = (double)output[i * 128 + thread] - sum;
            worst->by_magnitudes = fmax(worst->by_magnitudes, fabs(error) / magnitudes);
            worst->by_largest = fmax(worst->by_largest, fabs(error) / largest);
            worst->sum += (sum > 0 ? error : -error) / magnitudes;
        }
}

static errors_t measure(CUfunction kernel, uint8_t largest) {
    static uint8_t input[CONFORM_INPUT_WORDS * 4];
    static float output[M * N];
    errors_t worst = {0, 0, 0};
    uint64_t state = 99 + largest;
    const CUdeviceptr in = gpu_allocate(sizeof input), out = gpu_allocate(sizeof output);
    conform_args_t args;
    memset(&args, 0, sizeof args);
    args.input = (const uint32_t *)(uintptr_t)in;
    args.output = (uint32_t *)(uintptr_t)out;
    for (int trial = 0; trial < TRIALS; trial++) {
        fill(input, (M + N) * K, largest, &state);
        CHECK_GPU(gpu.cuMemcpyHtoD_call(in, input, sizeof input));
        gpu_launch(kernel, 1, 128, 1, SHARED_BYTES, &args);
        CHECK_GPU(gpu.cuCtxSynchronize_call());
        gpu_download(output, out, sizeof output);
        compare(input, input + M * K, output, &worst);
    }
    CHECK_GPU(gpu.cuMemFree_call(in));
    CHECK_GPU(gpu.cuMemFree_call(out));
    return worst;
}

int main(int argc, char **argv) {
    char device[200];
    static const uint8_t largest[3] = {0x40, 0x50, 0x7e}; /* 2, 8, 448 */
    int failed = 0;
    if (argc < 2) {
        printf("usage: fp8_accumulator PROGRAMS.cubin\n");
        return 2;
    }
    if (!gpu_open()) return GPU_SKIPPED;
    gpu_describe(device, sizeof device);
    printf("# %s; %d sums of %d products for each line\n", device, TRIALS * M * N, K);
    const CUfunction kernel = gpu_load(argv[1], "accumulate_e4m3", SHARED_BYTES);
    for (int i = 0; i < 3; i++) {
        const errors_t worst = measure(kernel, largest[i]);
        const bool good = worst.by_magnitudes <= ALLOWED;
        printf("%s inputs up to %g: error at most 2^%.2f of the magnitudes, 2^%.2f of the largest "
               "term; mean %.3g of the magnitudes\n",
            good ? "ok   " : "FAIL ", (double)dg_decode_e4m3(largest[i]), log2(worst.by_magnitudes),
            log2(worst.by_largest), worst.sum / (TRIALS * M * N));
        failed += !good;
    }
    return failed != 0;
}
