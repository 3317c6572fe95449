/* SPDX-License-Identifier: MIT
 *
 * Compiled kernels on disk. The user's folder is looked through first, then the system's; every entry
 * is verified when it is read, and one that is no good counts as missing, to be written anew.
 * Called by image.c; the whole folder is the business of cache_walk.c.
 */
#ifndef DG_JIT_DISK_H
#define DG_JIT_DISK_H

#include <stdbool.h>

#include "jit/program.h"

/* The kernel as `compiler` compiled it; compiler NULL (there is none here): whatever compiled it, the
 * highest version first. *cubin lies inside *file, which is to be freed. False: there is none. */
bool dg_find_on_disk(const dg_program_t *program, const char *compiler, void **file,
    const void **cubin, size_t *bytes);

/* Keeps a kernel, and the folder below its bound. That it cannot be kept (a full disk, a folder that
 * is only read) is logged and otherwise nothing: the kernel is in memory. */
void dg_store_on_disk(
    const dg_program_t *program, const char *compiler, const void *cubin, size_t bytes);

#endif
