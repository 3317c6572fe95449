/* SPDX-License-Identifier: MIT
 *
 * See options.h. The variables and their meanings: base/env.c, docs/kernel_cache.md.
 */
#include "jit/options.h"

#include <pthread.h>
#include <stddef.h>

#include "base/env.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dg_jit_options_t options;

static dg_compiler_choice_t choose_compiler(void) {
    if (dg_env_text(DG_ENV_JIT_USE_NVRTC) != NULL)
        return dg_env_switch(DG_ENV_JIT_USE_NVRTC) ? DG_COMPILER_NVRTC : DG_COMPILER_NVCC;
    return dg_env_text(DG_ENV_JIT_NVCC_COMPILER) != NULL ? DG_COMPILER_NVCC : DG_COMPILER_ANY;
}

static void read_options(void) {
    const bool debug = dg_env_switch(DG_ENV_JIT_DEBUG);
    const bool dump = dg_env_switch(DG_ENV_JIT_DUMP_ASM);
    options.compiler = choose_compiler();
    options.line_info = dg_env_switch(DG_ENV_JIT_WITH_LINEINFO);
    options.ptxas_check = dg_env_switch(DG_ENV_JIT_PTXAS_CHECK);
    options.dump_ptx = dump || dg_env_switch(DG_ENV_JIT_DUMP_PTX);
    options.dump_sass = dump || dg_env_switch(DG_ENV_JIT_DUMP_SASS);
    options.print_ptxas = debug || dg_env_switch(DG_ENV_JIT_PTXAS_VERBOSE);
    options.print_kernels = debug;
    options.print_commands = debug || dg_env_switch(DG_ENV_JIT_PRINT_COMPILER_COMMAND);
    options.print_loads = debug || dg_env_switch(DG_ENV_JIT_PRINT_LOAD_TIME);
    /* Built-in kernels have no source lines and come without PTX. */
    options.use_embedded =
        !options.line_info && !options.dump_ptx && !options.dump_sass &&
        (dg_env_text(DG_ENV_JIT_USE_EMBEDDED) == NULL || dg_env_switch(DG_ENV_JIT_USE_EMBEDDED));
}

const dg_jit_options_t *dg_jit_options(void) {
    pthread_once(&once, read_options);
    return &options;
}
