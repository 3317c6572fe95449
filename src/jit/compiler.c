/* SPDX-License-Identifier: MIT
 *
 * See compiler.h.
 */
#include "jit/compiler.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "jit/options.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dg_compiler_t found;
static char why_none[512];

static void look(void) {
    const dg_compiler_choice_t choice = dg_jit_options()->compiler;
    char nvrtc[240] = "", nvcc[240] = "";
    if (choice != DG_COMPILER_NVCC && dg_find_nvrtc(&found, nvrtc, sizeof nvrtc)) return;
    if (choice != DG_COMPILER_NVRTC && dg_find_nvcc(&found, nvcc, sizeof nvcc)) return;
    const bool both = nvrtc[0] != '\0' && nvcc[0] != '\0';
    snprintf(why_none, sizeof why_none, "%s%s%s", nvrtc, both ? "; " : "", nvcc);
}

const char *dg_look_for_compiler(const dg_compiler_t **compiler) {
    pthread_once(&once, look);
    *compiler = found.compile != NULL ? &found : NULL;
    return why_none;
}

dg_status_t dg_find_compiler(const dg_compiler_t **compiler) {
    const char *reason = dg_look_for_compiler(compiler);
    DG_REQUIRE(*compiler != NULL, DG_STATUS_UNSUPPORTED, "", "",
        "no run-time compiler: %s; pip install nvidia-cuda-nvrtc, or name one in DG_NVRTC or "
        "DG_JIT_NVCC_COMPILER",
        reason);
    return DG_STATUS_OK;
}

/* The first "<number> bytes <what>" of the log whose number is not 0, NULL if there is none. */
static const char *find_spill(const char *log) {
    static const char *const kinds[] = {
        " bytes spill stores", " bytes spill loads", " bytes stack frame"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (const char *at = strstr(log, kinds[i]); at != NULL; at = strstr(at + 1, kinds[i])) {
            const char *number = at;
            while (number > log && number[-1] >= '0' && number[-1] <= '9') number--;
            if (strtol(number, NULL, 10) > 0) return number;
        }
    }
    return NULL;
}

static void print_lines(const char *log) {
    while (log != NULL && *log != '\0') {
        const size_t length = strcspn(log, "\n");
        if (length > 0) dg_log_wanted("jit=ptxas text=\"%.*s\"", (int)length, log);
        log += length + (log[length] == '\n');
    }
}

static double milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

dg_status_t dg_compile_program(
    const dg_compiler_t *compiler, const dg_program_t *program, dg_binary_t *binary) {
    const dg_jit_options_t *options = dg_jit_options();
    *binary = (dg_binary_t){.cubin = NULL};
    size_t bytes = 0;
    char *source = dg_program_source(program, &bytes);
    DG_REQUIRE(source != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for the source of kernel %s; free some", program->kernel->name);
    const double begin = milliseconds_now();
    const dg_status_t status = compiler->compile(program, source, bytes, binary);
    free(source);
    if (options->print_ptxas) print_lines(binary->log);
    if (status != DG_STATUS_OK) return status;
    const double ms = milliseconds_now() - begin;
    if (options->print_kernels) {
        dg_log_wanted("jit=compiled kernel=\"%s\" target=%s compiler=\"%s\" ms=%.0f bytes=%zu",
            program->name, program->target, compiler->version, ms, binary->bytes);
    } else {
        dg_log(DG_LOG_INFO, "jit=compiled kernel=\"%s\" target=%s compiler=\"%s\" ms=%.0f",
            program->name, program->target, compiler->version, ms);
    }
    const char *spill =
        options->ptxas_check && binary->log != NULL ? find_spill(binary->log) : NULL;
    if (spill != NULL) {
        dg_fail(DG_STATUS_COMPILER, "", "",
            "%s spills registers (%.*s) and DG_JIT_PTXAS_CHECK is set; choose a smaller tile",
            program->name, (int)strcspn(spill, ",\n"), spill);
        dg_free_binary(binary);
        return DG_STATUS_COMPILER;
    }
    return DG_STATUS_OK;
}
