/* SPDX-License-Identifier: MIT
 *
 * nvcc as a child process, for machines that have the CUDA toolkit and no good NVRTC, and for those
 * who ask for it. No shell is involved. Source and cubin go through a folder of their own under
 * $TMPDIR, which is removed again. Called by compiler.c; calls child.c.
 *
 * Where it is looked for: $DG_JIT_NVCC_COMPILER, $CUDA_HOME and $CUDA_PATH, /usr/local/cuda, $PATH.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "jit/child.h"
#include "jit/compiler.h"
#include "jit/options.h"

static char nvcc[DG_PATH_BYTES]; /* written once, before the first compile */

static bool search_everywhere(void) {
    const char *asked = dg_env_text(DG_ENV_JIT_NVCC_COMPILER);
    if (asked != NULL) return dg_format_path(nvcc, "%s", asked) && access(nvcc, X_OK) == 0;
    return dg_find_tool("nvcc", nvcc);
}

/* Reads "release 13.0, V13.0.88" out of what nvcc --version prints. */
static bool read_version(dg_compiler_t *compiler, const char *text, char *reason, size_t size) {
    const char *release = strstr(text, "release ");
    int major = 0, minor = 0, patch = 0;
    if (release == NULL ||
        sscanf(release, "release %d.%d, V%*d.%*d.%d", &major, &minor, &patch) < 2) {
        snprintf(reason, size, "%s --version tells no version", nvcc);
        return false;
    }
    if (major * 100 + minor < DG_COMPILER_MIN_MAJOR * 100 + DG_COMPILER_MIN_MINOR) {
        snprintf(reason, size, "%s is version %d.%d, expected %d.%d or later", nvcc, major, minor,
            (int)DG_COMPILER_MIN_MAJOR, (int)DG_COMPILER_MIN_MINOR);
        return false;
    }
    snprintf(compiler->version, sizeof compiler->version, "nvcc %d.%d.%d", major, minor, patch);
    return true;
}

/* form: "-cubin" or "-ptx". */
static dg_status_t run_nvcc(const dg_program_t *program, const char *form, const char *input,
    const char *output, char **log) {
    char code[64];
    const char *number = program->target + strlen("sm_");
    const bool cubin = strcmp(form, "-cubin") == 0;
    if (cubin) {
        snprintf(code, sizeof code, "-gencode=arch=compute_%s,code=%s", number, program->target);
    } else {
        snprintf(code, sizeof code, "-arch=compute_%s", number);
    }
    const char *arguments[] = {nvcc, form, "-std=c++17", "-O3", "-Xptxas", "-v", code, input, "-o",
        output, dg_jit_options()->line_info ? "-lineinfo" : NULL, NULL};
    if (dg_jit_options()->print_commands)
        dg_log_wanted("jit=command text=\"%s %s -std=c++17 -O3 -Xptxas -v %s %s -o %s%s\"", nvcc,
            form, code, input, output, arguments[10] != NULL ? " -lineinfo" : "");
    int exit_status = 0;
    DG_TRY(dg_run_child(arguments, log, &exit_status));
    DG_REQUIRE(exit_status == 0, DG_STATUS_COMPILER, "", "",
        "%s does not compile for %s: %s ended with status %d: %s", program->name, program->target,
        nvcc, exit_status, *log);
    return DG_STATUS_OK;
}

static dg_status_t make_cubin(
    const dg_program_t *program, const char *input, const char *output, dg_binary_t *binary) {
    void *bytes = NULL;
    DG_TRY(run_nvcc(program, "-cubin", input, output, &binary->log));
    DG_TRY(dg_read_file(output, &bytes, &binary->bytes));
    binary->cubin = bytes;
    DG_REQUIRE(binary->bytes > 0, DG_STATUS_COMPILER, "", "", "%s wrote an empty file for %s", nvcc,
        program->name);
    return DG_STATUS_OK;
}

/* Only to be read by people: that it fails is no failure. */
static void make_ptx(
    const dg_program_t *program, const char *input, const char *output, dg_binary_t *binary) {
    void *bytes = NULL;
    char *log = NULL;
    size_t count = 0;
    if (run_nvcc(program, "-ptx", input, output, &log) == DG_STATUS_OK &&
        dg_read_file(output, &bytes, &count) == DG_STATUS_OK)
        binary->ptx = bytes;
    free(log);
}

static dg_status_t compile(
    const dg_program_t *program, const char *source, size_t source_bytes, dg_binary_t *binary) {
    const char *parent = dg_env_text(DG_ENV_TMPDIR);
    char folder[DG_PATH_BYTES], input[DG_PATH_BYTES], output[DG_PATH_BYTES];
    dg_format_path(folder, "%s/deep_gemm.XXXXXX", parent != NULL ? parent : "/tmp");
    DG_REQUIRE(mkdtemp(folder) != NULL, DG_STATUS_IO, "", "",
        "no folder %s could be made for nvcc; set TMPDIR to one that can be written", folder);
    dg_format_path(input, "%s/kernel.cu", folder);
    dg_format_path(output, "%s/kernel.cubin", folder);
    dg_status_t status = dg_write_file(input, source, source_bytes);
    if (status == DG_STATUS_OK) status = make_cubin(program, input, output, binary);
    if (status == DG_STATUS_OK && dg_jit_options()->dump_ptx)
        make_ptx(program, input, output, binary);
    unlink(input);
    unlink(output);
    rmdir(folder);
    if (status != DG_STATUS_OK) dg_free_binary(binary);
    return status;
}

bool dg_find_nvcc(dg_compiler_t *compiler, char *reason, size_t size) {
    if (!search_everywhere()) {
        const char *asked = dg_env_text(DG_ENV_JIT_NVCC_COMPILER);
        snprintf(reason, size, asked != NULL ? "%s is no program" : "%s was not found",
            asked != NULL ? asked : "nvcc");
        return false;
    }
    const char *arguments[] = {nvcc, "--version", NULL};
    char *text = NULL;
    int exit_status = 0;
    bool good = dg_run_child(arguments, &text, &exit_status) == DG_STATUS_OK && exit_status == 0;
    if (!good) {
        snprintf(reason, size, "%s --version does not run", nvcc);
    } else {
        good = read_version(compiler, text, reason, size);
    }
    free(text);
    if (good) compiler->compile = compile;
    return good;
}
