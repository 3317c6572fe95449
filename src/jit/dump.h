/* SPDX-License-Identifier: MIT
 *
 * PTX and SASS of kernels that are compiled, beside their files in the cache, for people who read
 * them: DG_JIT_DUMP_PTX, DG_JIT_DUMP_SASS, DG_JIT_DUMP_ASM. Called by image.c after a compilation.
 */
#ifndef DG_JIT_DUMP_H
#define DG_JIT_DUMP_H

#include "jit/program.h"

/* Writes <file of the kernel>.ptx and .sass as far as they are wanted. A failure is logged alone. */
void dg_dump_kernel(const dg_program_t *program, const char *compiler, const dg_binary_t *binary);

#endif
