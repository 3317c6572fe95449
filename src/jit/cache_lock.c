/* SPDX-License-Identifier: MIT
 *
 * See cache_lock.h. Locks of open files (F_OFD_SETLK), not of processes: they hold between threads of
 * one process too, and closing some other descriptor of the same file does not drop them. They have
 * no time limit of their own, so a waiter asks again and again, ever more rarely.
 */
#include "jit/cache_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Key digits 0 .. 14 as the place in the file: below 2^60, and different keys hardly ever meet. */
static off_t place_of(const char *key) {
    char digits[16] = "";
    for (int i = 0; i < 15; i++) digits[i] = key[i];
    return (off_t)strtoull(digits, NULL, 16);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

dg_cache_lock_t dg_lock_cache_key(
    const dg_cache_folder_t *folder, const char *key, double seconds) {
    char path[DG_PATH_BYTES];
    dg_cache_lock_t lock = {-1};
    if (!dg_format_path(path, "%s/lock", folder->path)) return lock;
    lock.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock.file < 0) return lock;
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place_of(key), .l_len = 1};
    const double end = seconds_now() + seconds;
    long pause = 2000000; /* ns */
    while (fcntl(lock.file, F_OFD_SETLK, &range) != 0) {
        const bool taken = errno == EAGAIN || errno == EACCES;
        if (!taken || seconds_now() >= end) {
            dg_unlock_cache_key(&lock);
            return lock;
        }
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        if (pause < 50000000) pause += pause / 4;
    }
    return lock;
}

void dg_unlock_cache_key(dg_cache_lock_t *lock) {
    if (lock->file >= 0) close(lock->file);
    lock->file = -1;
}
