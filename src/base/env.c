/* SPDX-License-Identifier: MIT
 *
 * See env.h. The table's texts are what `deepgemm info` prints and dg_env_entry() returns.
 */
#include "base/env.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "deep_gemm/context.h"

static const dg_env_entry_t table[DG_ENV_COUNT_ALL] = {
    [DG_ENV_NUM_THREADS] = {"DG_NUM_THREADS", "CPU threads that one call uses, 1 to 512",
        "one for each core this process may use", NULL},
    [DG_ENV_CPU_ISA] = {"DG_CPU_ISA",
        "instruction set of the CPU backend: portable, avx2, avx512 or neon",
        "the best this processor has", NULL},
    [DG_ENV_BATCH_INVARIANT] = {"DG_BATCH_INVARIANT",
        "1: a row's bits never depend on the number of rows (the CPU always does this)", "0", NULL},
    [DG_ENV_CHECK_DEVICE] = {"DG_CHECK_DEVICE",
        "1: group values and row lists in GPU memory are read and checked before each call, which "
        "waits for its stream",
        "0", NULL},
    [DG_ENV_CUDA_DRIVER] = {"DG_CUDA_DRIVER",
        "path of the CUDA driver's library, for tests and unusual installations", "libcuda.so.1",
        NULL},
    [DG_ENV_JIT_CACHE_DIR] = {"DG_JIT_CACHE_DIR", "folder of compiled kernels",
        "~/.deep_gemm, else $XDG_CACHE_HOME/deep_gemm", NULL},
    [DG_ENV_JIT_SYSTEM_CACHE_DIR] = {"DG_JIT_SYSTEM_CACHE_DIR",
        "folder of compiled kernels that is only read, for images and shared installations",
        "/usr/share/deep_gemm", NULL},
    [DG_ENV_JIT_CACHE_MB] = {"DG_JIT_CACHE_MB",
        "size that the folder of compiled kernels is kept below, in MiB", "256", NULL},
    [DG_ENV_JIT_USE_EMBEDDED] = {"DG_JIT_USE_EMBEDDED",
        "0: compile kernels that are built into the library too", "1", NULL},
    [DG_ENV_JIT_USE_NVRTC] = {"DG_JIT_USE_NVRTC", "1: compile with NVRTC alone, 0: with nvcc alone",
        "NVRTC, else nvcc", NULL},
    [DG_ENV_NVRTC] = {"DG_NVRTC", "file of the NVRTC library, libnvrtc.so.13",
        "searched in CUDA_HOME, in Python packages, by the loader", NULL},
    [DG_ENV_CUBLASLT] = {"DG_CUBLASLT", "file of the cuBLASLt library, libcublasLt.so.13",
        "the one this process has, else searched as NVRTC is", NULL},
    [DG_ENV_JIT_NVCC_COMPILER] = {"DG_JIT_NVCC_COMPILER",
        "nvcc to compile with; naming one prefers it to NVRTC",
        "searched in CUDA_HOME, /usr/local/cuda, PATH", NULL},
    [DG_ENV_JIT_WITH_LINEINFO] = {"DG_JIT_WITH_LINEINFO",
        "1: kernels carry source lines for profilers; compiles built-in kernels too", "0", NULL},
    [DG_ENV_JIT_PTXAS_CHECK] = {"DG_JIT_PTXAS_CHECK",
        "1: refuse a kernel that spills registers to local memory", "0", NULL},
    [DG_ENV_JIT_PTXAS_VERBOSE] = {"DG_JIT_PTXAS_VERBOSE",
        "1: print what ptxas tells of registers and spills", "0", NULL},
    [DG_ENV_JIT_DEBUG] = {"DG_JIT_DEBUG",
        "1: print compiled kernels, commands, load times and plans", "0", NULL},
    [DG_ENV_PRINT_CONFIGS] = {"DG_PRINT_CONFIGS", "1: print the plan of each new problem", "0",
        NULL},
    [DG_ENV_ONLY] = {"DG_ONLY",
        "GPU products run this specialisation or fail, a line of kernels/catalogue.txt",
        "(the planner chooses)", NULL},
    [DG_ENV_JIT_PRINT_COMPILER_COMMAND] = {"DG_JIT_PRINT_COMPILER_COMMAND",
        "1: print each compiler command", "0", NULL},
    [DG_ENV_JIT_PRINT_LOAD_TIME] = {"DG_JIT_PRINT_LOAD_TIME",
        "1: print how long each kernel took to load", "0", NULL},
    [DG_ENV_JIT_DUMP_ASM] = {"DG_JIT_DUMP_ASM", "1: both of the following", "0", NULL},
    [DG_ENV_JIT_DUMP_PTX] = {"DG_JIT_DUMP_PTX",
        "1: keep the PTX of each compiled kernel in the cache folder", "0", NULL},
    [DG_ENV_JIT_DUMP_SASS] = {"DG_JIT_DUMP_SASS",
        "1: keep the SASS of each compiled kernel in the cache folder (needs cuobjdump)", "0",
        NULL},
    [DG_ENV_JIT_CPP_STANDARD] = {"DG_JIT_CPP_STANDARD",
        "no effect: kernels have no headers whose standard could matter", "17", NULL},
    [DG_ENV_JIT_USE_RUNTIME_API] = {"DG_JIT_USE_RUNTIME_API",
        "no effect: kernels are loaded through the driver, the CUDA runtime is never used", "0",
        NULL},
    [DG_ENV_COMM_KERNEL_DEBUG] = {"DG_COMM_KERNEL_DEBUG",
        "no effect: there are no communication buffers to clear", "0", NULL},
    [DG_ENV_USE_PYTORCH_CUBLASLT_HANDLE] = {"DG_USE_PYTORCH_CUBLASLT_HANDLE",
        "1: the cuBLASLt wrappers work with torch's handle (Python, torch tensors)", "0", NULL},
    [DG_ENV_USE_TEMP_CUBLASLT_WORKSPACE] = {"DG_USE_TEMP_CUBLASLT_WORKSPACE",
        "no effect: every call's workspace is its own, from the caller's allocator", "0", NULL},

    [DG_ENV_CUDA_HOME] = {"CUDA_HOME", "", "", NULL},
    [DG_ENV_CUDA_PATH] = {"CUDA_PATH", "", "", NULL},
    [DG_ENV_HOME] = {"HOME", "", "", NULL},
    [DG_ENV_XDG_CACHE_HOME] = {"XDG_CACHE_HOME", "", "", NULL},
    [DG_ENV_PATH] = {"PATH", "", "", NULL},
    [DG_ENV_TMPDIR] = {"TMPDIR", "", "", NULL},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *values[DG_ENV_COUNT_ALL]; /* copies: setenv() may free what getenv() returned */

static void read_environment(void) {
    for (int i = 0; i < DG_ENV_COUNT_ALL; ++i) {
        const char *text = getenv(table[i].name);
        if (text != NULL && text[0] != '\0') values[i] = strdup(text);
    }
}

const char *dg_env_text(dg_env_t variable) {
    pthread_once(&once, read_environment);
    return values[variable];
}

dg_status_t dg_env_number(dg_env_t variable, int32_t low, int32_t high, int32_t *value) {
    const char *text = dg_env_text(variable);
    if (text == NULL) return DG_STATUS_OK;
    char *end = NULL;
    errno = 0;
    const long number = strtol(text, &end, 10);
    DG_REQUIRE(errno == 0 && end != text && *end == '\0' && number >= low && number <= high,
        DG_STATUS_BAD_VALUE, table[variable].name, "",
        "environment variable is '%s', expected a number from %d to %d; correct or unset it", text,
        low, high);
    *value = (int32_t)number;
    return DG_STATUS_OK;
}

bool dg_env_switch(dg_env_t variable) {
    const char *text = dg_env_text(variable);
    return text != NULL && strtol(text, NULL, 10) != 0;
}

dg_status_t dg_env_entry(int32_t index, dg_env_entry_t *entry) {
    dg_enter_function("dg_env_entry");
    DG_REQUIRE(entry != NULL, DG_STATUS_NULL_POINTER, "entry", "",
        "NULL, expected the address of a dg_env_entry_t to fill");
    DG_REQUIRE(index >= 0 && index < DG_ENV_COUNT, DG_STATUS_BAD_VALUE, "index", "",
        "%d, expected 0 to %d: the library reads that many environment variables", index,
        DG_ENV_COUNT - 1);
    *entry = table[index];
    entry->value = dg_env_text((dg_env_t)index);
    return DG_STATUS_OK;
}
