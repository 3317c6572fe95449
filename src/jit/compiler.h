/* SPDX-License-Identifier: MIT
 *
 * The run-time compilers, behind one face. compiler.c picks one and runs it, nvrtc.c and nvcc.c are
 * the two there are. Called by build.c.
 */
#ifndef DG_JIT_COMPILER_H
#define DG_JIT_COMPILER_H

#include <stdbool.h>

#include "jit/program.h"

/* The oldest version whose code is good: since 12.9 ptxas interleaves the promotion of FP8 sums
 * with other work by itself. Older ones compile kernels that are right and slow. */
enum { DG_COMPILER_MIN_MAJOR = 12, DG_COMPILER_MIN_MINOR = 9 };

typedef struct dg_compiler_t {
    char version[32]; /* "nvrtc 13.0", "nvcc 13.0.88"; part of a cached kernel's name */
    dg_status_t (*compile)(
        const dg_program_t *program, const char *source, size_t source_bytes, dg_binary_t *binary);
} dg_compiler_t;

/* The compiler of this process, looked for once. UNSUPPORTED if there is none; the message says
 * what was looked at and what to install. */
dg_status_t dg_find_compiler(const dg_compiler_t **compiler);

/* The same without an error: "" and the compiler, or why there is none (static) and NULL. */
const char *dg_look_for_compiler(const dg_compiler_t **compiler);

/* Compiles; COMPILER with the compiler's own words if that fails, or if the kernel spills and
 * DG_JIT_PTXAS_CHECK is set. */
dg_status_t dg_compile_program(
    const dg_compiler_t *compiler, const dg_program_t *program, dg_binary_t *binary);

/* Looks for NVRTC or nvcc. Writes a reason of up to `size` bytes if there is none that is good. */
bool dg_find_nvrtc(dg_compiler_t *compiler, char *reason, size_t size);
bool dg_find_nvcc(dg_compiler_t *compiler, char *reason, size_t size);

#endif
