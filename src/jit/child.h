/* SPDX-License-Identifier: MIT
 *
 * A child process whose output is wanted: nvcc, cuobjdump. Called by nvcc.c and dump.c.
 */
#ifndef DG_JIT_CHILD_H
#define DG_JIT_CHILD_H

#include "deep_gemm/status.h"

/* Runs arguments[0], a path, with arguments up to NULL and no input; waits. *output: what it wrote to
 * standard output and error, to be freed. *exit_status: 128 + the signal if one ended it. */
dg_status_t dg_run_child(const char *const *arguments, char **output, int *exit_status);

#endif
