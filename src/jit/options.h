/* SPDX-License-Identifier: MIT
 *
 * What the environment says about compiling, read at the first look for a kernel and kept.
 */
#ifndef DG_JIT_OPTIONS_H
#define DG_JIT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum dg_compiler_choice_t {
    DG_COMPILER_ANY = 0, /* NVRTC if it is there and good, else nvcc */
    DG_COMPILER_NVRTC = 1,
    DG_COMPILER_NVCC = 2
} dg_compiler_choice_t;

typedef struct dg_jit_options_t {
    dg_compiler_choice_t compiler;
    bool use_embedded;
    bool line_info;
    bool ptxas_check;
    bool dump_ptx, dump_sass;
    bool print_ptxas, print_kernels, print_commands, print_loads;
} dg_jit_options_t;

const dg_jit_options_t *dg_jit_options(void);

#endif
