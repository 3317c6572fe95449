/* SPDX-License-Identifier: MIT
 *
 * The environment variables that the library reads: one table, read once and late (when the default
 * context is first used), so that a program may set them after loading the library.
 */
#ifndef DG_BASE_ENV_H
#define DG_BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "deep_gemm/status.h"

typedef enum dg_env_t {
    DG_ENV_NUM_THREADS,
    DG_ENV_CPU_ISA,
    DG_ENV_BATCH_INVARIANT,
    DG_ENV_CHECK_DEVICE,
    DG_ENV_CUDA_DRIVER,
    DG_ENV_JIT_CACHE_DIR,
    DG_ENV_JIT_SYSTEM_CACHE_DIR,
    DG_ENV_JIT_CACHE_MB,
    DG_ENV_JIT_USE_EMBEDDED,
    DG_ENV_JIT_USE_NVRTC,
    DG_ENV_NVRTC,
    DG_ENV_CUBLASLT,
    DG_ENV_JIT_NVCC_COMPILER,
    DG_ENV_JIT_WITH_LINEINFO,
    DG_ENV_JIT_PTXAS_CHECK,
    DG_ENV_JIT_PTXAS_VERBOSE,
    DG_ENV_JIT_DEBUG,
    DG_ENV_PRINT_CONFIGS,
    DG_ENV_ONLY,
    DG_ENV_JIT_PRINT_COMPILER_COMMAND,
    DG_ENV_JIT_PRINT_LOAD_TIME,
    DG_ENV_JIT_DUMP_ASM,
    DG_ENV_JIT_DUMP_PTX,
    DG_ENV_JIT_DUMP_SASS,
    DG_ENV_JIT_CPP_STANDARD,
    DG_ENV_JIT_USE_RUNTIME_API,
    DG_ENV_COMM_KERNEL_DEBUG,
    DG_ENV_USE_PYTORCH_CUBLASLT_HANDLE,
    DG_ENV_USE_TEMP_CUBLASLT_WORKSPACE,
    DG_ENV_COUNT,
    /* Of the system, not in the public table. */
    DG_ENV_CUDA_HOME = DG_ENV_COUNT,
    DG_ENV_CUDA_PATH,
    DG_ENV_HOME,
    DG_ENV_XDG_CACHE_HOME,
    DG_ENV_PATH,
    DG_ENV_TMPDIR,
    DG_ENV_COUNT_ALL
} dg_env_t;

/* The variable's text, or NULL if it is not set or empty. The first call reads the whole table. */
const char *dg_env_text(dg_env_t variable);

/* The variable as a number in [low, high]; *value is left alone if it is not set. Anything else is
 * DG_STATUS_BAD_VALUE with the variable as the argument. */
dg_status_t dg_env_number(dg_env_t variable, int32_t low, int32_t high, int32_t *value);

/* A switch: a number, and not 0. Anything else than a number counts as 0, as old scripts expect. */
bool dg_env_switch(dg_env_t variable);

#endif
