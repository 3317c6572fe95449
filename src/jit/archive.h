/* SPDX-License-Identifier: MIT
 *
 * Kernels in one file, to be carried to another machine: entries of the cache, one behind the other
 * (cache_entry.h). Called by src/api.
 */
#ifndef DG_JIT_ARCHIVE_H
#define DG_JIT_ARCHIVE_H

#include <stdint.h>

#include "deep_gemm/status.h"

/* Every good kernel of both folders; one that both have is written once. */
dg_status_t dg_write_archive(const char *path, int32_t *count);

/* Into the user's folder; all or, if an entry is bad, none. */
dg_status_t dg_read_archive(const char *path, int32_t *count);

#endif
