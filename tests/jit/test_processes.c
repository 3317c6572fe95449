/* SPDX-License-Identifier: MIT
 *
 * Many processes on one cache folder: each kernel is compiled once between them, a holder of the lock
 * that is killed is followed by the next, one that hangs is not waited for for ever, and whoever is
 * killed while it writes leaves nothing that others take for a kernel.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "jit/cache_lock.h"
#include "jit/cache_walk.h"
#include "jit/disk.h"
#include "scene.h"

enum { PROCESSES = 16, KERNELS = 3 };

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void get_all(void) {
    while (access("start", F_OK) != 0) pause_ms(1);
    for (int32_t i = 0; i < KERNELS; i++) CHECK(ask_for(i) == DG_STATUS_OK);
}

static void get_one(void) {
    CHECK(ask_for(1) == DG_STATUS_OK);
}

static void a_cold_cache_compiles_each_kernel_once(void **state) {
    (void)state;
    const char *const variables[] = {
        FAKE_COMPILER, "DG_JIT_CACHE_DIR=cold", "FAKE_NVCC=sleep 0.3", NULL};
    clear_scene();
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) children[i] = start_child(get_all, variables);
    char start[96];
    snprintf(start, sizeof start, "%s/start", scene_folder());
    FILE *file = fopen(start, "w");
    assert_non_null(file);
    fclose(file);
    int failed = 0;
    for (int i = 0; i < PROCESSES; i++) failed += !child_succeeds(children[i]);
    assert_int_equal(failed, 0);
    assert_int_equal(compilations(), KERNELS);
}

/* The compiler that a killed process leaves behind. */
static pid_t compiler_of_log(void) {
    char path[96];
    int process = 0;
    snprintf(path, sizeof path, "%s/compilations", scene_folder());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &process), 1);
    fclose(file);
    return process;
}

static void a_killed_process_is_followed(void **state) {
    (void)state;
    const char *const hanging[] = {FAKE_COMPILER, "DG_JIT_CACHE_DIR=c", "FAKE_NVCC=hang", NULL};
    const char *const working[] = {FAKE_COMPILER, "DG_JIT_CACHE_DIR=c", NULL};
    clear_scene();
    const pid_t holder = start_child(get_one, hanging);
    while (compilations() == 0) pause_ms(5);
    const pid_t waiter = start_child(get_one, working);
    pause_ms(300);
    assert_int_equal(compilations(), 1); /* it waits */
    const double begin = seconds_now();
    kill(holder, SIGKILL);
    assert_true(child_succeeds(waiter));
    assert_true(seconds_now() - begin < 10);
    assert_int_equal(compilations(), 2);
    assert_false(child_succeeds(holder));
    kill(compiler_of_log(), SIGKILL);
    assert_true(in_child(get_one, working));
    assert_int_equal(compilations(), 2);
}

static void a_lock_is_waited_for_so_long_and_no_longer(void **state) {
    (void)state;
    static dg_cache_folder_t folder;
    snprintf(folder.path, sizeof folder.path, "%s", scene_folder());
    const char *one = "0123456789abcdef0123456789abcdef", *two = "ff23456789abcdef";
    dg_cache_lock_t held = dg_lock_cache_key(&folder, one, 0);
    assert_true(held.file >= 0);
    const double begin = seconds_now();
    dg_cache_lock_t late = dg_lock_cache_key(&folder, one, 0.3);
    const double waited = seconds_now() - begin;
    assert_true(late.file < 0);
    assert_true(waited >= 0.3 && waited < 5);
    dg_cache_lock_t other = dg_lock_cache_key(&folder, two, 0);
    assert_true(other.file >= 0); /* another key is another lock */
    dg_unlock_cache_key(&held);
    late = dg_lock_cache_key(&folder, one, 0);
    assert_true(late.file >= 0);
    dg_unlock_cache_key(&late);
    dg_unlock_cache_key(&other);
    snprintf(folder.path, sizeof folder.path, "/dev/null/nowhere");
    assert_true(dg_lock_cache_key(&folder, one, 10).file < 0);
}

/* Stores kernels of 300 KiB, new ones and old ones again, until it is killed. */
static void store_for_ever(void) {
    static char cubin[300 << 10];
    memset(cubin, 'k', sizeof cubin);
    for (int32_t i = 0;; i++) {
        dg_program_t program;
        const dg_specialisation_t specialisation = some_specialisation(i % 20);
        CHECK(dg_describe_program(&specialisation, 90, &program) == DG_STATUS_OK);
        dg_store_on_disk(&program, "nvcc 13.0.1", cubin, sizeof cubin);
    }
}

typedef struct tally_t {
    int good, bad;
} tally_t;

static void count_kernel(void *user, const dg_cache_file_t *file) {
    tally_t *tally = user;
    tally->good += file->fault == NULL;
    tally->bad += file->fault != NULL;
}

static void a_kill_at_any_moment_leaves_whole_kernels(void **state) {
    (void)state;
    const char *const variables[] = {"DG_JIT_CACHE_DIR=killed", NULL};
    static dg_cache_folder_t folder = {.writable = true};
    clear_scene();
    snprintf(folder.path, sizeof folder.path, "%s/killed", scene_folder());
    snprintf(folder.kernels, sizeof folder.kernels, "%s/killed/kernels", scene_folder());
    tally_t tally = {0};
    for (int round = 0; round < 25; round++) {
        const pid_t child = start_child(store_for_ever, variables);
        tally = (tally_t){0};
        for (int i = 0; i < 2000 && tally.good == 0; i++) { /* until it is at work */
            pause_ms(1);
            assert_int_equal(dg_walk_cache(&folder, count_kernel, &tally), DG_STATUS_OK);
        }
        pause_ms(1 + round * 7 % 13);
        kill(child, SIGKILL);
        assert_false(child_succeeds(child));
        tally = (tally_t){0};
        assert_int_equal(dg_walk_cache(&folder, count_kernel, &tally), DG_STATUS_OK);
        assert_int_equal(tally.bad, 0);
        assert_true(tally.good > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_cache_compiles_each_kernel_once),
        cmocka_unit_test(a_killed_process_is_followed),
        cmocka_unit_test(a_lock_is_waited_for_so_long_and_no_longer),
        cmocka_unit_test(a_kill_at_any_moment_leaves_whole_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
