/* SPDX-License-Identifier: MIT
 *
 * See archive.h.
 */
#include "jit/archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "jit/cache_walk.h"

typedef struct archive_t {
    char *bytes;
    size_t count, room;
    int32_t kernels;
    dg_status_t status;
} archive_t;

/* Whether the archive holds this very entry: the checksum says so. */
static bool holds(const archive_t *archive, const dg_cache_header_t *header) {
    for (size_t at = 0; at < archive->count;) {
        dg_cache_header_t other;
        memcpy(&other, archive->bytes + at, sizeof other);
        if (memcmp(other.checksum, header->checksum, sizeof other.checksum) == 0) return true;
        at += sizeof other + (size_t)other.image_bytes;
    }
    return false;
}

static void append(void *user, const dg_cache_file_t *file) {
    archive_t *archive = user;
    if (archive->status != DG_STATUS_OK || file->fault != NULL || holds(archive, &file->header))
        return;
    void *bytes = NULL;
    size_t count = 0, size = 0;
    dg_cache_header_t header;
    if (dg_read_file(file->path, &bytes, &count) != DG_STATUS_OK) return; /* removed meanwhile */
    if (dg_check_cache_entry(bytes, count, 0, &header, &size) == NULL) {
        if (archive->room - archive->count < count) {
            const size_t room = 2 * archive->room + count;
            char *larger = realloc(archive->bytes, room);
            if (larger == NULL) {
                archive->status = dg_fail(DG_STATUS_OUT_OF_MEMORY, "path", "",
                    "no memory for an archive of %zu bytes; free some", room);
                free(bytes);
                return;
            }
            archive->bytes = larger;
            archive->room = room;
        }
        memcpy(archive->bytes + archive->count, bytes, count);
        archive->count += count;
        archive->kernels++;
    }
    free(bytes);
}

dg_status_t dg_write_archive(const char *path, int32_t *count) {
    archive_t archive = {.status = DG_STATUS_OK};
    dg_status_t status = dg_walk_cache(dg_user_cache(), append, &archive);
    if (status == DG_STATUS_OK) status = dg_walk_cache(dg_system_cache(), append, &archive);
    if (status == DG_STATUS_OK) status = archive.status;
    if (status == DG_STATUS_OK) status = dg_publish_file(path, archive.bytes, archive.count);
    free(archive.bytes);
    *count = archive.kernels;
    return status;
}

/* Checks every entry, or, if `store`, puts each in its place. */
static dg_status_t walk(
    const char *path, const char *bytes, size_t count, bool store, int32_t *kernels) {
    const dg_cache_folder_t *folder = dg_user_cache();
    *kernels = 0;
    for (size_t at = 0; at < count;) {
        dg_cache_header_t header;
        size_t size = 0;
        char place[DG_PATH_BYTES];
        const char *fault = dg_check_cache_entry(bytes + at, count - at, 1, &header, &size);
        DG_REQUIRE(fault == NULL, DG_STATUS_IO, "path", "",
            "%s: entry %d, at byte %zu, is %s; export it again", path, (int)*kernels, at, fault);
        if (store) {
            DG_REQUIRE(
                dg_format_cache_path(folder, header.name, header.key, header.compiler, place),
                DG_STATUS_IO, "", "", "the path of folder %s is too long; choose another",
                folder->path);
            DG_TRY(dg_publish_file(place, bytes + at, size));
        }
        at += size;
        *kernels += 1;
    }
    return DG_STATUS_OK;
}

dg_status_t dg_read_archive(const char *path, int32_t *count) {
    const dg_cache_folder_t *folder = dg_user_cache();
    DG_REQUIRE(folder->writable, DG_STATUS_IO, "", "",
        "cache folder '%s' cannot be written; set DG_JIT_CACHE_DIR to one that can", folder->path);
    void *bytes = NULL;
    size_t size = 0;
    DG_TRY(dg_read_file(path, &bytes, &size));
    dg_status_t status = walk(path, bytes, size, false, count);
    if (status == DG_STATUS_OK) status = walk(path, bytes, size, true, count);
    free(bytes);
    return status;
}
