/* SPDX-License-Identifier: MIT
 *
 * NVRTC, CUDA's compiler as a library: found with dlopen when the first kernel has to be compiled,
 * never linked. Several threads may compile at once. Called by compiler.c.
 *
 * It is $DG_NVRTC, or the first that is new enough of those that base/library_search.h finds.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/library_search.h"
#include "base/log.h"
#include "jit/compiler.h"
#include "jit/options.h"

typedef struct nvrtc_program_t *nvrtc_program_t;

/* The functions we use, out of nvrtc.h; they return 0 or an error number. */
static struct {
    int (*nvrtcVersion)(int *major, int *minor);
    const char *(*nvrtcGetErrorString)(int error);
    int (*nvrtcCreateProgram)(nvrtc_program_t *program, const char *source, const char *name,
        int num_headers, const char *const *headers, const char *const *names);
    int (*nvrtcCompileProgram)(nvrtc_program_t program, int count, const char *const *options);
    int (*nvrtcGetCUBINSize)(nvrtc_program_t program, size_t *bytes);
    int (*nvrtcGetCUBIN)(nvrtc_program_t program, char *cubin);
    int (*nvrtcGetPTXSize)(nvrtc_program_t program, size_t *bytes);
    int (*nvrtcGetPTX)(nvrtc_program_t program, char *ptx);
    int (*nvrtcGetProgramLogSize)(nvrtc_program_t program, size_t *bytes);
    int (*nvrtcGetProgramLog)(nvrtc_program_t program, char *log);
    int (*nvrtcDestroyProgram)(nvrtc_program_t *program);
} nvrtc;

#define FUNCTION(name)                                                                             \
    { #name, (void *)&nvrtc.name }
static const struct {
    const char *name;
    void *place;
} functions[] = {
    FUNCTION(nvrtcVersion),
    FUNCTION(nvrtcGetErrorString),
    FUNCTION(nvrtcCreateProgram),
    FUNCTION(nvrtcCompileProgram),
    FUNCTION(nvrtcGetCUBINSize),
    FUNCTION(nvrtcGetCUBIN),
    FUNCTION(nvrtcGetPTXSize),
    FUNCTION(nvrtcGetPTX),
    FUNCTION(nvrtcGetProgramLogSize),
    FUNCTION(nvrtcGetProgramLog),
    FUNCTION(nvrtcDestroyProgram),
};

/* What became of the search, for the message when it fails. */
typedef struct search_t {
    dg_compiler_t *compiler;
    char *reason;
    size_t reason_size;
} search_t;

/* In a Python package NVRTC's second library lies beside the first, where the loader does not look
 * for it: load it by its path, then its name is known. */
static void load_builtins(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return;
    char pattern[DG_PATH_BYTES];
    glob_t files;
    if (!dg_format_path(pattern, "%.*s/libnvrtc-builtins.so.*", (int)(slash - path), path) ||
        glob(pattern, 0, NULL, &files) != 0)
        return;
    for (size_t i = 0; i < files.gl_pathc; i++) dlopen(files.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&files);
}

/* Whether the library `path` is NVRTC, new enough and complete; if so it is the compiler. */
static bool try_library(void *user, const char *path) {
    search_t *search = user;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL) {
            snprintf(search->reason, search->reason_size, "%s lacks %s", path, functions[i].name);
            return false;
        }
        memcpy(functions[i].place, &function, sizeof function);
    }
    int major = 0, minor = 0;
    nvrtc.nvrtcVersion(&major, &minor);
    if (major * 100 + minor < DG_COMPILER_MIN_MAJOR * 100 + DG_COMPILER_MIN_MINOR) {
        snprintf(search->reason, search->reason_size,
            "%s is version %d.%d, expected %d.%d or later", path, major, minor,
            (int)DG_COMPILER_MIN_MAJOR, (int)DG_COMPILER_MIN_MINOR);
        return false;
    }
    load_builtins(path);
    snprintf(
        search->compiler->version, sizeof search->compiler->version, "nvrtc %d.%d", major, minor);
    return true;
}

static bool search_everywhere(search_t *search) {
    const char *asked = dg_env_text(DG_ENV_NVRTC);
    if (asked == NULL) return dg_search_library("libnvrtc.so", try_library, search);
    if (try_library(search, asked)) return true;
    if (search->reason[0] == '\0')
        snprintf(search->reason, search->reason_size, "DG_NVRTC: %s", dlerror());
    return false;
}

/* Takes the log over into the binary. */
static void take_log(nvrtc_program_t program, dg_binary_t *binary) {
    size_t bytes = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &bytes) != 0 || bytes == 0) return;
    binary->log = calloc(1, bytes + 1);
    if (binary->log != NULL && nvrtc.nvrtcGetProgramLog(program, binary->log) != 0)
        binary->log[0] = '\0';
}

/* Only to be read by people: that it fails is no failure. */
static void take_ptx(nvrtc_program_t program, dg_binary_t *binary) {
    size_t bytes = 0;
    if (nvrtc.nvrtcGetPTXSize(program, &bytes) != 0 || bytes == 0) return;
    binary->ptx = calloc(1, bytes + 1);
    if (binary->ptx != NULL && nvrtc.nvrtcGetPTX(program, binary->ptx) != 0) binary->ptx[0] = '\0';
}

static dg_status_t take_cubin(nvrtc_program_t program, dg_binary_t *binary) {
    int error = nvrtc.nvrtcGetCUBINSize(program, &binary->bytes);
    if (error == 0) {
        binary->cubin = malloc(binary->bytes > 0 ? binary->bytes : 1);
        DG_REQUIRE(binary->cubin != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
            "no memory for a kernel of %zu bytes; free some", binary->bytes);
        error = nvrtc.nvrtcGetCUBIN(program, binary->cubin);
    }
    DG_REQUIRE(error == 0 && binary->bytes > 0, DG_STATUS_COMPILER, "", "",
        "NVRTC gave no cubin: %s", nvrtc.nvrtcGetErrorString(error));
    return DG_STATUS_OK;
}

static dg_status_t compile(
    const dg_program_t *program, const char *source, size_t source_bytes, dg_binary_t *binary) {
    (void)source_bytes;
    char target[48];
    snprintf(target, sizeof target, "--gpu-architecture=%s", program->target);
    const char *options[] = {target, "-std=c++17", "--ptxas-options=-v", "-lineinfo"};
    const int count = dg_jit_options()->line_info ? 4 : 3;
    if (dg_jit_options()->print_commands)
        dg_log_wanted("jit=command text=\"%s %s %s %s%s\"", "nvrtc", options[0], options[1],
            options[2], count == 4 ? " -lineinfo" : "");
    nvrtc_program_t handle = NULL;
    int error = nvrtc.nvrtcCreateProgram(&handle, source, program->kernel->source, 0, NULL, NULL);
    DG_REQUIRE(error == 0, DG_STATUS_COMPILER, "", "", "NVRTC takes no program: %s",
        nvrtc.nvrtcGetErrorString(error));
    error = nvrtc.nvrtcCompileProgram(handle, count, options);
    take_log(handle, binary);
    const dg_status_t status =
        error == 0 ? take_cubin(handle, binary)
                   : dg_fail(DG_STATUS_COMPILER, "", "", "%s does not compile for %s: %s: %s",
                         program->name, program->target, nvrtc.nvrtcGetErrorString(error),
                         binary->log != NULL ? binary->log : "no log");
    if (status == DG_STATUS_OK && dg_jit_options()->dump_ptx) take_ptx(handle, binary);
    nvrtc.nvrtcDestroyProgram(&handle);
    if (status != DG_STATUS_OK) dg_free_binary(binary);
    return status;
}

bool dg_find_nvrtc(dg_compiler_t *compiler, char *reason, size_t size) {
    search_t search = {compiler, reason, size};
    reason[0] = '\0';
    if (search_everywhere(&search)) {
        compiler->compile = compile;
        reason[0] = '\0';
        return true;
    }
    if (reason[0] == '\0') snprintf(reason, size, "libnvrtc.so.13 and .12 were not found");
    return false;
}
