/* SPDX-License-Identifier: MIT
 *
 * See cache_folder.h.
 */
#include "jit/cache_folder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dg_cache_folder_t user, system_wide;

/* Takes base/end as the folder if it can be written, or, with `read_only`, at least read. */
static bool take(dg_cache_folder_t *folder, const char *base, const char *end, bool read_only) {
    if (base == NULL || !dg_format_path(folder->path, "%s%s", base, end) ||
        !dg_format_path(folder->kernels, "%s%s/kernels", base, end))
        return false;
    if (!read_only && dg_make_folders(folder->kernels) != DG_STATUS_OK) return false;
    folder->writable = !read_only && access(folder->kernels, W_OK | X_OK) == 0 &&
                       access(folder->path, W_OK | X_OK) == 0;
    return read_only ? access(folder->kernels, R_OK | X_OK) == 0 : folder->writable;
}

static void choose(void) {
    const char *asked = dg_env_text(DG_ENV_JIT_CACHE_DIR), *home = dg_env_text(DG_ENV_HOME);
    const char *cache = dg_env_text(DG_ENV_XDG_CACHE_HOME);
    bool found = false;
    for (int read_only = 0; read_only <= 1 && !found; read_only++) {
        found = asked != NULL ? take(&user, asked, "", read_only)
                              : take(&user, home, "/.deep_gemm", read_only) ||
                                    take(&user, cache, "/deep_gemm", read_only);
    }
    if (!found) user = (dg_cache_folder_t){.path = ""};
    if (!user.writable)
        dg_log(DG_LOG_INFO, "jit=cache folder=\"%s\" writable=0 remedy=\"set DG_JIT_CACHE_DIR\"",
            user.path);
    const char *below = dg_env_text(DG_ENV_JIT_SYSTEM_CACHE_DIR);
    if (!take(&system_wide, below != NULL ? below : "/usr/share/deep_gemm", "", true))
        system_wide = (dg_cache_folder_t){.path = ""};
}

const dg_cache_folder_t *dg_user_cache(void) {
    pthread_once(&once, choose);
    return &user;
}

const dg_cache_folder_t *dg_system_cache(void) {
    pthread_once(&once, choose);
    return &system_wide;
}

void dg_format_cache_stem(const char *name, const char *key, char *stem, size_t size) {
    snprintf(stem, size, "%.*s.%.32s.", (int)strcspn(name, " "), name, key);
}

bool dg_format_cache_path(const dg_cache_folder_t *folder, const char *name, const char *key,
    const char *compiler, char *path) {
    char stem[256], version[32];
    dg_format_cache_stem(name, key, stem, sizeof stem);
    snprintf(version, sizeof version, "%s", compiler);
    for (char *c = version; *c != '\0'; c++)
        if (*c == ' ') *c = '-';
    return dg_format_path(path, "%s/%s%s.dgk", folder->kernels, stem, version);
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

bool dg_is_cache_name(const char *name) {
    return ends_with(name, ".dgk");
}

bool dg_is_dump_name(const char *name) {
    return ends_with(name, ".dgk.ptx") || ends_with(name, ".dgk.sass");
}

bool dg_is_temporary_name(const char *name) {
    return ends_with(name, ".tmp") && strstr(name, ".dgk.") != NULL;
}
