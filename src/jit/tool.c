/* SPDX-License-Identifier: MIT
 *
 * See child.h, dg_find_tool: programs of the CUDA toolkit.
 */
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "jit/child.h"

static bool take_path(const char *folder, const char *below, const char *name, char *path) {
    return folder != NULL && dg_format_path(path, "%s%s%s", folder, below, name) &&
           access(path, X_OK) == 0;
}

static bool search_path(const char *name, char *path) {
    const char *rest = dg_env_text(DG_ENV_PATH);
    while (rest != NULL && *rest != '\0') {
        const size_t length = strcspn(rest, ":");
        char folder[DG_PATH_BYTES];
        if (length > 0 && dg_format_path(folder, "%.*s", (int)length, rest) &&
            take_path(folder, "/", name, path))
            return true;
        rest += length + (rest[length] == ':');
    }
    return false;
}

bool dg_find_tool(const char *name, char *path) {
    return take_path(dg_env_text(DG_ENV_CUDA_HOME), "/bin/", name, path) ||
           take_path(dg_env_text(DG_ENV_CUDA_PATH), "/bin/", name, path) ||
           take_path("/usr/local/cuda", "/bin/", name, path) || search_path(name, path);
}
