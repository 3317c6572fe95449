/* SPDX-License-Identifier: MIT
 *
 * Whole files. Errors name the file and what the system said. Used by src/jit.
 */
#ifndef DG_BASE_FILE_H
#define DG_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "deep_gemm/status.h"

enum { DG_PATH_BYTES = 4096 };

/* Formats a path of DG_PATH_BYTES; false, and an empty path, if it would be longer. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool dg_format_path(char *path, const char *format, ...);

/* The bytes of a regular file, to be freed; one zero byte stands behind them. */
dg_status_t dg_read_file(const char *path, void **bytes, size_t *count);

/* Writes a file that must not exist yet; on failure it is removed again. */
dg_status_t dg_write_file(const char *path, const void *bytes, size_t count);

/* Puts a file in place so that others see the old one or the whole new one, whatever happens: a
 * name of its own beside it, written through to the disk, then renamed. */
dg_status_t dg_publish_file(const char *path, const void *bytes, size_t count);

/* Makes a folder and those above it. */
dg_status_t dg_make_folders(const char *path);

#endif
