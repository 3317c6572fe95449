/* SPDX-License-Identifier: MIT
 *
 * Runs the conformance programs on a GPU and writes what they output as a golden file:
 *
 *     conformance programs.cubin OUT_FOLDER           writes OUT_FOLDER/sm90_primitives.txt
 *     conformance programs.cubin - GOLDEN_FILE        compares with a golden file instead
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

static FILE *open_golden(const char *folder) {
    char path[1024], device[200], date[32];
    const time_t now = time(NULL);
    snprintf(path, sizeof path, "%s/sm90_primitives.txt", folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    gpu_describe(device, sizeof device);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    golden_write_head(file, device, date, CONFORM_DIGEST);
    return file;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        printf("usage: conformance PROGRAMS.cubin OUT_FOLDER | - GOLDEN_FILE\n");
        return 2;
    }
    if (!gpu_open()) return GPU_SKIPPED;
    FILE *file = argc == 3 ? open_golden(argv[2]) : NULL;
    int failed = 0;
    for (size_t i = 0; i < conform_case_count; i++) {
        const conform_case_t *c = &conform_cases[i];
        uint32_t *output = malloc(c->words * sizeof *output);
        if (!output) return 1;
        run_case(c, argv[1], output);
        if (file) {
            golden_write_case(file, c, output);
            printf("wrote %s\n", c->name);
        } else {
            char text[200];
            const bool same = golden_compare(argv[3], c, output, text, sizeof text);
            printf("%s %s%s%s\n", same ? "ok   " : "FAIL ", c->name, same ? "" : ": ",
                same ? "" : text);
            failed += !same;
        }
        fflush(stdout);
        free(output);
    }
    if (file) fclose(file);
    return failed != 0;
}
