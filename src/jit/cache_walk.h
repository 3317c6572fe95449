/* SPDX-License-Identifier: MIT
 *
 * The cache folder as a whole: listing, verifying, keeping it below its bound. Called by disk.c after
 * each store and by src/api for `deepgemm cache`.
 */
#ifndef DG_JIT_CACHE_WALK_H
#define DG_JIT_CACHE_WALK_H

#include <stdint.h>

#include "jit/cache_entry.h"
#include "jit/cache_folder.h"

typedef struct dg_cache_file_t {
    char path[DG_PATH_BYTES];
    int64_t bytes, seconds;   /* size; last use, since 1970 */
    dg_cache_header_t header; /* if fault is NULL */
    const char *fault;        /* NULL: a good kernel */
} dg_cache_file_t;

/* Calls `visit` for each kernel's file in the order of names, verified. IO if the folder cannot be
 * read; one that is not there is empty. */
typedef void dg_cache_visit_fn(void *user, const dg_cache_file_t *file);
dg_status_t dg_walk_cache(const dg_cache_folder_t *folder, dg_cache_visit_fn *visit, void *user);

/* Bytes that the user's folder may take: DG_JIT_CACHE_MB. */
int64_t dg_cache_bound(void);

/* Removes what crashes left behind and, if the folder takes more than `bound` bytes, what was not
 * used for longest, until `spare` bytes below the bound are free too. Returns the number of kernels
 * removed. */
int32_t dg_bound_cache(const dg_cache_folder_t *folder, int64_t bound, int64_t spare);

/* Removes files that hold no good kernel. Returns their number. */
int32_t dg_remove_bad_entries(const dg_cache_folder_t *folder);

#endif
