/* SPDX-License-Identifier: MIT
 *
 * The environment variables that the library reads: one table, read once and late (when the default
 * context is first used), so that a program may set them after loading the library.
 */
#ifndef DG_BASE_ENV_H
#define DG_BASE_ENV_H

#include <stdint.h>

#include "deep_gemm/status.h"

typedef enum dg_env_t {
    DG_ENV_NUM_THREADS,
    DG_ENV_CPU_ISA,
    DG_ENV_BATCH_INVARIANT,
    DG_ENV_CUDA_DRIVER,
    DG_ENV_COUNT
} dg_env_t;

/* The variable's text, or NULL if it is not set or empty. The first call reads the whole table. */
const char *dg_env_text(dg_env_t variable);

/* The variable as a number in [low, high]; *value is left alone if it is not set. Anything else is
 * DG_STATUS_BAD_VALUE with the variable as the argument. */
dg_status_t dg_env_number(dg_env_t variable, int32_t low, int32_t high, int32_t *value);

#endif
