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

static const dg_env_entry_t table[DG_ENV_COUNT] = {
    [DG_ENV_NUM_THREADS] = {"DG_NUM_THREADS", "CPU threads that one call uses, 1 to 512",
        "one for each core this process may use", NULL},
    [DG_ENV_CPU_ISA] = {"DG_CPU_ISA",
        "instruction set of the CPU backend: portable, avx2, avx512 or neon",
        "the best this processor has", NULL},
    [DG_ENV_BATCH_INVARIANT] = {"DG_BATCH_INVARIANT",
        "1: a row's bits never depend on the number of rows (the CPU always does this)", "0", NULL},
    [DG_ENV_CUDA_DRIVER] = {"DG_CUDA_DRIVER",
        "path of the CUDA driver's library, for tests and unusual installations", "libcuda.so.1",
        NULL},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *values[DG_ENV_COUNT]; /* copies: setenv() may free what getenv() returned */

static void read_environment(void) {
    for (int i = 0; i < DG_ENV_COUNT; ++i) {
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
