/* SPDX-License-Identifier: MIT
 *
 * See disk.h.
 */
#include "jit/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "jit/cache_entry.h"
#include "jit/cache_folder.h"
#include "jit/cache_walk.h"

/* A file's time is that of its last use, to the day: what is evicted first has not been used for
 * longest, and reading kernels writes nothing but once a day. */
static void mark_used(const char *path) {
    struct stat facts;
    if (stat(path, &facts) == 0 && time(NULL) - facts.st_mtime > 24 * 3600)
        utimensat(AT_FDCWD, path, NULL, 0);
}

/* Reads one file; false if it is not there or no good. */
static bool read_entry(const dg_cache_folder_t *folder, const char *path,
    const dg_program_t *program, void **file, const void **cubin, size_t *bytes) {
    size_t count = 0, size = 0;
    if (access(path, F_OK) != 0 || dg_read_file(path, file, &count) != DG_STATUS_OK) return false;
    dg_cache_header_t header;
    const char *fault = dg_check_cache_entry(*file, count, 0, &header, &size);
    if (fault == NULL &&
        (strcmp(header.key, program->key) != 0 || strcmp(header.name, program->name) != 0 ||
            header.architecture != program->architecture))
        fault = "of another kernel";
    if (fault != NULL) {
        dg_log(DG_LOG_INFO, "jit=cache file=\"%s\" fault=\"%s\"", path, fault);
        free(*file);
        return false;
    }
    if (folder->writable) mark_used(path);
    *cubin = (const char *)*file + sizeof header;
    *bytes = (size_t)header.image_bytes;
    return true;
}

/* Entries by any compiler, best name first: strverscmp orders 12.9 before 13.0. */
static bool read_any(const dg_cache_folder_t *folder, const dg_program_t *program, void **file,
    const void **cubin, size_t *bytes) {
    char stem[256], path[DG_PATH_BYTES];
    dg_format_cache_stem(program->name, program->key, stem, sizeof stem);
    struct dirent **names = NULL;
    const int count = scandir(folder->kernels, &names, NULL, versionsort);
    bool found = false;
    for (int i = count - 1; i >= 0; i--) {
        const char *name = names[i]->d_name;
        if (!found && strncmp(name, stem, strlen(stem)) == 0 && dg_is_cache_name(name) &&
            dg_format_path(path, "%s/%s", folder->kernels, name))
            found = read_entry(folder, path, program, file, cubin, bytes);
        free(names[i]);
    }
    if (count >= 0) free(names);
    return found;
}

bool dg_find_on_disk(const dg_program_t *program, const char *compiler, void **file,
    const void **cubin, size_t *bytes) {
    enum { LAYERS = 2 };
    const dg_cache_folder_t *const folders[LAYERS] = {dg_user_cache(), dg_system_cache()};
    for (int i = 0; i < LAYERS; i++) {
        char path[DG_PATH_BYTES];
        if (folders[i]->path[0] == '\0') continue;
        const bool found =
            compiler == NULL
                ? read_any(folders[i], program, file, cubin, bytes)
                : dg_format_cache_path(folders[i], program->name, program->key, compiler, path) &&
                      read_entry(folders[i], path, program, file, cubin, bytes);
        if (found) return true;
    }
    return false;
}

void dg_store_on_disk(
    const dg_program_t *program, const char *compiler, const void *cubin, size_t bytes) {
    const dg_cache_folder_t *folder = dg_user_cache();
    char path[DG_PATH_BYTES];
    if (!folder->writable ||
        !dg_format_cache_path(folder, program->name, program->key, compiler, path))
        return;
    const dg_cache_header_t header = dg_make_cache_header(program, compiler, cubin, bytes);
    char *entry = malloc(sizeof header + bytes);
    if (entry == NULL) return;
    memcpy(entry, &header, sizeof header);
    memcpy(entry + sizeof header, cubin, bytes);
    if (dg_publish_file(path, entry, sizeof header + bytes) != DG_STATUS_OK)
        dg_log(DG_LOG_ERROR, "jit=cache kernel=\"%s\" kept=0 error=\"%s\"", program->name,
            dg_last_error());
    free(entry);
    const int64_t bound = dg_cache_bound();
    dg_bound_cache(folder, bound, bound / 4);
}
