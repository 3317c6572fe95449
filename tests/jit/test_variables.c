/* SPDX-License-Identifier: MIT
 *
 * What the environment can ask to see of a compilation: command, ptxas' figures, load times, PTX and
 * SASS. Each variable brings its lines and no others, to standard error, and files beside the
 * kernel's; without any the library says nothing.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "jit/jit.h"
#include "scene.h"

#define CACHE "DG_JIT_CACHE_DIR=cache"

static char text[65536]; /* of the last child's standard error */

static void get_one(void) {
    CHECK(freopen("log", "w", stderr) != NULL);
    CHECK(ask_for(1) == DG_STATUS_OK);
}

/* A child that asks for a kernel, with a fake compiler and these variables. */
static void look(const char *first, const char *second, const char *third) {
    const char *variables[8] = {FAKE_COMPILER, CACHE, first, second, third, NULL};
    char path[128];
    assert_true(in_child(get_one, variables));
    snprintf(path, sizeof path, "%s/log", scene_folder());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

static void expect(int commands, int ptxas, int compiled, int loaded, int dumps) {
    const struct {
        const char *line;
        int count;
    } wanted[] = {{"jit=command ", commands}, {"jit=ptxas ", ptxas}, {"jit=compiled ", compiled},
        {"jit=loaded ", loaded}, {"jit=dump ", dumps}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int count = 0;
        for (const char *at = text; (at = strstr(at, wanted[i].line)) != NULL; at++) count++;
        if (count != wanted[i].count)
            fail_msg("%d lines %s, expected %d:\n%s", count, wanted[i].line, wanted[i].count, text);
    }
}

static void nothing_is_said_unasked(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_DEBUG=0", NULL, NULL);
    assert_string_equal(text, "");
    clear_scene();
    look("DG_JIT_DEBUG=yes", NULL, NULL); /* not a number: 0 */
    assert_string_equal(text, "");
}

static void the_command_is_told(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_PRINT_COMPILER_COMMAND=1", NULL, NULL);
    expect(1, 0, 0, 0, 0);
    assert_non_null(strstr(text, "fake_nvcc.sh -cubin"));
    assert_non_null(strstr(text, "code=sm_90a"));
    assert_null(strstr(text, "-lineinfo"));
    clear_scene();
    look("DG_JIT_PRINT_COMPILER_COMMAND=1", "DG_JIT_WITH_LINEINFO=1", NULL);
    assert_non_null(strstr(text, "-lineinfo"));
}

static void what_ptxas_says_is_told(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_PTXAS_VERBOSE=1", "FAKE_NVCC=spill", NULL);
    expect(0, 1, 0, 0, 0);
    assert_non_null(strstr(text, "16 bytes spill stores"));
}

static void load_times_are_told(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_PRINT_LOAD_TIME=1", NULL, NULL);
    expect(0, 0, 0, 1, 0);
    assert_non_null(strstr(text, "from=compiled ms="));
    look("DG_JIT_PRINT_LOAD_TIME=1", NULL, NULL);
    expect(0, 0, 0, 1, 0);
    assert_non_null(strstr(text, "from=cached ms="));
}

static void debugging_tells_all(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_DEBUG=1", "FAKE_NVCC=spill", NULL);
    expect(1, 1, 1, 1, 0);
}

static bool has_file(const char *end) {
    char path[128];
    bool found = false;
    snprintf(path, sizeof path, "%s/cache/kernels", scene_folder());
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (const struct dirent *item; (item = readdir(directory)) != NULL;) {
        const size_t length = strlen(item->d_name), tail = strlen(end);
        found = found || (length > tail && strcmp(item->d_name + length - tail, end) == 0);
    }
    closedir(directory);
    return found;
}

/* CUDA_HOME with a cuobjdump in it; the variable's text. */
static const char *make_toolkit(void) {
    static char variable[128];
    char path[192];
    snprintf(variable, sizeof variable, "CUDA_HOME=%s/cuda", scene_folder());
    snprintf(path, sizeof path, "%s/cuda", scene_folder());
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/cuda/bin", scene_folder());
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/cuda/bin/cuobjdump", scene_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\necho \"SASS of $2\"\n", file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    return variable;
}

static void texts_are_kept_beside_the_kernel(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_DUMP_PTX=1", make_toolkit(), NULL);
    expect(0, 0, 0, 0, 1);
    assert_true(has_file(".dgk.ptx") && !has_file(".sass"));
    clear_scene();
    look("DG_JIT_DUMP_SASS=1", make_toolkit(), NULL);
    expect(0, 0, 0, 0, 1);
    assert_true(has_file(".dgk.sass") && !has_file(".ptx") && !has_file(".cubin"));
    clear_scene();
    look("DG_JIT_DUMP_ASM=1", make_toolkit(), NULL);
    expect(0, 0, 0, 0, 2);
    assert_true(has_file(".dgk.sass") && has_file(".dgk.ptx"));
}

static void what_cannot_be_dumped_is_told(void **state) {
    (void)state;
    clear_scene();
    look("DG_JIT_DUMP_PTX=1", "DG_JIT_CACHE_DIR=/proc/nowhere", NULL);
    expect(0, 0, 0, 0, 1);
    assert_non_null(strstr(text, "no folder to write to; set DG_JIT_CACHE_DIR"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_unasked),
        cmocka_unit_test(the_command_is_told),
        cmocka_unit_test(what_ptxas_says_is_told),
        cmocka_unit_test(load_times_are_told),
        cmocka_unit_test(debugging_tells_all),
        cmocka_unit_test(texts_are_kept_beside_the_kernel),
        cmocka_unit_test(what_cannot_be_dumped_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
