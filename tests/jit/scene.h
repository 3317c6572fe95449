/* SPDX-License-Identifier: MIT
 *
 * What every test of src/jit begins with: an environment of its own, in a child process, because
 * the library reads its variables once; an empty cache folder; a fake compiler that counts.
 */
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>
#include <sys/types.h>

#include "plan/kernel.h"

/* Runs `body` in a child process with these variables set, "NAME=value", up to NULL, and the
 * scene's folder as its working directory. HOME is the scene's folder, and no variable of the caller
 * that begins with DG_ or CUDA_ is left. False if it exits with another status than 0, is killed, or
 * takes longer than 120 s. */
bool in_child(void (*body)(void), const char *const *variables);

/* Starts such a child, to be waited for with child_succeeds(). */
pid_t start_child(void (*body)(void), const char *const *variables);
bool child_succeeds(pid_t child);

/* In the child: leaves it with a message unless `condition` holds. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition);                            \
    } while (0)
_Noreturn void check_failed(const char *file, int line, const char *condition);

/* A fresh folder; removed, with all it holds, when the program ends. */
const char *scene_folder(void);
void clear_scene(void);

/* "DG_JIT_NVCC_COMPILER=.../fake_nvcc.sh" and its log in the scene's folder. */
#define FAKE_COMPILER "DG_JIT_NVCC_COMPILER=" FAKE_NVCC, "FAKE_NVCC_LOG=compilations"

/* How often the fake compiler compiled in this scene. */
int compilations(void);

/* The child, or the test, asks for some_specialisation(number) on a fake GPU. */
dg_status_t ask_for(int32_t number);

/* A specialisation that no catalogue has; `number` tells them apart. */
dg_specialisation_t some_specialisation(int32_t number);

#endif
