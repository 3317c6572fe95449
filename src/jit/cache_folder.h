/* SPDX-License-Identifier: MIT
 *
 * The folders that hold compiled kernels, and the names of files in them. Chosen once, when the first
 * kernel is looked for that is not embedded.
 *
 *     <folder>/kernels/<kernel>.<32 digits of the key>.<compiler>.dgk
 *     <folder>/kernels/<that>.<process>.<random>.tmp      being written; left behind only by a crash
 *     <folder>/kernels/<that>.ptx, .sass                  for people, if they were asked for
 *     <folder>/lock                                       one byte of it is locked for each key
 */
#ifndef DG_JIT_CACHE_FOLDER_H
#define DG_JIT_CACHE_FOLDER_H

#include <stdbool.h>

#include "base/file.h"
#include "jit/program.h"

typedef struct dg_cache_folder_t {
    char path[DG_PATH_BYTES];    /* "" if there is none */
    char kernels[DG_PATH_BYTES]; /* path/kernels */
    bool writable;
} dg_cache_folder_t;

/* The user's: $DG_JIT_CACHE_DIR, else the first of $HOME/.deep_gemm and $XDG_CACHE_HOME/deep_gemm that
 * can be written, else one of them that can be read. */
const dg_cache_folder_t *dg_user_cache(void);

/* The one below it that is only read: $DG_JIT_SYSTEM_CACHE_DIR, else /usr/share/deep_gemm. */
const dg_cache_folder_t *dg_system_cache(void);

/* Starts every file of a program, whatever compiled it: "<kernel>.<32 digits>." */
void dg_format_cache_stem(const char *name, const char *key, char *stem, size_t size);

/* The file of a kernel compiled by `compiler`; false if there is no such path. */
bool dg_format_cache_path(const dg_cache_folder_t *folder, const char *name, const char *key,
    const char *compiler, char *path);

/* Whether a file's name is that of a kernel, of text beside one, or of a file being written. */
bool dg_is_cache_name(const char *name);
bool dg_is_dump_name(const char *name);
bool dg_is_temporary_name(const char *name);

#endif
