/* SPDX-License-Identifier: MIT
 *
 * Child processes whose output is wanted, nvcc and cuobjdump, and where they are. Called by nvcc.c and dump.c.
 */
#ifndef DG_JIT_CHILD_H
#define DG_JIT_CHILD_H

#include <stdbool.h>

#include "deep_gemm/status.h"

/* The path of a program of the CUDA toolkit, DG_PATH_BYTES: in $CUDA_HOME, $CUDA_PATH,
 * /usr/local/cuda, $PATH. */
bool dg_find_tool(const char *name, char *path);

/* Runs arguments[0], a path, with arguments up to NULL and no input; waits. *output: what it wrote to
 * standard output and error, to be freed. *exit_status: 128 + the signal if one ended it. */
dg_status_t dg_run_child(const char *const *arguments, char **output, int *exit_status);

#endif
