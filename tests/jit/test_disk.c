/* SPDX-License-Identifier: MIT
 *
 * Kernels on disk: they outlive the process; whatever has happened to a file, it is used whole or
 * compiled again; folders that cannot be written and disks that are full cost time and nothing
 * else; the folder stays below its bound.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "fake_device.h"
#include "jit/cache_entry.h"
#include "scene.h"

#define CACHE "DG_JIT_CACHE_DIR=cache"
static const char *const with_compiler[] = {FAKE_COMPILER, CACHE, NULL};
static const char *const without_compiler[] = {
    CACHE, "DG_NVRTC=/nowhere", "DG_JIT_USE_NVRTC=1", NULL};

static void get_one(void) {
    CHECK(ask_for(1) == DG_STATUS_OK);
}

static void get_two(void) {
    CHECK(ask_for(2) == DG_STATUS_OK);
}

static void get_five(void) {
    for (int32_t i = 1; i <= 5; i++) CHECK(ask_for(i) == DG_STATUS_OK);
}

/* The path of the only kernel in a cache folder of the scene; "" if there is none. */
static void only_file(const char *cache, char path[512]) {
    char kernels[256];
    snprintf(kernels, sizeof kernels, "%s/%s/kernels", scene_folder(), cache);
    path[0] = '\0';
    DIR *directory = opendir(kernels);
    if (directory == NULL) return;
    for (const struct dirent *item; (item = readdir(directory)) != NULL;) {
        if (item->d_name[0] == '.') continue;
        assert_int_equal(path[0], '\0');
        snprintf(path, 512, "%s/%s", kernels, item->d_name);
    }
    closedir(directory);
}

static int count_files(const char *cache, const char *end) {
    char kernels[256];
    int count = 0;
    snprintf(kernels, sizeof kernels, "%s/%s/kernels", scene_folder(), cache);
    DIR *directory = opendir(kernels);
    assert_non_null(directory);
    for (const struct dirent *item; (item = readdir(directory)) != NULL;) {
        const size_t length = strlen(item->d_name), tail = strlen(end);
        count += length > tail && strcmp(item->d_name + length - tail, end) == 0;
    }
    closedir(directory);
    return count;
}

static void a_kernel_outlives_the_process(void **state) {
    (void)state;
    clear_scene();
    for (int i = 0; i < 3; i++) assert_true(in_child(get_one, with_compiler));
    assert_int_equal(compilations(), 1);
    assert_true(in_child(get_one, without_compiler));
    char path[512];
    only_file("cache", path);
    assert_non_null(strstr(path, "/sm90_fp8_gemm_block."));
    assert_non_null(strstr(path, ".nvcc-13.0.1.dgk"));
}

static void compilers_do_not_share_kernels(void **state) {
    (void)state;
    const char *const newer[] = {FAKE_COMPILER, CACHE, "FAKE_NVCC=newer", NULL};
    clear_scene();
    assert_true(in_child(get_one, with_compiler));
    assert_true(in_child(get_one, newer));
    assert_int_equal(compilations(), 2);
    assert_int_equal(count_files("cache", ".dgk"), 2);
    assert_true(in_child(get_one, without_compiler));
}

static void options_make_other_kernels(void **state) {
    (void)state;
    const char *const lines[] = {FAKE_COMPILER, CACHE, "DG_JIT_WITH_LINEINFO=1", NULL};
    clear_scene();
    assert_true(in_child(get_one, with_compiler));
    assert_true(in_child(get_one, lines));
    assert_int_equal(compilations(), 2);
}

/* Reads the whole file, changes it, and expects it to be compiled anew and good again. */
static void expect_rebuilt(const char *path, const uint8_t *bytes, size_t count) {
    const int before = compilations();
    unlink(path);
    assert_int_equal(dg_write_file(path, bytes, count), DG_STATUS_OK);
    assert_true(in_child(get_one, with_compiler));
    assert_int_equal(compilations(), before + 1);
    assert_true(in_child(get_one, without_compiler));
}

static void damaged_files_are_rebuilt(void **state) {
    (void)state;
    clear_scene();
    assert_true(in_child(get_one, with_compiler));
    char path[512];
    only_file("cache", path);
    void *read = NULL;
    size_t count = 0;
    assert_int_equal(dg_read_file(path, &read, &count), DG_STATUS_OK);
    uint8_t *bytes = malloc(count + 100);
    assert_non_null(bytes);
    memcpy(bytes, read, count);
    memset(bytes + count, 7, 100);
    const size_t lengths[] = {0, 1, 500, sizeof(dg_cache_header_t) - 1, sizeof(dg_cache_header_t),
        count - 1, count + 1, count + 100};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        expect_rebuilt(path, bytes, lengths[i]);
    for (size_t at = 0; at < count; at += at < 32 ? 3 : 173) {
        bytes[at] ^= (uint8_t)(1u << at % 8);
        expect_rebuilt(path, bytes, count);
        bytes[at] ^= (uint8_t)(1u << at % 8);
    }
    free(bytes);
    free(read);
}

/* A good file of kernel 2 in the place of kernel 1, as a careless copy would leave it. */
static void a_kernel_in_the_wrong_place_is_not_used(void **state) {
    (void)state;
    const char *const other[] = {FAKE_COMPILER, "DG_JIT_CACHE_DIR=other", NULL};
    clear_scene();
    assert_true(in_child(get_one, with_compiler));
    assert_true(in_child(get_two, other));
    char one[512], two[512];
    only_file("cache", one);
    only_file("other", two);
    assert_int_equal(rename(two, one), 0);
    assert_true(in_child(get_one, with_compiler));
    assert_int_equal(compilations(), 3);
}

static void the_system_folder_is_read(void **state) {
    (void)state;
    const char *const layered[] = {"DG_JIT_CACHE_DIR=mine", "DG_JIT_SYSTEM_CACHE_DIR=cache",
        "DG_NVRTC=/nowhere", "DG_JIT_USE_NVRTC=1", NULL};
    clear_scene();
    assert_true(in_child(get_one, with_compiler));
    assert_true(in_child(get_one, layered));
    assert_int_equal(count_files("mine", ".dgk"), 0);
    assert_false(in_child(get_two, layered));
}

static void default_folders(void **state) {
    (void)state;
    const char *const at_home[] = {FAKE_COMPILER, NULL};
    const char *const no_home[] = {
        FAKE_COMPILER, "HOME=/dev/null/nobody", "XDG_CACHE_HOME=xdg", NULL};
    const char *const nowhere[] = {FAKE_COMPILER, "HOME=/dev/null/nobody", NULL};
    char path[512];
    clear_scene();
    assert_true(in_child(get_one, at_home));
    only_file(".deep_gemm", path);
    assert_string_not_equal(path, "");
    assert_true(in_child(get_one, no_home));
    only_file("xdg/deep_gemm", path);
    assert_string_not_equal(path, "");
    assert_int_equal(compilations(), 2);
    assert_true(in_child(get_one, nowhere)); /* in memory only */
    assert_true(in_child(get_one, nowhere));
    assert_int_equal(compilations(), 4);
}

/* dg_last_error() is for failed calls: a cache that could not be written leaves nothing there. */
static void get_one_silently(void) {
    dg_fail(DG_STATUS_BAD_SHAPE, "before", "", "of the user");
    CHECK(ask_for(1) == DG_STATUS_OK);
    CHECK(strstr(dg_last_error(), "before: of the user") != NULL);
}

static void a_store_that_fails_is_no_error(void **state) {
    (void)state;
    const char *const vanishing[] = {FAKE_COMPILER, CACHE, "FAKE_NVCC=gone", NULL};
    clear_scene();
    assert_true(in_child(get_one_silently, vanishing));
    const char *const nowhere[] = {FAKE_COMPILER, "DG_JIT_CACHE_DIR=/dev/null/nobody", NULL};
    assert_true(in_child(get_one_silently, nowhere));
}

static void a_full_disk_is_no_error(void **state) {
    (void)state;
    clear_scene();
    char cache[256], variable[300];
    snprintf(cache, sizeof cache, "%s/small", scene_folder());
    snprintf(variable, sizeof variable, "DG_JIT_CACHE_DIR=%s", cache);
    assert_int_equal(mkdir(cache, 0755), 0);
    if (mount("tmpfs", cache, "tmpfs", 0, "size=64k") != 0) {
        print_message("no tmpfs can be mounted here\n");
        skip();
    }
    const char *const full[] = {FAKE_COMPILER, variable, "FAKE_NVCC=big", NULL};
    const bool good = in_child(get_one_silently, full);
    const int left = count_files("small", "");
    umount(cache);
    assert_true(good);
    assert_int_equal(left, 2); /* "." and "..": nothing half-written stays */
}

static void the_folder_stays_below_its_bound(void **state) {
    (void)state;
    const char *const bounded[] = {
        FAKE_COMPILER, CACHE, "FAKE_NVCC=big", "DG_JIT_CACHE_MB=1", NULL};
    clear_scene();
    assert_true(in_child(get_five, bounded)); /* the fourth does not fit: the oldest two go */
    assert_int_equal(compilations(), 5);
    assert_int_equal(count_files("cache", ".dgk"), 3);
    assert_false(in_child(get_one, without_compiler));
    assert_true(in_child(get_two, bounded));
    assert_int_equal(compilations(), 6);
}

static void remains_of_crashes_are_removed(void **state) {
    (void)state;
    clear_scene();
    assert_true(in_child(get_one, with_compiler));
    char path[512], old[560], fresh[560];
    only_file("cache", path);
    snprintf(old, sizeof old, "%s.77.0123456789abcdef.tmp", path);
    snprintf(fresh, sizeof fresh, "%s.78.0123456789abcdef.tmp", path);
    assert_int_equal(dg_write_file(old, "half", 4), DG_STATUS_OK);
    assert_int_equal(dg_write_file(fresh, "half", 4), DG_STATUS_OK);
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    assert_true(in_child(get_two, with_compiler));
    assert_int_not_equal(access(old, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0); /* some process may be writing it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_outlives_the_process),
        cmocka_unit_test(compilers_do_not_share_kernels),
        cmocka_unit_test(options_make_other_kernels),
        cmocka_unit_test(damaged_files_are_rebuilt),
        cmocka_unit_test(a_kernel_in_the_wrong_place_is_not_used),
        cmocka_unit_test(the_system_folder_is_read),
        cmocka_unit_test(default_folders),
        cmocka_unit_test(a_store_that_fails_is_no_error),
        cmocka_unit_test(a_full_disk_is_no_error),
        cmocka_unit_test(the_folder_stays_below_its_bound),
        cmocka_unit_test(remains_of_crashes_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
