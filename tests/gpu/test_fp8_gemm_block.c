/* SPDX-License-Identifier: MIT
 *
 * fp8_gemm_block on a GPU, against the plain reference in tests/reference:
 *
 *     test_fp8_gemm_block CUBIN_FOLDER           exact inputs bit for bit, random inputs within the
 *                                                tolerance of FP8 wgmma, ragged shapes, 20 repeats
 *     test_fp8_gemm_block CUBIN_FOLDER time      speed of large shapes with a cold L2
 *
 * The folder holds one cubin for each line of specialisations.h, named by its numbers. */
#include "args/gemm.h"
#include "driver.h"
#include "fp8_gemm_case.h"
#include "specialisations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Hopper adds FP8 products in an accumulator of about 14 bits within a block of 128 k. */
#define WGMMA_FP8_SLACK (1.0 / 2048)
#define REPEATS 20
#define TIMED_LAUNCHES 13
#define FLUSH_BYTES ((size_t)512 << 20)
#define REST_NANOSECONDS 30000000

typedef struct specialisation {
    int block_m, block_n, stages, math_groups, share, store_n, store_rows, store_buffers, unroll_k;
} specialisation_t;

static const specialisation_t specialisations[] = {
#define SPECIALISATION(m, n, stages, groups, share, store_n, store_rows, buffers, unroll)          \
    {m, n, stages, groups, share, store_n, store_rows, buffers, unroll},
    SPECIALISATIONS
#undef SPECIALISATION
};
#define SPECIALISATION_COUNT (sizeof specialisations / sizeof specialisations[0])

/* A problem on the device. */
typedef struct problem {
    dg_fp8_gemm_case_t c;
    CUdeviceptr a, b, scale_a, scale_b, d;
    uint16_t *result; /* [m, pitch] */
} problem_t;

static int quotient_up(int a, int b) {
    return (a + b - 1) / b;
}

/* direct: rows of d that TMA could not store, because they begin and end at odd addresses */
static void make_problem(problem_t *p, int m, int n, int k, bool exact, bool direct) {
    if (!dg_make_fp8_gemm_case(&p->c, m, n, k, exact, (uint64_t)(m + n + k))) exit(1);
    if (direct) p->c.pitch = n + 3 - n % 2;
    p->a = gpu_upload(p->c.a, dg_fp8_gemm_case_a_bytes(&p->c));
    p->b = gpu_upload(p->c.b, dg_fp8_gemm_case_b_bytes(&p->c));
    p->scale_a = gpu_upload(p->c.scale_a, dg_fp8_gemm_case_scale_a_bytes(&p->c));
    p->scale_b = gpu_upload(p->c.scale_b, dg_fp8_gemm_case_scale_b_bytes(&p->c));
    p->d = gpu_allocate(dg_fp8_gemm_case_d_bytes(&p->c));
    p->result = malloc(dg_fp8_gemm_case_d_bytes(&p->c));
    if (!p->result) exit(1);
}

static void free_problem(problem_t *p) {
    const CUdeviceptr all[5] = {p->a, p->b, p->scale_a, p->scale_b, p->d};
    for (int i = 0; i < 5; i++) CHECK_GPU(gpu.cuMemFree_call(all[i]));
    free(p->result);
    dg_free_fp8_gemm_case(&p->c);
}

static void encode_2d(dg_tensor_map_t *map, CUtensorMapDataType type, CUdeviceptr base, int inner,
    int outer, int pitch_bytes, int box_inner, int box_outer, unsigned swizzle) {
    const cuuint64_t extents[2] = {(cuuint64_t)inner, (cuuint64_t)outer};
    const cuuint64_t pitches[1] = {(cuuint64_t)pitch_bytes};
    const cuuint32_t box[2] = {(cuuint32_t)box_inner, (cuuint32_t)box_outer};
    const CUtensorMap encoded = gpu_encode_map(type, 2, base, extents, pitches, box, swizzle);
    memcpy(map, &encoded, sizeof encoded);
}

static void encode_output(dg_tensor_map_t *map, const specialisation_t *s, const problem_t *p) {
    const cuuint64_t pitch = (cuuint64_t)p->c.pitch * 2;
    const cuuint64_t extents[3] = {(cuuint64_t)p->c.n, (cuuint64_t)p->c.m, 1};
    const cuuint64_t pitches[2] = {pitch, pitch * (cuuint64_t)p->c.m};
    const cuuint32_t box[3] = {(cuuint32_t)s->store_n, (cuuint32_t)s->store_rows, 1};
    const CUtensorMap encoded = gpu_encode_map(
        CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, p->d, extents, pitches, box, (unsigned)s->store_n * 2);
    memcpy(map, &encoded, sizeof encoded);
}

static dg_sm90_fp8_gemm_block_args_t make_args(const specialisation_t *s, const problem_t *p) {
    const dg_fp8_gemm_case_t *c = &p->c;
    const int cluster_m = s->share == DG_SHARE_B ? 2 : 1,
              cluster_n = s->share == DG_SHARE_A ? 2 : 1;
    dg_sm90_fp8_gemm_block_args_t args;
    memset(&args, 0, sizeof args);
    encode_2d(&args.a, CU_TENSOR_MAP_DATA_TYPE_UINT8, p->a, c->k, c->m, c->k_pitch, 128,
        s->block_m / cluster_n, 128);
    encode_2d(&args.b, CU_TENSOR_MAP_DATA_TYPE_UINT8, p->b, c->k, c->n, c->k_pitch, 128,
        s->block_n / cluster_m, 128);
    encode_2d(&args.scale_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, p->scale_a, c->m, c->k_blocks,
        c->scale_a_pitch * 4, s->block_m, 1, 0);
    args.out.by_tma = c->n % 8 == 0 && c->pitch % 8 == 0;
    if (args.out.by_tma) encode_output(&args.out.map, s, p);
    args.out.alignment = c->pitch % 8 == 0 ? 16 : c->pitch % 2 == 0 ? 4 : 2;
    args.out.d = (void *)(uintptr_t)p->d;
    args.out.pitch = c->pitch;
    args.scale_a_by_tma = 1;
    args.scale_b = (const float *)(uintptr_t)p->scale_b;
    args.scale_b_n_stride = c->k_blocks;
    args.scale_b_k_stride = 1;
    args.scale_b_rows = c->scale_b_rows;
    args.tiles.m = c->m;
    args.tiles.n = c->n;
    args.tiles.k_blocks = c->k_blocks;
    args.tiles.tiles_m = quotient_up(c->m, s->block_m * cluster_m);
    args.tiles.tiles_n = quotient_up(c->n, s->block_n * cluster_n);
    args.tiles.band = 16 / cluster_m;
    return args;
}

static size_t shared_bytes(const specialisation_t *s) {
    const int bytes = DG_SM90_FP8_GEMM_BLOCK_SHARED_BYTES(
        s->block_m, s->block_n, s->stages, s->math_groups, s->store_n, s->store_buffers, 0,
        DG_SCHEDULE_DENSE);
    return (size_t)bytes;
}

/* One CTA per SM, but no more than there are tiles. */
static void launch(
    const specialisation_t *s, CUfunction kernel, dg_sm90_fp8_gemm_block_args_t *args) {
    const int cluster = s->share == DG_SHARE_NONE ? 1 : 2;
    const int sms = gpu_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) / cluster * cluster;
    const int wanted = args->tiles.tiles_m * args->tiles.tiles_n * cluster;
    gpu_launch(kernel, (unsigned)(wanted < sms ? wanted : sms),
        (unsigned)s->math_groups * 128 + 128, (unsigned)cluster, shared_bytes(s), args);
}

static void describe(const specialisation_t *s, char *text, size_t size) {
    snprintf(text, size, "%d_%d_%d_%d_%d_%d_%d_%d_%d", s->block_m, s->block_n, s->stages,
        s->math_groups, s->share, s->store_n, s->store_rows, s->store_buffers, s->unroll_k);
}

static CUfunction load(const specialisation_t *s, const char *folder) {
    char name[64], path[1024];
    describe(s, name, sizeof name);
    snprintf(path, sizeof path, "%s/fp8_gemm_block_%s.cubin", folder, name);
    return gpu_load(path, "dg_sm90_fp8_gemm_block", shared_bytes(s));
}

static void run_once(const specialisation_t *s, CUfunction kernel, problem_t *p) {
    dg_sm90_fp8_gemm_block_args_t args = make_args(s, p);
    const size_t bytes = dg_fp8_gemm_case_d_bytes(&p->c);
    CHECK_GPU(gpu.cuMemsetD8Async_call(p->d, 0xff, bytes, NULL));
    launch(s, kernel, &args);
    CHECK_GPU(gpu.cuCtxSynchronize_call());
    gpu_download(p->result, p->d, bytes);
}

/* Shapes whose n is no multiple of 8 are stored without TMA. */
static bool check(const specialisation_t *s, CUfunction kernel, const int *shape, bool exact) {
    problem_t p;
    char name[64], text[200];
    make_problem(&p, shape[0], shape[1], shape[2], exact, shape[1] % 8 != 0);
    run_once(s, kernel, &p);
    const int row_step = shape[0] > 1024 ? shape[0] / 61 : 1;
    const bool good =
        dg_check_fp8_gemm_case(&p.c, p.result, row_step, WGMMA_FP8_SLACK, text, sizeof text) == 0;
    describe(s, name, sizeof name);
    printf("%s %s %d x %d x %d %s%s%s\n", good ? "ok   " : "FAIL ", name, shape[0], shape[1],
        shape[2], exact ? "exact" : "random", good ? "" : ": ", good ? "" : text);
    fflush(stdout);
    free_problem(&p);
    return good;
}

static bool check_repeats(const specialisation_t *s, CUfunction kernel) {
    problem_t p;
    char name[64];
    make_problem(&p, 1000, 1544, 2048, false, false);
    const size_t bytes = dg_fp8_gemm_case_d_bytes(&p.c);
    uint16_t *first = malloc(bytes);
    int different = 0;
    if (!first) exit(1);
    for (int i = 0; i < REPEATS; i++) {
        run_once(s, kernel, &p);
        if (i == 0)
            memcpy(first, p.result, bytes);
        else
            different += memcmp(first, p.result, bytes) != 0;
    }
    describe(s, name, sizeof name);
    printf(
        "%s %s %d repeats, %d differ\n", different ? "FAIL " : "ok   ", name, REPEATS, different);
    free(first);
    free_problem(&p);
    return different == 0;
}

static int check_all(const char *folder) {
    static const int shapes[][3] = {{128, 128, 128}, {1, 8, 384}, {200, 232, 640}, {130, 136, 400},
        {64, 131, 4352}, {77, 1, 512}, {1000, 1544, 2048}, {4096, 7168, 512}, {4000, 7000, 1536}};
    int failed = 0;
    for (size_t i = 0; i < SPECIALISATION_COUNT; i++) {
        const specialisation_t *s = &specialisations[i];
        const CUfunction kernel = load(s, folder);
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++) {
            failed += !check(s, kernel, shapes[j], true);
            failed += !check(s, kernel, shapes[j], false);
        }
        failed += !check_repeats(s, kernel);
    }
    printf("%d failed\n", failed);
    return failed != 0;
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Median microseconds between events around a launch that finds L2 cold and the device rested: at
 * large k the clock is a matter of power. */
static void time_one(
    const specialisation_t *s, CUfunction kernel, problem_t *p, CUdeviceptr flush) {
    dg_sm90_fp8_gemm_block_args_t args = make_args(s, p);
    CUevent before[TIMED_LAUNCHES], after[TIMED_LAUNCHES];
    float us[TIMED_LAUNCHES];
    char name[64];
    CHECK_GPU(gpu.cuCtxSynchronize_call());
    nanosleep(&(struct timespec){0, REST_NANOSECONDS}, NULL);
    for (int i = 0; i < 3; i++) launch(s, kernel, &args);
    for (int i = 0; i < TIMED_LAUNCHES; i++) {
        CHECK_GPU(gpu.cuEventCreate_call(&before[i], 0));
        CHECK_GPU(gpu.cuEventCreate_call(&after[i], 0));
        CHECK_GPU(gpu.cuMemsetD8Async_call(flush, 0, FLUSH_BYTES, NULL));
        CHECK_GPU(gpu.cuEventRecord_call(before[i], NULL));
        launch(s, kernel, &args);
        CHECK_GPU(gpu.cuEventRecord_call(after[i], NULL));
    }
    CHECK_GPU(gpu.cuCtxSynchronize_call());
    for (int i = 0; i < TIMED_LAUNCHES; i++) {
        CHECK_GPU(gpu.cuEventElapsedTime_call(&us[i], before[i], after[i]));
        us[i] *= 1000;
    }
    qsort(us, TIMED_LAUNCHES, sizeof us[0], by_value);
    const double flops = 2.0 * p->c.m * p->c.n * p->c.k, median = (double)us[TIMED_LAUNCHES / 2];
    describe(s, name, sizeof name);
    printf("time  %-24s %d x %d x %-6d %8.2f us (%.2f .. %.2f) %7.1f TFLOPS\n", name, p->c.m,
        p->c.n, p->c.k, median, (double)us[0], (double)us[TIMED_LAUNCHES - 1],
        flops / median * 1e-6);
    fflush(stdout);
}

static int time_all(const char *folder) {
    static const int depths[] = {512, 2048, 7168, 16384};
    const CUdeviceptr flush = gpu_allocate(FLUSH_BYTES);
    for (size_t j = 0; j < sizeof depths / sizeof depths[0]; j++) {
        problem_t p;
        make_problem(&p, 4096, 7168, depths[j], false, false);
        for (size_t i = 0; i < SPECIALISATION_COUNT; i++)
            time_one(&specialisations[i], load(&specialisations[i], folder), &p, flush);
        free_problem(&p);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        printf("usage: test_fp8_gemm_block CUBIN_FOLDER [time]\n");
        return 2;
    }
    if (!gpu_open()) return GPU_SKIPPED;
    return argc > 2 && !strcmp(argv[2], "time") ? time_all(argv[1]) : check_all(argv[1]);
}
