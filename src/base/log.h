/* SPDX-License-Identifier: MIT
 *
 * Log lines from below the API. An entry point names its context's hook for the thread that runs
 * it; whatever that call does further down may then report through it. Lines are "key=value" parts,
 * as deep_gemm/context.h says.
 */
#ifndef DG_BASE_LOG_H
#define DG_BASE_LOG_H

#include "deep_gemm/context.h"

/* The hook of the call that begins on this thread; NULL for none. */
void dg_enter_log(dg_log_fn log, void *user, dg_log_level_t level);

/* The hook of this thread, for workers that go on with the call's work. */
typedef struct dg_log_hook_t {
    dg_log_fn log;
    void *user;
    dg_log_level_t level;
} dg_log_hook_t;
dg_log_hook_t dg_log_hook(void);

/* One line, if there is a hook that wants lines of this level. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void dg_log(dg_log_level_t level, const char *format, ...);

/* One line that an environment variable asked for: to the hook, whatever its level, and without one
 * to standard error, which is the only case of the library writing there. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void dg_log_wanted(const char *format, ...);

#endif
