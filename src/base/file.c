/* SPDX-License-Identifier: MIT
 *
 * See file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

bool dg_format_path(char *path, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(path, DG_PATH_BYTES, format, values);
    va_end(values);
    const bool whole = length >= 0 && length < DG_PATH_BYTES;
    if (!whole) path[0] = '\0';
    return whole;
}

static dg_status_t fail_with(const char *verb, const char *path) {
    return dg_fail(DG_STATUS_IO, "", "", "%s cannot be %s: %s; check the disk and its permissions",
        path, verb, strerror(errno));
}

/* Reads exactly `count` bytes; false with errno otherwise (EIO: the file is shorter by now). */
static int read_fully(int file, char *bytes, size_t count) {
    size_t done = 0;
    while (done < count) {
        const ssize_t got = read(file, bytes + done, count - done);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = EIO;
        if (got <= 0) return 0;
        done += (size_t)got;
    }
    return 1;
}

dg_status_t dg_read_file(const char *path, void **bytes, size_t *count) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail_with("opened", path);
    struct stat facts;
    char *read_bytes = NULL;
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode)) {
        read_bytes = malloc((size_t)facts.st_size + 1);
        if (read_bytes == NULL) errno = ENOMEM;
    } else {
        errno = EINVAL;
    }
    const int complete = read_bytes != NULL && read_fully(file, read_bytes, (size_t)facts.st_size);
    const int error = errno;
    close(file);
    if (!complete) {
        free(read_bytes);
        errno = error;
        return fail_with("read", path);
    }
    read_bytes[facts.st_size] = '\0';
    *bytes = read_bytes;
    *count = (size_t)facts.st_size;
    return DG_STATUS_OK;
}

static int write_fully(int file, const char *bytes, size_t count) {
    size_t done = 0;
    while (done < count) {
        const ssize_t put = write(file, bytes + done, count - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return 0;
        done += (size_t)put;
    }
    return 1;
}

static dg_status_t write_new(const char *path, const void *bytes, size_t count, int sync) {
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) return fail_with("made", path);
    int good = write_fully(file, bytes, count) && (!sync || fsync(file) == 0);
    int error = errno;
    if (close(file) != 0 && good) { /* network file systems report a full disk here */
        good = 0;
        error = errno;
    }
    if (good) return DG_STATUS_OK;
    unlink(path);
    errno = error;
    return fail_with("written", path);
}

dg_status_t dg_write_file(const char *path, const void *bytes, size_t count) {
    return write_new(path, bytes, count, 0);
}

/* The folder's own record of the new name, too, survives a loss of power. */
static void sync_folder_of(const char *path) {
    char folder[DG_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || !dg_format_path(folder, "%.*s", (int)(slash - path), path)) return;
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    fsync(file);
    close(file);
}

dg_status_t dg_publish_file(const char *path, const void *bytes, size_t count) {
    char temporary[DG_PATH_BYTES];
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)(uintptr_t)&number;
    if (!dg_format_path(
            temporary, "%s.%ld.%016llx.tmp", path, (long)getpid(), (unsigned long long)number)) {
        errno = ENAMETOOLONG;
        return fail_with("written", path);
    }
    DG_TRY(write_new(temporary, bytes, count, 1));
    if (rename(temporary, path) != 0) {
        const int error = errno;
        unlink(temporary);
        errno = error;
        return fail_with("put in place", path);
    }
    sync_folder_of(path);
    return DG_STATUS_OK;
}

dg_status_t dg_make_folders(const char *path) {
    char part[DG_PATH_BYTES];
    if (!dg_format_path(part, "%s", path)) {
        errno = ENAMETOOLONG;
        return fail_with("made", path);
    }
    const size_t length = strlen(part);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0') continue;
        part[i] = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST) {
            const int error = errno;
            struct stat facts; /* a read-only parent says EROFS or EACCES though it is there */
            if (stat(part, &facts) != 0 || !S_ISDIR(facts.st_mode)) {
                errno = error;
                return fail_with("made", part);
            }
        }
        part[i] = path[i];
    }
    return DG_STATUS_OK;
}
