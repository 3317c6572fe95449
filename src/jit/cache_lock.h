/* SPDX-License-Identifier: MIT
 *
 * An advisory lock for each key of the cache, so that of many processes one compiles a kernel and the
 * others wait for it. It is a byte of the file <folder>/lock: the system lets go of it when its
 * holder ends, however it ends. Called by image.c.
 */
#ifndef DG_JIT_CACHE_LOCK_H
#define DG_JIT_CACHE_LOCK_H

#include "jit/cache_folder.h"

typedef struct dg_cache_lock_t {
    int file; /* -1: not held */
} dg_cache_lock_t;

/* Waits for the lock of a key, at most so long. It may come back without it: if the time is over (the
 * holder hangs, say), or the file system has no locks. Then work is done twice, and nothing is
 * wrong. */
dg_cache_lock_t dg_lock_cache_key(const dg_cache_folder_t *folder, const char *key, double seconds);

void dg_unlock_cache_key(dg_cache_lock_t *lock);

#endif
