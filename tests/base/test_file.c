/* SPDX-License-Identifier: MIT
 *
 * Whole files: read and written as they are; a file in place is the old one or the whole new one,
 * also when the disk is full (a limit on file sizes stands for it), and nothing else stays behind.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
/* last: it needs those above */
#include <cmocka.h>

#include "base/file.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/deep_gemm_test.XXXXXX");
    return mkdtemp(folder) == NULL;
}

/* Removes the folder, which may hold files and the one folder "a/b". */
static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}

static int count_files(void) {
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int count = -2; /* "." and ".." */
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count;
}

static void expect_content(const char *path, const char *text) {
    void *bytes = NULL;
    size_t count = 0;
    assert_int_equal(dg_read_file(path, &bytes, &count), DG_STATUS_OK);
    assert_int_equal(count, strlen(text));
    assert_memory_equal(bytes, text, count + 1);
    free(bytes);
}

static void files_are_written_and_read(void **state) {
    (void)state;
    char path[DG_PATH_BYTES];
    assert_true(dg_format_path(path, "%s/%s", folder, "one"));
    assert_int_equal(dg_write_file(path, "hello", 5), DG_STATUS_OK);
    expect_content(path, "hello");
    assert_int_equal(dg_write_file(path, "other", 5), DG_STATUS_IO); /* is there already */
    expect_content(path, "hello");
    assert_int_equal(dg_publish_file(path, "", 0), DG_STATUS_OK);
    expect_content(path, "");
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path), 0);
}

static void what_cannot_be_read_is_an_error(void **state) {
    (void)state;
    void *bytes = NULL;
    size_t count = 0;
    assert_int_equal(dg_read_file("/nowhere/at/all", &bytes, &count), DG_STATUS_IO);
    assert_non_null(strstr(dg_last_error(), "/nowhere/at/all"));
    assert_int_equal(dg_read_file(folder, &bytes, &count), DG_STATUS_IO);
    assert_int_equal(dg_read_file("/dev/zero", &bytes, &count), DG_STATUS_IO);
}

static void a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    char path[DG_PATH_BYTES];
    static char large[10000];
    const struct rlimit small = {.rlim_cur = 5000, .rlim_max = RLIM_INFINITY};
    const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    assert_true(dg_format_path(path, "%s/%s", folder, "kept"));
    assert_int_equal(dg_publish_file(path, "old", 3), DG_STATUS_OK);
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) skip();
    const dg_status_t status = dg_publish_file(path, large, sizeof large);
    setrlimit(RLIMIT_FSIZE, &none);
    assert_int_equal(status, DG_STATUS_IO);
    expect_content(path, "old");
    assert_int_equal(count_files(), 1);
    assert_int_equal(dg_publish_file(path, "new", 3), DG_STATUS_OK);
    expect_content(path, "new");
    assert_int_equal(unlink(path), 0);
}

static void folders_are_made_with_those_above(void **state) {
    (void)state;
    char path[DG_PATH_BYTES], file[DG_PATH_BYTES];
    struct stat facts;
    assert_true(dg_format_path(path, "%s/a/b", folder));
    assert_int_equal(dg_make_folders(path), DG_STATUS_OK);
    assert_int_equal(dg_make_folders(path), DG_STATUS_OK);
    assert_int_equal(stat(path, &facts), 0);
    assert_true(S_ISDIR(facts.st_mode));
    assert_true(dg_format_path(file, "%s/a/file", folder));
    assert_int_equal(dg_write_file(file, "x", 1), DG_STATUS_OK);
    assert_true(dg_format_path(path, "%s/a/file/c", folder));
    assert_int_equal(dg_make_folders(path), DG_STATUS_IO);
}

static void a_path_that_is_too_long_is_told(void **state) {
    (void)state;
    char path[DG_PATH_BYTES];
    assert_false(dg_format_path(path, "%*s", DG_PATH_BYTES, "x"));
    assert_string_equal(path, "");
    assert_true(dg_format_path(path, "%*s", DG_PATH_BYTES - 1, "x"));
    assert_int_equal(dg_publish_file(path, "x", 1), DG_STATUS_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written_and_read),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(folders_are_made_with_those_above),
        cmocka_unit_test(a_path_that_is_too_long_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
