/* SPDX-License-Identifier: MIT
 *
 * deep_gemm/kernels.h as a program uses it, on a cache folder with two bad files: they are told and
 * removed, refusals name their argument, and a call that succeeds leaves the last error as it was,
 * whatever it met on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

static char folder[] = "/tmp/deep_gemm_kernels.XXXXXX";

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/kernels/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void link_folder(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/kernels/%s", folder, name);
    assert_int_equal(symlink("/", path), 0);
}

typedef struct seen_t {
    int32_t good, bad, embedded;
} seen_t;

static void count(void *user, const dg_kernel_info_t *kernel) {
    seen_t *seen = user;
    if (kernel->origin == DG_KERNEL_EMBEDDED) {
        assert_null(kernel->path);
        assert_true(kernel->bytes > 0 && kernel->name[0] != '\0');
        seen->embedded++;
    } else {
        assert_int_equal(strncmp(kernel->path, folder, strlen(folder)), 0);
        seen->good += kernel->fault == NULL;
        seen->bad += kernel->fault != NULL;
    }
}

static void bad_files_are_told_and_removed(void **state) {
    (void)state;
    seen_t seen = {0};
    int32_t removed = -1;
    dg_kernel_cache_t cache = DG_KERNEL_CACHE_INIT;
    write_file("any_gemm.0.nvcc-13.0.dgk", "no kernel");
    link_folder("any_gemm.1.nvcc-13.0.dgk"); /* reading this one fails */
    assert_int_equal(dg_describe_kernel_cache(&cache), DG_STATUS_OK);
    assert_string_equal(cache.folder, folder);
    assert_int_equal(dg_list_kernels(DG_KERNEL_EMBEDDED | DG_KERNEL_CACHED, count, &seen), 0);
    assert_int_equal(seen.embedded, cache.embedded);
    assert_int_equal(seen.good, 0);
    assert_int_equal(seen.bad, 2);
    assert_int_equal(dg_prune_kernel_cache(-1, &removed), DG_STATUS_OK);
    assert_int_equal(removed, 2);
    seen = (seen_t){0};
    assert_int_equal(dg_list_kernels(DG_KERNEL_CACHED, count, &seen), DG_STATUS_OK);
    assert_int_equal(seen.bad, 0);
}

static void success_leaves_the_last_error_alone(void **state) {
    seen_t seen = {0};
    assert_int_equal(dg_list_kernels(0, count, &seen), DG_STATUS_BAD_ENUM);
    const char *expected = "dg_list_kernels: origins: 0, expected";
    assert_int_equal(strncmp(dg_last_error(), expected, strlen(expected)), 0);
    bad_files_are_told_and_removed(state);
    assert_int_equal(strncmp(dg_last_error(), expected, strlen(expected)), 0);
    assert_string_equal(dg_last_error_argument(), "origins");
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    dg_kernel_cache_t cache = {.struct_size = 3};
    int32_t kernels = 7;
    assert_int_equal(dg_list_kernels(DG_KERNEL_CACHED, NULL, NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_list_kernels(DG_KERNEL_COMPILED, count, NULL), DG_STATUS_BAD_ENUM);
    assert_int_equal(dg_describe_kernel_cache(NULL), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_describe_kernel_cache(&cache), DG_STATUS_BAD_STRUCT_SIZE);
    assert_int_equal(dg_prune_kernel_cache(-2, &kernels), DG_STATUS_BAD_VALUE);
    assert_int_equal(dg_export_kernels(NULL, &kernels), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_import_kernels("", &kernels), DG_STATUS_NULL_POINTER);
    assert_int_equal(dg_import_kernels("/nowhere/kernels.dga", &kernels), DG_STATUS_IO);
    assert_int_equal(dg_export_kernels("/nowhere/kernels.dga", &kernels), DG_STATUS_IO);
    assert_int_equal(kernels, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_told_and_removed),
        cmocka_unit_test(success_leaves_the_last_error_alone),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    char path[128];
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(path, sizeof path, "%s/kernels", folder);
    if (mkdir(path, 0700) != 0) return 1;
    setenv("DG_JIT_CACHE_DIR", folder, 1);
    setenv("DG_JIT_SYSTEM_CACHE_DIR", "/nowhere", 1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(path);
    rmdir(folder);
    return failed;
}
