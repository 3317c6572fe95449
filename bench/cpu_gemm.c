/* SPDX-License-Identifier: MIT
 *
 * Speed of the CPU backend's GEMM engine beside OpenBLAS on the same machine, in the same run, with
 * the same number of threads. OpenBLAS is opened at run time if it is there; it multiplies FP32
 * matrices, the engine decodes FP8, FP4 or BF16 and applies scales on the way.
 *
 *     cpu_gemm [size] [threads]
 *
 * Prints the OpenBLAS kernel, GFLOP/s of each family and its share of cblas_sgemm. Best of several
 * repeats of each, taken in turns, so that a disturbance of the machine meets all alike.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu/engine.h"

enum { REPEATS = 5, MAX_GROUPS = 64 };

typedef void sgemm_t(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
    const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct openblas_t {
    sgemm_t *sgemm;
    const char *core, *config;
} openblas_t;

typedef struct family_t {
    const char *name;
    dg_dtype_t dtype;
    int mn_major;   /* both operands stored k by k, as in a weight gradient */
    int gran_k;     /* 0: no scales */
    int m_groups;   /* rows of a split among so many matrices b */
    int k_groups;   /* K split into so many products, each with its own d */
    int64_t m;      /* 0: as large as n and k */
    double seconds; /* best so far */
} family_t;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *resolve(void *library, const char *name) {
    return library ? dlsym(library, name) : NULL;
}

static openblas_t open_openblas(int threads) {
    /* Settings of the caller's shell would measure another kernel than this machine's. */
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    openblas_t blas = {NULL, "-", "not found"};
    void *symbols[4] = {resolve(library, "cblas_sgemm"), resolve(library, "openblas_get_corename"),
        resolve(library, "openblas_get_config"), resolve(library, "openblas_set_num_threads")};
    char *(*text)(void);
    void (*set_threads)(int);
    if (symbols[0]) memcpy(&blas.sgemm, &symbols[0], sizeof symbols[0]);
    if (symbols[1]) {
        memcpy(&text, &symbols[1], sizeof text);
        blas.core = text();
    }
    if (symbols[2]) {
        memcpy(&text, &symbols[2], sizeof text);
        blas.config = text();
    }
    if (symbols[3]) {
        memcpy(&set_threads, &symbols[3], sizeof set_threads);
        set_threads(threads);
    }
    return blas;
}

/* Finite codes of any type: bytes without the NaN patterns of e4m3 and without huge bf16. */
static void fill_codes(uint8_t *codes, size_t count, dg_dtype_t dtype) {
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        uint8_t byte = (uint8_t)(state >> 24);
        if (dtype == DG_DTYPE_E4M3 && (byte & 0x7F) == 0x7F) byte ^= 1;
        if (dtype == DG_DTYPE_BF16 && i % 2 == 1) byte = (byte & 0x80) | 0x3F;
        codes[i] = byte;
    }
}

/* The memory all families share, large enough for each. */
typedef struct buffers_t {
    uint8_t *a, *b;
    float *scale_a, *scale_b, *d;
} buffers_t;

/* One family as a batch of products over the buffers; returns how many. */
static int64_t make_products(const family_t *family, int64_t size, const buffers_t *buffers,
    dg_cpu_segment_t *segments, dg_cpu_product_t *products) {
    const int64_t m_groups = family->m_groups > 1 ? family->m_groups : 1;
    const int64_t k_groups = family->k_groups > 1 ? family->k_groups : 1;
    const int64_t m = (family->m ? family->m : size) / m_groups, k = size / k_groups;
    const int64_t bits = family->dtype == DG_DTYPE_BF16   ? 16
                         : family->dtype == DG_DTYPE_E4M3 ? 8
                                                          : 4;
    for (int64_t g = 0; g < m_groups * k_groups; g++) {
        const int64_t a_first = k_groups > 1 ? g * k * size : g * m * size;
        segments[g] = (dg_cpu_segment_t){.k_count = k};
        dg_cpu_operand_t a = {.data = buffers->a + a_first * bits / 8, .dtype = family->dtype};
        a.row_stride = family->mn_major ? 1 : size;
        a.k_stride = family->mn_major ? size : 1;
        if (family->gran_k) {
            a.scale = buffers->scale_a;
            a.scale_dtype = DG_DTYPE_F32;
            a.scale_row_stride = 1;
            a.scale_k_stride = size;
            a.gran_mn = 1;
            a.gran_k = family->gran_k;
        }
        dg_cpu_operand_t b = a;
        b.data = buffers->b + (k_groups > 1 ? g * k * size : g * size * size) * bits / 8;
        if (family->gran_k == 128 && k_groups == 1) b.gran_mn = 128;
        if (family->gran_k) b.scale = buffers->scale_b;
        products[g] = (dg_cpu_product_t){.a = a,
            .b = b,
            .m = m,
            .n = size,
            .segments = &segments[g],
            .segment_count = 1,
            .d = buffers->d + (k_groups > 1 ? g * size * size : g * m * size),
            .d_row_stride = size,
            .d_dtype = DG_DTYPE_F32};
    }
    return m_groups * k_groups;
}

static void run_family(
    dg_cpu_pool_t *pool, family_t *family, int64_t size, const buffers_t *buffers) {
    static dg_cpu_segment_t segments[MAX_GROUPS];
    static dg_cpu_product_t products[MAX_GROUPS];
    fill_codes(buffers->a, (size_t)(size * size * 2), family->dtype);
    const int64_t count = make_products(family, size, buffers, segments, products);
    const double start = now();
    const dg_status_t status = dg_cpu_run(pool, products, count);
    const double seconds = now() - start;
    if (status != DG_STATUS_OK) fprintf(stderr, "%s: status %d\n", family->name, (int)status);
    if (family->seconds == 0 || seconds < family->seconds) family->seconds = seconds;
}

static double time_sgemm(
    const openblas_t *blas, int size, const float *a, const float *b, float *d) {
    enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
    const double start = now();
    blas->sgemm(
        ROW_MAJOR, NO_TRANS, TRANS, size, size, size, 1.0f, a, size, b, size, 0.0f, d, size);
    return now() - start;
}

static void report(const char *name, double flops, double seconds, double sgemm_seconds) {
    printf("%-34s %9.2f ms %8.1f GFLOP/s", name, 1e3 * seconds, 1e-9 * flops / seconds);
    if (sgemm_seconds > 0) printf("  %5.1f %% of sgemm", 100 * sgemm_seconds / seconds);
    printf("\n");
}

int main(int argc, char **argv) {
    const int size = argc > 1 ? atoi(argv[1]) : 2048;
    const int threads = argc > 2 ? atoi(argv[2]) : 2;
    if (size < 128 || size % 128 != 0 || threads < 1) {
        fprintf(stderr, "usage: cpu_gemm [size, a multiple of 128] [threads]\n");
        return 2;
    }
    family_t families[] = {
        {.name = "fp8 1x128 / 128x128", .dtype = DG_DTYPE_E4M3, .gran_k = 128},
        {.name = "fp8 1x32 / 1x32", .dtype = DG_DTYPE_E4M3, .gran_k = 32},
        {.name = "fp8 1x128, MN-major", .dtype = DG_DTYPE_E4M3, .gran_k = 128, .mn_major = 1},
        {.name = "fp4 1x32 / 1x32", .dtype = DG_DTYPE_E2M1X2, .gran_k = 32},
        {.name = "bf16", .dtype = DG_DTYPE_BF16},
        {.name = "bf16, MN-major", .dtype = DG_DTYPE_BF16, .mn_major = 1},
        {.name = "fp8 M-grouped, 8 groups", .dtype = DG_DTYPE_E4M3, .gran_k = 128, .m_groups = 8},
        {.name = "fp8 M-grouped, 32 groups", .dtype = DG_DTYPE_E4M3, .gran_k = 128, .m_groups = 32},
        {.name = "fp8 K-grouped, 8 groups",
            .dtype = DG_DTYPE_E4M3,
            .gran_k = 128,
            .k_groups = 8,
            .mn_major = 1},
        {.name = "fp8 M = 1", .dtype = DG_DTYPE_E4M3, .gran_k = 128, .m = 1},
        {.name = "fp8 M = 8", .dtype = DG_DTYPE_E4M3, .gran_k = 128, .m = 8},
        {.name = "bf16 M = 1", .dtype = DG_DTYPE_BF16, .m = 1},
    };
    enum { FAMILIES = sizeof families / sizeof families[0] };
    const size_t square = (size_t)size * (size_t)size;
    const buffers_t buffers = {malloc(square * 2), malloc(square * 32), malloc(square * 4),
        malloc(square * 4), malloc(square * 4 * 8)};
    if (!buffers.a || !buffers.b || !buffers.scale_a || !buffers.scale_b || !buffers.d) return 1;
    fill_codes(buffers.b, square * 32, DG_DTYPE_E4M3);
    for (size_t i = 0; i < square; i++) {
        buffers.scale_a[i] = 0.5f + (float)(i % 7) * 0.1f;
        buffers.scale_b[i] = 1.5f - (float)(i % 11) * 0.1f;
    }
    dg_cpu_pool_t *pool;
    if (dg_cpu_create_pool(threads, DG_CPU_ISA_AUTO, &pool) != DG_STATUS_OK) return 1;
    const openblas_t blas = open_openblas(threads);
    printf("engine: %s, %d threads; OpenBLAS: core %s (%s)\n", dg_cpu_pool_kernels(pool)->name,
        threads, blas.core, blas.config);

    double sgemm = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        if (blas.sgemm) {
            const double s = time_sgemm(&blas, size, buffers.scale_a, buffers.scale_b, buffers.d);
            if (sgemm == 0 || s < sgemm) sgemm = s;
        }
        for (int i = 0; i < FAMILIES; i++) run_family(pool, &families[i], size, &buffers);
    }
    const double flops = 2.0 * size * size * size;
    printf("size %d\n", size);
    if (sgemm > 0) report("cblas_sgemm, fp32", flops, sgemm, 0);
    for (int i = 0; i < FAMILIES; i++) {
        const double share = families[i].m ? (double)families[i].m / size : 1;
        report(families[i].name, flops * share, families[i].seconds, sgemm * share);
    }
    dg_cpu_destroy_pool(pool);
    free(buffers.a);
    free(buffers.b);
    free(buffers.scale_a);
    free(buffers.scale_b);
    free(buffers.d);
    return 0;
}
