/* SPDX-License-Identifier: MIT
 *
 * See cache_walk.h. Other processes work in the same folder at the same time: a file that is gone
 * when its turn comes is no error, and one that is removed here while another process reads it stays
 * readable for that process.
 */
#include "jit/cache_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"

enum { STALE_SECONDS = 3600, DEFAULT_MB = 256 };

int64_t dg_cache_bound(void) {
    int32_t megabytes = DEFAULT_MB;
    /* A bad value was refused when the default context was made. */
    if (dg_env_number(DG_ENV_JIT_CACHE_MB, 1, INT32_MAX, &megabytes) != DG_STATUS_OK)
        megabytes = DEFAULT_MB;
    return (int64_t)megabytes << 20;
}

static void verify(dg_cache_file_t *file) {
    void *bytes = NULL;
    size_t count = 0, size = 0;
    file->fault = "cannot be read";
    if (dg_read_file(file->path, &bytes, &count) != DG_STATUS_OK) return;
    file->fault = dg_check_cache_entry(bytes, count, 0, &file->header, &size);
    free(bytes);
}

dg_status_t dg_walk_cache(const dg_cache_folder_t *folder, dg_cache_visit_fn *visit, void *user) {
    if (folder->path[0] == '\0' || access(folder->kernels, F_OK) != 0) return DG_STATUS_OK;
    struct dirent **names = NULL;
    const int count = scandir(folder->kernels, &names, NULL, alphasort);
    DG_REQUIRE(count >= 0, DG_STATUS_IO, "", "",
        "folder %s cannot be read: %s; check its permissions", folder->kernels, strerror(errno));
    for (int i = 0; i < count; i++) {
        dg_cache_file_t file = {.fault = NULL};
        struct stat facts;
        if (dg_is_cache_name(names[i]->d_name) &&
            dg_format_path(file.path, "%s/%s", folder->kernels, names[i]->d_name) &&
            stat(file.path, &facts) == 0) {
            file.bytes = facts.st_size;
            file.seconds = facts.st_mtime;
            verify(&file);
            visit(user, &file);
        }
        free(names[i]);
    }
    free(names);
    return DG_STATUS_OK;
}

typedef struct sized_file_t {
    char *name;
    int64_t bytes, nanoseconds;
} sized_file_t;

static int by_age(const void *a, const void *b) {
    const int64_t x = ((const sized_file_t *)a)->nanoseconds;
    const int64_t y = ((const sized_file_t *)b)->nanoseconds;
    return (x > y) - (x < y);
}

static int64_t nanoseconds_of(const struct stat *facts) {
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

/* What is in the folder, oldest first; what crashes left behind is removed on the way. */
static sized_file_t *measure(DIR *directory, size_t *count, int64_t *total) {
    sized_file_t *files = NULL;
    size_t room = 0;
    *count = 0;
    *total = 0;
    for (const struct dirent *item; (item = readdir(directory)) != NULL;) {
        struct stat facts;
        const bool temporary = dg_is_temporary_name(item->d_name);
        if (!temporary && !dg_is_cache_name(item->d_name) && !dg_is_dump_name(item->d_name))
            continue;
        if (fstatat(dirfd(directory), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (temporary) {
            if (time(NULL) - facts.st_mtime > STALE_SECONDS)
                unlinkat(dirfd(directory), item->d_name, 0);
            continue;
        }
        if (*count == room) {
            sized_file_t *larger = realloc(files, (2 * room + 64) * sizeof *files);
            if (larger == NULL) break;
            files = larger;
            room = 2 * room + 64;
        }
        files[*count] = (sized_file_t){strdup(item->d_name), facts.st_size, nanoseconds_of(&facts)};
        *total += facts.st_size;
        *count += 1;
    }
    if (*count > 0) qsort(files, *count, sizeof *files, by_age);
    return files;
}

int32_t dg_bound_cache(const dg_cache_folder_t *folder, int64_t bound, int64_t spare) {
    DIR *directory = folder->writable ? opendir(folder->kernels) : NULL;
    if (directory == NULL) return 0;
    size_t count = 0;
    int64_t total = 0;
    int32_t removed = 0;
    sized_file_t *files = measure(directory, &count, &total);
    const int64_t target = total > bound ? bound - spare : bound;
    for (size_t i = 0; i < count; i++) {
        if (total > target && files[i].name != NULL) {
            if (unlinkat(dirfd(directory), files[i].name, 0) == 0)
                removed += dg_is_cache_name(files[i].name);
            total -= files[i].bytes;
        }
        free(files[i].name);
    }
    free(files);
    closedir(directory);
    return removed;
}

static void remove_if_bad(void *user, const dg_cache_file_t *file) {
    if (file->fault != NULL && unlink(file->path) == 0) *(int32_t *)user += 1;
}

int32_t dg_remove_bad_entries(const dg_cache_folder_t *folder) {
    int32_t removed = 0;
    if (folder->writable) dg_walk_cache(folder, remove_if_bad, &removed);
    return removed;
}
