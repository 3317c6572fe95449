/* SPDX-License-Identifier: MIT
 *
 * Runs the conformance programs on a GPU and writes what they output as a golden file:
 *
 *     conformance programs.cubin OUT_FOLDER           writes OUT_FOLDER/sm90_primitives.txt
 *     conformance programs.cubin - GOLDEN_FILE        compares with a golden file instead
 *     conformance programs.cubin - GOLDEN_FILE NAME...    these cases only
 *
 * The file begins with device, driver, date and the digest of the programs. */
#include "cases.h"
#include "driver.h"
#include "golden.h"

#include "conform_digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static CUtensorMap encode(const conform_map_t *m, CUdeviceptr base) {
    CUtensorMap none;
    memset(&none, 0, sizeof none);
    if (!m->rank) return none;
    const cuuint64_t extents[3] = {m->extent[0], m->extent[1], m->extent[2]};
    const cuuint64_t pitches[2] = {m->pitch, (cuuint64_t)m->pitch * m->extent[1]};
    const cuuint32_t box[3] = {m->box[0], m->box[1], m->box[2]};
    const CUtensorMapDataType type = m->element == CONFORM_BYTES_2
                                         ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                         : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    return gpu_encode_map(type, m->rank, base, extents, pitches, box, m->swizzle);
}

/* output: [c->words] */
static void run_case(const conform_case_t *c, const char *cubin, uint32_t *output) {
    static uint32_t input[CONFORM_INPUT_WORDS];
    conform_args_t args;
    memset(&args, 0, sizeof args);
    conform_fill_input(c, input);
    conform_fill_output(c, output);
    const CUdeviceptr in = gpu_upload(input, sizeof input);
    const CUdeviceptr out = gpu_upload(output, c->words * sizeof *output);
    const CUdeviceptr ring = gpu_allocate(256);
    const CUtensorMap in_map = encode(&c->in, in), out_map = encode(&c->out, out);
    memcpy(&args.in, &in_map, sizeof in_map);
    memcpy(&args.out, &out_map, sizeof out_map);
    args.input = (const uint32_t *)(uintptr_t)in;
    args.output = (uint32_t *)(uintptr_t)out;
    args.ring = (dg_tensor_map_t *)(uintptr_t)ring;
    memcpy(args.p, c->p, sizeof c->p);
    const CUfunction kernel = gpu_load(cubin, c->program, CONFORM_SHARED_BYTES);
    gpu_launch(kernel, c->cluster, 128, c->cluster, CONFORM_SHARED_BYTES, &args);
    CHECK_GPU(gpu.cuCtxSynchronize_call());
    gpu_download(output, out, c->words * sizeof *output);
    CHECK_GPU(gpu.cuMemFree_call(in));
    CHECK_GPU(gpu.cuMemFree_call(out));
    CHECK_GPU(gpu.cuMemFree_call(ring));
}

static void start_golden(const char *path) {
    char device[200], date[32];
    const time_t now = time(NULL);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    gpu_describe(device, sizeof device);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    golden_write_head(file, device, date, CONFORM_DIGEST);
    fclose(file);
}

/* Writes or compares one case; true if all is well. */
static bool do_case(const conform_case_t *c, const char *cubin, const char *golden, bool compare) {
    char text[200] = "";
    bool good = true;
    uint32_t *output = malloc(c->words * sizeof *output);
    if (!output) exit(1);
    run_case(c, cubin, output);
    if (compare) {
        good = golden_compare(golden, c, output, text, sizeof text);
    } else {
        FILE *file = fopen(golden, "a");
        if (!file) exit(1);
        golden_write_case(file, c, output);
        fclose(file);
    }
    printf("%s %s%s%s\n", good ? "ok   " : "FAIL ", c->name, good ? "" : ": ", text);
    free(output);
    return good;
}

/* What the child that runs the cases tells its parent, in shared memory. */
typedef struct progress {
    size_t next; /* the case being run */
    int failed;
} progress_t;

/* names: null-terminated; none means all */
static bool is_wanted(const conform_case_t *c, char *const *names) {
    if (!*names) return true;
    for (; *names; names++)
        if (strcmp(c->name, *names) == 0) return true;
    return false;
}

/* A program that traps takes its CUDA context with it. So cases run in a child, and after a trap
 * another child goes on behind the case that failed. */
static int run_child(
    progress_t *progress, const char *cubin, const char *golden, bool compare, char *const *names) {
    fflush(stdout);
    const pid_t child = fork();
    int status = 0;
    if (child) return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
    if (!gpu_open()) exit(GPU_SKIPPED);
    if (progress->next == 0 && !compare) start_golden(golden);
    for (; progress->next < conform_case_count; progress->next++) {
        if (!is_wanted(&conform_cases[progress->next], names)) continue;
        progress->failed += !do_case(&conform_cases[progress->next], cubin, golden, compare);
        fflush(stdout);
    }
    exit(0);
}

/* The case whose child ended: a trap of the hardware, which is an answer too. */
static bool note_trap(const conform_case_t *c, const char *golden, bool compare) {
    char text[200] = "";
    bool good = true;
    if (compare) {
        good = golden_compare(golden, c, NULL, text, sizeof text);
    } else {
        FILE *file = fopen(golden, "a");
        if (!file) exit(1);
        golden_write_trap(file, c);
        fclose(file);
    }
    printf("%s %s: stopped by the hardware %s\n", good ? "ok   " : "FAIL ", c->name, text);
    return good;
}

int main(int argc, char **argv) {
    char path[1024];
    if (argc < 3) {
        printf("usage: conformance PROGRAMS.cubin OUT_FOLDER | - GOLDEN_FILE [NAME...]\n");
        return 2;
    }
    const bool compare = argc > 3;
    if (compare)
        snprintf(path, sizeof path, "%s", argv[3]);
    else
        snprintf(path, sizeof path, "%s/sm90_primitives.txt", argv[2]);
    progress_t *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) return 1;
    while (progress->next < conform_case_count) {
        const int code = run_child(progress, argv[1], path, compare, argv + (compare ? 4 : argc));
        if (code == GPU_SKIPPED) return GPU_SKIPPED;
        if (progress->next == conform_case_count) break;
        progress->failed += !note_trap(&conform_cases[progress->next++], path, compare);
    }
    printf("%d failed\n", progress->failed);
    return progress->failed != 0;
}
