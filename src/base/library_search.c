/* SPDX-License-Identifier: MIT
 *
 * See library_search.h. Versions 10 to 19 are looked for; which of them will do is for the caller.
 */
#include "base/library_search.h"

#include <dlfcn.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"

typedef struct search_t {
    const char *stem;
    dg_try_library_fn *try_library;
    void *user;
} search_t;

/* Tries the versions in folder/between/. Backwards: the highest first. */
static bool try_folder(const search_t *search, const char *folder, const char *between) {
    char pattern[DG_PATH_BYTES];
    glob_t files;
    if (folder == NULL ||
        !dg_format_path(pattern, "%s/%s/%s.1[0-9]", folder, between, search->stem) ||
        glob(pattern, 0, NULL, &files) != 0)
        return false;
    bool found = false;
    for (size_t i = files.gl_pathc; i > 0 && !found; i--)
        found = search->try_library(search->user, files.gl_pathv[i - 1]);
    globfree(&files);
    return found;
}

/* Lets the loader look. */
static bool try_name(const search_t *search, const char *version) {
    char name[DG_PATH_BYTES];
    return dg_format_path(name, "%s.%s", search->stem, version) &&
           search->try_library(search->user, name);
}

/* The folder that holds Python packages, if this code lies in one of them: in the extension, which is
 * in deep_gemm/, or in the command line, which is in deep_gemm/bin/. */
static const char *packages_folder(const char *up, char folder[DG_PATH_BYTES]) {
    static const char here = 0;
    char self[DG_PATH_BYTES];
    Dl_info info;
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL) return NULL;
    const char *file = info.dli_fname;
    if (strchr(file, '/') == NULL) { /* a program is known by the word it was started with */
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        if (length < 0) return NULL;
        self[length] = '\0';
        file = self;
    }
    const char *slash = strrchr(file, '/');
    const int length = slash != NULL ? (int)(slash - file) : 0;
    return length > 0 && dg_format_path(folder, "%.*s/%s", length, file, up) ? folder : NULL;
}

bool dg_search_library(const char *stem, dg_try_library_fn *try_library, void *user) {
    const search_t search = {stem, try_library, user};
    char packages[DG_PATH_BYTES];
    return try_folder(&search, dg_env_text(DG_ENV_CUDA_HOME), "lib64") ||
           try_folder(&search, dg_env_text(DG_ENV_CUDA_PATH), "lib64") ||
           try_folder(&search, packages_folder("..", packages), "nvidia/*/lib") ||
           try_folder(&search, packages_folder("../..", packages), "nvidia/*/lib") ||
           try_name(&search, "13") || try_name(&search, "12") ||
           try_folder(&search, "/usr/local/cuda", "lib64");
}
