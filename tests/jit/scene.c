/* SPDX-License-Identifier: MIT
 *
 * See scene.h.
 */
#include "scene.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_device.h"
#include "jit/jit.h"

extern char **environ;

static char folder[64];

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_folder(void) {
    if (folder[0] != '\0') nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
}

const char *scene_folder(void) {
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "/tmp/deep_gemm_test.XXXXXX");
        if (mkdtemp(folder) == NULL) abort();
        atexit(remove_folder);
    }
    return folder;
}

void clear_scene(void) {
    remove_folder();
    scene_folder();
}

static void clear_environment(void) {
    static const char *const prefixes[] = {"DG_", "CUDA_", "XDG_", "FAKE_"};
    for (size_t i = 0; environ[i] != NULL;) {
        bool drop = false;
        for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
            drop = drop || strncmp(environ[i], prefixes[p], strlen(prefixes[p])) == 0;
        if (drop) {
            char name[256];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
            unsetenv(name);
        } else {
            i++;
        }
    }
}

pid_t start_child(void (*body)(void), const char *const *variables) {
    scene_folder();
    fflush(NULL);
    const pid_t child = fork();
    if (child != 0) return child;
    alarm(120);
    clear_environment();
    setenv("HOME", folder, 1);
    for (; *variables != NULL; variables++) putenv(strdup(*variables));
    if (chdir(folder) != 0) _exit(3);
    body();
    fflush(NULL);
    _exit(0);
}

bool child_succeeds(pid_t child) {
    int state = 0;
    waitpid(child, &state, 0);
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

bool in_child(void (*body)(void), const char *const *variables) {
    return child_succeeds(start_child(body, variables));
}

void check_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", file, line, condition,
        dg_last_error());
    fflush(NULL);
    _exit(1);
}

int compilations(void) {
    char path[96];
    snprintf(path, sizeof path, "%s/compilations", scene_folder());
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    int lines = 0;
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) lines += c == '\n';
    fclose(file);
    return lines;
}

dg_status_t ask_for(int32_t number) {
    const dg_specialisation_t specialisation = some_specialisation(number);
    dg_cuda_function_t *function = NULL;
    return dg_jit_function(fake_device(0, 90), &specialisation, 0, NULL, &function);
}

dg_specialisation_t some_specialisation(int32_t number) {
    dg_specialisation_t specialisation = {.kernel = DG_KERNEL_SM90_FP8_GEMM_BLOCK};
    const dg_kernel_t *kernel = dg_find_kernel(specialisation.kernel);
    for (int32_t i = 0; i < kernel->field_count; i++)
        specialisation.values[i] = 1000 * (i + 1) + number;
    return specialisation;
}
