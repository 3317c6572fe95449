/* SPDX-License-Identifier: MIT
 *
 * See child.h. posix_spawn neither copies the process's memory nor runs its fork handlers, which in
 * a training job with hundreds of GB and many threads matters.
 */
#include "jit/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

extern char **environ;

/* Reads until the end; false: no memory. What does not fit is read all the same, or the child would
 * wait for us for ever. */
static bool read_all(int from, char **text) {
    size_t length = 0, room = 4096;
    *text = malloc(room);
    bool kept = *text != NULL;
    char scrap[4096];
    for (;;) {
        if (kept && room - length < 2) {
            char *larger = realloc(*text, 2 * room);
            kept = larger != NULL;
            if (kept) {
                *text = larger;
                room *= 2;
            }
        }
        const ssize_t got =
            kept ? read(from, *text + length, room - length - 1) : read(from, scrap, sizeof scrap);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (kept) length += (size_t)got;
    }
    if (*text != NULL) (*text)[length] = '\0';
    return kept;
}

static int spawn(const char *const *arguments, const int ends[2], pid_t *child) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    error = posix_spawn(
        child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

dg_status_t dg_run_child(const char *const *arguments, char **output, int *exit_status) {
    int ends[2];
    *output = NULL;
    DG_REQUIRE(pipe2(ends, O_CLOEXEC) == 0, DG_STATUS_IO, "", "",
        "no pipe to %s: %s; close some files", arguments[0], strerror(errno));
    pid_t child = 0;
    const int error = spawn(arguments, ends, &child);
    close(ends[1]);
    bool kept = true;
    int state = 0;
    if (error == 0) {
        kept = read_all(ends[0], output);
        while (waitpid(child, &state, 0) < 0 && errno == EINTR) {}
    }
    close(ends[0]);
    DG_REQUIRE(error == 0, DG_STATUS_IO, "", "", "%s does not start: %s; name another program",
        arguments[0], strerror(error));
    if (!kept) {
        free(*output);
        *output = NULL;
        return dg_fail(DG_STATUS_OUT_OF_MEMORY, "", "", "no memory for the output of %s; free some",
            arguments[0]);
    }
    *exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return DG_STATUS_OK;
}
