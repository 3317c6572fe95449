/* SPDX-License-Identifier: MIT
 *
 * Where libraries of the CUDA toolkit lie on a machine: the folders that $CUDA_HOME and $CUDA_PATH
 * name, Python packages beside this library, the loader's own path, /usr/local/cuda. Called by
 * jit/nvrtc.c and cuda/cublaslt_library.c, which open what is found.
 */
#ifndef DG_BASE_LIBRARY_SEARCH_H
#define DG_BASE_LIBRARY_SEARCH_H

#include <stdbool.h>

/* Opens the library `path` and tells whether it will do. */
typedef bool dg_try_library_fn(void *user, const char *path);

/* Hands every place where the library may lie to `try_library` until that is content, of several
 * versions in one folder the highest first. stem: its name up to the version, "libnvrtc.so". */
bool dg_search_library(const char *stem, dg_try_library_fn *try_library, void *user);

#endif
